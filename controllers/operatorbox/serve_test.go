package operatorbox

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/claims"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// A step that stops ends the way to a running box, but not what shows how far it came.
func TestStepsEndWhereOneStops(t *testing.T) {
	var done []string
	does := func(name string, stop bool, err error) step {
		return func(context.Context, *scope) (bool, error) {
			done = append(done, name)
			return stop, err
		}
	}
	failed := errors.New("failed")
	for name, tc := range map[string]struct {
		steps []step
		want  []string
		err   error
	}{
		"all":     {[]step{does("a", false, nil), does("b", false, nil)}, []string{"a", "b"}, nil},
		"a stop":  {[]step{does("a", true, nil), does("b", false, nil)}, []string{"a"}, nil},
		"a fault": {[]step{does("a", false, failed), does("b", false, nil)}, []string{"a"}, failed},
		"none":    {nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			done = nil
			err := walk(t.Context(), &scope{}, tc.steps)
			g.Expect(done).To(Equal(tc.want))
			if tc.err == nil {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(tc.err))
		})
	}
}

func TestEachBoxHasAnOrder(t *testing.T) {
	g := NewWithT(t)
	r := newProcess(t).Reconciler
	for _, tc := range []struct {
		s             scope
		steps, always int
	}{{scope{}, 11, 3}, {scope{draining: true}, 2, 1}, {scope{deleted: true}, 2, 1}, {scope{deleted: true, draining: true}, 2, 1}} {
		steps, always := r.order(&tc.s)
		g.Expect(steps).To(HaveLen(tc.steps))
		g.Expect(always).To(HaveLen(tc.always))
	}
}

func TestANewBoxRuns(t *testing.T) {
	g := NewWithT(t)
	p := newProcess(t, websites(), shop(websitesCRD))
	box, result := p.serves(t, "shop")
	g.Expect(result).To(BeZero(), "an event tells when there is something to do")
	g.Expect(box.Finalizers).To(ConsistOf(v1alpha1.Finalizer))
	plan := p.engine.Plan("shop")
	g.Expect(plan).NotTo(BeNil())
	g.Expect(plan.CleanupOnly).To(BeFalse())
	g.Expect(plan.CRD.Kind.Version).To(Equal("v1"))
	g.Expect(condition(box, v1alpha1.ConditionCRDEstablished)).To(Equal("True Established: the CRD is served"))
	g.Expect(condition(box, v1alpha1.ConditionCompiled)).To(Equal("True Compiled: the spec is valid"))
	g.Expect(condition(box, v1alpha1.ConditionPermissionsGranted)).To(Equal("True Granted: no right is missing"))
	g.Expect(condition(box, v1alpha1.ConditionReady)).To(Equal("False Starting: caches are filling"))
	g.Expect(box.Status.ObservedGeneration).To(Equal(box.Generation))
	g.Expect(box.Status.CRD).To(Equal(v1alpha1.CRDStatus{Name: websitesCRD, Version: "v1", Kind: "Website", Established: true}))
	g.Expect(box.Status.WatchedNamespaces).To(Equal([]string{"*"}))
	g.Expect(box.Status.RequiredRules).To(Equal(plan.Required()))
	g.Expect(p.reports["shop"]).To(Equal(health.Report{CRD: websitesCRD}))
	var kept appsv1.ControllerRevisionList
	g.Expect(p.kube.List(t.Context(), &kept, client.InNamespace("our-system"))).To(Succeed())
	g.Expect(kept.Items).To(HaveLen(1))
	g.Expect(p.Claims().Holder(websitesCRD)).To(Equal("shop"))

	p.engine.reports = map[string]health.Report{"shop": {Phase: health.Running, Revision: plan.Revision}}
	version := box.ResourceVersion
	box, _ = p.serves(t, "shop")
	g.Expect(condition(box, v1alpha1.ConditionReady)).To(Equal("True Running: the sub-controller runs"))
	g.Expect(box.Status.Revision).To(Equal(plan.Revision))
	g.Expect(box.Status.RevisionHash).To(Equal(plan.RevisionHash))
	g.Expect(p.engine.Plan("shop")).To(BeIdenticalTo(plan), "nothing has changed")
	g.Expect(box.ResourceVersion).NotTo(Equal(version))
	version = box.ResourceVersion
	box, _ = p.serves(t, "shop")
	g.Expect(box.ResourceVersion).To(Equal(version), "nothing differs, and nothing is written")
}

