package center

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/rollback"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/view"
)

// maxSnapshotChanges is how many fields are shown that a snapshot has otherwise.
const maxSnapshotChanges = 100

// snapshots says what a resource would go back to; nil where its box rolls nothing back. Snapshots are in the manager's namespace, and for those who may
// list ControllerRevisions there.
func (c *Center) snapshots(ctx context.Context, box *v1alpha1.OperatorBox, live *unstructured.Unstructured) *api.Snapshots {
	mark := rollback.MarkOf(live)
	if box.Spec.Rollback == nil && mark == nil {
		return nil
	}
	out := &api.Snapshots{Kept: []api.Snapshot{}}
	if mark != nil {
		out.Back = &api.RolledBackTo{
			Since: mark.Since.Time, Count: mark.Count, Generation: mark.Generation, Revision: mark.Revision, Step: mark.Step, Reason: mark.Reason, Message: mark.Message,
			Trigger: mark.Trigger, Held: mark.Held, Next: mark.Next(),
		}
	}
	owned := labels.SelectorFromSet(labels.Set{v1alpha1.LabelOwnerUID: string(live.GetUID())})
	objects, err := c.Inspecting.Objects.List(ctx, rollback.Kind, c.Inspecting.ManagerNamespace, owned)
	if err != nil {
		out.Note = err.Error()
		return out
	}
	for _, entry := range rollback.Shown(live, objects) {
		if entry.Err != nil {
			continue // it would not be gone back to
		}
		out.Kept = append(out.Kept, snapshotOf(entry, mark, live))
	}
	return out
}

func snapshotOf(entry rollback.Entry, mark *rollback.Mark, live *unstructured.Unstructured) api.Snapshot {
	s := api.Snapshot{
		Name: entry.Object.GetName(), Generation: entry.Snapshot.Generation, Revision: entry.Snapshot.Revision, Taken: entry.Object.GetCreationTimestamp().Time,
		Current: mark != nil && mark.Snapshot == entry.Object.GetName(),
	}
	fields := func(spec map[string]any) map[string]any {
		if spec == nil {
			return map[string]any{}
		}
		return map[string]any{"spec": spec}
	}
	now, _ := live.Object["spec"].(map[string]any) // a resource may have none
	s.Changes, s.More = view.Fields(fields(now), fields(entry.Snapshot.Spec), maxSnapshotChanges)
	return s
}
