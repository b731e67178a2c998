package cycle

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
)

func TestStates(t *testing.T) {
	g := NewWithT(t)
	var s states
	key := types.NamespacedName{Namespace: "a", Name: "b"}
	first := s.of(key, "u1")
	first.own.version = "7"
	g.Expect(s.of(key, "u1")).To(BeIdenticalTo(first))
	g.Expect(s.of(types.NamespacedName{Name: "b"}, "u1")).NotTo(BeIdenticalTo(first))
	g.Expect(s.of(key, "u2").own.version).To(BeEmpty(), "made again under the same name: another resource")
	g.Expect(s.of(key, "u1").own.version).To(BeEmpty())
	s.forget(key)
	s.forget(key)
	g.Expect(s.all).To(HaveLen(1))
}

// showing is a resource with conditions, each as type, status, reason.
func showing(conditions ...[3]string) *unstructured.Unstructured {
	var list []any
	for _, c := range conditions {
		list = append(list, map[string]any{"type": c[0], "status": c[1], "reason": c[2], "message": "m"})
	}
	return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": list}}}
}

func TestReadyBefore(t *testing.T) {
	g := NewWithT(t)
	st := &state{last: last{ready: metav1.Condition{Type: "Ready", Reason: "shown"}}}
	g.Expect(st.readyBefore(showing([3]string{"Ready", "True", "stored"})).Reason).To(Equal("stored"))
	g.Expect(st.readyBefore(&unstructured.Unstructured{Object: map[string]any{}}).Reason).To(Equal("shown"), "where no status can show it")
}

func TestShows(t *testing.T) {
	cases := map[string]struct {
		obj                     *unstructured.Unstructured
		ready, waiting, failing bool
	}{
		"nothing":            {obj: &unstructured.Unstructured{Object: map[string]any{}}},
		"another shape":      {obj: &unstructured.Unstructured{Object: map[string]any{"status": "up"}}},
		"broken entries":     {obj: &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{"x", nil}}}}},
		"ready":              {obj: showing([3]string{"Ready", "True", "ReconcileSucceeded"}, [3]string{"Reconciling", "False", "Settled"}), ready: true},
		"ready and moving":   {obj: showing([3]string{"Ready", "True", "ReconcileSucceeded"}, [3]string{"Reconciling", "True", "ChildrenNotCurrent"}), waiting: true},
		"failing by a child": {obj: showing([3]string{"Ready", "False", v1alpha1.ReasonChildFailed}, [3]string{"Reconciling", "False", "Settled"}), failing: true},
		"failing, and tried again": {obj: showing([3]string{"Ready", "False", v1alpha1.ReasonReconcileError}, [3]string{"Reconciling", "True", "Retrying"}),
			waiting: true, failing: true},
		"paused from the first": {obj: showing([3]string{"Ready", "False", v1alpha1.ReasonPaused}, [3]string{"Reconciling", "False", v1alpha1.ReasonPaused})},
		"failing":               {obj: showing([3]string{"Ready", "False", v1alpha1.ReasonReconcileError}), failing: true},
		"not ready, yet":        {obj: showing([3]string{"Ready", "False", v1alpha1.ReasonChildrenNotCurrent}, [3]string{"Reconciling", "True", "ChildrenNotCurrent"}), waiting: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			ready, waiting, failing := healthShownBy(tc.obj)
			g.Expect([]bool{ready, waiting, failing}).To(Equal([]bool{tc.ready, tc.waiting, tc.failing}))
		})
	}
}

// gone is the last state of a resource that is gone.
func gone(uid types.UID, deleted bool, finalizers ...string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetNamespace("team-a")
	obj.SetName("web")
	obj.SetUID(uid)
	obj.SetFinalizers(finalizers)
	if deleted {
		obj.SetDeletionTimestamp(new(metav1.Now()))
	}
	return obj
}

func TestOrphaningIsRememberedForOneResourceAlone(t *testing.T) {
	g := NewWithT(t)
	var s states
	obj := gone("first", true, metav1.FinalizerOrphanDependents)
	s.of(client.ObjectKeyFromObject(obj), "first")
	s.noteOrphan(obj)
	g.Expect(s.orphan(client.ObjectKeyFromObject(obj), "first")).To(BeTrue())
	s.of(client.ObjectKeyFromObject(obj), "second")
	g.Expect(s.orphan(client.ObjectKeyFromObject(obj), "second")).To(BeFalse())
	s.forget(client.ObjectKeyFromObject(obj))
	g.Expect(s.orphans).To(BeEmpty())
	s.noteOrphan(obj) // no reconcile has come to it
	s.forget(client.ObjectKeyFromObject(obj))
	g.Expect(s.orphans).To(BeEmpty())
}

func TestAnotherSubControllerGoesOnWithTheBackoff(t *testing.T) {
	g := NewWithT(t)
	former, next, key := New(Config{}), New(Config{}), types.NamespacedName{Namespace: "team-a", Name: "web"}
	st := former.states.of(key, "u1")
	st.last.inputs, st.last.ready.Reason, st.own.version = &pipeline.Inputs{}, "shown", "7"
	st.retry.backoff.Next(time.Hour)
	former.Seen(gone("orphaned", true, metav1.FinalizerOrphanDependents))
	next.Inherit(former)
	g.Expect(next.states.of(key, "u1").retry.backoff).To(And(Equal(st.retry.backoff), Not(BeZero())))
	g.Expect(next.states.of(key, "u1").last.ready.Reason).To(Equal("shown"))
	g.Expect(next.states.of(key, "u1").last.inputs).To(BeNil(), "it is reconciled")
	g.Expect(next.states.of(key, "u1").own.version).To(BeEmpty(), "of a cache that is no more")
	g.Expect(next.states.of(key, "another").retry.backoff).To(BeZero(), "another resource of that name")
	g.Expect(next.states.orphan(key, "orphaned")).To(BeTrue())
	next.Forget(key)
	g.Expect(next.states.all).To(BeEmpty())
	g.Expect(next.states.orphans).To(BeEmpty())
	g.Expect(former.states.orphan(key, "orphaned")).To(BeTrue(), "it has its own")
}

func TestWaitersAreWokenOnce(t *testing.T) {
	g := NewWithT(t)
	var w waiters
	web, other := types.NamespacedName{Namespace: "a", Name: "web"}, types.NamespacedName{Namespace: "a", Name: "other"}
	g.Expect(w.wake()).To(BeEmpty())
	w.note(web, true)
	w.note(other, true)
	g.Expect(w.woken(web)).To(BeFalse(), "rights are as they were when it lacked one")
	w.note(other, false)
	g.Expect(w.wake()).To(ConsistOf(web))
	g.Expect(w.woken(web)).To(BeTrue())
	g.Expect(w.woken(other)).To(BeFalse(), "it lacks nothing")
	w.note(web, true)
	g.Expect(w.woken(web)).To(BeFalse(), "it has asked since")
}
