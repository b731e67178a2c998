package patches

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/pipeline/children"
)

// Seen is how one patch stands, as far as that is seen without setting it.
type Seen struct {
	// Target has what is set, and names the object.
	Target *unstructured.Unstructured
	// Stands says that the object has what the patch sets, and that the patch has set it.
	Stands bool
	// Waits says in words what the patch waits for; empty: for nothing. Absent says that it is the object itself, which is not there.
	Waits  string
	Absent bool
}

// See evaluates a patch of a resource, and looks at its target. It writes nothing. The error says what can't be evaluated, or may not be patched.
func See(ctx context.Context, c *children.Cycle, in children.Instance, comparer *drift.Comparer) (Seen, error) {
	at, err := patch{Instance: in}.find(ctx, c)
	if err != nil {
		return Seen{}, err
	}
	seen := Seen{Target: at.obj, Waits: at.why, Absent: at.live == nil && at.waits == v1alpha1.ReasonWaitingForTarget}
	if at.waits == "" {
		set := apply.Patch{Manager: v1alpha1.PatchManager(c.Stored.GetUID(), in.ID), Object: at.obj}
		seen.Stands = set.Stands(comparer, at.live)
	}
	return seen, nil
}
