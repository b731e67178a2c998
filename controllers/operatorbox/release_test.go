package operatorbox

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/release"
)

// deleted deletes the box of a process.
func (p *process) deleted(t *testing.T) {
	t.Helper()
	NewWithT(t).Expect(p.kube.Delete(t.Context(), shop(websitesCRD))).To(Succeed())
}

func (p *process) revisions(t *testing.T) []appsv1.ControllerRevision {
	t.Helper()
	var kept appsv1.ControllerRevisionList
	NewWithT(t).Expect(p.kube.List(t.Context(), &kept)).To(Succeed())
	return kept.Items
}

func TestADeletedBoxGoesWhenNothingIsHeld(t *testing.T) {
	g := NewWithT(t)
	p := running(t)
	p.deleted(t)
	p.engine.left = []types.NamespacedName{{Namespace: "a", Name: "web"}, {Name: "b"}, {Name: "c"}, {Name: "d"}, {Name: "e"}}
	box, result := p.serves(t, "shop")
	g.Expect(result.RequeueAfter).To(Equal(finalizeInterval))
	g.Expect(p.engine.Plan("shop").CleanupOnly).To(BeTrue(), "nothing marks a resource again")
	g.Expect(p.engine.removed).To(ConsistOf("shop"), "the old plan was waited for")
	const waits = "the box is being deleted and waits for resources that are not let go yet: a/web, b, c, 2 more"
	g.Expect(condition(box, v1alpha1.ConditionReady)).To(Equal("False DeletionBlocked: " + waits))
	g.Expect(condition(box, v1alpha1.ConditionCompiled)).To(HavePrefix("Unknown DeletionBlocked: the spec is no longer checked: the box is being deleted"))
	g.Expect(p.reports["shop"]).To(Equal(health.Report{Phase: health.Stopped, Reason: v1alpha1.ReasonDeletionBlocked, Message: waits, CRD: websitesCRD}))
	cleaning := p.engine.Plan("shop")
	p.serves(t, "shop")
	g.Expect(p.engine.Plan("shop")).To(BeIdenticalTo(cleaning))

	p.engine.left, p.engine.fails = nil, release.ErrFilling
	box, _ = p.serves(t, "shop")
	g.Expect(condition(box, v1alpha1.ConditionReady)).To(Equal("False DeletionBlocked: the box is being deleted and waits for its caches to fill"))

	p.engine.fails = errors.New("away")
	_, err := p.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "shop"}})
	g.Expect(err).To(MatchError(`releasing the resources of OperatorBox "shop": away`))

	p.engine.fails = nil
	box, result = p.serves(t, "shop")
	g.Expect(box).To(BeNil())
	g.Expect(result).To(BeZero())
	g.Expect(p.engine.how).To(Equal(release.Marks))
	g.Expect(p.engine.cause.Reason).To(Equal(v1alpha1.ReasonBoxDeleted))
	g.Expect(p.engine.Plan("shop")).To(BeNil())
	g.Expect(p.reports).NotTo(HaveKey("shop"))
	g.Expect(p.revisions(t)).To(BeEmpty())
	g.Expect(p.Claims().Holder(websitesCRD)).To(BeEmpty())
}

func TestHowADeletedBoxLetsGo(t *testing.T) {
	defines := func(box *v1alpha1.OperatorBox) {
		box.Spec.CRD.Definition = &apiextensionsv1.JSON{Raw: []byte("{}")}
		box.Spec.CRD.DeletionPolicy = v1alpha1.CRDDelete
	}
	for name, tc := range map[string]struct {
		change   func(*v1alpha1.OperatorBox)
		draining bool
		want     release.Mode
		reason   string
	}{
		"children stay":                       {func(*v1alpha1.OperatorBox) {}, false, release.Marks, v1alpha1.ReasonBoxDeleted},
		"with its children":                   {cleans, false, release.Children, v1alpha1.ReasonBoxDeleted},
		"with its CRD":                        {defines, false, release.Resources, v1alpha1.ReasonBoxDeleted},
		"drained":                             {cleans, true, release.Marks, v1alpha1.ReasonDrained},
		"drained, and it has defined its CRD": {defines, true, release.Marks, v1alpha1.ReasonDrained},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newScope(shop(websitesCRD))
			tc.change(s.box)
			s.live, s.deleted = installedCRD(), !tc.draining
			how, cause := (&releaser{}).how(s)
			g.Expect(how).To(Equal(tc.want))
			g.Expect(cause.Reason).To(Equal(tc.reason))
		})
	}
}

