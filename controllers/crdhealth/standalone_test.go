package crdhealth

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/monitor"
	"github.com/orkspace/orkestra/engine/pipeline"
)

const databasesCRD = "databases.other.example.com"

// databases is a CRD that another operator runs.
func databases() *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: databasesCRD, UID: "crd", Generation: 1},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "other.example.com", Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "databases", Kind: "Database"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"status": {
						Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"conditions": {
							Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
						}},
					}},
				}},
			}},
		},
	}
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}
	return crd
}

// watching is a CRDHealth that a person made for a CRD.
func watching(crd string) *v1alpha1.CRDHealth {
	h := &v1alpha1.CRDHealth{ObjectMeta: metav1.ObjectMeta{Name: "db", UID: "health", Generation: 1}}
	h.Spec.CRD.Name = crd
	return h
}

func ready(h *v1alpha1.CRDHealth) (reason, message string) {
	c := meta.FindStatusCondition(h.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil {
		return "", ""
	}
	return c.Reason, c.Message
}

func TestWhatCanNotBeObserved(t *testing.T) {
	notEstablished, notServed := databases(), databases()
	notEstablished.Status.Conditions = nil
	notServed.Spec.Versions[0].Served = false
	wrong := watching(databasesCRD)
	wrong.Spec.HealthyWhen = []v1alpha1.Condition{{}}
	was := watching(databasesCRD)
	was.Status.State = v1alpha1.HealthHealthy
	for name, tc := range map[string]struct {
		health  *v1alpha1.CRDHealth
		crd     *apiextensionsv1.CustomResourceDefinition
		denied  bool
		reason  string
		message string
		state   v1alpha1.HealthState
		after   time.Duration
	}{
		"no CRD": {
			health: watching(databasesCRD), reason: v1alpha1.ReasonCRDMissing, state: v1alpha1.HealthPending,
			message: `CustomResourceDefinition "` + databasesCRD + `" does not exist; it is picked up when it is created`,
		},
		"a CRD that went": {
			health: was, reason: v1alpha1.ReasonCRDMissing, state: v1alpha1.HealthStopped,
			message: `CustomResourceDefinition "` + databasesCRD + `" does not exist; it is picked up when it is created`,
		},
		"a CRD that is not established": {
			health: watching(databasesCRD), crd: notEstablished, reason: v1alpha1.ReasonCRDNotEstablished, state: v1alpha1.HealthPending,
			message: `CustomResourceDefinition "` + databasesCRD + `" is not established yet`,
		},
		"a CRD that serves nothing": {
			health: watching(databasesCRD), crd: notServed, reason: v1alpha1.ReasonCRDVersionNotServed, state: v1alpha1.HealthPending,
			message: `CustomResourceDefinition "` + databasesCRD + `" serves no version`,
		},
		"a mistake": {
			health: wrong, crd: databases(), reason: v1alpha1.ReasonCompileFailed, message: "spec.healthyWhen[0]", state: v1alpha1.HealthPending,
		},
		"a right is missing": {
			health: watching(databasesCRD), crd: databases(), denied: true, reason: v1alpha1.ReasonForbidden, state: v1alpha1.HealthPending,
			message: "the manager may not list/watch " + databasesCRD + "; grant it", after: access.RetryInterval,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			objects := []client.Object{tc.health.DeepCopy()}
			if tc.crd != nil {
				objects = append(objects, tc.crd.DeepCopy())
			}
			s := newSite(t, objects...)
			s.denied = tc.denied
			s.engine.tracked["db"] = monitor.MonitoredCRD{}
			h, result := s.keeps(t, "db")
			reason, message := ready(h)
			g.Expect(reason).To(Equal(tc.reason))
			g.Expect(message).To(ContainSubstring(tc.message))
			g.Expect(h.Status.State).To(Equal(tc.state))
			g.Expect(result.RequeueAfter).To(Equal(tc.after))
			g.Expect(s.engine.tracked).To(BeEmpty(), "nothing is looked at any more")
		})
	}
}

