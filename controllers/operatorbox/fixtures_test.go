package operatorbox

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/accounts"
	"github.com/orkspace/orkestra/controllers/admission"
	"github.com/orkspace/orkestra/controllers/claims"
	"github.com/orkspace/orkestra/controllers/compiler"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/engine"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/release"
	"github.com/orkspace/orkestra/engine/revision"
)

const (
	websitesCRD = "websites.demo.example.com"
	othersCRD   = "others.demo.example.com"
)

func testScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, apiextensionsv1.AddToScheme, appsv1.AddToScheme, admissionregistrationv1.AddToScheme} {
		NewWithT(t).Expect(add(scheme)).To(Succeed())
	}
	return scheme
}

// fakeEngine stands for an engine: it runs what it is given, and says what it was told to say.
type fakeEngine struct {
	follower bool
	plans    map[string]*pipeline.Plan
	options  map[string]engine.Options // of the last Ensure
	removed  []string
	reports  map[string]health.Report
	settling time.Duration
	unused   []schema.GroupVersionKind
	withheld []access.Right
	narrow   bool
	filling  bool                         // its caches, so that it can't judge
	living   []*unstructured.Unstructured // resources
	stuck    *engine.StuckError           // what runs does not stop
	ended    bool                         // it does not run any more

	snapshots []string // revisions that resources would go back to

	left  []types.NamespacedName // of Release
	fails error                  // of Release
	how   release.Mode
	cause release.Cause
}

func (e *fakeEngine) Ensure(plan *pipeline.Plan, options engine.Options) error {
	if e.plans == nil {
		e.plans, e.options = map[string]*pipeline.Plan{}, map[string]engine.Options{}
	}
	if e.ended {
		return engine.ErrNotStarted
	}
	if e.stuck != nil {
		return e.stuck
	}
	e.plans[plan.Box], e.options[plan.Box] = plan, options
	return nil
}

func (e *fakeEngine) Leading() bool                  { return !e.follower }
func (e *fakeEngine) Plan(box string) *pipeline.Plan { return e.plans[box] }
func (e *fakeEngine) Settling() time.Duration        { return e.settling }
func (e *fakeEngine) SnapshotRevisions(box string) (revisions []string, known bool) {
	return e.snapshots, e.plans[box] != nil
}
func (e *fakeEngine) Withheld(string) []access.Right { return e.withheld }
func (e *fakeEngine) Report(box string) (report health.Report, ok bool) {
	report, ok = e.reports[box]
	return report, ok
}

func (e *fakeEngine) Unneeded(string) (kinds []schema.GroupVersionKind, namespaces bool) {
	return e.unused, e.narrow
}

func (e *fakeEngine) Judge(_ string, breaks func(*unstructured.Unstructured) bool) (total, breaking int32, ok bool) {
	for _, obj := range e.living {
		total++
		if breaks(obj) {
			breaking++
		}
	}
	return total, breaking, !e.filling
}

func (e *fakeEngine) Remove(box string) error {
	if e.stuck != nil {
		return e.stuck
	}
	e.removed = append(e.removed, box)
	delete(e.plans, box)
	return nil
}

func (e *fakeEngine) Release(_ context.Context, _ string, how release.Mode, cause release.Cause) ([]types.NamespacedName, error) {
	e.how, e.cause = how, cause
	return e.left, e.fails
}

// fakeReports is what CRDHealth was told.
type fakeReports map[string]health.Report

func (r fakeReports) Set(box string, report health.Report) { r[box] = report }
func (r fakeReports) Forget(box string)                    { delete(r, box) }

// fakeQueue is which boxes were marked.
type fakeQueue struct{ marked []string }

func (q *fakeQueue) Mark(box string, _ bool) { q.marked = append(q.marked, box) }

// fakeAccounts are the UIDs of the accounts that there are. Boxes may use those of namespace "team".
type fakeAccounts map[string]types.UID

func (a fakeAccounts) UID(name types.NamespacedName) (types.UID, error) {
	if name.Namespace != "team" {
		return "", accounts.ErrNotAllowed
	}
	if uid := a[name.Name]; uid != "unreadable" {
		return uid, nil
	}
	return "", errors.New("not read yet")
}

func (fakeAccounts) Namespaces() []string { return []string{"team"} }

// fakeDrain is whether a drain is asked for.
type fakeDrain bool

func (d fakeDrain) Draining(context.Context) (bool, error) { return bool(d), nil }

// shop is a box whose spec names a CRD.
func shop(crd string) *v1alpha1.OperatorBox {
	box := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: "box", Generation: 7}}
	box.Spec.CRD.Name = crd
	return box
}

// held is a box that has our finalizer.
func held(box *v1alpha1.OperatorBox) *v1alpha1.OperatorBox {
	box.Finalizers = []string{v1alpha1.Finalizer}
	return box
}

// websites is a CRD that serves v1.
func websites() *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: websitesCRD, UID: "crd", Generation: 1},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "demo.example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "websites", Singular: "website", Kind: "Website", ListKind: "WebsiteList"},
		},
	}
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}
	return serving(crd, "v1")
}

