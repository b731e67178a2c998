package cycle

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/cleanup"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/release"
	"github.com/orkspace/orkestra/engine/rollback"
	"github.com/orkspace/orkestra/engine/watch"
)

// server answers each write with the resource as it is after that, and remembers what was written.
type server struct {
	resource *unstructured.Unstructured
	refuses  int // with this code; 0: it does not
	snapshot int // with this code it answers the making of a snapshot; 0: it is made

	mu     sync.Mutex
	bodies []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodies = append(s.bodies, r.Method+" "+r.URL.Path+" "+string(body))
	w.Header().Set("Content-Type", "application/json")
	code := s.refuses
	if strings.HasSuffix(r.URL.Path, "/controllerrevisions") {
		code = s.snapshot
	}
	if code > 0 {
		w.WriteHeader(code)
		return
	}
	answer := s.resource.DeepCopy()
	answer.SetResourceVersion("8")
	if err := json.NewEncoder(w).Encode(answer.Object); err != nil {
		panic(err)
	}
}

// written says whether some write holds a text.
func (s *server) written(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.bodies, func(b string) bool { return strings.Contains(b, text) })
}

// sent are events that were sent.
type sent struct {
	all []string
}

// Eventf implements events.EventRecorder.
func (s *sent) Eventf(_, _ runtime.Object, kind, reason, _, note string, args ...any) {
	s.all = append(s.all, kind+" "+reason+": "+fmt.Sprintf(note, args...))
}

// living is a reconciler whose cache has a resource.
func living(tb testing.TB, spec v1alpha1.OperatorBoxSpec, change func(*unstructured.Unstructured)) (*Reconciler, *server, *sent) {
	tb.Helper()
	s, events := &server{}, &sent{}
	r, resource := serving(tb, spec, s.ServeHTTP)
	if change != nil {
		change(resource)
	}
	s.resource = resource
	list := map[schema.GroupVersionResource]string{r.Plan().CRD.Resource: "WebsiteList"}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), list, resource)
	r.Resources = watch.NewResources(watch.Config{Client: client}, r.Plan().CRD.Resource, nil, watch.Selection{}, watch.ResourceEvents{})
	r.Resources.Start(tb.Context())
	tb.Cleanup(r.Resources.Stop)
	NewWithT(tb).Expect(r.Resources.WaitForSync(patience(tb))).To(Succeed())
	r.Owners = &cleanup.Owners{Box: "website", Inventory: r.Inventory, Snapshots: r.Snapshots, Writer: r.Writer, Clock: r.Clock, Plan: r.Plan}
	r.Releaser = &release.Releaser{Box: "website", Plan: r.Plan, Client: r.Client, Writer: r.Writer, Clock: r.Clock}
	r.Events = events
	return r, s, events
}

func TestACycleThatSucceeds(t *testing.T) {
	g := NewWithT(t)
	r, s, events := living(t, v1alpha1.OperatorBoxSpec{}, nil)
	key := client.ObjectKeyFromObject(s.resource)
	r.Reconcile(patience(t), key)
	g.Expect(s.written(v1alpha1.ReasonReconciled)).To(BeFalse(), "that is of the event")
	g.Expect(s.written(`"reason":"ReconcileSucceeded"`)).To(BeTrue())
	g.Expect(events.all).To(ConsistOf("Normal Reconciled: everything that box website declares is so"))
	g.Expect(r.Tracker.Snapshot().Resources.Ready).To(BeEquivalentTo(1))
	g.Expect(r.Tracker.Snapshot().SuccessCount).To(BeEquivalentTo(1))
	st := r.states.of(key, "u1")
	g.Expect(st.last.class).To(BeEmpty())
	g.Expect(st.last.inputs).NotTo(BeNil())
	g.Expect(st.own.version).To(Equal("8"))

	before := len(s.bodies)
	r.Reconcile(patience(t), key)
	g.Expect(s.bodies).To(HaveLen(before), "the cache does not show the own write yet")
}

func TestACycleWhoseStatusCanNotBeWrittenHasFailed(t *testing.T) {
	for name, tc := range map[string]struct {
		code   int
		counts int64
		class  pipeline.Class
	}{
		"a conflict":   {http.StatusConflict, 0, pipeline.Transient},
		"another code": {http.StatusInternalServerError, 1, pipeline.Transient},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r, s, _ := living(t, v1alpha1.OperatorBoxSpec{}, nil)
			s.refuses = tc.code
			r.Reconcile(patience(t), client.ObjectKeyFromObject(s.resource))
			g.Expect(r.Tracker.Snapshot().FailureCount).To(BeEquivalentTo(tc.counts))
			st := r.states.of(client.ObjectKeyFromObject(s.resource), "u1")
			g.Expect(st.last.class).To(Equal(tc.class))
			g.Expect(st.last.inputs).To(BeNil(), "it is evaluated again")
			g.Expect(st.retry.backoff).NotTo(BeZero())
		})
	}
}

