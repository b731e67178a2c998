package cycle

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// constructed gives the cycles of a box whose reconciler a test says, and a resource of it. Nothing is to be written.
func constructed(t *testing.T, ask func(ctx context.Context) (reconcile.Result, error)) (*Reconciler, *unstructured.Unstructured) {
	t.Helper()
	spec := v1alpha1.OperatorBoxSpec{Reconciler: &v1alpha1.ReconcilerSpec{Default: new(false), Constructor: &v1alpha1.GoFunction{Location: "a", Function: "New"}}}
	r, resource := serving(t, spec, func(_ http.ResponseWriter, request *http.Request) {
		t.Errorf("%s %s: the box writes nothing", request.Method, request.URL)
	})
	r.Constructed = reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) { return ask(ctx) })
	resource.SetFinalizers(nil)
	resource.SetLabels(nil)
	resource.SetAnnotations(nil)
	return r, resource
}

// What comes of an answer is one record, as of a plan.
func TestAnswersOfAReconciler(t *testing.T) {
	websites := schema.GroupResource{Group: "demo.example.com", Resource: "websites"}
	for name, tc := range map[string]struct {
		result  reconcile.Result
		err     error
		class   pipeline.Class
		text    string
		atLeast time.Duration
		atMost  time.Duration
	}{
		"nothing":              {atLeast: 30 * time.Second, atMost: time.Minute},
		"a time":               {result: reconcile.Result{RequeueAfter: 7 * time.Second}, atLeast: 6 * time.Second, atMost: 7 * time.Second},
		"a time too long":      {result: reconcile.Result{RequeueAfter: time.Hour}, atLeast: 30 * time.Second, atMost: time.Minute},
		"soon":                 {result: reconcile.Result{Requeue: true}, atMost: time.Second},
		"an error":             {err: errors.New("no such table"), class: pipeline.Transient, text: "constructor: no such table", atMost: time.Second},
		"what no try mends":    {err: reconcile.TerminalError(errors.New("never")), class: pipeline.Permanent, text: "constructor: terminal error: never", atLeast: 30 * time.Second, atMost: time.Minute},
		"a refusal":            {err: apierrors.NewInvalid(schema.GroupKind{Kind: "Website"}, "shop", nil), class: pipeline.Refused, text: "is invalid", atLeast: 30 * time.Second, atMost: time.Minute},
		"a conflict":           {err: apierrors.NewConflict(websites, "shop", errors.New("it has changed")), atMost: time.Second},
		"no more time":         {err: context.DeadlineExceeded, class: pipeline.Transient, text: "constructor: context deadline exceeded", atMost: time.Second},
		"what may not be read": {err: &pipeline.WithheldError{What: "Secret"}, class: pipeline.Permission, text: "Secret", atLeast: time.Second, atMost: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r, resource := constructed(t, func(context.Context) (reconcile.Result, error) { return tc.result, tc.err })
			st := &state{}
			c := of(t, r, resource, st)
			g.Expect(c.execute(patience(t))).To(BeTrue())
			reporting{c}.report(patience(t))
			g.Expect(c.record.Class).To(Equal(tc.class))
			if tc.text != "" {
				g.Expect(c.record.Err).To(MatchError(ContainSubstring(tc.text)))
			}
			g.Expect(c.record.Next.After).To(And(BeNumerically(">=", tc.atLeast), BeNumerically("<=", tc.atMost)))
			g.Expect(r.Tracker.Fails(c.record.Key)).To(Equal(tc.class != ""), "health counts it")
			g.Expect(st.handed).To(Equal(tc.err == nil))
		})
	}
}

