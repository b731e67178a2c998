package e2e_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// shards are Deployments that are changed from the last to the first. With a mode that no node has, their Pods find no place.
const shards = `
status: {ready: Current}
onReconcile:
  deployments:
  - id: shard
    name: "{{ .metadata.name }}-{{ .item }}"
    forEach: {field: spec.replicas, rollout: {order: Descending}}
    image: "{{ .spec.image }}"
    nodeSelector: {mode: "{{ coalesce .spec.mode }}"}
    spec: {progressDeadlineSeconds: 2}
`

// parts are ConfigMaps that are current when the annotation phase is the image: the spec plays the controller that sets it.
const parts = `
onReconcile:
  configmaps:
  - id: part
    name: "{{ .item }}"
    forEach: {field: spec.tags, rollout: {maxUnavailable: %d, order: %s}}
    data: {image: "{{ .spec.image }}"}
    readyWhen: [{cel: "has(object.metadata.annotations.phase) && object.metadata.annotations.phase == object.data.image"}]
`

var _ = Describe("forEach.rollout", func() {
	It("makes, changes, scales and deletes Deployments in order, one at a time, also across a restart", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, shards))
		all := w.turnsOf(ctx, appsv1.SchemeGroupVersion.WithKind("Deployment"), rolledOut)
		w.website(ctx, "web", `{image: "web:1", replicas: 3}`)
		w.settled(ctx, "web")
		Eventually(all.taking()).WithContext(ctx).Should(Equal([]string{"make web-0", "make web-1", "make web-2"}))

		By("changing all of them")
		w.website(ctx, "web", `{image: "web:2", replicas: 3}`)
		w.settled(ctx, "web")
		Eventually(all.taking()).WithContext(ctx).Should(Equal([]string{"change web-2", "change web-1", "change web-0"}))
		nothingSent(ctx, w, "web")

		By("changing all of them to something that never gets current")
		w.website(ctx, "web", `{image: "web:3", replicas: 4, mode: nowhere}`)
		stuck := func() {
			GinkgoHelper()
			w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonChildFailed, `Deployment "web-3": ProgressDeadlineExceeded`)
		}
		stuck()
		Expect(all.take()).To(Equal([]string{"make web-3"}), "what is missing comes first, and the others stay as they are")

		By("restarting the manager in the middle")
		manager.stop()
		manager = startManager(cluster.Config())
		w.running(ctx, w.id)
		w.looksAgain(ctx, "web")
		stuck()
		Expect(manager.requests.writes(0, "/deployments/")).To(BeEmpty(), "the cluster says what is on its way")
		Expect(all.take()).To(BeEmpty())

		By("mending it by a good spec, which reaches the stuck item first")
		w.website(ctx, "web", `{image: "web:4", replicas: 4}`)
		w.settled(ctx, "web")
		Eventually(all.taking()).WithContext(ctx).Should(Equal([]string{"change web-3", "change web-2", "change web-1", "change web-0"}))

		By("scaling down")
		w.website(ctx, "web", `{image: "web:4", replicas: 1}`)
		w.settled(ctx, "web")
		Eventually(all.taking()).WithContext(ctx).Should(Equal([]string{"delete web-3", "delete web-2", "delete web-1"}))
		Expect(all.worstOf(ctx, w)).To(HaveLen(1), "never two at a time")
	})

	It("stops at an item that never gets current, names it, and shows those that are not made yet", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, fmt.Sprintf(parts, 1, "Ascending")))
		all := w.turnsOf(ctx, corev1.SchemeGroupVersion.WithKind("ConfigMap"), upToDate)
		w.website(ctx, "web", `{image: "web:1", tags: [a, b, c]}`)
		w.rollingOut(ctx, "web", `part: 2 items wait for ConfigMap "a": `)
		out, _ := orkestra(ctx, "status", w.crdName()+"/web", "-n", w.namespace)
		Expect(regexp.MustCompile(`(?m)^part.* Waiting .* it waits for ConfigMap "a": `).FindAllString(out, -1)).To(HaveLen(2), "b and c are not made yet")

		By("bringing up the first: the next one is made, and is stuck")
		w.comesUp(ctx, "a", "web:1")
		w.rollingOut(ctx, "web", `part: 1 item waits for ConfigMap "b": `)
		Expect(all.take()).To(Equal([]string{"make a", "make b"}))

		By("mending it by another spec: it is changed first, though it is not its turn")
		w.website(ctx, "web", `{image: "web:2", tags: [a, b, c]}`)
		Eventually(all.taking()).WithContext(ctx).Should(Equal([]string{"change b"}))
		w.comesUp(ctx, "b", "web:2")
		Eventually(all.taking()).WithContext(ctx).Should(Equal([]string{"make c"}))
		w.comesUp(ctx, "c", "web:2")
		Eventually(all.taking()).WithContext(ctx).Should(Equal([]string{"change a"}))
		w.comesUp(ctx, "a", "web:2")
		w.settled(ctx, "web")
		Expect(all.worstOf(ctx, w)).To(HaveLen(1))

		By("deleting items in the same order, each when the one before is gone")
		for _, item := range []string{"a", "b", "c"} {
			w.annotates(ctx, item, `{"finalizers":["e2e.test/held"]}`)
		}
		w.website(ctx, "web", `{image: "web:2", tags: []}`)
		for _, item := range []string{"a", "b", "c"} {
			Eventually(all.taking()).WithContext(ctx).Should(Equal([]string{"delete " + item}))
			if item != "c" {
				w.rollingOut(ctx, "web", fmt.Sprintf(`ConfigMap %q: it is being deleted; the finalizer "e2e.test/held" holds it`, item))
			}
			w.annotates(ctx, item, `{"finalizers":null}`)
			w.gone(ctx, w.configMap(item), item)
		}
		w.settled(ctx, "web")
	})

	It("keeps items that leave and are current until those that are declared are, and lets go at once of one that is not", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, fmt.Sprintf(parts, 1, "Ascending")))
		all := w.turnsOf(ctx, corev1.SchemeGroupVersion.WithKind("ConfigMap"), upToDate)
		w.website(ctx, "web", `{image: "web:1", tags: [w1, w2, w3, bad]}`)
		for _, item := range []string{"w1", "w2", "w3"} {
			Eventually(all.taking()).WithContext(ctx).Should(Equal([]string{"make " + item}))
			w.comesUp(ctx, item, "web:1")
		}
		Eventually(all.taking()).WithContext(ctx).Should(Equal([]string{"make bad"}))

		By("replacing all of them")
		w.website(ctx, "web", `{image: "web:1", tags: [x1, x2, x3]}`)
		did := []string{"delete bad", "make x1"}
		for _, step := range []struct {
			up, waits string
			next      []string
		}{
			{"x1", `part: 2 items wait for ConfigMap "x1": `, []string{"make x2"}},
			{"x2", `part: 1 item waits for ConfigMap "x2": `, []string{"make x3"}},
			{"x3", `part: 3 items wait for ConfigMap "x3": `, []string{"delete w1", "delete w2", "delete w3"}},
		} {
			w.rollingOut(ctx, "web", step.waits)
			Eventually(all.taking()).WithContext(ctx).Should(Equal(did))
			w.comesUp(ctx, step.up, "web:1")
			did = step.next
		}
		w.settled(ctx, "web")
		Eventually(all.taking()).WithContext(ctx).Should(Equal(did))
		Expect(all.worstOf(ctx, w)).To(HaveLen(1))
	})

	It("changes an item at once that is out of service, also where its object gets another name", func(ctx context.Context) {
		w := newWorld(ctx)
		renamed := strings.Replace(fmt.Sprintf(parts, 1, "Ascending"), `name: "{{ .item }}"`, `name: "{{ .item }}-{{ .spec.image }}"`, 1)
		w.running(ctx, w.box(ctx, strings.Replace(renamed, `{field: spec.tags,`, `{field: spec.tags, key: "{{ .item }}",`, 1)))
		all := w.turnsOf(ctx, corev1.SchemeGroupVersion.WithKind("ConfigMap"), upToDate)
		w.website(ctx, "web", `{image: "1", tags: [a, b, c]}`)
		for _, item := range []string{"a-1", "b-1", "c-1"} {
			Eventually(all.taking()).WithContext(ctx).Should(Equal([]string{"make " + item}))
			w.comesUp(ctx, item, "1")
		}
		w.settled(ctx, "web")

		By("breaking one, and giving all of them another name")
		w.comesUp(ctx, "b-1", "bad")
		w.website(ctx, "web", `{image: "2", tags: [a, b, c]}`)
		did := []string{"make b-2", "delete b-1"}
		for _, step := range []struct {
			up   string
			next []string
		}{
			{"b-2", []string{"make a-2"}},
			{"a-2", []string{"make c-2"}},
			{"c-2", []string{"delete a-1", "delete c-1"}},
		} {
			Eventually(all.taking()).WithContext(ctx).Should(Equal(did))
			w.comesUp(ctx, step.up, "2")
			did = step.next
		}
		Eventually(all.taking()).WithContext(ctx).Should(ConsistOf(did))
		w.settled(ctx, "web")
	})

	It("goes on when an item that is out of service leaves, also while another declaration fails", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, fmt.Sprintf(parts, 1, "Ascending")+`  services: [{port: "{{ default 80 .spec.replicas }}", selector: {a: b}}]`))
		all := w.turnsOf(ctx, corev1.SchemeGroupVersion.WithKind("ConfigMap"), upToDate)
		w.website(ctx, "web", `{image: "web:1", tags: [a, b, c]}`)
		for _, item := range []string{"a", "b", "c"} {
			Eventually(all.taking()).WithContext(ctx).Should(Equal([]string{"make " + item}))
			w.comesUp(ctx, item, "web:1")
		}
		w.settled(ctx, "web")

		By("changing all of them, and the Service to what the API server refuses")
		w.website(ctx, "web", `{image: "web:2", tags: [a, b, c], replicas: 70000}`)
		Eventually(all.taking()).WithContext(ctx).Should(Equal([]string{"change a"}))
		refused := func() {
			GinkgoHelper()
			w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidChild, "70000")
		}
		refused()

		By("taking the first out of the list, which never got current")
		w.website(ctx, "web", `{image: "web:2", tags: [b, c], replicas: 70000}`)
		Eventually(all.taking()).WithContext(ctx).Should(Equal([]string{"delete a", "change b"}))
		w.comesUp(ctx, "b", "web:2")
		Eventually(all.taking()).WithContext(ctx).Should(Equal([]string{"change c"}))
		w.comesUp(ctx, "c", "web:2")
		refused()

		By("taking out one that is current: it stays until the error is mended")
		w.website(ctx, "web", `{image: "web:2", tags: [c], replicas: 70000}`)
		w.looksAgain(ctx, "web")
		refused()
		Expect(all.take()).To(BeEmpty())
		w.website(ctx, "web", `{image: "web:2", tags: [c]}`)
		w.settled(ctx, "web")
		Eventually(all.taking()).WithContext(ctx).Should(Equal([]string{"delete b"}))
		Expect(all.worstOf(ctx, w)).To(HaveLen(1))
	})

	DescribeTable("never has more items out of service than wanted, whatever becomes of the resource, the items and the manager",
		func(ctx context.Context, seed uint64, most int, order string) {
			w := newWorld(ctx)
			w.running(ctx, w.box(ctx, fmt.Sprintf(parts, most, order)))
			h := &rolloutHistory{world: w, random: rand.New(rand.NewPCG(seed, 11))}
			h.turns = w.turnsOf(ctx, corev1.SchemeGroupVersion.WithKind("ConfigMap"), upToDate)
			DeferCleanup(func(ctx context.Context) {
				for _, item := range h.out() {
					h.moves(ctx, item)
				}
			})
			h.declares(ctx, 0, 1, 2, 3, 4, 5)
			Eventually(h.out).WithContext(ctx).Should(HaveLen(most), "so many are made at once")
			for range 40 {
				h.happens(ctx)
			}
			h.ends(ctx)
			Expect(h.worstOf(ctx, w)).To(HaveLen(most))
		},
		Entry("one, from the first", uint64(1), 1, "Ascending"),
		Entry("one, from the last", uint64(2), 1, "Descending"),
		Entry("two, from the first", uint64(3), 2, "Ascending"),
		Entry("three, from the last", uint64(4), 3, "Descending"),
	)
})

