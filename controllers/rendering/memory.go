// Package rendering runs the plan of a box on objects in memory, and says what a cluster would get. The command `orkestra render` and the Control
// Center use the same code.
package rendering

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/apply/taken"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// memory stands in for the cluster of one resource, behind the ports of a plan: it keeps the children that are applied, and has the objects that are
// known, and of a cluster what can be read there.
type memory struct {
	*Rendering

	plan   *pipeline.Plan
	ctx    func() context.Context // for what is read from a cluster
	unread string                 // why what was not found may be there all the same; empty: it is not

	mu       sync.Mutex                   // the children of one rank are written at the same time
	children map[objectKey]*kept          // guarded by mu
	patches  []*unstructured.Unstructured // what is set of objects of others; of the last cycle
	refused  error                        // what the cluster did not give; guarded by mu
}

// objectKey says which object one is.
type objectKey struct {
	kind            schema.GroupVersionKind
	namespace, name string
}

func keyOf(obj *unstructured.Unstructured) objectKey {
	return objectKey{kind: obj.GroupVersionKind(), namespace: obj.GetNamespace(), name: obj.GetName()}
}

// kept is a child: as it is sent, and as a cluster would show it.
type kept struct {
	sent, live *unstructured.Unstructured
}

// converge runs the plan until a cycle changes nothing.
func (m *memory) converge(ctx context.Context, stored *unstructured.Unstructured, now time.Time) (*pipeline.Run, error) {
	var run *pipeline.Run
	var err error
	ports := pipeline.Ports{Inventory: m, Applier: m, Marker: m, Patcher: m, Kinds: m, Observer: m, Caller: answers{m.Rendering}, StandIn: answers{m.Rendering}, Given: m.Known.provided, Unread: m.unread}
	for range maxCycles {
		if ctx.Err() != nil && run != nil {
			return run, context.Cause(ctx)
		}
		m.patches = nil
		run = m.plan.NewRun(stored, now, ports)
		err = m.plan.Execute(ctx, run)
		stored = run.Stored
		if err != nil || len(run.Writes) == 0 {
			break
		}
	}
	return run, err
}

// failed notes an error of a read, for which the ports have no result. nil is noted as nothing.
func (m *memory) failed(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refused = errors.Join(m.refused, err)
}

// rendered gives the children as they are sent, by the order of kinds inside a group, namespace and name.
func (m *memory) rendered() []*unstructured.Unstructured {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]*unstructured.Unstructured, 0, len(m.children))
	for _, c := range m.children {
		out = append(out, c.sent)
	}
	slices.SortStableFunc(out, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(kinds.RankOf(a.GroupVersionKind()), kinds.RankOf(b.GroupVersionKind())), cmp.Compare(a.GetKind(), b.GetKind()), byName(a, b), cmp.Compare(a.GetAPIVersion(), b.GetAPIVersion()))
	})
	return out
}

// Kinds implements pipeline.Inventory.
func (m *memory) Kinds() []schema.GroupVersionKind { return m.plan.ChildKinds }

// Owned implements pipeline.Inventory.
func (m *memory) Owned(kind schema.GroupVersionKind, resource *unstructured.Unstructured) []*unstructured.Unstructured {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*unstructured.Unstructured
	for _, c := range m.children {
		if c.live.GroupVersionKind() == kind && c.live.GetLabels()[v1alpha1.LabelOwnerUID] == string(resource.GetUID()) {
			out = append(out, c.live)
		}
	}
	slices.SortStableFunc(out, byName)
	return out
}

func byName(a, b *unstructured.Unstructured) int {
	return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}

