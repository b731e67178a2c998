package crdhealth

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/monitor"
)

// fakeEngine gives the reports that a test has set, and notes what is tracked.
type fakeEngine struct {
	reports  map[string]health.Report
	closing  bool
	settling time.Duration

	tracked map[string]monitor.MonitoredCRD
	fails   error // of Track
}

func (e *fakeEngine) HealthReport(box string) (report health.Report, ok bool) {
	report, ok = e.reports[box]
	return report, ok
}

func (e *fakeEngine) Report(box string) (health.Report, bool) { return e.HealthReport(box) }
func (e *fakeEngine) Closing() bool                           { return e.closing }
func (e *fakeEngine) Settling() time.Duration                 { return e.settling }
func (e *fakeEngine) Untrack(name string)                     { delete(e.tracked, name) }

func (e *fakeEngine) Track(is monitor.MonitoredCRD) error {
	e.tracked[is.Name] = is
	return e.fails
}

// site is a process that keeps CRDHealths.
type site struct {
	*Reconciler

	kube    client.Client
	engine  *fakeEngine
	clock   *testclock.FakePassiveClock
	events  *events.FakeRecorder
	denied  bool                // every right is
	behind  *v1alpha1.CRDHealth // what the cache still shows; nil: what there is
	unready error               // what writes end with
}

// Create implements access.Creator.
func (s *site) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	review, _ := obj.(*authorizationv1.SelfSubjectAccessReview)
	review.Status.Allowed = !s.denied
	return nil
}

func newSite(t *testing.T, objects ...client.Object) *site {
	t.Helper()
	scheme := testScheme(t)
	NewWithT(t).Expect(apiextensionsv1.AddToScheme(scheme)).To(Succeed())
	s := &site{
		engine: &fakeEngine{reports: map[string]health.Report{}, tracked: map[string]monitor.MonitoredCRD{}},
		clock:  testclock.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), events: events.NewFakeRecorder(100),
	}
	s.kube = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.CRDHealth{}, &v1alpha1.OperatorBox{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
				if h, ok := obj.(*v1alpha1.CRDHealth); ok && s.behind != nil {
					s.behind.DeepCopyInto(h)
					return nil
				}
				return c.Get(ctx, key, obj, opts...)
			},
			SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
				if s.unready != nil {
					return s.unready
				}
				return c.SubResource(sub).Update(ctx, obj, opts...)
			},
		}).Build()
	s.Reconciler = &Reconciler{
		Client: s.kube, Reports: s.engine, Clock: s.clock, Events: s.events,
		Standalones: &Standalones{CRDs: crds.NewStore(s.kube, s.kube), Rights: access.NewReviews(s, s.clock).Of(identity.Account{}, ""), Monitors: s.engine},
	}
	return s
}

// keeps reconciles a name, and gives its CRDHealth; nil: there is none.
func (s *site) keeps(t *testing.T, name string) (*v1alpha1.CRDHealth, ctrl.Result) {
	t.Helper()
	g := NewWithT(t)
	result, err := s.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}})
	g.Expect(err).NotTo(HaveOccurred())
	return s.health(t, name), result
}

func (s *site) health(t *testing.T, name string) *v1alpha1.CRDHealth {
	t.Helper()
	behind := s.behind
	s.behind = nil
	defer func() { s.behind = behind }()
	h := &v1alpha1.CRDHealth{}
	err := s.kube.Get(t.Context(), types.NamespacedName{Name: name}, h)
	if apierrors.IsNotFound(err) {
		return nil
	}
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return h
}

func (s *site) passes(d time.Duration) { s.clock.SetTime(s.clock.Now().Add(d)) }

func (s *site) told() []string {
	var out []string
	for {
		select {
		case text := <-s.events.Events:
			out = append(out, text)
		default:
			return out
		}
	}
}

// runs is the report of a box that runs, with so many failures in a row and resources.
func runs(failures int64, total int32) health.Report {
	r := health.Report{Phase: health.Running, Revision: "website-1", FailureThreshold: 3}
	r.Snapshot.ConsecutiveFailures, r.Snapshot.Resources.Total, r.Snapshot.Degraded = failures, total, failures >= 3
	return r
}