// annotates merges a patch into the metadata of a ConfigMap.
func (w *world) annotates(ctx context.Context, name, metadata string) {
	GinkgoHelper()
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":`+metadata+`}`))
	Expect(client.IgnoreNotFound(kube.Patch(ctx, o, patch))).To(Succeed(), name)
}

// looksAgain has the manager look at a resource, and waits until it has.
func (w *world) looksAgain(ctx context.Context, name string) {
	GinkgoHelper()
	o, before := w.get(ctx, Default, name), manager.evaluations(Default, w.id)
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+v1alpha1.AnnotationReconcileAt+`":"`+o.GetResourceVersion()+`"}}}`))
	Expect(kube.Patch(ctx, o, patch)).To(Succeed())
	Eventually(func(g Gomega) { g.Expect(manager.evaluations(g, w.id)).To(BeNumerically(">", before)) }).WithContext(ctx).Should(Succeed())
}

// comesUp plays the controller of a part.
func (w *world) comesUp(ctx context.Context, name, image string) {
	GinkgoHelper()
	w.annotates(ctx, name, fmt.Sprintf(`{"annotations":{"phase":%q}}`, image))
}

// rolloutHistory is what happens to a resource whose parts are changed in turn. Nothing in it takes a part out of service but the manager.
type rolloutHistory struct {
	*world
	*turns

	random *rand.Rand
	images int
}

