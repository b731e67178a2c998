package e2e_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/drain"
)

// lease is the one that managers compete for, and that asks for drains.
func lease() *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: ownNamespace, Name: drain.LeaseName}}
}

// versionsOf are the resourceVersions of ConfigMaps, by name.
func (w *world) versionsOf(ctx context.Context, names ...string) map[string]string {
	GinkgoHelper()
	versions := map[string]string{}
	for _, name := range names {
		c := &corev1.ConfigMap{}
		w.child(ctx, Default, c, name)
		versions[name] = c.ResourceVersion
	}
	return versions
}

// marked waits until resources carry Orkestra's finalizer.
func (w *world) marked(ctx context.Context, names ...string) {
	GinkgoHelper()
	for _, name := range names {
		Eventually(func(g Gomega) {
			g.Expect(w.get(ctx, g, name).GetFinalizers()).To(ContainElement(v1alpha1.Finalizer))
		}).WithContext(ctx).Should(Succeed())
	}
}

// drainAll asks for a drain as a user does.
func drainAll(ctx context.Context, args ...string) (out string, code int) {
	GinkgoHelper()
	return orkestra(ctx, append([]string{"drain", "-n", ownNamespace}, args...)...)
}

// drainedBox waits until a box says that it holds nothing.
func drainedBox(ctx context.Context, name string) {
	GinkgoHelper()
	boxShows(ctx, name, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDrained, "orkestra drain --undo")
}

