package act

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/revision"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/person"
)

var shopKind = schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Shop"}

// world is a box with one resource, and somebody who may do all of what is said here.
type world struct {
	*Hand

	rights    map[string]bool // by what described says
	lacking   string          // the one that is missing
	patched   []string
	events    []string
	kept      map[string]*v1alpha1.OperatorBoxSpec
	resource  *unstructured.Unstructured
	refuse    error // of the writer of resources
	conflicts int   // how many writes of boxes are conflicts
	boxes     client.WithWatch
}

func (w *world) List(context.Context, string) ([]appsv1.ControllerRevision, error) {
	return []appsv1.ControllerRevision{{ObjectMeta: metav1.ObjectMeta{Name: "shop-1"}}}, nil
}

func (w *world) Read(_ context.Context, box string, of revision.Ref) (*v1alpha1.OperatorBoxSpec, error) {
	if spec, found := w.kept[of.Name]; found {
		return spec, nil
	}
	return nil, revision.Error("revision " + of.Name + " of box " + box + " is no longer kept")
}

// writer notes patches of resources.
type writer struct {
	client.Writer

	world *world
}

func (w writer) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	data, err := patch.Data(obj)
	if err != nil {
		return err
	}
	w.world.patched = append(w.world.patched, obj.GetNamespace()+"/"+obj.GetName()+" "+string(data))
	return w.world.refuse
}

func box() *v1alpha1.OperatorBox {
	b := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: "box-uid", Generation: 7}}
	b.Spec.CRD.Name = "shops.demo.example.com"
	b.Spec.ServiceAccountRef = &v1alpha1.ServiceAccountReference{Namespace: "team", Name: "shop"}
	b.Spec.Workers = new(int32(5))
	b.Status.CRD.Name, b.Status.CRD.Version, b.Status.CRD.Kind = "shops.demo.example.com", "v1", "Shop"
	return b
}

func newWorld(t *testing.T, of *v1alpha1.OperatorBox) *world {
	t.Helper()
	w := &world{kept: map[string]*v1alpha1.OperatorBoxSpec{}, rights: map[string]bool{}}
	w.resource = &unstructured.Unstructured{}
	w.resource.SetGroupVersionKind(shopKind)
	w.resource.SetNamespace("team")
	w.resource.SetName("cart")
	w.resource.SetUID("uid")
	scheme := runtime.NewScheme()
	NewWithT(t).Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	w.boxes = fake.NewClientBuilder().WithScheme(scheme).WithObjects(of).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if w.conflicts > 0 {
				w.conflicts--
				return apierrors.NewConflict(schema.GroupResource{Resource: resourceBoxes}, obj.GetName(), errors.New("a status was written"))
			}
			return c.Patch(ctx, obj, patch, opts...)
		},
	}).Build()
	w.Hand = &Hand{Ports: Ports{
		Own: w.boxes, Boxes: w.boxes, Revisions: w, For: &person.Person{Name: "ann"}, Clock: clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
		Resource: func(_ context.Context, _ schema.GroupVersionKind, _, name string) (*unstructured.Unstructured, error) {
			if name != w.resource.GetName() {
				return nil, nil //nolint:nilnil // there is none
			}
			return w.resource, nil
		},
		ResourceOf: func(schema.GroupVersionKind) (schema.GroupResource, error) {
			return schema.GroupResource{Group: "demo.example.com", Resource: "shops"}, nil
		},
		Writer: func(*v1alpha1.OperatorBox) (client.Writer, error) { return writer{world: w}, nil },
		May: func(_ context.Context, want person.Right) (bool, error) {
			w.rights[described(want)] = true
			if w.lacking == "broken" {
				return false, errors.New("no answer")
			}
			return described(want) != w.lacking, nil
		},
		Tell: func(_ runtime.Object, reason, action, note string) {
			w.events = append(w.events, reason+" "+action+" "+note)
		},
	}}
	return w
}

// asked are the rights that were asked for.
func (w *world) asked() (all []string) {
	for right := range w.rights {
		all = append(all, right)
	}
	return all
}

func (w *world) now(t *testing.T) *v1alpha1.OperatorBox {
	t.Helper()
	b := &v1alpha1.OperatorBox{}
	NewWithT(t).Expect(w.boxes.Get(t.Context(), types.NamespacedName{Name: "shop"}, b)).To(Succeed())
	return b
}

