package pipeline

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/test/fixtures"
)

// now is the time at which the tests run.
var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

var (
	deploymentKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	serviceKind    = schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	configMapKind  = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	jobKind        = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	ingressKind    = schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}
)

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
      many: {type: array, items: {type: array, items: {type: string}}}
      named: {type: object, additionalProperties: {type: object, additionalProperties: {type: string}}}
      observedGeneration: {type: integer}
      conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// websites is the CRD that the boxes of these tests serve.
func websites(tb testing.TB) CRD {
	tb.Helper()
	var s apiextensionsv1.JSONSchemaProps
	if err := yaml.UnmarshalStrict([]byte(websiteSchema), &s); err != nil {
		tb.Fatal(err)
	}
	return CRD{
		Name: "websites.demo.example.com", UID: "crd", Namespaced: true, HasStatus: true, Schema: &s,
		Kind:     schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Website"},
		Resource: schema.GroupVersionResource{Group: "demo.example.com", Version: "v1", Resource: "websites"},
	}
}

// boxOf reads the spec of a box.
func boxOf(tb testing.TB, spec string) *v1alpha1.OperatorBox {
	tb.Helper()
	box := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "website", UID: "box", Generation: 1}}
	if err := yaml.UnmarshalStrict([]byte(spec), &box.Spec); err != nil {
		tb.Fatal(err)
	}
	box.Spec.CRD.Name = "websites.demo.example.com"
	return box
}

// planOf compiles a box that has no mistakes.
func planOf(tb testing.TB, spec string) *Plan {
	tb.Helper()
	plan, errs := Compile(boxOf(tb, spec), Env{CRD: websites(tb)})
	if len(errs) > 0 {
		tb.Fatalf("the box does not compile: %v", errs.ToAggregate())
	}
	return plan
}

// website is a resource whose spec is the given YAML.
var website = fixtures.Resource

// ports are the side effects of a run, as functions. Those that are nil belong to the world.
type ports struct {
	*world

	others       []*unstructured.Unstructured // what the box does not own
	boxes        map[string]schema.GroupVersionKind
	schemas      map[schema.GroupVersionKind]*apiextensionsv1.JSONSchemaProps
	missing      []string // kinds that are not installed
	dependencies map[string]DependencyState

	gone  bool // the resource
	asked int  // how often it was asked whether the resource is gone

	kinds      func() []schema.GroupVersionKind
	owned      func(kind schema.GroupVersionKind, owner types.UID) []*unstructured.Unstructured
	apply      func(ctx context.Context, owner apply.Owner, child apply.Child) (apply.Outcome, error)
	delete     func(ctx context.Context, child *unstructured.Unstructured) error
	orphan     func(ctx context.Context, owner apply.Owner, child *unstructured.Unstructured) error
	mark       func(ctx context.Context, resource *unstructured.Unstructured, marks apply.Marks) (*unstructured.Unstructured, error)
	finish     func(ctx context.Context, resource *unstructured.Unstructured, finalizers []string) error
	namespaced func(kind schema.GroupVersionKind) (bool, error)
}

func newPorts() *ports {
	w := &world{version: 100, declared: map[types.UID]string{}}
	return &ports{
		world: w, kinds: w.allKinds, owned: w.list, apply: w.applyChild, delete: w.deleteChild, orphan: w.orphanChild,
		mark: w.markResource, finish: w.finishResource,
		namespaced: func(schema.GroupVersionKind) (bool, error) { return true, nil },
	}
}

func (p *ports) ports() Ports {
	return Ports{Inventory: p, Applier: p, Marker: p, Kinds: p, Observer: p}
}

// run executes a plan once.
func (p *ports) run(plan *Plan, stored *unstructured.Unstructured) (*Run, error) {
	r := plan.NewRun(stored, now, p.ports())
	return r, plan.Execute(context.Background(), r)
}