func TestABoxHasACRDHealth(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t, websiteBox())
	h, _ := s.keeps(t, "website")
	g.Expect(h.Spec.OperatorBoxRef.Name).To(Equal("website"))
	g.Expect(metav1.GetControllerOf(h).Name).To(Equal("website"))
	g.Expect(h.Status.State).To(Equal(v1alpha1.HealthPending), "nothing is known of the box yet")

	s.engine.reports["website"] = runs(0, 0)
	_, result := s.keeps(t, "website")
	g.Expect(result.RequeueAfter).To(Equal(health.FlapInterval), "a state may change hundreds of times a second")
	s.passes(health.FlapInterval)
	h, _ = s.keeps(t, "website")
	g.Expect(h.Status.State).To(Equal(v1alpha1.HealthHealthy))
	version := h.ResourceVersion
	h, result = s.keeps(t, "website")
	g.Expect(h.ResourceVersion).To(Equal(version), "nothing differs")
	g.Expect(result).To(BeZero())

	s.engine.reports["website"] = runs(0, 5)
	h, result = s.keeps(t, "website")
	g.Expect(h.Status.Resources.Total).To(BeZero(), "counters wait")
	g.Expect(result.RequeueAfter).To(Equal(health.ListInterval))
	s.passes(health.ListInterval)
	h, _ = s.keeps(t, "website")
	g.Expect(h.Status.Resources.Total).To(BeEquivalentTo(5))

	s.engine.reports["website"] = func() health.Report { r := runs(0, 5); r.QueueDepth = 2; return r }()
	s.passes(health.SlowInterval)
	h, result = s.keeps(t, "website")
	g.Expect(h.Status.QueueDepth).To(BeEquivalentTo(2))
	g.Expect(result.RequeueAfter).To(Equal(health.SlowInterval), "nobody tells when the queue gets shorter")
}

func TestWhatIsNotWritten(t *testing.T) {
	healthy := func() *v1alpha1.CRDHealth {
		h := &v1alpha1.CRDHealth{ObjectMeta: metav1.ObjectMeta{Name: "website", OwnerReferences: []metav1.OwnerReference{boxOwner("website", "box-uid")}}}
		h.Spec = v1alpha1.CRDHealthSpec{OperatorBoxRef: &v1alpha1.OperatorBoxReference{Name: "website"}, CRD: v1alpha1.CRDName{Name: "websites.demo.example.com"}}
		h.Status.State = v1alpha1.HealthHealthy
		return h
	}
	for name, tc := range map[string]struct {
		engine *fakeEngine
		after  time.Duration
	}{
		"while nothing is known":    {&fakeEngine{}, 0},
		"while the process stops":   {&fakeEngine{closing: true, reports: map[string]health.Report{"website": {Phase: health.Stopped}}}, 0},
		"while it has just started": {&fakeEngine{settling: 9 * time.Second, reports: map[string]health.Report{"website": {Phase: health.Starting}}}, 9 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newSite(t, websiteBox(), healthy())
			s.Reconciler.Reports = tc.engine
			before := s.health(t, "website").ResourceVersion
			h, result := s.keeps(t, "website")
			g.Expect(h.ResourceVersion).To(Equal(before))
			g.Expect(h.Status.State).To(Equal(v1alpha1.HealthHealthy))
			g.Expect(result.RequeueAfter).To(Equal(tc.after))
		})
	}
}

func TestACRDHealthIsPutRight(t *testing.T) {
	g := NewWithT(t)
	wrong := &v1alpha1.CRDHealth{ObjectMeta: metav1.ObjectMeta{Name: "website"}}
	wrong.Spec.CRD.Name = "others.demo.example.com"
	s := newSite(t, websiteBox(), wrong)
	s.engine.reports["website"] = runs(0, 0)
	h, _ := s.keeps(t, "website")
	g.Expect(h.Spec.CRD.Name).To(Equal("websites.demo.example.com"))
	g.Expect(metav1.GetControllerOf(h)).NotTo(BeNil())
	g.Expect(h.Status.State).To(Equal(v1alpha1.HealthHealthy))
}