// A reconciler that panics, or calls runtime.Goexit as t.FailNow does, fails for one resource. The stack is logged once, as long as the panic is the same.
func TestAReconcilerThatDoesNotReturnFailsForOneResource(t *testing.T) {
	for says, end := range map[string]func(){
		"a bug":                     func() { panic("a bug") },
		"runtime.Goexit was called": runtime.Goexit,
	} {
		t.Run(says, func(t *testing.T) {
			g := NewWithT(t)
			r, resource := constructed(t, func(context.Context) (reconcile.Result, error) { end(); return reconcile.Result{}, nil })
			ctx, logged := logging(patience(t))
			st := &state{}
			run := func() *Record {
				c := of(t, r, resource, st) //nolint:contextcheck // it waits with the context of the test
				g.Expect(c.execute(ctx)).To(BeTrue())
				reporting{c}.report(ctx)
				c.slot.Leave()
				return c.record
			}
			rec := run()
			g.Expect(rec.Class).To(Equal(pipeline.Panic))
			g.Expect(rec.Err.Error()).To(MatchRegexp(`^constructor: panic: constructed_test\.go:\d+: ` + says))
			g.Expect(r.Tracker.Fails(rec.Key)).To(BeTrue(), "health counts it")
			g.Expect(rec.Next).NotTo(BeNil(), "it is tried again")
			g.Expect(run().Err.Error()).To(Equal(rec.Err.Error()))
			g.Expect(*logged).To(ConsistOf(
				And(ContainSubstring("Panic was caught"), ContainSubstring(says), ContainSubstring("constructed_test.go")),
				ContainSubstring("Reconcile failed"), ContainSubstring("Reconcile failed")))
			says, end = "another bug", func() { panic("another bug") }
			run()
			g.Expect(*logged).To(ContainElement(And(ContainSubstring("Panic was caught"), ContainSubstring(says))))
		})
	}
}

// logging gives a context whose lines of log are kept.
func logging(ctx context.Context) (context.Context, *[]string) {
	logged := &[]string{}
	return log.IntoContext(ctx, funcr.New(func(_, args string) { *logged = append(*logged, args) }, funcr.Options{})), logged
}

// What is logged of an error is bounded: it comes again with each retry.
func TestAnErrorOfAMegabyteIsCutInTheLog(t *testing.T) {
	g := NewWithT(t)
	r, resource := constructed(t, func(context.Context) (reconcile.Result, error) {
		return reconcile.Result{}, errors.New(strings.Repeat("x", 1<<20))
	})
	ctx, logged := logging(patience(t))
	c := of(t, r, resource, &state{})
	g.Expect(c.execute(ctx)).To(BeTrue())
	reporting{c}.report(ctx)
	g.Expect(*logged).To(ConsistOf(And(ContainSubstring("Reconcile failed"), ContainSubstring("(cut: the error has 1048576 bytes)"))))
	g.Expect(len((*logged)[0])).To(BeNumerically("<", 5000))
}

// Conflicts are what code gets that reads from caches, until there are too many of them in a row.
func TestConflictsInARow(t *testing.T) {
	g := NewWithT(t)
	r, resource := constructed(t, func(context.Context) (reconcile.Result, error) {
		return reconcile.Result{}, apierrors.NewConflict(schema.GroupResource{Resource: "websites"}, "shop", errors.New("it has changed"))
	})
	st := &state{}
	run := func() *Record {
		c := of(t, r, resource, st)
		g.Expect(c.execute(patience(t))).To(BeTrue())
		c.slot.Leave()
		return c.record
	}
	for range maxConflicts {
		rec := run()
		g.Expect(rec.Class).To(BeEmpty())
		o, _ := rec.observation()
		g.Expect(o).To(And(HaveField("Waiting", true), HaveField("Ready", false), HaveField("Failed", false)))
	}
	g.Expect(run().Class).To(Equal(pipeline.Transient))
	g.Expect(run().Class).To(BeEmpty(), "it begins anew")
}