// declares gives the resource another image, and the parts that it has now.
func (h *rolloutHistory) declares(ctx context.Context, parts ...int) {
	GinkgoHelper()
	tags := make([]string, 0, len(parts))
	for _, part := range parts {
		tags = append(tags, fmt.Sprintf("part-%d", part))
	}
	h.website(ctx, "web", fmt.Sprintf(`{image: "web:%d", tags: [%s]}`, h.images, strings.Join(tags, ", ")))
}

// happens waits until a part is on its way, or nothing is left to do, and then does one thing.
func (h *rolloutHistory) happens(ctx context.Context) {
	GinkgoHelper()
	h.rests(ctx)
	out := h.out()
	switch dice := h.random.IntN(12); {
	case len(out) == 0 || dice < 2:
		h.images += h.random.IntN(2)
		h.declares(ctx, h.random.Perm(8)[:h.random.IntN(9)]...)
	case dice == 2:
		manager.stop()
		manager = startManager(cluster.Config()) //nolint:contextcheck // a manager has a context of its own
	default:
		h.moves(ctx, out[h.random.IntN(len(out))])
	}
}

// rests waits until a part is on its way, or nothing is left to do.
func (h *rolloutHistory) rests(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		if len(h.out()) > 0 {
			return
		}
		now := h.get(ctx, g, "web")
		g.Expect(at(now.Object, "status.observedGeneration")).To(Equal(now.GetGeneration()))
		g.Expect(condition(now, v1alpha1.ConditionReconciling).Status).To(Equal(metav1.ConditionFalse), "%v", now.Object["status"])
	}).WithContext(ctx).Should(Succeed())
}