func TestABoxThatGoesGetsNone(t *testing.T) {
	g := NewWithT(t)
	box := websiteBox()
	box.DeletionTimestamp, box.Finalizers = new(metav1.Now()), []string{v1alpha1.Finalizer}
	nameless := websiteBox()
	nameless.Name, nameless.UID, nameless.Spec.CRD.Name = "nameless", "other", ""
	s := newSite(t, box, nameless)
	for _, name := range []string{"website", "nameless", "nobody"} {
		h, result := s.keeps(t, name)
		g.Expect(h).To(BeNil(), name)
		g.Expect(result).To(BeZero())
	}
}

// The next status is made from the last one, also while the cache has not seen it.
func TestACacheThatIsBehind(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t, websiteBox())
	s.engine.reports["website"] = runs(0, 0)
	before, _ := s.keeps(t, "website")
	s.behind = before.DeepCopy()
	s.engine.reports["website"] = runs(3, 0)
	s.passes(health.FlapInterval)
	h, _ := s.keeps(t, "website")
	g.Expect(h.Status.State).To(Equal(v1alpha1.HealthDegraded))
	version := h.ResourceVersion
	h, _ = s.keeps(t, "website")
	g.Expect(h.ResourceVersion).To(Equal(version), "it was written already")

	s.behind = nil
	s.unready = apierrors.NewConflict(schema.GroupResource{Resource: "crdhealths"}, "website", errors.New("changed"))
	s.engine.reports["website"] = runs(0, 0)
	s.passes(health.FlapInterval)
	_, result := s.keeps(t, "website")
	g.Expect(result.RequeueAfter).To(Equal(staleDelay), "the event of the change is on the way")
	s.unready = errors.New("away")
	_, err := s.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "website"}})
	g.Expect(err).To(MatchError(`writing status of CRDHealth "website": away`))
}

func TestChangesOfStateAreTold(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t, websiteBox())
	s.engine.reports["website"] = runs(0, 1)
	s.keeps(t, "website")
	g.Expect(s.told()).To(BeEmpty())
	s.engine.reports["website"] = runs(3, 1)
	s.passes(health.FlapInterval)
	s.keeps(t, "website")
	g.Expect(s.told()).To(ConsistOf(HavePrefix("Warning Degraded")))
	h := s.health(t, "website")
	h.Status.State = v1alpha1.HealthHealthy
	g.Expect(s.kube.Status().Update(t.Context(), h)).To(Succeed())
	s.passes(health.FlapInterval)
	s.keeps(t, "website")
	g.Expect(s.told()).To(BeEmpty(), "what somebody else wrote is no change of the box")
	s.engine.reports["website"] = runs(0, 1)
	s.passes(health.FlapInterval)
	s.keeps(t, "website")
	g.Expect(s.told()).To(ConsistOf("Normal Recovered a reconcile succeeded again"))
}

// TestAStateThatComesAndGoesIsToldOnceInAWhile, with how often it came; and what it stays is told, though that is a while later.
func TestAStateThatComesAndGoesIsToldOnceInAWhile(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t, websiteBox())
	becomes := func(failures int64) ctrl.Result {
		s.engine.reports["website"] = runs(failures, 1)
		s.passes(time.Second)
		_, result := s.keeps(t, "website")
		return result
	}
	becomes(0)
	for range 20 {
		becomes(3)
		g.Expect(s.health(t, "website").Status.State).To(Equal(v1alpha1.HealthDegraded), "the object shows it at once")
		becomes(0)
	}
	g.Expect(s.told()).To(HaveExactElements(HavePrefix("Warning Degraded at least 3 reconciles in a row failed"), HavePrefix("Normal Recovered")))
	result := becomes(3)
	g.Expect(s.told()).To(BeEmpty())
	g.Expect(result.RequeueAfter).To(Equal(eventInterval - 40*time.Second))
	s.passes(result.RequeueAfter - time.Millisecond)
	_, result = s.keeps(t, "website")
	g.Expect(s.told()).To(BeEmpty())
	g.Expect(result.RequeueAfter).To(Equal(time.Millisecond))
	s.passes(result.RequeueAfter)
	_, result = s.keeps(t, "website")
	g.Expect(s.told()).To(HaveExactElements(And(HavePrefix("Warning Degraded "), ContainSubstring("19 more times since the last event; at least 3 reconciles in a row failed"))))
	g.Expect(result.RequeueAfter).To(BeZero())
	becomes(0)
	g.Expect(s.told()).To(HaveExactElements(HavePrefix("Normal Recovered")))
	s.passes(eventInterval)
	becomes(3)
	g.Expect(s.told()).To(HaveExactElements(HavePrefix("Warning Degraded at least 3 reconciles in a row failed")), "it is counted anew")
	becomes(0)
	s.told()
	s.passes(-24 * time.Hour)
	becomes(3)
	g.Expect(s.told()).To(HaveExactElements(HavePrefix("Warning Degraded at least 3 reconciles in a row failed")), "the clock was set back: nobody waits for the time of the last event")
}

