package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/compiler"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/revision"
	"github.com/orkspace/orkestra/engine/rollback"
)

// planned is a revision of a box, as the box was read.
type planned struct {
	box, resourceVersion string
	of                   revision.Ref
}

// planOf is its plan, or why it has none.
type planOf struct {
	plan *pipeline.Plan
	err  error
}

// planOf compiles what runs for a resource: the revision that it was rolled back to, or the one that the status of its box names.
func (i *Inspector) planOf(ctx context.Context, box *v1alpha1.OperatorBox, live *unstructured.Unstructured) (*pipeline.Plan, error) {
	of := revision.Ref{Name: box.Status.Revision, Hash: box.Status.RevisionHash}
	if back := rollback.MarkOf(live); back != nil {
		of = revision.Ref{Name: back.ToRevision, Hash: back.ToRevisionHash}
	}
	key := planned{box: box.Name, resourceVersion: box.ResourceVersion, of: of}
	known, found := i.plans[key]
	if !found {
		known.plan, known.err = i.Plans.PlanOf(ctx, box, of)
		i.plans[key] = known
	}
	return known.plan, known.err
}

// Compiling compiles what it is asked for. It implements Plans.
type Compiling struct {
	// Compiler compiles the specs of boxes as they are.
	Compiler *compiler.Compiler
	// Kept has their former ones.
	Kept *revision.Plans
}

// KindOf implements Plans.
func (c Compiling) KindOf(ctx context.Context, name string) schema.GroupVersionKind {
	box, err := c.Compiler.Box(ctx, name)
	if err != nil {
		return schema.GroupVersionKind{}
	}
	picked, _ := crdOf(ctx, c.Compiler, box) // without one, its kind is empty
	return picked.Kind
}

// PlanOf implements Plans.
func (c Compiling) PlanOf(ctx context.Context, box *v1alpha1.OperatorBox, of revision.Ref) (*pipeline.Plan, error) {
	if of.Name != "" && of.Name != boxspec.Revision(box) {
		return c.Kept.PlanOf(ctx, box.Name, of.Name, of.Hash)
	}
	picked, err := crdOf(ctx, c.Compiler, box)
	if err != nil {
		return nil, err
	}
	plan, errs := pipeline.Compile(box, c.Compiler.Env(ctx, box, picked))
	if len(errs) > 0 {
		return nil, fmt.Errorf("OperatorBox %q does not compile: %w", box.Name, errs.ToAggregate())
	}
	return plan, nil
}

// Plan compiles the revision of a box that runs, or its spec where none does.
func (i *Inspector) Plan(ctx context.Context, box *v1alpha1.OperatorBox) (*pipeline.Plan, error) {
	return i.planOf(ctx, box, &unstructured.Unstructured{Object: map[string]any{}})
}

// crdOf gives the CRD of a box, in the version that the box serves.
func crdOf(ctx context.Context, c *compiler.Compiler, box *v1alpha1.OperatorBox) (pipeline.CRD, error) {
	if crds.NameOf(box) == "" {
		return pipeline.CRD{}, errors.New("its crd.definition can't be read, and it has installed no CRD")
	}
	crd, err := c.CRD(ctx, box)
	if err != nil {
		return pipeline.CRD{}, err
	}
	picked, ok := crds.OwnVersion(box, crd)
	if !ok {
		return pipeline.CRD{}, errors.New(crds.NotServed(box, crd))
	}
	return picked, nil
}

// begin gives what begins a run for a resource: with its spec, or with that of the snapshot that it was rolled back to.
func (i *Inspector) begin(r *reader, res *Resource) func(pipeline.Ports) *pipeline.Run {
	live := r.resource
	back := rollback.MarkOf(live)
	if back == nil || back.OwnGroups {
		return func(ports pipeline.Ports) *pipeline.Run { return r.plan.NewRun(live, i.now, ports) }
	}
	snapshot, err := snapshotOf(r, back)
	if err != nil {
		res.Notes = append(res.Notes, "The declarations are evaluated with the spec of today, not with that it was rolled back to: "+oneLine(err.Error()))
		return func(ports pipeline.Ports) *pipeline.Run { return r.plan.NewRun(live, i.now, ports) }
	}
	res.Notes = append(res.Notes, fmt.Sprintf("Its children are those of generation %d: it was rolled back", back.ToGeneration))
	return func(ports pipeline.Ports) *pipeline.Run { return r.plan.NewRunTo(snapshot, live, i.now, ports) }
}

// snapshotOf reads what the resource was rolled back to. It is in the manager's namespace; former versions kept it beside the resource, and
// their marks have no hash.
func snapshotOf(r *reader, back *rollback.Mark) (rollback.Snapshot, error) {
	if back.SnapshotHash != "" {
		obj, err := r.Objects.Get(r.ctx, rollback.Kind, r.ManagerNamespace, back.Snapshot)
		if err != nil {
			return rollback.Snapshot{}, fmt.Errorf("reading ControllerRevision %q: %w", back.Snapshot, err)
		}
		if obj != nil {
			snapshot, err := rollback.Unsigned(r.resource, obj, back.SnapshotHash)
			if err != nil {
				return rollback.Snapshot{}, fmt.Errorf("ControllerRevision %q: %w", back.Snapshot, err)
			}
			return snapshot, nil
		}
	}
	store := &rollback.Store{Cache: snapshots{r}, Ours: apply.ManagedByUs}
	return store.Named(r.resource, back.Snapshot, back.SnapshotHash)
}

// snapshots reads those of a resource. It implements rollback.Cache.
type snapshots struct{ *reader }

// Owned implements rollback.Cache.
func (s snapshots) Owned(kind schema.GroupVersionKind, owner types.UID) []*unstructured.Unstructured {
	namespace := cmp.Or(s.resource.GetNamespace(), s.ManagerNamespace)
	all, err := s.Objects.List(s.ctx, kind, namespace, labels.SelectorFromSet(labels.Set{v1alpha1.LabelOwnerUID: string(owner)}))
	if err != nil {
		return nil // a snapshot that the caller may not read is reported as one that is not there
	}
	return all
}

// Wrote implements rollback.Cache: nothing is written.
func (snapshots) Wrote(schema.GroupVersionKind, *unstructured.Unstructured) {}

// Gone implements rollback.Cache: nothing is deleted.
func (snapshots) Gone(schema.GroupVersionKind, *unstructured.Unstructured) {}
