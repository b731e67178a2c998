package cleanup

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/rollback"
)

var web = types.NamespacedName{Namespace: "team-a", Name: "web"}

// resource is the last state of a resource that is gone.
func resource(uid types.UID, deleted bool, finalizers ...string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"big": "text"}}}
	obj.SetAPIVersion("demo.example.com/v1")
	obj.SetKind("Website")
	obj.SetNamespace(web.Namespace)
	obj.SetName(web.Name)
	obj.SetUID(uid)
	obj.SetFinalizers(finalizers)
	if deleted {
		obj.SetDeletionTimestamp(new(metav1.Now()))
	}
	return obj
}

// child is one that box website has made for an owner, whom it names.
func child(name string, owner types.UID, named bool) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(configMaps)
	obj.SetNamespace(web.Namespace)
	obj.SetName(name)
	obj.SetLabels(map[string]string{v1alpha1.LabelBox: "website", v1alpha1.LabelOwnerUID: string(owner)})
	if named {
		obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "demo.example.com/v1", Kind: "Website", Name: web.Name, UID: owner, Controller: new(true)}})
	}
	return obj
}

var configMaps = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

// cluster holds children, and deletes them at once.
type cluster struct {
	children []*unstructured.Unstructured
	there    bool                       // the owner is
	live     *unstructured.Unstructured // the owner, as the API server has it
	read     int                        // how often it was asked for
	err      error
	resolved []types.UID
	orphaned []string

	snapshots []types.UID // of these resources
}

func (*cluster) Kinds() []schema.GroupVersionKind { return []schema.GroupVersionKind{configMaps} }

func (c *cluster) Owned(kind schema.GroupVersionKind, owner *unstructured.Unstructured) []*unstructured.Unstructured {
	return c.WrittenFor(kind, owner.GetUID())
}

func (c *cluster) WrittenFor(_ schema.GroupVersionKind, owner types.UID) (out []*unstructured.Unstructured) {
	for _, child := range c.children {
		if child.GetLabels()[v1alpha1.LabelOwnerUID] == string(owner) {
			out = append(out, child)
		}
	}
	return out
}

func (c *cluster) Keeps(resource types.UID) bool { return slices.Contains(c.snapshots, resource) }

func (c *cluster) Forget(_ context.Context, resource types.UID) error {
	if c.err == nil {
		c.snapshots = slices.DeleteFunc(c.snapshots, func(of types.UID) bool { return of == resource })
	}
	return c.err
}

func (c *cluster) Made(schema.GroupVersionKind) iter.Seq[*unstructured.Unstructured] {
	return slices.Values(c.children)
}

func (c *cluster) remove(gone *unstructured.Unstructured) {
	var left []*unstructured.Unstructured
	for _, child := range c.children {
		if child != gone {
			left = append(left, child)
		}
	}
	c.children = left
}

func (c *cluster) Delete(_ context.Context, child *unstructured.Unstructured) error {
	if c.err == nil {
		c.remove(child)
	}
	return c.err
}

func (c *cluster) Orphan(_ context.Context, _ apply.Owner, child *unstructured.Unstructured) error {
	c.orphaned = append(c.orphaned, child.GetName())
	c.remove(child)
	return c.err
}

func (c *cluster) Metadata(context.Context, *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	c.read++
	return c.live, c.err
}

func (c *cluster) Read(ctx context.Context, resource *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return c.Metadata(ctx, resource)
}

func (c *cluster) Gone(context.Context, *unstructured.Unstructured) (bool, error) {
	return !c.there, nil
}

func (c *cluster) ResolveUnconfirmed(_ context.Context, owner types.UID) error {
	c.resolved = append(c.resolved, owner)
	return nil
}

func owners(children ...*unstructured.Unstructured) (*Owners, *cluster, *testingclock.FakeClock) {
	c, clk := &cluster{children: children}, testingclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	return &Owners{Box: "website", Inventory: c, Snapshots: c, Writer: c, Clock: clk, Plan: func() *pipeline.Plan { return &pipeline.Plan{} }}, c, clk
}

func TestOnlyWhatWasHeldAndNotDeletedIsLost(t *testing.T) {
	g := NewWithT(t)
	o, c, _ := owners(child("a", "first", false), child("b", "second", true))
	o.Lost(resource("cleaned up", true, v1alpha1.Finalizer))
	o.Lost(resource("released", false))
	o.Lost(resource("held by others", false, "example.com/other"))
	g.Expect(o.Pending()).To(BeEmpty())

	o.Lost(resource("first", false, v1alpha1.Finalizer))
	o.Lost(resource("second", false, v1alpha1.Finalizer, "example.com/other"))
	g.Expect(o.CleanUp(t.Context(), types.NamespacedName{Namespace: "team-b", Name: "web"})).To(BeZero())
	g.Expect(c.children).To(HaveLen(2))
	g.Expect(o.CleanUp(t.Context(), web)).To(Equal(time.Second), "one that was made again may be lost too")
	g.Expect(c.children).To(BeEmpty())
	g.Expect(c.resolved).To(ConsistOf(types.UID("first"), types.UID("second")), "children that may have been made are found first")
}

