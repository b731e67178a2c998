// Package children makes, corrects and deletes what a box declares for one resource: the instances of declarations, their gates and loops,
// Jobs, what is made once, what is pruned, and how children fare. It works through the ports of a cycle, and knows no plan.
package children

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/value"
)

// Cycle is one reconcile of a resource, with what the declarations of its box stand for in it.
type Cycle struct {
	*stage.Cycle

	// Declared are the declarations of the box.
	Declared *declare.Set
	// Living are the children that the resource has.
	Living *Living
	// Incomplete says that something of onCreate is not made yet, so that the resource is not Active after this cycle.
	Incomplete bool
	// Jobs are the Jobs among the children.
	Jobs Jobs

	applied appliedSet
	rolling rollouts
	scalers scalers
}

// NewCycle gives a cycle its children.
func NewCycle(shared *stage.Cycle, declared *declare.Set) *Cycle {
	c := &Cycle{Cycle: shared, Declared: declared, applied: newAppliedSet()}
	c.Living, c.Jobs, c.scalers, c.rolling = &Living{cycle: c}, newJobs(c), scalers{cycle: c}, newRollouts(c)
	shared.Children = c.Living
	return c
}

// IDOf is the id that a child was made by: that of an instance.
func IDOf(child *unstructured.Unstructured) string {
	return value.Annotation(child, v1alpha1.AnnotationDeclaration)
}

// childKey names an object.
type childKey struct {
	kind            schema.GroupVersionKind
	namespace, name string
}

func keyOf(obj *unstructured.Unstructured) childKey {
	return childKey{kind: obj.GroupVersionKind(), namespace: obj.GetNamespace(), name: obj.GetName()}
}
