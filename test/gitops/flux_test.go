package gitops_test

import (
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/engine"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// expressions are those that docs/how-to/flux.md gives for a resource.
func expressions(t *testing.T) kustomize.CustomHealthCheck {
	t.Helper()
	var found []kustomize.CustomHealthCheck
	for _, block := range page(t, "flux.md") {
		var doc struct {
			Spec struct {
				Checks []kustomize.CustomHealthCheck `json:"healthCheckExprs"`
			} `json:"spec"`
		}
		if err := yaml.Unmarshal([]byte(block), &doc); err == nil { // a block of several documents has none
			found = append(found, doc.Spec.Checks...)
		}
	}
	if len(found) != 1 {
		t.Fatalf("docs/how-to/flux.md has %d health checks by expressions, want one", len(found))
	}
	return found[0]
}

// fluxReader decides as Flux does: by the expressions for the kinds that are named there.
func fluxReader(t *testing.T) engine.StatusReader {
	t.Helper()
	check := expressions(t)
	checks := []kustomize.CustomHealthCheck{check}
	for _, kind := range []string{"OperatorBox", "CRDHealth"} {
		other := check
		other.APIVersion, other.Kind = "orkestra.orkspace.io/v1alpha1", kind
		checks = append(checks, other)
	}
	reader, err := cel.NewStatusReader(checks)
	if err != nil {
		t.Fatal(err)
	}
	return reader(nil)
}

func TestFluxExpressions(t *testing.T) {
	reader := fluxReader(t)
	each(t, func(v verdict) string { return v.flux }, func(t *testing.T, obj *unstructured.Unstructured) string {
		t.Helper()
		result, err := reader.ReadStatusForObject(t.Context(), nil, obj)
		if err != nil {
			t.Fatal(err)
		}
		return string(result.Status)
	})
}

// TestFluxNeverTakesOddObjectsForCurrent checks that a status of another shape is waited for: what can't be evaluated is Unknown.
func TestFluxNeverTakesOddObjectsForCurrent(t *testing.T) {
	reader := fluxReader(t)
	for name, obj := range oddObjects(t) {
		t.Run(name, func(t *testing.T) {
			result, err := reader.ReadStatusForObject(t.Context(), nil, obj)
			if err != nil {
				t.Fatal(err)
			}
			got := string(result.Status)
			_, hasStatus := obj.Object["status"].(map[string]any)
			_, hasConditions, err := unstructured.NestedFieldNoCopy(obj.Object, "status", "conditions")
			if hasStatus && err == nil && !hasConditions && got != "InProgress" {
				t.Errorf("want InProgress for a resource without conditions, got %s", got)
			}
			if got != "InProgress" && got != "Unknown" {
				t.Errorf("want InProgress or Unknown, got %s", got)
			}
		})
	}
}
