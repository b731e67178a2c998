package outcome

import (
	"context"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/status"
	"github.com/orkspace/orkestra/test/fixtures"
)

// now is the time at which the tests run.
var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const websiteSchema = `
type: object
properties:
  spec:
    type: object
    properties:
      image: {type: string}
      host: {type: string}
      replicas: {type: integer}
      tls: {type: boolean}
      tags: {type: array, items: {type: string}}
      database: {type: object, properties: {name: {type: string}, size: {type: integer}}}
      any: {x-kubernetes-preserve-unknown-fields: true}
  status:
    type: object
    properties:
      phase: {type: string}
      replicas: {type: integer}
      message: {type: string}
      observedGeneration: {type: integer}
      conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// websites is the CRD that the boxes of these tests serve.
func websites(tb testing.TB) compile.CRD {
	tb.Helper()
	crd := compile.CRD{
		Name: "websites.demo.example.com", Namespaced: true, HasStatus: true,
		Kind: schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Website"},
	}
	if err := yaml.UnmarshalStrict([]byte(websiteSchema), &crd.Schema); err != nil {
		tb.Fatal(err)
	}
	return crd
}

// compiled compiles what the spec of a box says of status.
func compiled(tb testing.TB, crd compile.CRD, spec string) (*Plan, field.ErrorList) {
	tb.Helper()
	box := &v1alpha1.OperatorBox{}
	if err := yaml.UnmarshalStrict([]byte(spec), &box.Spec); err != nil {
		tb.Fatal(err)
	}
	b := &compile.Box{OperatorBox: box, Env: compile.Env{CRD: crd}, Scope: expr.NewScope(crd.Schema)}
	return Compile(b), b.Mistakes()
}

// planOf compiles what has no mistakes.
func planOf(tb testing.TB, spec string) *Plan {
	tb.Helper()
	plan, errs := compiled(tb, websites(tb), spec)
	if len(errs) > 0 {
		tb.Fatalf("the box does not compile: %v", errs.ToAggregate())
	}
	return plan
}

func messages(errs field.ErrorList) []string {
	var out []string
	for _, e := range errs {
		out = append(out, e.Error())
	}
	return out
}

// website is a resource whose spec is the given YAML.
var website = fixtures.Resource

// cycleOf begins a cycle of a resource, of a box with rollback.
func cycleOf(stored *unstructured.Unstructured) *stage.Cycle {
	return stage.NewCycle(&stage.Plan{Box: "website", Rollback: &stage.Rollback{}}, stored, now, stage.Ports{})
}

// living are the children that have not settled.
type living []stage.Blocker

func (l living) Unsettled(context.Context) ([]stage.Blocker, error) { return l, nil }

func (living) Blocker(w stage.Wait, of stage.Weight) stage.Blocker {
	return stage.Blocker{Wait: w, Weight: of, Gives: w.Of}
}

// shownBy gives what a resource shows after a cycle without error that left no child behind.
func shownBy(g *gomega.WithT, plan *Plan, stored *unstructured.Unstructured) status.Result {
	res, err := plan.Result(context.Background(), cycleOf(stored), living{}, nil)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	return res
}