// Apply implements pipeline.Applier.
func (m *memory) Apply(ctx context.Context, owner apply.Owner, child apply.Child) (apply.Outcome, error) {
	if ctx.Err() != nil {
		return apply.Outcome{}, context.Cause(ctx)
	}
	sent := m.keeping(child, owner.Claimed(child))
	m.mu.Lock()
	defer m.mu.Unlock()
	key := keyOf(sent)
	c := m.children[key]
	if c != nil && (child.Once || c.sent.GetAnnotations()[v1alpha1.AnnotationApplied] == sent.GetAnnotations()[v1alpha1.AnnotationApplied]) {
		return apply.Outcome{Action: apply.None, Object: c.live}, nil
	}
	if m.children == nil {
		m.children = map[objectKey]*kept{}
	}
	made := &kept{sent: sent, live: m.show(sent)}
	m.children[key] = made
	if c == nil {
		return apply.Outcome{Action: apply.Created, Object: made.live}, nil
	}
	return apply.Outcome{Action: apply.Changed, Object: made.live}, nil
}

// keeping gives a child with the fields as they are in the cluster that are left alone there once it exists.
func (m *memory) keeping(child apply.Child, sent *unstructured.Unstructured) *unstructured.Unstructured {
	seen := m.Known.get(sent.GroupVersionKind(), sent.GetNamespace(), sent.GetName())
	if seen == nil {
		return sent
	}
	left := child.Initial
	if child.Once {
		left = contentOf(sent, seen)
	}
	for _, path := range left {
		value, found, err := unstructured.NestedFieldCopy(seen.Object, path...)
		switch {
		case found && err == nil:
			declared, _, _ := unstructured.NestedMap(sent.Object, path...)
			if object, is := value.(map[string]any); is && declared != nil && !isWhole(seen) {
				value = merged(declared, object)
			}
			_ = unstructured.SetNestedField(sent.Object, value, path...) // a path that leads through something else is refused where it is written
		case isWhole(seen):
			unstructured.RemoveNestedField(sent.Object, path...)
		}
	}
	return sent
}

// contentOf are the paths of all that is said of an object beside whose it is, and how it fares.
func contentOf(sent, seen *unstructured.Unstructured) []drift.FieldPath {
	var paths []drift.FieldPath
	all := maps.Clone(sent.Object)
	maps.Copy(all, seen.Object)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, name) {
			paths = append(paths, drift.FieldPath{name})
		}
	}
	return paths
}

// isWhole says whether an object is all that a cluster has of it. What somebody has written to say how a child fares may be a part.
func isWhole(seen *unstructured.Unstructured) bool { return seen.GetUID() != "" }

// show gives a child as a cluster would: with what is known of it, and with the UID, the version and the field manager by which the
// plan sees that it was written and is its own.
func (m *memory) show(sent *unstructured.Unstructured) *unstructured.Unstructured {
	live := sent.DeepCopy()
	if seen := m.Known.get(sent.GroupVersionKind(), sent.GetNamespace(), sent.GetName()); seen != nil {
		live.Object = merged(runtime.DeepCopyJSON(seen.Object), live.Object)
		live.SetDeletionTimestamp(nil) // one that was just being deleted is rendered as one that was made again
	}
	live.SetUID(types.UID(sent.GetKind() + "/" + sent.GetNamespace() + "/" + sent.GetName()))
	live.SetResourceVersion("1")
	_ = unstructured.SetNestedSlice(live.Object, []any{map[string]any{"manager": v1alpha1.FieldManager}}, "metadata", "managedFields")
	return live
}

// merged writes the fields of over into a tree. A list replaces the list that is there.
func merged(tree, over map[string]any) map[string]any {
	for k, v := range over {
		below, isMap := tree[k].(map[string]any)
		if m, ok := v.(map[string]any); ok && isMap {
			v = merged(below, m)
		}
		tree[k] = v
	}
	return tree
}

// Keep implements pipeline.Applier.
func (*memory) Keep(_ context.Context, _ apply.Owner, _ apply.Child, live *unstructured.Unstructured) (apply.Outcome, error) {
	return apply.Outcome{Action: apply.None, Object: live}, nil
}

// Expire implements pipeline.Applier. No Job ends here.
func (*memory) Expire(_ context.Context, child *unstructured.Unstructured, _ int64) (apply.Outcome, error) {
	return apply.Outcome{Action: apply.None, Object: child}, nil
}

