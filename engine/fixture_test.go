package engine

import (
	"context"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// patience bounds a wait for something that happens at once, so that a test that fails does not hang.
func patience(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// serving is a box with this spec, of a CRD with a status.
func serving(t *testing.T, e *Engine, spec v1alpha1.OperatorBoxSpec) *box {
	t.Helper()
	kind := schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Website"}
	object := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "website", UID: "box"}, Spec: spec}
	object.Spec.CRD.Name = "websites.demo.example.com"
	plan, errs := pipeline.Compile(object, pipeline.Env{CRD: pipeline.CRD{
		Name: "websites.demo.example.com", UID: "crd", Namespaced: true, HasStatus: true, Kind: kind,
		Resource: kind.GroupVersion().WithResource("websites"), Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)},
	}})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	b, err := newBox(e, plan, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.queue.ShutDown)
	return b
}

// calling is a box whose resources call one URL, and a resource of it that needs no mark any more.
func calling(t *testing.T, e *Engine, url string) (*box, *unstructured.Unstructured) {
	t.Helper()
	var spec v1alpha1.OperatorBoxSpec
	spec.External = []v1alpha1.ExternalCall{{Name: "quota", URL: url}}
	b := serving(t, e, spec)
	kind := b.plan.Load().CRD.Kind
	resource := &unstructured.Unstructured{}
	resource.SetGroupVersionKind(kind)
	resource.SetNamespace("team-a")
	resource.SetName("shop")
	resource.SetUID("u1")
	resource.SetFinalizers([]string{v1alpha1.Finalizer})
	resource.SetLabels(map[string]string{v1alpha1.LabelManaged: v1alpha1.True})
	resource.SetAnnotations(map[string]string{v1alpha1.AnnotationManagedBy: "website", v1alpha1.AnnotationManagedSince: "2026-01-01T00:00:00Z",
		v1alpha1.AnnotationActiveSince: "2026-01-01T00:00:00Z"})
	return b, resource
}