func cleans(box *v1alpha1.OperatorBox) {
	box.Annotations = map[string]string{v1alpha1.AnnotationCleanup: v1alpha1.True}
}

// installedCRD is one that the shop has made.
func installedCRD() *apiextensionsv1.CustomResourceDefinition {
	crd := websites()
	crd.Labels = map[string]string{v1alpha1.LabelBox: "shop"}
	crd.Annotations = map[string]string{v1alpha1.AnnotationInstalledBy: "shop"}
	crd.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: v1alpha1.FieldManager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "apiextensions.k8s.io/v1", FieldsType: "FieldsV1",
		FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{"f:group":{}}}`)},
	}}
	return crd
}

func TestADeletedBoxWaitsForAVersion(t *testing.T) {
	g := NewWithT(t)
	p := running(t)
	p.editCRD(t, func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = false })
	p.deleted(t)
	box, _ := p.serves(t, "shop")
	g.Expect(condition(box, v1alpha1.ConditionReady)).To(Equal(`False DeletionBlocked: the box is being deleted and waits for CustomResourceDefinition "` +
		websitesCRD + `" to serve a version again: without one, its resources can't be let go`))
	g.Expect(condition(box, v1alpha1.ConditionCRDEstablished)).To(HavePrefix("False CRDVersionNotServed"))

	g.Expect(p.kube.Delete(t.Context(), websites())).To(Succeed())
	box, _ = p.serves(t, "shop")
	g.Expect(box).To(BeNil(), "with the CRD its resources are gone")
}

// A box that never ran holds nothing, and leaves the resources to the box that has them.
func TestABoxThatWaitsIsDeleted(t *testing.T) {
	g := NewWithT(t)
	waiting := held(shop(websitesCRD))
	waiting.Name, waiting.UID = "shop-two", "second"
	p := newProcess(t, websites(), shop(websitesCRD), waiting)
	p.serves(t, "shop")
	p.serves(t, "shop-two")
	g.Expect(p.kube.Delete(t.Context(), waiting)).To(Succeed())
	box, _ := p.serves(t, "shop-two")
	g.Expect(box).To(BeNil())
	g.Expect(p.engine.Plan("shop")).NotTo(BeNil())
}

func TestTheKindsOfADeletedBoxAreHandedOver(t *testing.T) {
	g := NewWithT(t)
	waiting := shop(websitesCRD)
	waiting.Name, waiting.UID = "shop-two", "second"
	p := newProcess(t, websites(), shop(websitesCRD), waiting)
	p.serves(t, "shop")
	box := &v1alpha1.OperatorBox{}
	g.Expect(p.kube.Get(t.Context(), types.NamespacedName{Name: "shop"}, box)).To(Succeed())
	secrets := v1alpha1.GroupVersionKind{Version: "v1", Kind: "Secret"}
	box.Status.ManagedKinds = []v1alpha1.GroupVersionKind{secrets}
	g.Expect(p.kube.Status().Update(t.Context(), box)).To(Succeed())
	p.deleted(t)
	p.queue.marked = nil
	p.serves(t, "shop")
	g.Expect(p.kube.Get(t.Context(), types.NamespacedName{Name: "shop-two"}, box)).To(Succeed())
	g.Expect(box.Status.ManagedKinds).To(ConsistOf(secrets), "they are watched, and what it does not take over is counted")
	g.Expect(p.queue.marked).To(ConsistOf("shop-two"))
}

func TestAFollowerLetsNothingGo(t *testing.T) {
	g := NewWithT(t)
	p := running(t)
	p.deleted(t)
	p.engine.follower = true
	box, _ := p.serves(t, "shop")
	g.Expect(box.Finalizers).NotTo(BeEmpty())
	g.Expect(p.engine.Plan("shop")).To(BeNil(), "and serves nothing")
}