func TestAPausedResourceSaysSo(t *testing.T) {
	g := NewWithT(t)
	r, s, events := living(t, v1alpha1.OperatorBoxSpec{}, func(obj *unstructured.Unstructured) {
		annotations := obj.GetAnnotations()
		annotations[v1alpha1.AnnotationPaused] = v1alpha1.True
		obj.SetAnnotations(annotations)
	})
	r.Reconcile(patience(t), client.ObjectKeyFromObject(s.resource))
	g.Expect(s.written("not reconciled yet: the resource is paused")).To(BeTrue())
	g.Expect(events.all).To(BeEmpty())
	g.Expect(r.Tracker.Snapshot().SuccessCount+r.Tracker.Snapshot().FailureCount).To(BeZero(), "nothing has succeeded or failed")
}

func TestAResourceThatLeftTheSelectionIsReleased(t *testing.T) {
	g := NewWithT(t)
	var spec v1alpha1.OperatorBoxSpec
	spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"in": "yes"}}
	r, s, _ := living(t, spec, nil)
	key := client.ObjectKeyFromObject(s.resource)
	r.Reconcile(patience(t), key)
	g.Expect(s.written(v1alpha1.ReasonNotSelected)).To(BeTrue())
	g.Expect(r.states.of(key, "u1").released).To(BeTrue())
	before := len(s.bodies)
	r.Reconcile(patience(t), key)
	g.Expect(s.bodies).To(HaveLen(before), "the cache does not show it yet")
}

func TestWhatIsGoneIsForgotten(t *testing.T) {
	g := NewWithT(t)
	r, s, _ := living(t, v1alpha1.OperatorBoxSpec{}, nil)
	gone := client.ObjectKeyFromObject(s.resource)
	gone.Name = "gone"
	r.states.of(gone, "u2")
	r.Reconcile(patience(t), gone)
	g.Expect(r.states.all).To(BeEmpty())
	g.Expect(s.bodies).To(BeEmpty())
}

// A box with rollback whose resource fails for good, and has no snapshot.
func TestARollbackWithoutASnapshotSaysSo(t *testing.T) {
	g := NewWithT(t)
	var spec v1alpha1.OperatorBoxSpec
	spec.RollBackOnError = true
	r, s, events := living(t, spec, nil)
	key := client.ObjectKeyFromObject(s.resource)
	st := r.states.of(key, "u1")
	st.attempts = rollback.Attempts{Of: rollback.AttemptOf(r.Plan().Revision, s.resource), Failure: &pipeline.StepError{Class: pipeline.Permanent}, Due: rollback.TriggerError}
	r.Reconcile(patience(t), key)
	g.Expect(s.written("no snapshot of this resource is kept")).To(BeTrue())
	g.Expect(events.all).To(ConsistOf(HavePrefix("Warning " + v1alpha1.ReasonNoSnapshot)))
	g.Expect(st.attempts.Unavailable).To(BeTrue(), "it goes on as it would without rollback")
	g.Expect(r.Tracker.Snapshot().FailureCount).To(BeZero())
	st.own.version = ""
	r.Reconcile(patience(t), key)
	g.Expect(r.Tracker.Snapshot().SuccessCount).To(BeEquivalentTo(1))
}

func TestAPanicIsCountedAndTriedAgain(t *testing.T) {
	g := NewWithT(t)
	r, s, _ := living(t, v1alpha1.OperatorBoxSpec{}, nil)
	key := client.ObjectKeyFromObject(s.resource)
	r.AfterPanic(key, "oops", nil)
	g.Expect(r.Tracker.Snapshot().FailureCount).To(BeEquivalentTo(1))
	g.Expect(r.Tracker.Snapshot().Failing[0].Message).To(Equal("panic: oops"))
	st := r.states.of(key, "u1")
	g.Expect(st.last.class).To(Equal(pipeline.Panic))
	g.Expect(st.retry.isDue(time.Now())).To(BeFalse())
}

func TestASnapshotIsKeptOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		code   int
		reason string
	}{
		"kept":     {0, v1alpha1.ReasonSettled},
		"not kept": {http.StatusForbidden, v1alpha1.ReasonSnapshotFailed},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var spec v1alpha1.OperatorBoxSpec
			spec.RollBackOnError = true
			r, s, _ := living(t, spec, nil)
			s.snapshot = tc.code
			r.Reconcile(patience(t), client.ObjectKeyFromObject(s.resource))
			g.Expect(s.written("/controllerrevisions ")).To(BeTrue())
			g.Expect(s.written(v1alpha1.AnnotationSignature)).To(BeTrue())
			g.Expect(s.written(`"reason":"` + tc.reason + `"`)).To(BeTrue())
			g.Expect(s.written(`"reason":"ReconcileSucceeded"`)).To(BeTrue(), "the resource has succeeded all the same")
			st := r.states.of(client.ObjectKeyFromObject(s.resource), "u1")
			g.Expect(st.last.inputs.Expires().IsZero()).To(Equal(tc.code == 0), "it is tried again")
			g.Expect(st.last.class).To(BeEmpty())
		})
	}
}