func TestALostOwnerIsRememberedUntilNothingIsLeft(t *testing.T) {
	g := NewWithT(t)
	kept := child("kept", "first", false)
	kept.SetAnnotations(map[string]string{v1alpha1.AnnotationDeletionPolicy: string(v1alpha1.ChildOrphan)})
	others := child("of another box", "first", false)
	others.SetLabels(map[string]string{v1alpha1.LabelBox: "other", v1alpha1.LabelOwnerUID: "first"})
	o, c, clk := owners(child("a", "first", false), kept, others)
	o.Lost(resource("first", false, v1alpha1.Finalizer))
	c.err = errors.New("away")
	g.Expect(o.CleanUp(t.Context(), web)).To(Equal(lostInterval))
	c.err = nil
	clk.Step(lostInterval)
	g.Expect(o.CleanUp(t.Context(), web)).To(Equal(lostInterval), "deleted is not gone")
	clk.Step(lostInterval)
	g.Expect(o.CleanUp(t.Context(), web)).To(BeZero())
	g.Expect(c.children).To(ConsistOf(others))
	g.Expect(c.orphaned).To(ContainElement("kept"))
	g.Expect(o.Pending()).To(BeEmpty(), "nothing is kept of what is cleaned up")
}

func TestWhatTheCollectorHasLeftIsDeletedAfterADelay(t *testing.T) {
	g := NewWithT(t)
	left, orphaned, shared := child("left", "first", true), child("orphaned", "first", false), child("shared", "first", true)
	shared.SetOwnerReferences(append(shared.GetOwnerReferences(), metav1.OwnerReference{UID: "another"}))
	o, c, clk := owners(left, orphaned, shared)
	g.Expect(o.CleanUp(t.Context(), web)).To(BeZero())
	o.Deleted(resource("lost", false, v1alpha1.Finalizer)) // that is another thing
	g.Expect(o.Pending()).To(BeEmpty())
	o.Deleted(resource("first", true))
	clk.Step(time.Second)
	o.Deleted(resource("second", true)) // one that was made again
	g.Expect(o.CleanUp(t.Context(), web)).To(Equal(backlogDelay - time.Second))
	g.Expect(c.children).To(HaveLen(3))
	g.Expect(o.all[web][0].resource.Object).To(Equal(map[string]any{
		"apiVersion": "demo.example.com/v1", "kind": "Website",
		"metadata": map[string]any{"namespace": "team-a", "name": "web", "uid": "first"},
	}), "nothing else is kept")
	clk.Step(backlogDelay - time.Second)
	g.Expect(o.CleanUp(t.Context(), web)).To(Equal(time.Second))
	g.Expect(c.children).To(ConsistOf(orphaned, shared), "the collector would not delete these either")
	clk.SetTime(clk.Now().Add(-time.Hour))
	g.Expect(o.CleanUp(t.Context(), web)).To(BeZero(), "the clock was set back")
	g.Expect(o.all).To(BeEmpty())
}

func TestTheBacklogOfAnOwnerThatIsThereIsLeftAlone(t *testing.T) {
	g := NewWithT(t)
	o, c, clk := owners(child("left", "first", true))
	o.Deleted(resource("first", true))
	clk.Step(backlogDelay)
	c.there = true
	g.Expect(o.CleanUp(t.Context(), web)).To(BeZero(), "its deletion is an event again")
	g.Expect(c.children).To(HaveLen(1))
	o.Deleted(resource("first", true))
	clk.Step(backlogDelay)
	c.there, c.err = false, errors.New("away")
	g.Expect(o.CleanUp(t.Context(), web)).To(Equal(backlogDelay), "it is tried again")
	clk.Step(backlogDelay)
	c.err = nil
	g.Expect(o.CleanUp(t.Context(), web)).To(BeZero())
	g.Expect(c.children).To(BeEmpty())
}

func TestABacklogFromBeforeTheStartIsFound(t *testing.T) {
	foreign := child("foreign", "other kind", true)
	foreign.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Website", Name: "web", UID: "other kind", Controller: new(true)}})
	elsewhere := child("elsewhere", "elsewhere", true)
	elsewhere.SetNamespace("team-b")
	for name, tc := range map[string]struct {
		crd        pipeline.CRD
		namespaces []string
		want       []types.NamespacedName
	}{
		"all namespaces":  {pipeline.CRD{Namespaced: true}, nil, []types.NamespacedName{web, {Namespace: "team-b", Name: "web"}}},
		"one namespace":   {pipeline.CRD{Namespaced: true}, []string{"team-a"}, []types.NamespacedName{web}},
		"a cluster scope": {pipeline.CRD{}, []string{"team-a"}, []types.NamespacedName{{Name: "web"}}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o, _, _ := owners(child("left", "gone", true), child("second", "gone", true), child("lives", "lives", true), child("no owner", "gone too", false), foreign, elsewhere)
			tc.crd.Kind = schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Website"}
			o.FindBacklog(tc.crd, tc.namespaces, func(uid types.UID) bool { return uid == "lives" })
			g.Expect(slices.Collect(maps.Keys(o.Pending()))).To(ConsistOf(tc.want))
			g.Expect(slices.Collect(maps.Values(o.Pending()))).To(HaveEach(backlogDelay), "the collector may be about to")
		})
	}
}