// TestWhatHasEndedIsNotTold: a box that became Degraded within the time after an event, and has stopped since, is not Degraded when the time is over.
func TestWhatHasEndedIsNotTold(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t, websiteBox())
	for _, failures := range []int64{0, 3, 0, 3} {
		s.engine.reports["website"] = runs(failures, 1)
		s.passes(time.Second)
		s.keeps(t, "website")
	}
	g.Expect(s.told()).To(HaveLen(2))
	s.engine.reports["website"] = health.Report{Phase: health.Stopped}
	s.passes(eventInterval)
	h, result := s.keeps(t, "website")
	g.Expect(h.Status.State).To(Equal(v1alpha1.HealthStopped))
	g.Expect(s.told()).To(BeEmpty())
	g.Expect(result.RequeueAfter).To(BeZero())
}

// TestAnotherProcessTellsNothingAgain: what the object shows was told.
func TestAnotherProcessTellsNothingAgain(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t, websiteBox())
	for _, failures := range []int64{0, 3} {
		s.engine.reports["website"] = runs(failures, 1)
		s.passes(time.Second)
		s.keeps(t, "website")
	}
	g.Expect(s.told()).To(HaveExactElements(HavePrefix("Warning Degraded")))
	s.Reconciler = s.withoutMemory()
	s.passes(time.Second)
	s.keeps(t, "website")
	g.Expect(s.told()).To(BeEmpty())
	s.engine.reports["website"] = runs(0, 1)
	s.passes(time.Second)
	s.keeps(t, "website")
	g.Expect(s.told()).To(HaveExactElements(HavePrefix("Normal Recovered")), "and it knows what ends")
}

// withoutMemory is a reconciler of another process.
func (r *Reconciler) withoutMemory() *Reconciler {
	return &Reconciler{Client: r.Client, Reports: r.Reports, Clock: r.Clock, Events: r.Events, Standalones: r.Standalones}
}

// TestABoxThatIsMadeAgainIsAnother: what was told of the former one of its name is forgotten.
func TestABoxThatIsMadeAgainIsAnother(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t, websiteBox())
	degrades := func() {
		for _, failures := range []int64{0, 3} {
			s.engine.reports["website"] = runs(failures, 1)
			s.passes(time.Second)
			s.keeps(t, "website")
		}
	}
	degrades()
	g.Expect(s.told()).To(HaveLen(1))
	g.Expect(s.kube.Delete(t.Context(), websiteBox())).To(Succeed())
	g.Expect(s.kube.Delete(t.Context(), s.health(t, "website"))).To(Succeed())
	s.keeps(t, "website")
	g.Expect(s.kube.Create(t.Context(), websiteBox())).To(Succeed())
	degrades()
	g.Expect(s.told()).To(HaveExactElements(HavePrefix("Warning Degraded at least 3 reconciles in a row failed")))
}

func TestTheCRDHealthOfABoxThatIsNotThere(t *testing.T) {
	g := NewWithT(t)
	left := &v1alpha1.CRDHealth{ObjectMeta: metav1.ObjectMeta{Name: "left"}}
	left.Spec.OperatorBoxRef = &v1alpha1.OperatorBoxReference{Name: "left"}
	s := newSite(t, left)
	h, _ := s.keeps(t, "left")
	g.Expect(h.Status.State).To(Equal(v1alpha1.HealthStopped))
	g.Expect(meta.FindStatusCondition(h.Status.Conditions, v1alpha1.ConditionReady).Message).To(Equal(`there is no OperatorBox "left"`))
}