func annotated(key, value string) func(*unstructured.Unstructured) {
	return func(r *unstructured.Unstructured) { r.SetAnnotations(map[string]string{key: value}) }
}

const rolledBack = `{"generation":1,"revision":"shop-1","snapshot":"s","held":true}`

func TestActionsOnAResource(t *testing.T) {
	paused, back := annotated(v1alpha1.AnnotationPaused, "true"), annotated(v1alpha1.AnnotationRolledBack, rolledBack)
	deleted := func(r *unstructured.Unstructured) { r.SetDeletionTimestamp(&metav1.Time{Time: time.Now()}) }
	const at, by = `"2026-01-02T03:04:05Z"`, `,\"person\":\"ann\",\"time\":\"2026-01-02T03:04:05Z\"}"`
	last := func(action string) string {
		return `"orkestra.orkspace.io/last-action":"{\"action\":\"` + action + `\"` + by
	}
	for name, tc := range map[string]struct {
		as     func(*unstructured.Unstructured)
		action api.ActionName
		want   string // the annotations that are written; empty: nothing is
		verb   string
		why    string
	}{
		"reconcile":                {nil, api.Reconcile, last("reconcile") + `,"orkestra.orkspace.io/reconcile-at":` + at, "reconcile", ""},
		"reconcile, paused":        {paused, api.Reconcile, "", "", "it is paused"},
		"reconcile, rolled back":   {back, api.Reconcile, "", "", "release it"},
		"reconcile, being deleted": {deleted, api.Reconcile, last("reconcile") + `,"orkestra.orkspace.io/reconcile-at":` + at, "reconcile", ""},
		"pause":                    {nil, api.Pause, last("pause") + `,"orkestra.orkspace.io/paused":"true"`, "pause", ""},
		"pause, paused":            {paused, api.Pause, "", "", "it is paused already"},
		"pause, being deleted":     {deleted, api.Pause, "", "", "it is being deleted"},
		"pause, rolled back":       {back, api.Pause, last("pause") + `,"orkestra.orkspace.io/paused":"true"`, "pause", ""},
		"resume":                   {paused, api.Resume, last("resume") + `,"orkestra.orkspace.io/paused":null`, "pause", ""},
		"resume, not paused":       {nil, api.Resume, "", "", "it is not paused"},
		"release":                  {back, api.Release, last("release") + `,"orkestra.orkspace.io/reconcile-at":` + at, "rollback", ""},
		"release, not rolled back": {nil, api.Release, "", "", "it is not rolled back"},
		"of a box":                 {nil, api.Suspend, "", "", `no action "suspend"`},
	} {
		t.Run(name, func(t *testing.T) {
			g, w := NewWithT(t), newWorld(t, box())
			if tc.as != nil {
				tc.as(w.resource)
			}
			done, err := w.ActOnResource(t.Context(), "shop", "team", "cart", tc.action, api.Order{UID: "uid"})
			offered, failed := w.ResourceActions(t.Context(), "shop", "team", "cart")
			g.Expect(failed).NotTo(HaveOccurred())
			if tc.want == "" {
				g.Expect(err).To(MatchError(ContainSubstring(tc.why)))
				g.Expect(w.patched).To(BeEmpty())
				g.Expect(w.events).To(BeEmpty())
				g.Expect(offered.Actions).NotTo(ContainElement(HaveField("Name", tc.action)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(done.Message).NotTo(BeEmpty())
			g.Expect(w.patched).To(HaveExactElements(`team/cart {"metadata":{"annotations":{` + tc.want + `},"uid":"uid"}}`))
			g.Expect(w.events).To(HaveExactElements(ContainSubstring(`asked for by "ann"`)))
			g.Expect(w.asked()).To(ContainElements(tc.verb+` shops.demo.example.com "cart" in namespace "team"`, `patch shops.demo.example.com "cart" in namespace "team"`))
			g.Expect(offered.Actions).To(ContainElement(Equal(api.Action{Name: tc.action, May: true})))
		})
	}
}

// TestASuspendedBoxServesNothing: what asks for a reconcile would be said to be done, and nothing would come of it.
func TestASuspendedBoxServesNothing(t *testing.T) {
	g := NewWithT(t)
	suspended := box()
	suspended.Spec.Suspend = true
	w := newWorld(t, suspended)
	_, err := w.ActOnResource(t.Context(), "shop", "team", "cart", api.Reconcile, api.Order{UID: "uid"})
	g.Expect(err).To(MatchError(ContainSubstring(`its box "shop" is suspended, so that nothing is made or corrected: resume the box`)))
	g.Expect(w.patched).To(BeEmpty())
	offered, err := w.ResourceActions(t.Context(), "shop", "team", "cart")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(offered.Actions).To(ConsistOf(HaveField("Name", api.Pause)))
}

// TestEachRightIsNeeded: to act takes all of those that are asked for, and the refusal names the one that is missing.
func TestEachRightIsNeeded(t *testing.T) {
	for right, action := range map[string]api.ActionName{
		`reconcile shops.demo.example.com "cart" in namespace "team"`: api.Reconcile,
		`pause shops.demo.example.com "cart" in namespace "team"`:     api.Pause,
		`patch shops.demo.example.com "cart" in namespace "team"`:     api.Pause,
	} {
		g, w := NewWithT(t), newWorld(t, box())
		w.lacking = right
		_, err := w.ActOnResource(t.Context(), "shop", "team", "cart", action, api.Order{UID: "uid"})
		g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%s: %v", right, err)
		g.Expect(err).To(MatchError(ContainSubstring("you may not " + right)))
		g.Expect(w.patched).To(BeEmpty())
		offered, err := w.ResourceActions(t.Context(), "shop", "team", "cart")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(offered.Actions).To(ContainElement(And(HaveField("Name", action), HaveField("May", false), HaveField("Why", ContainSubstring(right)))))
	}
	judged := box()
	judged.Spec.Admission = &v1alpha1.AdmissionSpec{}
	for right, action := range map[string]api.ActionName{
		`suspend operatorboxes.orkestra.orkspace.io "shop"`:      api.Suspend,
		`patch operatorboxes.orkestra.orkspace.io "shop"`:        api.Suspend,
		`impersonate serviceaccounts "shop" in namespace "team"`: api.Suspend,
		`operate shops.demo.example.com`:                         api.Suspend,
		`enforce shops.demo.example.com`:                         api.Suspend,
		`rollback operatorboxes.orkestra.orkspace.io "shop"`:     api.GoBack,
	} {
		g, w := NewWithT(t), newWorld(t, judged.DeepCopy())
		w.lacking = right
		order := api.Order{UID: "box-uid"}
		if action == api.GoBack {
			order.Revision, order.Generation = "shop-1", 7
		}
		_, err := w.ActOnBox(t.Context(), "shop", action, order)
		g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%s: %v", right, err)
		g.Expect(err).To(MatchError(ContainSubstring("you may not " + right)))
		g.Expect(w.now(t).Spec.Suspend).To(BeFalse())
		if action == api.GoBack {
			_, err = w.FormerSpecs(t.Context(), "shop")
			g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "what a box has said is for those who may bring it back")
			_, err = w.Return(t.Context(), "shop", "shop-1")
			g.Expect(apierrors.IsForbidden(err)).To(BeTrue())
		}
	}
	for name, live := range map[string]*v1alpha1.OperatorBox{"rules that come back": box(), "rules that go": judged} {
		g, w := NewWithT(t), newWorld(t, live.DeepCopy())
		former := box().Spec.DeepCopy()
		former.Workers = new(int32(3))
		if live != judged {
			former.Admission = &v1alpha1.AdmissionSpec{}
		}
		w.kept["shop-1"], w.lacking = former, "enforce shops.demo.example.com"
		_, err := w.ActOnBox(t.Context(), "shop", api.GoBack, api.Order{UID: "box-uid", Revision: "shop-1", Generation: 7})
		g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%s: %v", name, err)
		g.Expect(w.now(t).Spec.Workers).To(HaveValue(BeEquivalentTo(5)), name)
	}
	g, none := NewWithT(t), box()
	none.Spec.ServiceAccountRef = nil
	w := newWorld(t, none)
	w.lacking = `use operatorboxes.orkestra.orkspace.io/manager-identity "shop"`
	_, err := w.ActOnBox(t.Context(), "shop", api.Suspend, api.Order{UID: "box-uid"})
	g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
}

// TestWithoutAnAnswerNothingIsDone.
func TestWithoutAnAnswerNothingIsDone(t *testing.T) {
	g, w := NewWithT(t), newWorld(t, box())
	w.lacking = "broken"
	_, err := w.ActOnResource(t.Context(), "shop", "team", "cart", api.Pause, api.Order{UID: "uid"})
	g.Expect(apierrors.IsServiceUnavailable(err)).To(BeTrue(), "%v", err)
	_, err = w.ResourceActions(t.Context(), "shop", "team", "cart")
	g.Expect(apierrors.IsServiceUnavailable(err)).To(BeTrue(), "%v", err)
	g.Expect(w.patched).To(BeEmpty())
}

// TestWhatWasMadeAgainIsAnother.
func TestWhatWasMadeAgainIsAnother(t *testing.T) {
	g, w := NewWithT(t), newWorld(t, box())
	_, err := w.ActOnResource(t.Context(), "shop", "team", "cart", api.Pause, api.Order{UID: "former"})
	g.Expect(apierrors.IsConflict(err)).To(BeTrue())
	_, err = w.ActOnBox(t.Context(), "shop", api.Suspend, api.Order{UID: "former"})
	g.Expect(apierrors.IsConflict(err)).To(BeTrue())
	_, err = w.ActOnResource(t.Context(), "shop", "team", "gone", api.Pause, api.Order{UID: "uid"})
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
	_, err = w.ActOnBox(t.Context(), "gone", api.Suspend, api.Order{UID: "uid"})
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
	g.Expect(w.patched).To(BeEmpty())
	g.Expect(w.now(t).Spec.Suspend).To(BeFalse())
}

// TestTheBoxMayNot: it is not the person who lacks the right.
func TestTheBoxMayNot(t *testing.T) {
	g, w := NewWithT(t), newWorld(t, box())
	w.refuse = apierrors.NewForbidden(schema.GroupResource{Resource: "shops"}, "cart", errors.New("the account may not"))
	_, err := w.ActOnResource(t.Context(), "shop", "team", "cart", api.Pause, api.Order{UID: "uid"})
	g.Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
	g.Expect(err).To(MatchError(ContainSubstring(`The box "shop" may not do this itself`)))
	g.Expect(w.events).To(BeEmpty())
}

func TestSuspendAndResume(t *testing.T) {
	g, w := NewWithT(t), newWorld(t, box())
	w.conflicts = 2
	done, err := w.ActOnBox(t.Context(), "shop", api.Suspend, api.Order{UID: "box-uid"})
	g.Expect(err).NotTo(HaveOccurred(), "a status that was written in between is tried over")
	g.Expect(done.Action).To(Equal(api.Suspend))
	now := w.now(t)
	g.Expect(now.Spec.Suspend).To(BeTrue())
	var said last
	g.Expect(json.Unmarshal([]byte(now.Annotations[v1alpha1.AnnotationLastAction]), &said)).To(Succeed())
	g.Expect(said).To(Equal(last{Action: api.Suspend, Person: "ann", Time: "2026-01-02T03:04:05Z"}))
	_, err = w.ActOnBox(t.Context(), "shop", api.Suspend, api.Order{UID: "box-uid"})
	g.Expect(err).To(MatchError(ContainSubstring("it is suspended already")))
	offered, err := w.BoxActions(t.Context(), "shop")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(offered.Actions).To(HaveExactElements(HaveField("Name", api.Resume), HaveField("Name", api.GoBack)))
	_, err = w.ActOnBox(t.Context(), "shop", api.Resume, api.Order{UID: "box-uid"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(w.now(t).Spec.Suspend).To(BeFalse())
	_, err = w.ActOnBox(t.Context(), "shop", api.Resume, api.Order{UID: "box-uid"})
	g.Expect(err).To(MatchError(ContainSubstring("it is not suspended")))
	_, err = w.ActOnBox(t.Context(), "shop", api.Pause, api.Order{UID: "box-uid"})
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
	g.Expect(w.events).To(HaveExactElements(HavePrefix("SuspendRequested suspend "), HavePrefix("ResumeRequested resume ")))
	w.conflicts = 100
	_, err = w.ActOnBox(t.Context(), "shop", api.Suspend, api.Order{UID: "box-uid"})
	g.Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
	g.Expect(w.conflicts).To(BeNumerically(">", 80), "it is not tried for ever")
}

func TestGoingBack(t *testing.T) {
	spec := func(change func(*v1alpha1.OperatorBoxSpec)) *v1alpha1.OperatorBoxSpec {
		s := box().Spec.DeepCopy()
		s.Workers = new(int32(3))
		change(s)
		return s
	}
	for name, tc := range map[string]struct {
		spec  *v1alpha1.OperatorBoxSpec
		live  func(*v1alpha1.OperatorBox)
		order api.Order
		why   string
		seen  bool // the preview says it, too
	}{
		"to a former one":         {spec: spec(func(*v1alpha1.OperatorBoxSpec) {})},
		"while it is suspended":   {spec: spec(func(*v1alpha1.OperatorBoxSpec) {}), live: func(b *v1alpha1.OperatorBox) { b.Spec.Suspend = true }},
		"to another account":      {spec: spec(func(s *v1alpha1.OperatorBoxSpec) { s.ServiceAccountRef.Name = "root" }), why: "acts as another account", seen: true},
		"to another namespace":    {spec: spec(func(s *v1alpha1.OperatorBoxSpec) { s.ServiceAccountRef.Namespace = "root" }), why: "acts as another account", seen: true},
		"to no account":           {spec: spec(func(s *v1alpha1.OperatorBoxSpec) { s.ServiceAccountRef = nil }), why: "acts as another account", seen: true},
		"to another CRD":          {spec: spec(func(s *v1alpha1.OperatorBoxSpec) { s.CRD.Name = "carts.demo.example.com" }), why: "serves another CRD", seen: true},
		"to what it is":           {spec: spec(func(s *v1alpha1.OperatorBoxSpec) { s.Workers = new(int32(5)) }), why: "is that of the revision already", seen: true},
		"of a generation before":  {spec: spec(func(*v1alpha1.OperatorBoxSpec) {}), order: api.Order{UID: "box-uid", Revision: "shop-1", Generation: 6}, why: "has changed since the difference was shown"},
		"to one that is not kept": {spec: spec(func(*v1alpha1.OperatorBoxSpec) {}), order: api.Order{UID: "box-uid", Revision: "shop-2", Generation: 7}, why: "is no longer kept"},
		"without a revision":      {spec: spec(func(*v1alpha1.OperatorBoxSpec) {}), order: api.Order{UID: "box-uid", Generation: 7}, why: "wanted revision and generation"},
		"without a generation":    {spec: spec(func(*v1alpha1.OperatorBoxSpec) {}), order: api.Order{UID: "box-uid", Revision: "shop-1"}, why: "wanted revision and generation"},
		"what Argo CD keeps": {spec: spec(func(*v1alpha1.OperatorBoxSpec) {}), live: func(b *v1alpha1.OperatorBox) {
			b.Annotations = map[string]string{"argocd.argoproj.io/tracking-id": "x"}
		}, why: "Argo CD manages this box", seen: true},
	} {
		t.Run(name, func(t *testing.T) {
			g, b := NewWithT(t), box()
			if tc.live != nil {
				tc.live(b)
			}
			w := newWorld(t, b)
			w.kept["shop-1"] = tc.spec
			order := tc.order
			if order.UID == "" {
				order = api.Order{UID: "box-uid", Revision: "shop-1", Generation: 7}
			}
			shown, err := w.Return(t.Context(), "shop", "shop-1")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(shown.Generation).To(BeEquivalentTo(7))
			g.Expect(shown.UID).To(Equal("box-uid"))
			if tc.seen {
				g.Expect(shown.Why).To(ContainSubstring(tc.why))
			} else {
				g.Expect(shown.Why).To(BeEmpty())
			}
			_, err = w.ActOnBox(t.Context(), "shop", api.GoBack, order)
			if tc.why != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tc.why)))
				g.Expect(w.now(t).Spec).To(Equal(b.Spec))
				g.Expect(w.events).To(BeEmpty())
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(shown.Changes).To(ContainElement(api.FieldChange{Field: "workers", Before: new("5"), After: new("3")}))
			g.Expect(shown.Patch).To(Equal("spec:\n  workers: 3\n"))
			now := w.now(t)
			g.Expect(now.Spec.Workers).To(HaveValue(BeEquivalentTo(3)))
			g.Expect(now.Spec.Suspend).To(Equal(b.Spec.Suspend), "that is another action")
			if !b.Spec.Suspend {
				g.Expect(boxspec.Revision(now)).To(Equal(boxspec.Revision(&v1alpha1.OperatorBox{ObjectMeta: now.ObjectMeta, Spec: *tc.spec})))
			}
			g.Expect(w.events).To(HaveExactElements(HavePrefix("WentBack rollback ")))
		})
	}
	g, w := NewWithT(t), newWorld(t, box())
	_, err := w.ActOnBox(t.Context(), "shop", api.Suspend, api.Order{UID: "box-uid", Revision: "shop-1", Generation: 7})
	g.Expect(apierrors.IsBadRequest(err)).To(BeTrue(), "what an order says is never passed over")
}

func TestWhatGitKeeps(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.OperatorBox)
		by     string
	}{
		"nothing":            {func(*v1alpha1.OperatorBox) {}, ""},
		"a label of Argo CD": {func(b *v1alpha1.OperatorBox) { b.Labels = map[string]string{"argocd.argoproj.io/instance": "x"} }, `Argo CD manages this box (label argocd.argoproj.io/instance: "x")`},
		"an annotation of Argo CD": {func(b *v1alpha1.OperatorBox) {
			b.Annotations = map[string]string{"argocd.argoproj.io/tracking-id": "x"}
		}, `Argo CD manages this box (annotation`},
		"another of Argo CD": {func(b *v1alpha1.OperatorBox) {
			b.Annotations = map[string]string{"argocd.argoproj.io/installation-id": "x"}
		}, `Argo CD manages`},
		"a field of Argo CD":        {manager("argocd-controller", ""), `Argo CD manages this box (field manager "argocd-controller")`},
		"a field of its former one": {manager("argocd-application-controller", ""), "Argo CD"},
		"a Kustomization of Flux":   {func(b *v1alpha1.OperatorBox) { b.Labels = map[string]string{"kustomize.toolkit.fluxcd.io/name": "x"} }, "Flux manages this box (label kustomize.toolkit.fluxcd.io/name"},
		"a HelmRelease of Flux":     {func(b *v1alpha1.OperatorBox) { b.Labels = map[string]string{"helm.toolkit.fluxcd.io/name": "x"} }, "Flux manages"},
		"a field of Flux":           {manager("kustomize-controller", ""), "Flux manages"},
		"a field of its Helm":       {manager("helm-controller", ""), "Flux manages"},
		"a status":                  {manager("kustomize-controller", "status"), ""},
		"kubectl":                   {manager("kubectl-client-side-apply", ""), ""},
		"a label that Helm has too": {func(b *v1alpha1.OperatorBox) { b.Labels = map[string]string{"app.kubernetes.io/instance": "x"} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := box()
			tc.change(b)
			if tc.by == "" {
				NewWithT(t).Expect(managed(b)).To(BeEmpty())
				return
			}
			NewWithT(t).Expect(managed(b)).To(And(HavePrefix(tc.by), ContainSubstring("commit the change")))
		})
	}
}