// Claims are what the process holds.
func (p *process) Claims() *claims.Store { return p.ports.Claims }

func TestWhatABoxCanNotRun(t *testing.T) {
	notEstablished, twoVersions, refused := websites(), serving(websites(), "v1", "v2"), websites()
	notEstablished.Status.Conditions = nil
	refused.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
		{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionFalse, Message: `"website" is taken`},
	}
	edited := func(edit func(*v1alpha1.OperatorBox)) *v1alpha1.OperatorBox {
		box := shop(websitesCRD)
		edit(box)
		return box
	}
	ran := edited(func(b *v1alpha1.OperatorBox) { b.Status.CRD = v1alpha1.CRDStatus{Name: websitesCRD, Version: "v1"} })
	for name, tc := range map[string]struct {
		box       *v1alpha1.OperatorBox
		crd       *apiextensionsv1.CustomResourceDefinition
		denied    string
		condition string // which one
		want      string
		phase     health.Phase
		again     time.Duration
		stalled   bool
		served    bool // deletions are
	}{
		"no CRD": {
			box: shop(websitesCRD), condition: v1alpha1.ConditionCRDEstablished, phase: health.Pending,
			want: `False CRDMissing: CustomResourceDefinition "` + websitesCRD + `" does not exist; it is picked up when it is created`,
		},
		"a CRD that went": {
			box: ran, condition: v1alpha1.ConditionReady, phase: health.Stopped,
			want: `False CRDMissing: CustomResourceDefinition "` + websitesCRD + `" does not exist; it is picked up when it is created`,
		},
		"a name that is nearly right": {
			box: shop("website.demo.example.com"), crd: websites(), condition: v1alpha1.ConditionReady, phase: health.Pending,
			want: `False CRDMissing: CustomResourceDefinition "website.demo.example.com" does not exist, did you mean "` + websitesCRD + `"?; it is picked up when it is created`,
		},
		"a CRD that is not established": {
			box: shop(websitesCRD), crd: notEstablished, condition: v1alpha1.ConditionReady, phase: health.Pending,
			want: `False CRDNotEstablished: CustomResourceDefinition "` + websitesCRD + `" is not established yet`,
		},
		"a CRD whose names are taken": {
			box: shop(websitesCRD), crd: refused, condition: v1alpha1.ConditionReady, phase: health.Pending,
			want: `False CRDNotEstablished: CustomResourceDefinition "` + websitesCRD + `" is not established yet: "website" is taken`,
		},
		"a version that is not served": {
			box: edited(func(b *v1alpha1.OperatorBox) { b.Spec.CRD.Version = "v3" }), crd: twoVersions, condition: v1alpha1.ConditionReady,
			want:  `False CRDVersionNotServed: CustomResourceDefinition "` + websitesCRD + `" does not serve version "v3"; it serves v1, v2`,
			phase: health.Pending, stalled: true, served: true,
		},
		"mistakes": {
			box: edited(func(b *v1alpha1.OperatorBox) { b.Spec.Finalizers = []v1alpha1.ShortString{"not-qualified"} }), crd: websites(),
			condition: v1alpha1.ConditionCompiled, want: "False CompileFailed: spec.finalizers[0]", phase: health.Pending, stalled: true, served: true,
		},
		"a right is missing": {
			box: shop(websitesCRD), crd: websites(), denied: "patch websites.demo.example.com", condition: v1alpha1.ConditionPermissionsGranted,
			want: "False Forbidden: the manager may not patch websites.demo.example.com; name an account", phase: health.Pending,
			again: access.RetryInterval, stalled: true,
		},
		"suspended": {
			box: edited(func(b *v1alpha1.OperatorBox) { b.Spec.Suspend = true }), crd: websites(), condition: v1alpha1.ConditionReady,
			want: "False Suspended: spec.suspend is true; deletions are still served", phase: health.Suspended, served: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			objects := []client.Object{tc.box.DeepCopy()}
			if tc.crd != nil {
				objects = append(objects, tc.crd.DeepCopy())
			}
			p := newProcess(t, objects...)
			p.denied[tc.denied] = true
			box, result := p.serves(t, "shop")
			g.Expect(condition(box, tc.condition)).To(HavePrefix(tc.want))
			g.Expect(result.RequeueAfter).To(Equal(tc.again))
			g.Expect(p.reports["shop"].Phase).To(Equal(tc.phase))
			g.Expect(meta.IsStatusConditionTrue(box.Status.Conditions, v1alpha1.ConditionStalled)).To(Equal(tc.stalled))
			plan := p.engine.Plan("shop")
			if !tc.served {
				g.Expect(plan).To(BeNil())
				return
			}
			g.Expect(plan).NotTo(BeNil())
			g.Expect(plan.CleanupOnly).To(BeTrue(), "only deletions are served")
		})
	}
}