// What has succeeded is asked whenever the queue gives it. What has failed waits for its time, or for a change.
func TestWhenAReconcilerIsAsked(t *testing.T) {
	now := time.Now()
	for name, tc := range map[string]struct {
		last  last
		pause time.Duration // until it is due
		woken bool
		want  Action
	}{
		"it is new":                           {last{}, 0, false, Reconcile},
		"it has succeeded":                    {last{at: now, version: "7"}, 0, false, Reconcile},
		"it has failed, and is not due":       {last{at: now, version: "7", class: pipeline.Transient}, time.Hour, false, Skip},
		"it has failed, and is due":           {last{at: now, version: "7", class: pipeline.Transient}, 0, false, Retry},
		"it has failed, and has changed":      {last{at: now, version: "6", class: pipeline.Transient}, time.Hour, false, Reconcile},
		"it has failed, and a child changed":  {last{at: now, version: "7", class: pipeline.Panic}, time.Hour, true, Reconcile},
		"no try mends it":                     {last{at: now, version: "7", class: pipeline.Permanent}, 0, false, Skip},
		"no try mends it, and resync is over": {last{at: now.Add(-2 * time.Minute), version: "7", class: pipeline.Permanent}, 0, false, Reconcile},
		"no try mends it, and it has changed": {last{at: now, version: "6", class: pipeline.Permanent}, 0, false, Reconcile},
		"it was refused":                      {last{at: now, version: "7", class: pipeline.Refused}, 0, false, Skip},
		"it was refused, and resync is over":  {last{at: now.Add(-2 * time.Minute), version: "7", class: pipeline.Refused}, 0, false, Retry},
	} {
		t.Run(name, func(t *testing.T) {
			r, resource := constructed(t, nil)
			st := &state{last: tc.last}
			st.retry.wait(now, tc.pause)
			c := of(t, r, resource, st)
			if tc.woken {
				r.Wake(c.record.Key)
			}
			NewWithT(t).Expect(Decide(c.gather(patience(t))).Action).To(Equal(tc.want))
		})
	}
}

// Marks of a plan that was there before go first: nobody else takes them off.
func TestMarksOfAFormerPlanGoFirst(t *testing.T) {
	r, resource := constructed(t, nil)
	resource.SetFinalizers([]string{v1alpha1.Finalizer})
	g := NewWithT(t)
	g.Expect(Decide(of(t, r, resource, &state{}).gather(patience(t))).Action).To(Equal(Release))
	r, resource = constructed(t, nil)
	resource.SetFinalizers([]string{v1alpha1.Finalizer})
	g.Expect(Decide(of(t, r, resource, &state{released: true}).gather(patience(t))).Action).To(Equal(Reconcile), "they are off, which the cache does not show yet")
}

// A resource that is being deleted is the reconciler's, also where the box is suspended.
func TestDeletionsAreTheReconcilers(t *testing.T) {
	r, resource := constructed(t, nil)
	resource.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
	g := NewWithT(t)
	c := of(t, r, resource, &state{})
	g.Expect(Decide(c.gather(patience(t))).Action).To(Equal(Reconcile))
	c.record.Plan = r.Plan().ForCleanup()
	g.Expect(Decide(c.gather(patience(t))).Action).To(Equal(Reconcile))
}

func TestWithoutItsAccountNoCodeRuns(t *testing.T) {
	r, resource := constructed(t, nil)
	resource.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
	c := of(t, r, resource, &state{})
	c.record.Plan = r.Plan().WithoutAccount(identity.Problem{Reason: v1alpha1.ReasonAccountMissing, Message: "gone"})
	g := NewWithT(t)
	g.Expect(Decide(c.gather(patience(t))).Action).To(Equal(Ignore))
	resource.SetDeletionTimestamp(nil)
	g.Expect(Decide(c.gather(patience(t))).Action).To(Equal(Ignore))
}

// A resource that is gone is told once more, and what comes of it is counted nowhere.
func TestTheReconcilerSeesThatAResourceIsGone(t *testing.T) {
	g := NewWithT(t)
	asked := 0
	r, resource := constructed(t, func(context.Context) (reconcile.Result, error) { asked++; return reconcile.Result{}, errors.New("no") })
	c := of(t, r, resource, &state{})
	asking{c}.tellGone(patience(t))
	g.Expect(asked).To(BeZero(), "it is there")
	c.stored = nil
	asking{c}.tellGone(patience(t))
	g.Expect(asked).To(Equal(1))
	g.Expect(r.Tracker.Snapshot().Resources.Total).To(BeZero())
}
