package stage

import (
	"context"
	"iter"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
)

var (
	now        = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	secretKind = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
)

// answer is an error as an API server sends it.
func answer(code int32, reason metav1.StatusReason, message string, causes ...metav1.StatusCause) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message, Details: &metav1.StatusDetails{Causes: causes},
	}}
}

// cluster is what a cycle reads, and what it marks.
type cluster struct {
	children, others []*unstructured.Unstructured
	boxes            map[string]schema.GroupVersionKind
	dependencies     map[string]DependencyState

	marked []apply.Marks
	gone   bool
	asked  int // whether the resource is gone
}

func object(kind, namespace, name, version string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: kind})
	obj.SetNamespace(namespace)
	obj.SetName(name)
	obj.SetUID(types.UID(namespace + "/" + name))
	obj.SetResourceVersion(version)
	return obj
}

// shop is the resource of a cycle.
func shop() *unstructured.Unstructured {
	obj := object("Website", "team-a", "shop", "1")
	obj.SetUID("shop")
	obj.SetGeneration(1)
	return obj
}

// cycle begins one of the resource.
func (c *cluster) cycle(tb testing.TB, p *Plan, stored *unstructured.Unstructured) *Cycle {
	tb.Helper()
	cycle := NewCycle(p, stored, now, Ports{Inventory: c, Marker: c, Observer: c})
	cycle.Children = c
	return cycle
}

func (c *cluster) All() []*unstructured.Unstructured                                  { return c.children }
func (c *cluster) View() map[string]any                                               { return map[string]any{"count": int64(len(c.children))} }
func (c *cluster) Foresee(context.Context, []expr.Path)                               {}
func (c *cluster) ReadersOf(context.Context, []compile.Outside) []string              { return nil }
func (c *cluster) Kinds() []schema.GroupVersionKind                                   { return []schema.GroupVersionKind{secretKind} }
func (c *cluster) Observe(context.Context, schema.GroupVersionKind) error             { return nil }
func (c *cluster) Box(name string) schema.GroupVersionKind                            { return c.boxes[name] }
func (c *cluster) Dependency(name string) DependencyState                             { return c.dependencies[name] }
func (c *cluster) Finish(context.Context, *unstructured.Unstructured, []string) error { return nil }

func (c *cluster) Owned(schema.GroupVersionKind, *unstructured.Unstructured) []*unstructured.Unstructured {
	return c.children
}

func (c *cluster) Versions(schema.GroupVersionKind, *unstructured.Unstructured) iter.Seq2[types.UID, string] {
	return func(yield func(types.UID, string) bool) {
		for _, child := range c.children {
			if !yield(child.GetUID(), child.GetResourceVersion()) {
				return
			}
		}
	}
}

func (c *cluster) Get(_ schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	for _, obj := range c.others {
		if obj.GetNamespace() == namespace && obj.GetName() == name {
			return obj
		}
	}
	return nil
}

func (c *cluster) Select(_ schema.GroupVersionKind, namespace string, by labels.Selector) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, obj := range c.others {
		if (namespace == "" || obj.GetNamespace() == namespace) && by.Matches(labels.Set(obj.GetLabels())) {
			out = append(out, obj)
		}
	}
	return out
}

func (c *cluster) Mark(_ context.Context, resource *unstructured.Unstructured, marks apply.Marks) (*unstructured.Unstructured, error) {
	c.marked = append(c.marked, marks)
	answer := resource.DeepCopy()
	answer.SetFinalizers(marks.Finalizers)
	answer.SetAnnotations(marks.Annotations)
	return answer, nil
}

func (c *cluster) Gone(context.Context, *unstructured.Unstructured) (bool, error) {
	c.asked++
	return c.gone, nil
}