func TestABoxWaitsForTheOneThatHasItsCRD(t *testing.T) {
	g := NewWithT(t)
	first, second := held(shop(websitesCRD)), shop(websitesCRD)
	second.Name, second.UID = "shop-two", "second"
	p := newProcess(t, websites(), first, second)
	p.serves(t, "shop")
	box, _ := p.serves(t, "shop-two")
	g.Expect(condition(box, v1alpha1.ConditionReady)).To(Equal(
		`False CRDClaimed: box "shop" is for ` + websitesCRD + ` already; delete that box, or let this one name another CRD`))
	g.Expect(condition(box, v1alpha1.ConditionCompiled)).To(Equal("Unknown CRDClaimed: the spec is not checked while another box runs the CRD"))
	g.Expect(box.Status.CRD.Version).To(BeEmpty(), "it works in none")
	g.Expect(p.engine.Plan("shop-two")).To(BeNil())

	edited := shop(othersCRD)
	g.Expect(p.kube.Get(t.Context(), client.ObjectKeyFromObject(first), edited)).To(Succeed())
	edited.Spec.CRD.Name = othersCRD
	g.Expect(p.kube.Update(t.Context(), edited)).To(Succeed())
	p.queue.marked = nil
	p.serves(t, "shop")
	g.Expect(p.queue.marked).To(ConsistOf("shop-two"), "the CRD is free")
	box, _ = p.serves(t, "shop-two")
	g.Expect(p.engine.Plan("shop-two")).NotTo(BeNil())
	g.Expect(box.Status.CRD.Version).To(Equal("v1"))
}

// Nobody but the leader writes; followers compile, so that they are ready.
func TestAFollowerWritesNothing(t *testing.T) {
	g := NewWithT(t)
	p := newProcess(t, websites(), shop(websitesCRD))
	p.engine.follower = true
	before, _ := p.serves(t, "shop")
	box, _ := p.serves(t, "shop")
	g.Expect(box.ResourceVersion).To(Equal(before.ResourceVersion))
	g.Expect(box.Finalizers).To(BeEmpty())
	g.Expect(box.Status.Conditions).To(BeEmpty())
	g.Expect(p.engine.Plan("shop")).NotTo(BeNil())
	g.Expect(p.reports).To(HaveKey("shop"))
	var kept appsv1.ControllerRevisionList
	g.Expect(p.kube.List(t.Context(), &kept)).To(Succeed())
	g.Expect(kept.Items).To(BeEmpty())
}

func TestAMisreadAnnotationIsToldOnce(t *testing.T) {
	g := NewWithT(t)
	box := shop(websitesCRD)
	box.Annotations = map[string]string{v1alpha1.AnnotationCleanup: "yes"}
	p := newProcess(t, websites(), box)
	const text = `annotation orkestra.orkspace.io/cleanup is "yes" and has no effect: only "true" has one`
	for range 2 {
		shown, _ := p.serves(t, "shop")
		g.Expect(condition(shown, v1alpha1.ConditionCompiled)).To(Equal("True Compiled: the spec is valid; " + text))
	}
	g.Expect(p.told()).To(ConsistOf(ContainSubstring(text)))
}