func TestADrainedBoxHoldsNothing(t *testing.T) {
	g := NewWithT(t)
	p := running(t)
	drain := func(asked bool) {
		p.drained = asked
		p.Reconciler.ports.Drain = fakeDrain(asked)
	}
	drain(true)
	p.engine.left = []types.NamespacedName{{Namespace: "a", Name: "web"}}
	box, result := p.serves(t, "shop")
	g.Expect(result.RequeueAfter).To(Equal(finalizeInterval))
	g.Expect(condition(box, v1alpha1.ConditionReady)).To(Equal("False Draining: the manager is being drained and waits for resources that are not let go yet: a/web"))
	g.Expect(condition(box, v1alpha1.ConditionReconciling)).To(HavePrefix("True Draining"))
	g.Expect(box.Finalizers).NotTo(BeEmpty())
	g.Expect(p.engine.Plan("shop").CleanupOnly).To(BeTrue(), "deletions that are under way are finished")

	p.engine.left, p.engine.fails = nil, errors.New("away")
	_, err := p.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "shop"}})
	g.Expect(err).To(MatchError(`releasing the resources of OperatorBox "shop": away`))
	g.Expect(p.kube.Get(t.Context(), types.NamespacedName{Name: "shop"}, box)).To(Succeed())
	g.Expect(condition(box, v1alpha1.ConditionReady)).To(HaveSuffix("Draining: releasing the resources of OperatorBox \"shop\": away"), "it is shown all the same")

	p.engine.fails = nil
	box, result = p.serves(t, "shop")
	g.Expect(result).To(BeZero())
	g.Expect(box.Finalizers).To(BeEmpty())
	g.Expect(condition(box, v1alpha1.ConditionReady)).To(Equal("False Drained: " + drained))
	g.Expect(condition(box, v1alpha1.ConditionReconciling)).To(HavePrefix("False"))
	g.Expect(p.reports["shop"].Phase).To(Equal(health.Suspended))
	g.Expect(p.revisions(t)).NotTo(BeEmpty(), "it goes on where it was")

	drain(false)
	box, _ = p.serves(t, "shop")
	g.Expect(box.Finalizers).To(ConsistOf(v1alpha1.Finalizer))
	g.Expect(p.engine.Plan("shop").CleanupOnly).To(BeFalse())

	p.engine.follower = true
	drain(true)
	p.serves(t, "shop")
	g.Expect(p.engine.Plan("shop")).To(BeNil(), "a follower takes hold of nothing")
}

func TestABoxThatIsGone(t *testing.T) {
	gone := func(t *testing.T, p *process) {
		t.Helper()
		g := NewWithT(t)
		box := &v1alpha1.OperatorBox{}
		g.Expect(p.kube.Get(t.Context(), types.NamespacedName{Name: "shop"}, box)).To(Succeed())
		box.Finalizers = nil
		g.Expect(p.kube.Update(t.Context(), box)).To(Succeed())
		g.Expect(p.kube.Delete(t.Context(), box)).To(Succeed())
	}
	t.Run("that was held, and somebody took the finalizer off", func(t *testing.T) {
		g := NewWithT(t)
		p := running(t)
		gone(t, p)
		p.engine.left = []types.NamespacedName{{Namespace: "a", Name: "web"}}
		_, result := p.serves(t, "shop")
		g.Expect(p.engine.cause.Reason).To(Equal(v1alpha1.ReasonBoxDeleted), "its resources are let go nevertheless")
		g.Expect(result.RequeueAfter).To(Equal(finalizeInterval))
		g.Expect(p.engine.Plan("shop")).NotTo(BeNil())
		p.engine.left = nil
		_, result = p.serves(t, "shop")
		g.Expect(result).To(BeZero())
		g.Expect(p.engine.Plan("shop")).To(BeNil())
		g.Expect(p.revisions(t)).To(BeEmpty())
	})
	t.Run("that another process has held", func(t *testing.T) {
		g := NewWithT(t)
		p := running(t)
		gone(t, p)
		p.newlyStarted()
		p.serves(t, "shop")
		g.Expect(p.revisions(t)).To(BeEmpty(), "nobody goes back to it any more")
		g.Expect(p.engine.Plan("shop")).To(BeNil())
	})
}