func TestAFollowerForgetsWhatAnotherProcessCleansUpAfter(t *testing.T) {
	g := NewWithT(t)
	o, _, clk := owners()
	o.Lost(resource("first", false, v1alpha1.Finalizer))
	clk.Step(otherCleansUp)
	o.Lost(resource("second", false, v1alpha1.Finalizer))
	o.Expire()
	g.Expect(o.all[web]).To(HaveLen(2))
	clk.Step(time.Second)
	o.Expire()
	g.Expect(o.all[web]).To(HaveLen(1))
	clk.Step(otherCleansUp)
	o.Expire()
	g.Expect(o.all).To(BeEmpty())
}

func TestSnapshotsOfResourcesThatAreGone(t *testing.T) {
	g := NewWithT(t)
	o, c, clk := owners()
	c.snapshots = []types.UID{"deleted", "gone", "lives"}
	o.Deleted(resource("deleted", true))
	o.Deleted(resource("gone", false))
	o.Deleted(resource("without any", false))
	c.err = errors.New("the API server is away")
	g.Expect(o.CleanUp(t.Context(), web)).To(Equal(backlogDelay), "it is tried again")
	g.Expect(c.snapshots).To(HaveLen(3))
	c.err = nil
	clk.Step(backlogDelay)
	o.CleanUp(t.Context(), web)
	g.Expect(c.snapshots).To(Equal([]types.UID{"lives"}))
}

func TestSnapshotsAreDeletedAtOnceAndChildrenLater(t *testing.T) {
	g := NewWithT(t)
	o, c, clk := owners(child("a", "deleted", true))
	c.snapshots = []types.UID{"deleted", "lives"}
	o.Deleted(resource("deleted", true))
	g.Expect(o.CleanUp(t.Context(), web)).To(Equal(backlogDelay))
	g.Expect(c.snapshots).To(Equal([]types.UID{"lives"}))
	g.Expect(c.children).To(HaveLen(1), "the garbage collector has its time")
	clk.Step(backlogDelay)
	g.Expect(o.CleanUp(t.Context(), web)).To(BeZero())
	g.Expect(c.children).To(BeEmpty())
}

func TestSnapshotsAreFoundAtTheStart(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Website"}
	taken := []rollback.Of{{Key: web, UID: "gone"}, {Key: types.NamespacedName{Namespace: "elsewhere", Name: "web"}, UID: "not watched"}, {Key: web, UID: "lives"}}
	lives := func(uid types.UID) bool { return uid == "lives" }
	for there, left := range map[bool][]types.UID{false: {"not watched", "lives"}, true: {"gone", "not watched", "lives"}} {
		g := NewWithT(t)
		o, c, _ := owners()
		c.there = there
		c.snapshots = []types.UID{"gone", "not watched", "lives"}
		o.FindForgotten(kind, taken, []string{web.Namespace}, lives)
		g.Expect(o.Pending()).To(HaveLen(1))
		g.Expect(o.CleanUp(t.Context(), web)).To(Equal(backlogDelay))
		g.Expect(c.snapshots).To(Equal(left), "the cache may be behind: the API server is asked")
	}
}

func TestChildrenOfALostOwnerGoInTheirOrder(t *testing.T) {
	g := NewWithT(t)
	box := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "website"}}
	g.Expect(json.Unmarshal([]byte(`{"deletion": {"children": "Reverse"}, "onReconcile": {"configmaps": [
		{"id": "read", "name": "read"}, {"id": "reader", "name": "reader", "after": ["read"]}]}}`), &box.Spec)).To(Succeed())
	box.Spec.CRD.Name = "websites.demo.example.com"
	plan, errs := pipeline.Compile(box, pipeline.Env{CRD: pipeline.CRD{
		Name: box.Spec.CRD.Name, Namespaced: true, Kind: schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Website"},
		Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"},
	}})
	g.Expect(errs).To(BeEmpty())
	made := func(id string) *unstructured.Unstructured {
		obj := child(id, "first", false)
		obj.SetAnnotations(map[string]string{v1alpha1.AnnotationDeclaration: id})
		return obj
	}
	o, c, clk := owners(made("read"), made("reader"))
	o.Plan = func() *pipeline.Plan { return plan }
	o.Lost(resource("first", false, v1alpha1.Finalizer))
	g.Expect(o.CleanUp(t.Context(), web)).To(Equal(lostInterval))
	g.Expect(c.children).To(HaveLen(1))
	g.Expect(c.children[0].GetName()).To(Equal("read"))
	clk.Step(lostInterval)
	g.Expect(o.CleanUp(t.Context(), web)).To(Equal(lostInterval))
	clk.Step(lostInterval)
	g.Expect(o.CleanUp(t.Context(), web)).To(BeZero())
	g.Expect(c.children).To(BeEmpty())
}