// Delete implements pipeline.Applier.
func (m *memory) Delete(_ context.Context, child *unstructured.Unstructured) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.children, keyOf(child))
	return nil
}

// Orphan implements pipeline.Applier.
func (m *memory) Orphan(ctx context.Context, _ apply.Owner, child *unstructured.Unstructured) error {
	return m.Delete(ctx, child)
}

// Patch implements pipeline.Patcher.
func (m *memory) Patch(_ context.Context, patch apply.Patch, live *unstructured.Unstructured) (apply.Outcome, error) {
	m.patches = append(m.patches, patch.Object)
	return apply.Outcome{Action: apply.None, Object: live}, nil
}

// Withdraw implements pipeline.Patcher. Nothing was patched before.
func (*memory) Withdraw(context.Context, string, *unstructured.Unstructured, *taken.Fields) (apply.Withdrawn, error) {
	return apply.Withdrawn{}, nil
}

// Mark implements pipeline.Marker.
func (*memory) Mark(_ context.Context, resource *unstructured.Unstructured, marks apply.Marks) (*unstructured.Unstructured, error) {
	if marks.On(resource) {
		return resource, nil
	}
	answer := resource.DeepCopy()
	set := answer.GetLabels()
	if set == nil {
		set = map[string]string{}
	}
	set[v1alpha1.LabelManaged] = v1alpha1.True
	annotations := answer.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, marks.Annotations)
	answer.SetLabels(set)
	answer.SetAnnotations(annotations)
	answer.SetFinalizers(marks.Finalizers)
	return answer, nil
}

// Finish implements pipeline.Marker.
func (*memory) Finish(context.Context, *unstructured.Unstructured, []string) error { return nil }

// Gone implements pipeline.Marker: nobody deletes the resource.
func (*memory) Gone(context.Context, *unstructured.Unstructured) (bool, error) { return false, nil }

// Namespaced implements pipeline.Kinds.
func (m *memory) Namespaced(kind schema.GroupVersionKind) (bool, error) {
	return isNamespaced(m.Mapper, kind, m.Words.GiveCRD)
}

// Schema implements pipeline.Kinds.
func (m *memory) Schema(kind schema.GroupVersionKind) *apiextensionsv1.JSONSchemaProps {
	return m.CRDs.Schema(kind)
}

// Observe implements pipeline.Observer.
func (m *memory) Observe(_ context.Context, kind schema.GroupVersionKind) error {
	_, err := m.Namespaced(kind)
	return err
}

// Get implements pipeline.Observer. What is given comes before what the cluster has.
func (m *memory) Get(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	if given := m.Known.get(kind, namespace, name); given != nil || m.Cluster == nil {
		return given
	}
	obj, err := m.Cluster.Get(m.ctx(), kind, namespace, name)
	m.failed(err)
	return obj
}

// Select implements pipeline.Observer.
func (m *memory) Select(kind schema.GroupVersionKind, namespace string, selector labels.Selector) []*unstructured.Unstructured {
	given := m.Known.list(kind, namespace, selector)
	if m.Cluster == nil {
		return given
	}
	all, err := m.Cluster.List(m.ctx(), kind, namespace, selector)
	m.failed(err)
	for _, obj := range all {
		if m.Known.get(kind, obj.GetNamespace(), obj.GetName()) == nil {
			given = append(given, obj)
		}
	}
	slices.SortStableFunc(given, byName)
	return given
}

// Dependency implements pipeline.Observer. Every dependency counts as met: otherwise nothing would be rendered.
func (m *memory) Dependency(string) pipeline.DependencyState {
	return pipeline.DependencyState{OfBox: true, State: v1alpha1.HealthHealthy, Started: true}
}

// Box implements pipeline.Observer.
func (m *memory) Box(name string) schema.GroupVersionKind {
	for _, b := range m.Boxes {
		if b.Name == name {
			return b.Plan.CRD.Kind
		}
	}
	return schema.GroupVersionKind{}
}