func manager(name, subresource string) func(*v1alpha1.OperatorBox) {
	return func(b *v1alpha1.OperatorBox) {
		b.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: name, Subresource: subresource}}
	}
}

// TestWhoWritesThemselves is asked by the API server, and named by its audit log.
func TestWhoWritesThemselves(t *testing.T) {
	g, w := NewWithT(t), newWorld(t, box())
	w.For = nil
	_, err := w.ActOnResource(t.Context(), "shop", "team", "cart", api.Pause, api.Order{UID: "uid"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(w.patched).To(HaveExactElements(`team/cart {"metadata":{"annotations":{"orkestra.orkspace.io/paused":"true"},"uid":"uid"}}`))
	_, err = w.ActOnBox(t.Context(), "shop", api.Suspend, api.Order{UID: "box-uid"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(w.now(t).Annotations).To(BeEmpty())
	g.Expect(w.asked()).To(ConsistOf(`patch shops.demo.example.com "cart" in namespace "team"`, `patch operatorboxes.orkestra.orkspace.io "shop"`))
	g.Expect(w.events).To(BeEmpty())
}

// TestLongNames: an event takes 1,024 bytes.
func TestLongNames(t *testing.T) {
	g, w := NewWithT(t), newWorld(t, box())
	w.For.Name = strings.Repeat("\x1b", 2000)
	_, err := w.ActOnResource(t.Context(), "shop", "team", "cart", api.Pause, api.Order{UID: "uid"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(w.events).To(HaveExactElements(HaveLen(len("Paused pause ") + maxNote)))
}