func TestTheResourcesOfAnotherOperator(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t, databases(), watching(databasesCRD))
	s.engine.fails = monitor.ErrNotStarted
	h, result := s.keeps(t, "db")
	g.Expect(result.RequeueAfter).To(Equal(staleDelay))
	_, message := ready(h)
	g.Expect(message).To(Equal("resources are not looked at yet"))

	s.engine.fails = nil
	_, result = s.keeps(t, "db")
	g.Expect(result.RequeueAfter).To(Equal(staleDelay), "the engine has nothing to say yet")
	tracked := s.engine.tracked["db"]
	g.Expect(tracked.CRD.Name).To(Equal(databasesCRD))
	g.Expect(tracked.Check).NotTo(BeNil())

	s.engine.reports["db"] = health.Report{Phase: health.Running, Monitored: true, FailureThreshold: 1}
	s.passes(health.FlapInterval)
	h, result = s.keeps(t, "db")
	g.Expect(h.Status.State).To(Equal(v1alpha1.HealthHealthy))
	g.Expect(result.RequeueAfter).To(Equal(standaloneInterval), "rights may be taken away")
	g.Expect(s.engine.tracked["db"].Check).To(BeIdenticalTo(tracked.Check), "it is compiled once")

	s.engine.reports["db"] = health.Report{Phase: health.Starting, Monitored: true}
	h, _ = s.keeps(t, "db")
	g.Expect(h.Status.State).To(Equal(v1alpha1.HealthHealthy), "while caches fill, what was written last holds")

	s.engine.fails = errors.New("away")
	_, err := s.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "db"}})
	g.Expect(err).To(MatchError(`looking at the resources of CRDHealth "db": away`))

	s.engine.fails = nil
	g.Expect(s.kube.Delete(t.Context(), h)).To(Succeed())
	s.keeps(t, "db")
	g.Expect(s.engine.tracked).To(BeEmpty())
}

// A change of rights concerns the CRDHealths without a box that lack one, and no others.
func TestRightsThatChangeMarkTheCRDHealthsThatWait(t *testing.T) {
	g := NewWithT(t)
	named := func(name, reason string) *v1alpha1.CRDHealth {
		h := watching(databasesCRD)
		h.Name = name
		h.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason}}
		return h
	}
	of := named("box", v1alpha1.ReasonForbidden)
	of.Spec.OperatorBoxRef = &v1alpha1.OperatorBoxReference{Name: "box"}
	begins := watching(databasesCRD)
	begins.Name = "begins"
	s := newSite(t, named("waits", v1alpha1.ReasonForbidden), named("mistaken", v1alpha1.ReasonCompileFailed), of, begins)
	var marked []string
	s.MarkWaiting(t.Context(), func(name string) { marked = append(marked, name) })
	g.Expect(marked).To(ConsistOf("waits"))
}

func TestTheCRDHealthsOfACRD(t *testing.T) {
	g := NewWithT(t)
	of := watching(databasesCRD)
	of.Name, of.Spec.OperatorBoxRef = "box", &v1alpha1.OperatorBoxReference{Name: "box"}
	other := watching("others.example.com")
	other.Name = "other"
	s := newSite(t, watching(databasesCRD), of, other)
	requests := s.standaloneFor(t.Context(), databases())
	g.Expect(requests).To(HaveLen(1))
	g.Expect(requests[0].Name).To(Equal("db"))
}

// claimed is since when boxes hold their CRDs.
type claimed map[string]time.Time

func (c claimed) Since(box string) time.Time { return c[box] }