// TestAStartIsToldOnce: that caches are filling is no news. What keeps a box from starting is, once, as a warning where it is a failure.
func TestAStartIsToldOnce(t *testing.T) {
	g := NewWithT(t)
	p := newProcess(t, websites(), shop(websitesCRD))
	p.serves(t, "shop")
	revision := p.engine.Plan("shop").Revision
	var told []string
	for _, r := range []health.Report{
		{Phase: health.Starting, Message: health.Filling, Revision: revision},
		{Phase: health.Pending, Reason: v1alpha1.ReasonConstructorFailed, Message: "constructor a.New: no key", Revision: revision},
		{Phase: health.Pending, Reason: v1alpha1.ReasonConstructorFailed, Message: "constructor a.New: no key", Revision: revision},
		{Phase: health.Starting, Message: health.Filling, Revision: revision},
		{Phase: health.Starting, Message: "websites can't be listed", Revision: revision},
		{Phase: health.Running, Revision: revision},
	} {
		p.engine.reports = map[string]health.Report{"shop": r}
		p.serves(t, "shop")
		told = append(told, p.told()...)
	}
	g.Expect(told).To(Equal([]string{
		"Warning ConstructorFailed constructor a.New: no key", "Normal Starting websites can't be listed", "Normal Running the sub-controller runs",
	}))
}

// told are the events so far.
func (p *process) told() []string {
	var out []string
	for {
		select {
		case text := <-p.events.Events:
			out = append(out, text)
		default:
			return out
		}
	}
}

func TestARestartIsNoChange(t *testing.T) {
	g := NewWithT(t)
	p := newProcess(t, websites(), shop(websitesCRD))
	p.serves(t, "shop")
	p.engine.reports = map[string]health.Report{"shop": {Phase: health.Running, Revision: p.engine.Plan("shop").Revision}}
	before, _ := p.serves(t, "shop")
	p.restart()
	p.engine.plans, p.engine.reports, p.engine.settling = nil, nil, 7*time.Second
	box, result := p.serves(t, "shop")
	g.Expect(condition(box, v1alpha1.ConditionReady)).To(HavePrefix("True Running"))
	g.Expect(box.ResourceVersion).To(Equal(before.ResourceVersion))
	g.Expect(result.RequeueAfter).To(Equal(7 * time.Second))

	p.engine.settling = 0
	box, _ = p.serves(t, "shop")
	g.Expect(condition(box, v1alpha1.ConditionReady)).To(HavePrefix("False Starting"), "it takes too long")
}

func TestAnOldBoxIsReadAgain(t *testing.T) {
	g := NewWithT(t)
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "operatorboxes"}, "shop", errors.New("changed"))
	p := newProcess(t, websites(), shop(websitesCRD))
	p.unlisted = conflict
	result, err := p.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "shop"}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(Equal(staleDelay))
}

func TestTheCountsAreThoseOfCRDHealth(t *testing.T) {
	g := NewWithT(t)
	known := &v1alpha1.CRDHealth{}
	known.Name, known.Status.Resources.Total = "shop", 4
	p := newProcess(t, websites(), shop(websitesCRD), known)
	p.engine.unused = []schema.GroupVersionKind{{Version: "v1", Kind: "Secret"}}
	box := &v1alpha1.OperatorBox{}
	g.Expect(p.kube.Get(t.Context(), types.NamespacedName{Name: "shop"}, box)).To(Succeed())
	box.Status.ObservedGeneration = 1
	box.Status.ManagedKinds = []v1alpha1.GroupVersionKind{{Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "ConfigMap"}}
	g.Expect(p.kube.Status().Update(t.Context(), box)).To(Succeed())
	box, _ = p.serves(t, "shop")
	g.Expect(box.Status.Resources.Total).To(BeEquivalentTo(4))
	g.Expect(box.Status.ManagedKinds).To(ConsistOf(v1alpha1.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}), "of the other none is left")
	g.Expect(p.engine.options["shop"].Health).NotTo(BeNil(), "the engine goes on with its counts")
	g.Expect(p.engine.options["shop"].ManagedKinds).To(HaveLen(2))
}