var _ = Describe("orkestra drain", func() {
	const spec = `{finalizers: [example.io/hold], onReconcile: {configmaps: [{data: {value: good}}]},
		onDelete: {configmaps: [{name: "{{ .metadata.name }}-bye", data: {a: b}}]}}`
	var w *world
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		// Before the world is removed: that takes a manager which serves it.
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, lease()))).To(Succeed()) })
		DeferCleanup(func(ctx context.Context) { drainAll(ctx, "--undo") })
		w.running(ctx, w.box(ctx, spec))
		for _, name := range []string{"a", "b"} {
			w.website(ctx, name, `{}`)
			w.settled(ctx, name)
		}
	})

	It("lets go of everything, takes hold of nothing, and goes on when it is undone", func(ctx context.Context) {
		broken := newWorld(ctx)
		broken.running(ctx, broken.box(ctx, oneMap(1, "good")))
		broken.website(ctx, "web", `{}`)
		broken.settled(ctx, "web")
		broken.box(ctx, `{onReconcile: {configmaps: [{data: {a: "{{ .spec.nothing }}"}}]}}`)
		boxShows(ctx, broken.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "spec.nothing")
		before := w.versionsOf(ctx, "a", "b")
		generation := w.get(ctx, Default, "a").GetGeneration()

		out, code := drainAll(ctx)
		Expect(code).To(BeZero(), out)
		Expect(out).To(And(ContainSubstring("operatorbox/"+w.id+": drained\n"), ContainSubstring("Nothing is held any more: 2 boxes.\n")))
		for _, box := range []string{w.id, broken.id} {
			Expect(getBox(ctx, Default, box).Finalizers).To(BeEmpty())
			drainedBox(ctx, box)
			inState(ctx, box, v1alpha1.HealthSuspended, v1alpha1.ReasonDrained)
		}
		for _, name := range []string{"a", "b"} {
			Expect(w.get(ctx, Default, name).GetFinalizers()).To(BeEmpty(), "it was let go before the box")
			w.unmarked(ctx, name)
			unkept(w.get(ctx, Default, name), v1alpha1.ReasonDrained, "nobody keeps this resource and its children until it goes on")
		}
		broken.unmarked(ctx, "web")
		unkept(broken.get(ctx, Default, "web"), v1alpha1.ReasonDrained, "Orkestra was drained")
		Expect(w.versionsOf(ctx, "a", "b")).To(Equal(before))

		By("restarting the manager, changing what there is, and deleting")
		manager.stop()
		manager = startManager(cluster.Config())
		w.website(ctx, "new", `{}`)
		w.website(ctx, "a", `{mode: changed}`)
		w.overwrites(ctx, "b", "by hand")
		w.box(ctx, spec[:len(spec)-1]+`, workers: 2}`)
		w.boxNamed(ctx, w.id+"-second", `{crd: {name: nothing.`+w.group+`}, onReconcile: {configmaps: [{data: {a: b}}]}}`)
		drainedBox(ctx, w.id)
		drainedBox(ctx, w.id+"-second")
		Expect(getBox(ctx, Default, w.id+"-second").Finalizers).To(BeEmpty())
		Expect(kube.Delete(ctx, w.ref("new"))).To(Succeed())
		w.gone(ctx, w.ref("new"), "new")
		deleteBox(ctx, w.id+"-second")
		boxGone(ctx, w.id+"-second")
		w.website(ctx, "other", `{}`)
		drainedBox(ctx, broken.id)
		Expect(manager.requests.writes(0, "/namespaces/"+w.namespace+"/")).To(BeEmpty())
		out, code = drainAll(ctx)
		Expect(code).To(BeZero(), "again: "+out)

		By("undoing it")
		after := w.versionsOf(ctx, "a")
		out, code = drainAll(ctx, "--undo")
		Expect(code).To(BeZero(), out)
		w.running(ctx, w.id)
		w.marked(ctx, "a", "b", "other")
		broken.box(ctx, oneMap(1, "good"))
		broken.marked(ctx, "web")
		w.holds(ctx, "b", "good")
		w.settled(ctx, "a")
		Expect(w.versionsOf(ctx, "a")).To(Equal(after), "children are not touched")
		Expect(w.get(ctx, Default, "b").GetGeneration()).To(Equal(generation))
		Expect(getBox(ctx, Default, w.id).Finalizers).To(ConsistOf(v1alpha1.Finalizer))
		inState(ctx, w.id, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
		out, code = drainAll(ctx, "--undo")
		Expect(code).To(BeZero())
		Expect(out).To(ContainSubstring("nothing to undo"))
	})

	It("waits for deletions that are under way, and names what is left when there is no time any more", func(ctx context.Context) {
		hold := &corev1.ConfigMap{}
		w.child(ctx, Default, hold, "a")
		w.merge(ctx, hold, `{"metadata":{"finalizers":["example.io/held"]}}`)
		Expect(kube.Delete(ctx, w.ref("a"))).To(Succeed())
		Eventually(func(g Gomega) {
			w.child(ctx, g, hold, "a")
			g.Expect(hold.DeletionTimestamp).NotTo(BeNil())
		}).WithContext(ctx).Should(Succeed())
		out, code := drainAll(ctx, "--timeout", "3s")
		Expect(code).To(Equal(1), out)
		Expect(out).To(ContainSubstring("error: not drained in time: \n  operatorbox/" + w.id + ": the manager is being drained and waits for resources that are not let go yet: " + w.namespace + "/a\n"))
		Expect(out).NotTo(ContainSubstring("--help"))
		boxShows(ctx, w.id, v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonDraining, "/a")
		w.unmarked(ctx, "b")

		w.merge(ctx, hold, `{"metadata":{"finalizers":[]}}`)
		out, code = drainAll(ctx)
		Expect(code).To(BeZero(), out)
		w.gone(ctx, w.ref("a"), "a")
		w.gone(ctx, &corev1.ConfigMap{}, "a-bye")
		w.child(ctx, Default, &corev1.ConfigMap{}, "b")
	})

	It("leaves no mark behind where it is undone before the manager has seen its own last write, and the box is deleted", func(ctx context.Context) {
		var once sync.Once
		late := &lateWatches{of: "/operatorboxes"}
		late.open()
		DeferCleanup(late.open)
		replaceManager(via(late.wrap), via(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/operatorboxes/"+w.id) {
					once.Do(late.shut) // the box loses its finalizer
				}
				return next.RoundTrip(r)
			})
		}))
		w.running(ctx, w.id)
		out, code := drainAll(ctx)
		Expect(code).To(BeZero(), out)
		Expect(getBox(ctx, Default, w.id).Finalizers).To(BeEmpty())
		w.unmarked(ctx, "a")
		out, code = drainAll(ctx, "--undo")
		Expect(code).To(BeZero(), out)
		w.marked(ctx, "a", "b")
		deleteBox(ctx, w.id)
		late.open()
		boxGone(ctx, w.id)
		for _, name := range []string{"a", "b"} {
			w.unmarked(ctx, name)
		}
	})

	It("is asked of one installation: a later one goes on", func(ctx context.Context) {
		out, code := drainAll(ctx)
		Expect(code).To(BeZero(), out)
		word := func(g Gomega) string {
			l := lease()
			g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(l), l)).To(Succeed())
			return l.Annotations[v1alpha1.AnnotationDrain]
		}
		Expect(drain.Accepted(word(Default))).To(BeTrue(), word(Default))
		manager.stop()
		w.merge(ctx, lease(), `{"metadata":{"annotations":{"`+v1alpha1.AnnotationDrain+`":"`+word(Default)+`-of-old"}}}`)
		manager = startManager(cluster.Config())
		w.running(ctx, w.id)
		w.marked(ctx, "a", "b")
		Eventually(word).WithContext(ctx).Should(BeEmpty())
	})

	It("gives up without a manager", func(ctx context.Context) {
		manager.stop()
		DeferCleanup(func() { manager = startManager(cluster.Config()) })
		out, code := drainAll(ctx, "--timeout", "3s")
		Expect(code).To(Equal(1))
		Expect(out).To(ContainSubstring(`error: not drained in time: no manager has answered: does it run in namespace "` + ownNamespace + `"? Without one, use --force`))
		out, code = orkestra(ctx, "drain", "-n", w.namespace+"-none")
		Expect(code).To(Equal(1))
		Expect(out).To(ContainSubstring("is -n the manager's namespace?"))
	})

	It("does without a manager when it is forced to, and not beside one that leads", func(ctx context.Context) {
		before := w.versionsOf(ctx, "a", "b")
		manager.stop()
		running := true
		DeferCleanup(func() {
			if !running {
				manager = startManager(cluster.Config())
			}
		})
		leads := func(s *settings) {
			s.manager.LeaderElection, s.manager.LeaderElectionID, s.manager.LeaderElectionNamespace = true, drain.LeaseName, ownNamespace
			s.manager.LeaseDuration, s.manager.RenewDeadline, s.manager.RetryPeriod = new(3*time.Second), new(2*time.Second), new(200*time.Millisecond)
		}
		manager = startManager(cluster.Config(), leads)
		w.website(ctx, "c", `{}`)
		w.settled(ctx, "c")
		out, code := drainAll(ctx, "--force")
		Expect(code).To(Equal(1), out)
		Expect(out).To(ContainSubstring("leads, and would put the finalizers back: run orkestra drain without --force, or stop the manager first"))
		w.marked(ctx, "a", "b", "c")

		By("stopping it without a word: its lease is not released")
		manager.stop()
		running = false
		Expect(kube.Delete(ctx, w.ref("c"))).To(Succeed())
		w.merge(ctx, lease(), `{"metadata":{"annotations":{"`+v1alpha1.AnnotationDrain+`":"true"}}}`)
		out, code = drainAll(ctx, "--force")
		Expect(code).To(BeZero(), out)
		Expect(out).To(And(ContainSubstring("waiting 3s to see whether it is renewed"),
			ContainSubstring("operatorbox/"+w.id+": let go of, and of 3 resources\n")))
		w.gone(ctx, w.ref("c"), "c")
		for _, name := range []string{"a", "b"} {
			w.unmarked(ctx, name)
			unkept(w.get(ctx, Default, name), v1alpha1.ReasonDrained, "Orkestra was drained")
		}
		Expect(getBox(ctx, Default, w.id).Finalizers).To(BeEmpty())
		Expect(w.versionsOf(ctx, "a", "b")).To(Equal(before))

		By("installing again")
		manager = startManager(cluster.Config())
		running = true
		w.running(ctx, w.id)
		w.marked(ctx, "a", "b")
		w.settled(ctx, "a")
		Expect(w.versionsOf(ctx, "a", "b")).To(Equal(before))
		Expect(getBox(ctx, Default, w.id).Finalizers).To(ConsistOf(v1alpha1.Finalizer))
	})
})