// moves brings a part on: one that is being deleted goes, another one comes up, and will be held when it is deleted.
func (h *rolloutHistory) moves(ctx context.Context, o *unstructured.Unstructured) {
	GinkgoHelper()
	if o.GetDeletionTimestamp() != nil {
		h.annotates(ctx, o.GetName(), `{"finalizers":null}`)
		return
	}
	image, _ := at(o.Object, "data.image").(string)
	h.annotates(ctx, o.GetName(), fmt.Sprintf(`{"annotations":{"phase":%q},"finalizers":["e2e.test/held"]}`, image))
}

// ends has all parts come up or go, until the resource is settled with what it declares, and then without parts.
func (h *rolloutHistory) ends(ctx context.Context) {
	GinkgoHelper()
	settles := func() {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			for _, o := range h.out() {
				h.moves(ctx, o)
			}
			now := h.get(ctx, g, "web")
			g.Expect(at(now.Object, "status.observedGeneration")).To(Equal(now.GetGeneration()))
			g.Expect(condition(now, v1alpha1.ConditionReconciling).Status).To(Equal(metav1.ConditionFalse), "%v", now.Object["status"])
			g.Expect(h.out()).To(BeEmpty())
		}).WithContext(ctx).Should(Succeed())
	}
	settles()
	var wanted []string
	for _, tag := range at(h.get(ctx, Default, "web").Object, "spec.tags").([]any) {
		wanted = append(wanted, fmt.Sprint(tag))
	}
	image := fmt.Sprintf("web:%d", h.images)
	made := h.maps(ctx, Default)
	Expect(made).To(HaveLen(len(wanted)))
	for _, name := range wanted {
		Expect(made).To(HaveKey(name))
		h.hasData(ctx, name, map[string]string{"image": image})
	}
	h.declares(ctx)
	settles()
	Expect(h.maps(ctx, Default)).To(BeEmpty())
}