func TestWhereResourcesAreWatched(t *testing.T) {
	in := func(namespaces ...string) *v1alpha1.OperatorBox {
		box := shop(websitesCRD)
		box.Status.WatchedNamespaces = namespaces
		return box
	}
	selecting := func(t *testing.T, namespaces ...string) *pipeline.Plan {
		t.Helper()
		box := shop(websitesCRD)
		for _, name := range namespaces {
			box.Spec.Namespaces.Include = append(box.Spec.Namespaces.Include, v1alpha1.ShortString(name))
		}
		crd, ok := pipeline.NewCRD(websites(), "v1")
		NewWithT(t).Expect(ok).To(BeTrue())
		plan, errs := pipeline.Compile(box, newProcess(t).ports.Compiler.Env(t.Context(), box, crd))
		NewWithT(t).Expect(errs).To(BeEmpty())
		return plan
	}
	for name, tc := range map[string]struct {
		known, selected []string
		cleanup         bool
		want            []string
	}{
		"nothing is known":                    {nil, nil, false, nil},
		"all were":                            {[]string{"*"}, []string{"a"}, false, nil},
		"those of before too":                 {[]string{"c", "a"}, []string{"b", "a"}, false, []string{"a", "b", "c"}},
		"all from now on":                     {[]string{"a"}, nil, false, nil},
		"what is cleaned up was marked there": {[]string{"c", "a"}, nil, true, []string{"a", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			plan := selecting(t, tc.selected...)
			if tc.cleanup {
				plan = plan.ForCleanup()
			}
			g.Expect(watchedNamespaces(in(tc.known...), plan)).To(Equal(tc.want))
		})
	}
}

// The engine begins and ends beside the controllers: a process that is asked to end would log an error.
func TestAnEngineThatDoesNotRunIsNoError(t *testing.T) {
	g := NewWithT(t)
	p := running(t)
	p.engine.ended = true
	p.edit(t, func(b *v1alpha1.OperatorBox) { b.Spec.Workers = new(int32(7)) })
	_, result := p.serves(t, "shop")
	g.Expect(result).To(Equal(ctrl.Result{RequeueAfter: staleDelay}))
	p.engine.ended = false
	box, _ := p.serves(t, "shop")
	g.Expect(condition(box, v1alpha1.ConditionReady)).To(HavePrefix("True Running"))
}

// What resources would go back to is known once the box runs. Until then nothing is removed, also where the box has changed while no process ran.
func TestWhatResourcesGoBackToOutlivesARestart(t *testing.T) {
	g := NewWithT(t)
	p := running(t)
	box, _ := p.serves(t, "shop")
	first := box.Status.Revision
	p.engine.snapshots = []string{first}
	says := func(workers int32) {
		t.Helper()
		p.edit(t, func(b *v1alpha1.OperatorBox) {
			b.Spec.Workers, b.Spec.RevisionHistoryLimit = new(workers), new(int32(1))
		})
		p.serves(t, "shop")
		p.engine.reports = map[string]health.Report{"shop": {Phase: health.Running, Revision: p.engine.Plan("shop").Revision}}
		box, _ := p.serves(t, "shop")
		g.Expect(box.Status.Revision).To(Equal(p.engine.Plan("shop").Revision), "that is what runs now")
	}
	kept := func() bool {
		err := p.kube.Get(t.Context(), types.NamespacedName{Namespace: "our-system", Name: first}, &appsv1.ControllerRevision{})
		g.Expect(client.IgnoreNotFound(err)).NotTo(HaveOccurred())
		return err == nil
	}
	for workers := range int32(3) {
		says(workers + 4)
	}
	g.Expect(kept()).To(BeTrue(), "while it runs")

	p.restart()
	p.engine.plans, p.engine.reports, p.engine.snapshots = nil, nil, nil
	says(8)
	g.Expect(kept()).To(BeTrue(), "after a restart")

	says(9)
	g.Expect(kept()).To(BeFalse(), "and no resource goes back to it")
}