func TestReports(t *testing.T) {
	since := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	beside := health.Report{Phase: health.Pending, Reason: v1alpha1.ReasonCompileFailed, Message: "m", CRD: "c"}
	for name, tc := range map[string]struct {
		beside *health.Report
		engine *health.Report
		known  bool
		want   health.Report
	}{
		"nothing is known":            {nil, &health.Report{Phase: health.Running}, false, health.Report{}},
		"it does not run":             {&beside, nil, true, health.Report{Phase: health.Pending, Reason: beside.Reason, Message: "m", CRD: "c", ClaimedAt: since}},
		"between two sub-controllers": {&health.Report{CRD: "c"}, nil, false, health.Report{}},
		"it runs":                     {&health.Report{CRD: "c"}, &health.Report{Phase: health.Running}, true, health.Report{Phase: health.Running, CRD: "c", ClaimedAt: since}},
		"a mistake does not stop what runs": {
			&beside, &health.Report{Phase: health.Running}, true, health.Report{Phase: health.Running, Reason: beside.Reason, Message: "m", CRD: "c", ClaimedAt: since},
		},
		"all else does": {
			&beside, &health.Report{Phase: health.Starting}, true, health.Report{Phase: health.Pending, Reason: beside.Reason, Message: "m", CRD: "c", ClaimedAt: since},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := &fakeEngine{reports: map[string]health.Report{}}
			if tc.engine != nil {
				e.reports["shop"] = *tc.engine
			}
			r := &Reports{Engine: e, Claims: claimed{"shop": since}, Changed: func(string, bool) {}}
			if tc.beside != nil {
				r.Set("shop", *tc.beside)
			}
			report, known := r.HealthReport("shop")
			g.Expect(known).To(Equal(tc.known))
			g.Expect(report).To(Equal(tc.want))
			r.Forget("shop")
			_, known = r.HealthReport("shop")
			g.Expect(known).To(BeFalse())
		})
	}
}

func TestAChangedReportIsTold(t *testing.T) {
	g := NewWithT(t)
	told := 0
	e := &fakeEngine{closing: true, settling: time.Second}
	r := &Reports{Engine: e, Claims: claimed{}, Changed: func(string, bool) { told++ }}
	report := health.Report{Phase: health.Pending, Reason: "a", Message: "b", CRD: "c"}
	r.Set("shop", report)
	r.Set("shop", report)
	g.Expect(told).To(Equal(1))
	for i, change := range []func(*health.Report){
		func(r *health.Report) { r.Phase = health.Stopped }, func(r *health.Report) { r.Reason = "x" },
		func(r *health.Report) { r.Message = "x" }, func(r *health.Report) { r.CRD = "x" },
	} {
		change(&report)
		r.Set("shop", report)
		g.Expect(told).To(Equal(i + 2))
	}
	g.Expect(r.Closing()).To(BeTrue())
	g.Expect(r.Settling()).To(Equal(time.Second))
}

// dependencies are what the engine was told.
type dependencies struct {
	follower bool
	told     map[string]pipeline.DependencyState
}

func (d *dependencies) Leading() bool                                           { return !d.follower }
func (d *dependencies) SetDependency(name string, now pipeline.DependencyState) { d.told[name] = now }

func TestWhatOthersDependOnIsTold(t *testing.T) {
	written := &v1alpha1.CRDHealth{ObjectMeta: metav1.ObjectMeta{Name: "website"}}
	written.Spec.OperatorBoxRef = &v1alpha1.OperatorBoxReference{Name: "website"}
	written.Status.State = v1alpha1.HealthDegraded
	const degraded, healthy = v1alpha1.HealthDegraded, v1alpha1.HealthHealthy
	for name, tc := range map[string]struct {
		objects []client.Object
		engine  fakeEngine
		follows bool
		want    pipeline.DependencyState
	}{
		"nothing":                     {nil, fakeEngine{}, false, pipeline.DependencyState{}},
		"what this process knows":     {[]client.Object{websiteBox(), written}, fakeEngine{reports: map[string]health.Report{"website": runs(0, 1)}}, false, pipeline.DependencyState{OfBox: true, State: healthy, Started: true}},
		"what is written, elsewhere":  {[]client.Object{websiteBox(), written}, fakeEngine{reports: map[string]health.Report{"website": runs(0, 1)}}, true, pipeline.DependencyState{OfBox: true, State: degraded}},
		"what is written, at a start": {[]client.Object{websiteBox(), written}, fakeEngine{reports: map[string]health.Report{"website": {Phase: health.Starting}}}, false, pipeline.DependencyState{OfBox: true, State: degraded}},
		"what is written, at the end": {[]client.Object{websiteBox(), written}, fakeEngine{closing: true, reports: map[string]health.Report{"website": {Phase: health.Stopped}}}, false, pipeline.DependencyState{OfBox: true, State: degraded}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newSite(t, tc.objects...)
			told := &dependencies{follower: tc.follows, told: map[string]pipeline.DependencyState{}}
			r := &DependencyReconciler{Client: s.kube, Engine: told, Reports: &tc.engine}
			_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "website"}})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(told.told["website"]).To(Equal(tc.want))
		})
	}
}
