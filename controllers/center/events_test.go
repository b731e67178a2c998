package center

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/orkspace/orkestra/engine/web/api"
)

var beginning = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

// eventAbout is an event about an object that happened some seconds after the beginning.
func eventAbout(uid types.UID, name string, seconds int) *corev1.Event {
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint(name, seconds)}, InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: name, UID: uid},
		Reason: "Reason", Message: "message", Type: "Warning", Count: 2, LastTimestamp: metav1.Time{Time: beginning.Add(time.Duration(seconds) * time.Second)},
	}
}

func TestEventsAreListedOnceForWhatSomebodySees(t *testing.T) {
	g := NewWithT(t)
	clk := clocktesting.NewFakePassiveClock(beginning)
	lists, more := 0, ""
	objects := []client.Object{eventAbout("other", "other", 1)}
	for n := range 60 {
		objects = append(objects, eventAbout("mine", "web", n))
	}
	objects = append(objects, eventAbout("child", "child", 90))
	reader := fake.NewClientBuilder().WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			lists++
			o := (&client.ListOptions{}).ApplyOptions(opts)
			g.Expect(o.Namespace).To(Equal("shop"))
			g.Expect(o.Limit).To(BeEquivalentTo(1000))
			err := c.List(ctx, list, client.InNamespace(o.Namespace))
			list.SetContinue(more)
			return err
		},
	}).Build()
	events := NewEvents(reader, clk)
	both, one := About{UIDs: map[types.UID]bool{"mine": true, "child": true}}, About{UIDs: map[types.UID]bool{"mine": true}}
	for range 3 {
		all, note, err := events.Of(t.Context(), "shop", both)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(note).To(BeEmpty())
		g.Expect(all).To(HaveLen(50), "the newest ones")
		g.Expect(all[0]).To(And(HaveField("Object", "Pod/child"), HaveField("Count", int32(2)), HaveField("Time", BeTemporally("==", beginning.Add(90*time.Second)))))
		g.Expect(all[49]).To(HaveField("Time", BeTemporally("==", beginning.Add(11*time.Second))))
		all[0].Message = "changed by who got it"
	}
	g.Expect(lists).To(Equal(1))
	seen, _, err := events.Of(t.Context(), "shop", one)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(seen).To(HaveEach(HaveField("Object", "Pod/web")), "who may not see the child is not told of it")
	g.Expect(lists).To(Equal(2))
	again, _, _ := events.Of(t.Context(), "shop", both)
	g.Expect(again[0].Message).To(Equal("message"))

	clk.SetTime(beginning.Add(10 * time.Second))
	more = "token"
	_, note, err := events.Of(t.Context(), "shop", both)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(note).To(HavePrefix("There are more than 1000 events in the namespace shop"))
	g.Expect(lists).To(Equal(3))
	g.Expect(EventNamespace("")).To(Equal("default"))
}

// TestListedEventsAreBounded: what is kept of a long list is what is shown, and that there are more is said only where the API server says it.
func TestListedEventsAreBounded(t *testing.T) {
	g := NewWithT(t)
	var objects []client.Object
	for n := range 400 {
		objects = append(objects, eventAbout("mine", "web", n))
	}
	more := ""
	reader := fake.NewClientBuilder().WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			err := c.List(ctx, list)
			list.SetContinue(more)
			return err
		},
	}).Build()
	for _, more = range []string{"", "token"} {
		listed, err := NewEvents(reader, clocktesting.NewFakePassiveClock(beginning)).list(t.Context(), "shop", About{UIDs: map[types.UID]bool{"mine": true}})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(listed.cut).To(Equal(more != ""))
		g.Expect(listed.events).To(HaveLen(maxShown))
		g.Expect(cap(listed.events)).To(BeNumerically("<", 2*maxShown), "the rest is not kept behind them")
	}
}

// TestWarningsOfPods: what keeps a workload from getting ready is said of its Pods, which no cache has.
func TestWarningsOfPods(t *testing.T) {
	about := About{UIDs: map[types.UID]bool{}, Workloads: []Workload{
		{"Deployment", "web"}, {"StatefulSet", "db"}, {"DaemonSet", "log"}, {"Job", "load"}, {"CronJob", "tidy"}, {"ReplicaSet", "old"}, {"ConfigMap", "text"},
	}}
	for of, want := range map[string]bool{
		"Pod/web-5d8f7c9b6d-x2x7k": true, "ReplicaSet/web-5d8f7c9b6d": true, "Pod/db-0": true, "Pod/db-12": true, "Pod/log-x2x7k": true, "Pod/load-x2x7k": true, "Pod/load-3-x2x7k": true,
		"Job/tidy-29384756": true, "Pod/tidy-29384756-x2x7k": true, "Pod/old-x2x7k": true,
		"Pod/web-api-5d8f7c9b6d-x2x7k": false, "Pod/web-x2x7k": false, "Pod/web": false, "Pod/webs-5d8f7c9b6d-x2x7k": false, "Service/web-5d8f7c9b6d": false, "Pod/db-x2x7k": false,
		"Pod/text-x2x7k": false, "Pod/another-5d8f7c9b6d-x2x7k": false, "ReplicaSet/db-0": false, "Pod/web-5d8f7c9b6d-x2x7k-more": false,
	} {
		kind, name, _ := strings.Cut(of, "/")
		event := &corev1.Event{Type: corev1.EventTypeWarning, InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name, UID: "theirs"}}
		NewWithT(t).Expect(about.Has(event)).To(Equal(want), of)
		event.Type = corev1.EventTypeNormal
		NewWithT(t).Expect(about.Has(event)).To(BeFalse(), "what goes well is noise")
	}
}

// TestWhoSeesAnotherChildSeesOtherEvents: what is kept for one is not for another.
func TestWhoSeesAnotherChildSeesOtherEvents(t *testing.T) {
	uids := map[types.UID]bool{"a": true}
	keys := map[string]bool{}
	for _, about := range []About{{}, {UIDs: uids}, {UIDs: uids, Workloads: []Workload{{"Deployment", "web"}}}, {UIDs: uids, Workloads: []Workload{{"Job", "web"}}}} {
		keys[about.key()] = true
	}
	NewWithT(t).Expect(keys).To(HaveLen(4))
}

// TestWarningsBesideACause: the newest of each, three at most, and none of the resource itself.
func TestWarningsBesideACause(t *testing.T) {
	g := NewWithT(t)
	about := About{Workloads: []Workload{{"Deployment", "web"}}}
	warning := func(object, reason string) api.Event {
		return api.Event{Type: corev1.EventTypeWarning, Object: object, Reason: reason, Message: reason}
	}
	const pod = "Pod/web-5d8f7c9b6d-x2x7k"
	normal := warning(pod, "Scheduled")
	normal.Type = corev1.EventTypeNormal
	first, second, third := warning(pod, "BackOff"), warning("ReplicaSet/web-5d8f7c9b6d", "FailedCreate"), warning(pod, "FailedScheduling")
	g.Expect(about.warnings([]api.Event{
		warning("Shop/web", "Degraded"), normal, first, warning("Pod/web-5d8f7c9b6d-zzzzz", "BackOff"), second, third, warning(pod, "Older"),
	})).To(Equal([]api.Event{first, second, third}))
	g.Expect(about.warnings(nil)).To(BeEmpty())
}