func (p *ports) Schema(kind schema.GroupVersionKind) *apiextensionsv1.JSONSchemaProps {
	return p.schemas[kind]
}

// Observe, Get, Select and Box read what the box does not own.
func (p *ports) Observe(_ context.Context, kind schema.GroupVersionKind) error {
	if slices.Contains(p.missing, kind.Kind) {
		return &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}
	}
	return nil
}

func (p *ports) Get(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	for _, obj := range p.others {
		if obj.GroupVersionKind() == kind && obj.GetNamespace() == namespace && obj.GetName() == name {
			return obj
		}
	}
	return nil
}

func (p *ports) Select(kind schema.GroupVersionKind, namespace string, selector labels.Selector) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, obj := range p.others {
		if obj.GroupVersionKind() == kind && (namespace == "" || obj.GetNamespace() == namespace) && selector.Matches(labels.Set(obj.GetLabels())) {
			out = append(out, obj)
		}
	}
	return out
}

func (p *ports) Dependency(name string) DependencyState  { return p.dependencies[name] }
func (p *ports) Box(name string) schema.GroupVersionKind { return p.boxes[name] }

func (p *ports) Kinds() []schema.GroupVersionKind { return p.kinds() }

func (p *ports) Owned(kind schema.GroupVersionKind, resource *unstructured.Unstructured) []*unstructured.Unstructured {
	return p.owned(kind, resource.GetUID())
}

func (p *ports) Versions(kind schema.GroupVersionKind, resource *unstructured.Unstructured) iter.Seq2[types.UID, string] {
	return func(yield func(types.UID, string) bool) {
		for _, child := range p.Owned(kind, resource) {
			if !yield(child.GetUID(), child.GetResourceVersion()) {
				return
			}
		}
	}
}

func (p *ports) Apply(ctx context.Context, owner apply.Owner, child apply.Child) (apply.Outcome, error) {
	return p.apply(ctx, owner, child)
}

// Keep says whose a child is that is made once, and leaves everything else of it alone.
func (p *ports) Keep(_ context.Context, _ apply.Owner, child apply.Child, live *unstructured.Unstructured) (apply.Outcome, error) {
	if children.IDOf(live) == child.ID {
		return apply.Outcome{Action: apply.None, Object: live}, nil
	}
	return apply.Outcome{Action: apply.Changed, Object: p.reassign(live, child.ID)}, nil
}

func (p *ports) Expire(_ context.Context, job *unstructured.Unstructured, seconds int64) (apply.Outcome, error) {
	p.edit(job.GetName(), func(c *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(c.Object, seconds, "spec", "ttlSecondsAfterFinished"); err != nil {
			panic(err)
		}
	})
	p.wrote = append(p.wrote, fmt.Sprintf("expire Job/%s %d", job.GetName(), seconds))
	return apply.Outcome{Action: apply.Changed, Object: job}, nil
}

func (p *ports) Delete(ctx context.Context, child *unstructured.Unstructured) error {
	return p.delete(ctx, child)
}

func (p *ports) Orphan(ctx context.Context, owner apply.Owner, child *unstructured.Unstructured) error {
	return p.orphan(ctx, owner, child)
}

func (p *ports) Mark(ctx context.Context, resource *unstructured.Unstructured, marks apply.Marks) (*unstructured.Unstructured, error) {
	return p.mark(ctx, resource, marks)
}

func (p *ports) Finish(ctx context.Context, resource *unstructured.Unstructured, finalizers []string) error {
	return p.finish(ctx, resource, finalizers)
}

// Gone counts how often it is asked whether the resource is still there.
func (p *ports) Gone(context.Context, *unstructured.Unstructured) (bool, error) {
	p.asked++
	return p.gone, nil
}

func (p *ports) Namespaced(kind schema.GroupVersionKind) (bool, error) { return p.namespaced(kind) }

// world is a cluster in memory.
type world struct {
	mu       sync.Mutex
	children []*unstructured.Unstructured // guarded by mu
	version  int                          // guarded by mu
	wrote    []string                     // what was done, in its order; guarded by mu
	declared map[types.UID]string         // what was applied last, and the hash that stands on it; guarded by mu
}