// serving has a CRD serve versions, the first of which is stored.
func serving(crd *apiextensionsv1.CustomResourceDefinition, versions ...string) *apiextensionsv1.CustomResourceDefinition {
	crd.Spec.Versions = nil
	for i, name := range versions {
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: i == 0,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
		})
	}
	return crd
}

// process serves boxes with an engine that runs nothing.
type process struct {
	*Reconciler

	kube      client.Client
	engine    *fakeEngine
	reports   fakeReports
	queue     *fakeQueue
	events    *events.FakeRecorder
	accounts  fakeAccounts
	demanded  bool               // each box must name an account
	acted     []identity.Account // as whom CRDs were written
	drained   bool
	denied    map[string]bool               // rights that are missing, as `verb resource.group` for the manager, and with the user in front for an account
	unserved  map[string]bool               // kinds of policies that the API server does not know
	uncreated string                        // kind whose creation ends with an error
	writes    int                           // that were sent
	lastWrite int                           // after which the process ends; 0: it does not
	unlisted  error                         // what lists of revisions end with
	unapplied error                         // what applies end with
	behind    *metav1.PartialObjectMetadata // what the cache still shows of each CRD; nil: what there is
}

// Create implements access.Creator.
func (p *process) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	var a *authorizationv1.ResourceAttributes
	var status *authorizationv1.SubjectAccessReviewStatus
	who := ""
	switch review := obj.(type) {
	case *authorizationv1.SelfSubjectAccessReview:
		a, status = review.Spec.ResourceAttributes, &review.Status
	case *authorizationv1.SubjectAccessReview:
		a, status, who = review.Spec.ResourceAttributes, &review.Status, review.Spec.User+" "
	}
	right := access.Right{Verb: a.Verb, Group: a.Group, Resource: a.Resource, Subresource: a.Subresource, Name: a.Name}
	status.Allowed = !p.denied[who+right.String()]
	return nil
}

// newProcess is one that leads a cluster with these objects.
func newProcess(t *testing.T, objects ...client.Object) *process {
	t.Helper()
	p := &process{
		accounts: fakeAccounts{}, engine: &fakeEngine{}, reports: fakeReports{}, queue: &fakeQueue{}, events: events.NewFakeRecorder(10), denied: map[string]bool{},
	}
	p.kube = fake.NewClientBuilder().WithScheme(testScheme(t)).WithIndex(&v1alpha1.OperatorBox{}, crds.Index, crds.Indexed).WithObjects(objects...).WithReturnManagedFields().
		WithStatusSubresource(&v1alpha1.OperatorBox{}, &v1alpha1.CRDHealth{}).
		WithInterceptorFuncs(p.requests()).Build()
	p.restart()
	return p
}

// restart makes the process forget what it knew, but for what its engine runs.
func (p *process) restart() {
	clk := testclock.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	store, revisions := crds.NewStore(p.kube, p.kube), revision.NewStore(p.kube, p.kube, "our-system")
	compiling := &compiler.Compiler{Client: p.kube, Mapper: meta.NewDefaultRESTMapper(nil), CRDs: store, Revisions: revisions}
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{"ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"} {
		if !p.unserved[kind] {
			mapper.Add(admissionregistrationv1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeRoot)
		}
	}
	rights := access.NewReviews(p, clk)
	p.Reconciler = New(Ports{
		Client: p.kube, Live: p.kube, Engine: p.engine, Reports: p.reports, Rights: rights, CRDs: store, Compiler: compiling,
		Claims: claims.NewStore(p.kube, clk), Revisions: revisions, Plans: revision.NewPlans(revisions, compiling), Boxes: p.queue,
		Admission: &admission.Enforcer{
			Store:  &admission.Store{Client: p.kube, Mapper: mapper, Clock: clk, Changed: func(box string) { p.queue.Mark(box, false) }},
			Client: p.kube, Rights: rights.Of(identity.Account{}, ""), Judge: p.engine,
		},
		Events: p.events, Drain: fakeDrain(p.drained), Accounts: p.accounts, AccountRequired: p.demanded,
		As: func(account identity.Account, _ string) (client.Client, error) {
			p.acted = append(p.acted, account)
			return p.kube, nil
		},
	})
}

// serves reconciles a box, and gives it as the API server has it then; nil: it is gone.
func (p *process) serves(t *testing.T, name string) (*v1alpha1.OperatorBox, ctrl.Result) {
	t.Helper()
	g := NewWithT(t)
	result, err := p.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}})
	g.Expect(err).NotTo(HaveOccurred())
	box := &v1alpha1.OperatorBox{}
	if err := p.kube.Get(t.Context(), types.NamespacedName{Name: name}, box); client.IgnoreNotFound(err) != nil {
		g.Expect(err).NotTo(HaveOccurred())
	} else if err != nil {
		return nil, result
	}
	return box, result
}

// requestFor asks for a box.
func requestFor(name string) ctrl.Request {
	return ctrl.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// condition gives a condition of a box, as `status reason: message`.
func condition(box *v1alpha1.OperatorBox, kind string) string {
	c := meta.FindStatusCondition(box.Status.Conditions, kind)
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}