// What the cache says is not enough before the process has seen its finalizer on the API server.
func TestABoxIsReadLiveUntilItIsHeld(t *testing.T) {
	g := NewWithT(t)
	p := newProcess(t, websites(), held(shop(websitesCRD)))
	empty := newProcess(t)
	p.Reconciler.hold.Live = empty.kube
	key := types.NamespacedName{Name: "shop"}
	_, err := p.Reconciler.hold.read(t.Context(), key, false)
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "the API server does not have it")
	for name, change := range map[string]func(){
		"while everything is let go": func() {},
		"by a follower":              func() { p.engine.follower = true },
	} {
		change()
		box, err := p.Reconciler.hold.read(t.Context(), key, name != "by a follower")
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(box.Name).To(Equal("shop"))
		p.engine.follower = false
	}
	box := &v1alpha1.OperatorBox{}
	g.Expect(p.kube.Get(t.Context(), key, box)).To(Succeed())
	_, err = p.Reconciler.hold.addFinalizer(t.Context(), newScope(box))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = p.Reconciler.hold.read(t.Context(), key, false)
	g.Expect(err).NotTo(HaveOccurred(), "it was seen with our finalizer")
	g.Expect(p.Reconciler.hold.removeFinalizer(t.Context(), box)).To(Succeed())
	g.Expect(p.Reconciler.hold.last("shop")).To(BeNil())
	g.Expect(p.Reconciler.hold.removeFinalizer(t.Context(), box)).To(Succeed(), "it has none any more")
}

func TestAllBoxesAreMarked(t *testing.T) {
	g := NewWithT(t)
	first, second := shop(websitesCRD), shop(othersCRD)
	second.Name, second.UID = "base", "second"
	first.Spec.DependsOn = []v1alpha1.Dependency{{Name: "base"}}
	p := newProcess(t, websites(), first, second)
	p.serves(t, "shop")
	g.Expect(p.kube.Delete(t.Context(), second)).To(Succeed())
	g.Expect(p.kube.Create(t.Context(), func() client.Object { b := second.DeepCopy(); b.ResourceVersion = ""; return b }())).To(Succeed())
	stray := p.revisions(t)[0]
	stray.Name, stray.ResourceVersion, stray.UID = "gone-0123456789", "", ""
	stray.Labels = map[string]string{v1alpha1.LabelRevisionOf: "gone"}
	g.Expect(p.kube.Create(t.Context(), &stray)).To(Succeed())
	p.queue.marked = nil
	g.Expect(p.MarkAll(t.Context())).To(Succeed())
	g.Expect(p.queue.marked).To(Equal([]string{"base", "shop", "gone"}), "what others depend on first, and what has left revisions")
}

func TestTheBoxesOfACRD(t *testing.T) {
	g := NewWithT(t)
	other := shop(othersCRD)
	other.Name, other.UID = "other", "second"
	p := newProcess(t, shop(websitesCRD), other)
	requests := p.boxesOf(t.Context(), websites())
	g.Expect(requests).To(HaveLen(1))
	g.Expect(requests[0].Name).To(Equal("shop"))
}

func TestAPlanIsKeptWhileNothingChanges(t *testing.T) {
	g := NewWithT(t)
	p := running(t)
	ran := p.engine.Plan("shop")
	crd, _ := pipeline.NewCRD(websites(), "v1")
	box := &v1alpha1.OperatorBox{}
	g.Expect(p.kube.Get(t.Context(), types.NamespacedName{Name: "shop"}, box)).To(Succeed())
	plan, errs, err := p.Reconciler.compile.plan(t.Context(), box, &crd)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(errs).To(BeEmpty())
	g.Expect(plan).To(BeIdenticalTo(ran))
	crd.Generation++
	plan, errs, err = p.Reconciler.compile.plan(t.Context(), box, &crd)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(errs).To(BeEmpty())
	g.Expect(plan).NotTo(BeIdenticalTo(ran), "the schema may be another")
}