func (w *world) allKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{deploymentKind, jobKind, ingressKind, configMapKind, serviceKind}
}

func (w *world) list(kind schema.GroupVersionKind, owner types.UID) []*unstructured.Unstructured {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*unstructured.Unstructured
	for _, c := range w.children {
		if c.GroupVersionKind() == kind && c.GetLabels()[v1alpha1.LabelOwnerUID] == string(owner) {
			out = append(out, c)
		}
	}
	return out
}

func (w *world) next() string {
	w.version++
	return strconv.Itoa(w.version)
}

func (w *world) log(verb string, obj *unstructured.Unstructured) {
	w.wrote = append(w.wrote, fmt.Sprintf("%s %s/%s", verb, obj.GetKind(), obj.GetName()))
}

func (w *world) applyChild(_ context.Context, owner apply.Owner, child apply.Child) (apply.Outcome, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	obj := child.Object.DeepCopy()
	hash, declared := owner.Claimed(child).GetAnnotations()[v1alpha1.AnnotationApplied], drift.Hash(obj)
	at := slices.IndexFunc(w.children, func(c *unstructured.Unstructured) bool { return sameObject(c, obj) })
	if at >= 0 {
		live := w.children[at]
		switch {
		case live.GetDeletionTimestamp() != nil:
			return apply.Outcome{Action: apply.Terminating, Object: live}, nil
		case child.Once, w.declared[live.GetUID()] == declared+live.GetAnnotations()[v1alpha1.AnnotationApplied] && children.IDOf(live) == child.ID:
			return apply.Outcome{Action: apply.None, Object: live}, nil
		}
		obj.SetUID(live.GetUID())
		if live.Object["status"] != nil {
			obj.Object["status"] = live.Object["status"]
		}
	} else {
		obj.SetUID(types.UID("child-" + w.next()))
	}
	w.declared[obj.GetUID()] = declared + hash
	claim(obj, owner, child.ID, hash)
	if owner.References(child) {
		obj.SetOwnerReferences([]metav1.OwnerReference{{UID: owner.UID(), Name: owner.Resource.GetName(), Controller: new(true)}})
	}
	obj.SetResourceVersion(w.next())
	if at >= 0 {
		w.children[at] = obj
		w.log("change", obj)
		return apply.Outcome{Action: apply.Changed, Object: obj}, nil
	}
	w.children = append(w.children, obj)
	w.log("create", obj)
	return apply.Outcome{Action: apply.Created, Object: obj}, nil
}

func claim(obj *unstructured.Unstructured, owner apply.Owner, id, hash string) {
	labels := obj.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1alpha1.LabelOwnerUID], labels[v1alpha1.LabelBox] = string(owner.UID()), owner.Box
	obj.SetLabels(labels)
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.AnnotationDeclaration], annotations[v1alpha1.AnnotationApplied] = id, hash
	obj.SetAnnotations(annotations)
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: v1alpha1.FieldManager}})
}

// put adds a child that somebody made before the test.
func (w *world) put(kind schema.GroupVersionKind, name, id string, change ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	w.mu.Lock()
	defer w.mu.Unlock()
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(kind)
	obj.SetNamespace("team-a")
	obj.SetName(name)
	obj.SetUID(types.UID("child-" + w.next()))
	obj.SetResourceVersion(w.next())
	owner := apply.Owner{Resource: &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"uid": "u1"}}}, Box: "website"}
	claim(obj, owner, id, "")
	for _, f := range change {
		f(obj)
	}
	w.children = append(w.children, obj)
	return obj
}

// edit changes a child as somebody else would.
func (w *world) edit(name string, change func(*unstructured.Unstructured)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, c := range w.children {
		if c.GetName() == name {
			c = c.DeepCopy()
			change(c)
			c.SetResourceVersion(w.next())
			w.children[i] = c
		}
	}
}

func (w *world) deleteChild(_ context.Context, child *unstructured.Unstructured) error {
	w.remove("delete", child)
	return nil
}

// holdChild is the deletion of a child that has finalizers of somebody else.
func (w *world) holdChild(_ context.Context, child *unstructured.Unstructured) error {
	w.edit(child.GetName(), func(c *unstructured.Unstructured) { c.SetDeletionTimestamp(&metav1.Time{Time: now}) })
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log("delete", child)
	return nil
}

func (w *world) orphanChild(_ context.Context, _ apply.Owner, child *unstructured.Unstructured) error {
	w.remove("orphan", child)
	return nil
}

func (w *world) remove(verb string, child *unstructured.Unstructured) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log(verb, child)
	w.children = slices.DeleteFunc(slices.Clone(w.children), func(c *unstructured.Unstructured) bool { return c.GetUID() == child.GetUID() })
}

func (w *world) markResource(_ context.Context, resource *unstructured.Unstructured, marks apply.Marks) (*unstructured.Unstructured, error) {
	if marks.On(resource) && !marks.Fewer {
		return resource, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log("mark", resource)
	answer := resource.DeepCopy()
	answer.SetLabels(map[string]string{v1alpha1.LabelManaged: v1alpha1.True})
	annotations := answer.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	for _, list := range []string{v1alpha1.AnnotationPatches, v1alpha1.AnnotationHookConditions, v1alpha1.AnnotationRolledBack, v1alpha1.AnnotationFinalizers} {
		if marks.Annotations[list] == "" {
			delete(annotations, list) // as an apply takes off what it no longer names
		}
	}
	maps.Copy(annotations, marks.Annotations)
	answer.SetAnnotations(annotations)
	finalizers := answer.GetFinalizers()
	for _, f := range marks.Finalizers {
		if !slices.Contains(finalizers, f) {
			finalizers = append(finalizers, f)
		}
	}
	answer.SetFinalizers(finalizers)
	answer.SetResourceVersion(w.next())
	return answer, nil
}

func (w *world) finishResource(_ context.Context, resource *unstructured.Unstructured, finalizers []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrote = append(w.wrote, fmt.Sprintf("finish %s %v", resource.GetName(), finalizers))
	return nil
}

// reassign has a child say that another declaration made it.
func (w *world) reassign(live *unstructured.Unstructured, id string) *unstructured.Unstructured {
	w.mu.Lock()
	defer w.mu.Unlock()
	obj := live.DeepCopy()
	annotations := obj.GetAnnotations()
	annotations[v1alpha1.AnnotationDeclaration] = id
	obj.SetAnnotations(annotations)
	obj.SetResourceVersion(w.next())
	for i, c := range w.children {
		if c.GetUID() == live.GetUID() {
			w.children[i] = obj
		}
	}
	w.log("reassign", obj)
	return obj
}

// done gives what was done since it was last asked.
func (w *world) done() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.wrote
	w.wrote = nil
	return out
}

// expectStep checks the step, class and reason of an error.
func expectStep(g *gomega.WithT, err error, step string, class Class, reason string) {
	g.Expect(err).To(gomega.HaveOccurred())
	got := AsStepError(err)
	g.Expect(got.Step).To(gomega.Equal(step))
	g.Expect(got.Class).To(gomega.Equal(class))
	g.Expect(got.Reason).To(gomega.Equal(reason))
}

// answer is an error as an API server sends it.
func answer(code int32, reason metav1.StatusReason, message string, causes ...metav1.StatusCause) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message, Details: &metav1.StatusDetails{Causes: causes},
	}}
}

// sameObject says whether two objects have one kind, namespace and name.
func sameObject(a, b *unstructured.Unstructured) bool {
	return a.GroupVersionKind() == b.GroupVersionKind() && a.GetNamespace() == b.GetNamespace() && a.GetName() == b.GetName()
}
