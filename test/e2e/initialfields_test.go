package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// holders are the managers that own a field of an object, by server-side apply or otherwise. at is its path, such as "spec.replicas".
func holders(obj client.Object, at string) []string {
	GinkgoHelper()
	var out []string
	for _, entry := range obj.GetManagedFields() {
		var fields map[string]any
		Expect(json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields)).To(Succeed())
		found := true
		for name := range strings.SplitSeq(at, ".") {
			next, ok := fields["f:"+name].(map[string]any)
			if !ok {
				found = false
				break
			}
			fields = next
		}
		if found {
			out = append(out, entry.Manager)
		}
	}
	return out
}

// scale sets the replicas of a Deployment as an autoscaler does.
func (w *world) scale(ctx context.Context, name string, replicas int32) {
	GinkgoHelper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	Expect(kube.SubResource("scale").Update(ctx, d, client.WithSubResourceBody(scale), client.FieldOwner("scaler"))).To(Succeed())
}

// hasReplicas waits until a Deployment has that many replicas, and gives it.
func (w *world) hasReplicas(ctx context.Context, name string, replicas int32) *appsv1.Deployment {
	GinkgoHelper()
	d := &appsv1.Deployment{}
	Eventually(func(g Gomega) {
		w.child(ctx, g, d, name)
		g.Expect(d.Spec.Replicas).To(HaveValue(Equal(replicas)))
	}).WithContext(ctx).Should(Succeed())
	return d
}

// cut lets a number of writes pass, and none after them, as if the process had ended there.
type cut struct {
	part string

	mu     sync.Mutex
	left   int // guarded by mu
	denied int // guarded by mu
}

func (c *cut) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet || !strings.Contains(r.URL.Path, c.part) {
			return next.RoundTrip(r)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.left == 0 {
			c.denied++
			return nil, errors.New("the process has ended")
		}
		c.left--
		return next.RoundTrip(r)
	})
}

// after lets that many more writes pass.
func (c *cut) after(writes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left, c.denied = writes, 0
}

func (c *cut) reached() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.left == 0 && c.denied > 0
}

const (
	initialReplicas = `{resync: 24h, onReconcile: {deployments: [{image: "{{ .spec.image }}", replicas: 3, initialFields: [spec.replicas]}]}}`
	keptReplicas    = `{resync: 24h, onReconcile: {deployments: [{image: "{{ .spec.image }}", replicas: 3}]}}`
)

var _ = Describe("Initial fields", func() {
	var w *world
	BeforeEach(func(ctx context.Context) { w = newWorld(ctx) })

	It("are there from the first moment, are never held by the manager of declarations, and are left alone", func(ctx context.Context) {
		log := &writeLog{parts: []string{"/namespaces/" + w.id, "/deployments"}}
		replaceManager(via(log.wrap))
		w.running(ctx, w.box(ctx, initialReplicas))
		w.website(ctx, "web", `{image: "nginx:1"}`)
		w.settled(ctx, "web")
		d := w.hasReplicas(ctx, "web", 3)
		Expect(holders(d, "spec.replicas")).To(ConsistOf(v1alpha1.FieldManagerInitial))
		applies := log.applies()
		Expect(applies).To(HaveLen(3), "made, handed over, let go: %v", applies)
		Expect(applies[0].code).To(Equal(http.StatusCreated))
		Expect(applies[0].sent.Object["spec"]).To(HaveKeyWithValue("replicas", BeNumerically("==", 3)))
		Expect(applies[1].query).To(And(HaveKeyWithValue("fieldManager", []string{v1alpha1.FieldManagerInitial}), HaveKeyWithValue("force", []string{"false"})))
		Expect(applies[1].sent.Object["spec"]).To(Equal(map[string]any{"replicas": 3.0}))
		Expect(applies[2].sent.Object["spec"]).NotTo(HaveKey("replicas"))
		nothingSent(ctx, w, "web")

		By("somebody else's value, and a declaration that changes elsewhere")
		w.scale(ctx, "web", 5)
		w.lookedAt(ctx, "web")
		w.website(ctx, "web", `{image: "nginx:2"}`)
		Eventually(func(g Gomega) {
			w.child(ctx, g, d, "web")
			g.Expect(d.Spec.Template.Spec.Containers[0].Image).To(Equal("nginx:2"))
		}).WithContext(ctx).Should(Succeed())
		Expect(d.Spec.Replicas).To(HaveValue(BeNumerically("==", 5)))
		Expect(holders(d, "spec.replicas")).To(ConsistOf("scaler"))
		w.settled(ctx, "web")
		nothingSent(ctx, w, "web")

		By("the note of what is held, which somebody takes off")
		w.merge(ctx, d, `{"metadata":{"annotations":{"`+v1alpha1.AnnotationInitial+`":null}}}`)
		Eventually(func(g Gomega) {
			w.child(ctx, g, d, "web")
			g.Expect(d.Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationInitial, `["/spec/replicas"]`))
		}).WithContext(ctx).Should(Succeed())
		w.hasReplicas(ctx, "web", 5)
		nothingSent(ctx, w, "web")
	})

	It("keep the value that they have when they become initial, and get the declared one when they are none any more", func(ctx context.Context) {
		log := &writeLog{parts: []string{"/namespaces/" + w.id, "/deployments"}}
		replaceManager(via(log.wrap))
		w.running(ctx, w.box(ctx, keptReplicas))
		w.website(ctx, "web", `{image: "nginx:1"}`)
		w.settled(ctx, "web")
		w.box(ctx, initialReplicas)
		Eventually(func(g Gomega) {
			d := &appsv1.Deployment{}
			w.child(ctx, g, d, "web")
			g.Expect(holders(d, "spec.replicas")).To(ConsistOf(v1alpha1.FieldManagerInitial))
		}).WithContext(ctx).Should(Succeed())
		w.settled(ctx, "web")
		w.box(ctx, keptReplicas)
		d := &appsv1.Deployment{}
		Eventually(func(g Gomega) {
			w.child(ctx, g, d, "web")
			g.Expect(holders(d, "spec.replicas")).To(ConsistOf(v1alpha1.FieldManager))
		}).WithContext(ctx).Should(Succeed())
		Expect(d.Annotations).NotTo(HaveKey(v1alpha1.AnnotationInitial))
		w.settled(ctx, "web")
		for _, a := range log.applies() {
			Expect(a.answer.Object["spec"]).To(HaveKeyWithValue("replicas", BeNumerically("==", 3)), "%s", a)
		}

		By("a value of somebody else's")
		w.box(ctx, initialReplicas)
		Eventually(func(g Gomega) {
			w.child(ctx, g, d, "web")
			g.Expect(holders(d, "spec.replicas")).To(ConsistOf(v1alpha1.FieldManagerInitial))
		}).WithContext(ctx).Should(Succeed())
		w.settled(ctx, "web")
		w.scale(ctx, "web", 5)
		w.box(ctx, keptReplicas)
		w.hasReplicas(ctx, "web", 3)
		w.scale(ctx, "web", 5)
		w.hasReplicas(ctx, "web", 3)
		w.settled(ctx, "web")
		nothingSent(ctx, w, "web")
	})

	It("are handed over with a value that somebody sets just before", func(ctx context.Context) {
		log := &writeLog{parts: []string{"/namespaces/" + w.id, "/deployments"}}
		replaceManager(via(log.wrap))
		w.running(ctx, w.box(ctx, keptReplicas))
		w.website(ctx, "web", `{image: "nginx:1"}`)
		w.settled(ctx, "web")
		log.justBefore(http.MethodPatch, func(http.RoundTripper, *http.Request) error {
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"}}
			return kube.SubResource("scale").Update(ctx, d, client.WithSubResourceBody(&autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 6}}))
		})
		w.box(ctx, initialReplicas)
		Eventually(log.interfered).WithContext(ctx).Should(BeTrue())
		Eventually(func(g Gomega) {
			d := &appsv1.Deployment{}
			w.child(ctx, g, d, "web")
			g.Expect(d.Annotations).To(HaveKey(v1alpha1.AnnotationInitial))
			g.Expect(holders(d, "spec.replicas")).NotTo(ContainElement(v1alpha1.FieldManager))
			g.Expect(d.Spec.Replicas).To(HaveValue(BeNumerically("==", 6)))
		}).WithContext(ctx).Should(Succeed())
		w.settled(ctx, "web")
		w.hasReplicas(ctx, "web", 6)
	})

	DescribeTable("survive the end of the process between any two writes", func(ctx context.Context, before, after string, writes int, want int32, holder string) {
		c := &cut{part: "/namespaces/" + w.id + "/deployments", left: -1}
		replaceManager(via(c.wrap))
		if before != "" {
			w.running(ctx, w.box(ctx, before))
			w.website(ctx, "web", `{image: "nginx:1"}`)
			w.settled(ctx, "web")
		}
		c.after(writes)
		w.box(ctx, after)
		if before == "" {
			w.website(ctx, "web", `{image: "nginx:1"}`)
		}
		Eventually(c.reached).WithContext(ctx).Should(BeTrue())
		manager.stop()
		w.scale(ctx, "web", 5)
		manager = startManager(cluster.Config())
		Eventually(func(g Gomega) {
			d := &appsv1.Deployment{}
			w.child(ctx, g, d, "web")
			g.Expect(d.Spec.Replicas).To(HaveValue(Equal(want)))
			g.Expect(holders(d, "spec.replicas")).To(ConsistOf(holder))
		}).WithContext(ctx).Should(Succeed())
		w.settled(ctx, "web")
		nothingSent(ctx, w, "web")
		w.hasReplicas(ctx, "web", want)
	},
		Entry("made, not handed over", "", initialReplicas, 1, int32(5), "scaler"),
		Entry("handed over, not let go", "", initialReplicas, 2, int32(5), "scaler"),
		Entry("become initial, not let go", keptReplicas, initialReplicas, 1, int32(5), "scaler"),
		Entry("announced that they are taken back", initialReplicas, keptReplicas, 1, int32(3), v1alpha1.FieldManager),
		Entry("taken back, not let go", initialReplicas, keptReplicas, 2, int32(3), v1alpha1.FieldManager),
	)

	It("are entries of maps, too, and stay as they are when an object is adopted", func(ctx context.Context) {
		theirs := w.configMap("web")
		theirs.Data = map[string]string{"first": "theirs", "more": "theirs"}
		theirs.Annotations = map[string]string{"a.b/note": "theirs"}
		Expect(kube.Create(ctx, theirs)).To(Succeed())
		w.running(ctx, w.box(ctx, `{resync: 24h, onReconcile: {configmaps: [{adopt: IfUnowned, annotations: {a.b/note: ours}, data: {first: ours, more: "{{ .spec.mode }}"},
			initialFields: [data.first, "metadata.annotations['a.b/note']"]}]}}`))
		w.website(ctx, "web", `{mode: ours}`)
		w.website(ctx, "new", `{mode: ours}`)
		w.settled(ctx, "web")
		w.settled(ctx, "new")
		Expect(w.hasData(ctx, "web", map[string]string{"first": "theirs", "more": "ours"}).Annotations).To(HaveKeyWithValue("a.b/note", "theirs"))
		Expect(w.hasData(ctx, "new", map[string]string{"first": "ours", "more": "ours"}).Annotations).To(HaveKeyWithValue("a.b/note", "ours"))
		w.merge(ctx, w.configMap("new"), `{"data":{"first":null,"more":null}}`)
		w.hasData(ctx, "new", map[string]string{"more": "ours"})
		nothingSent(ctx, w, "web")
		nothingSent(ctx, w, "new")
	})

	It("are refused where only the object shows that they can't be named", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{onReconcile: {services: [{port: 80, selector: {a: b}, initialFields: [spec.selector.a]}]}}`))
		w.website(ctx, "web", `{}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidChild,
			"initialFields: spec.selector.a of a Service can't be left alone: spec.selector has one owner as a whole; name that instead")
		w.absentService(ctx, "web")
	})

	It("are the replicas of what an autoscaler of the box scales, for as long as its gate is true", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `
resync: 24h
onReconcile:
  deployments: [{image: "nginx:1", replicas: 2}]
  hpas: [{minReplicas: 1, maxReplicas: 9, cpu: 80, when: [{field: spec.tls, equals: true}]}]`))
		w.website(ctx, "web", `{tls: true}`)
		Eventually(func(g Gomega) { w.child(ctx, g, &autoscalingv2.HorizontalPodAutoscaler{}, "web") }).WithContext(ctx).Should(Succeed())
		d := w.hasReplicas(ctx, "web", 2)
		Expect(d.Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationInitial, `["/spec/replicas"]`))
		w.scale(ctx, "web", 4)
		w.lookedAt(ctx, "web")
		w.hasReplicas(ctx, "web", 4)

		By("a gate that turns false")
		w.website(ctx, "web", `{tls: false}`)
		w.gone(ctx, &autoscalingv2.HorizontalPodAutoscaler{}, "web")
		w.hasReplicas(ctx, "web", 2)
		w.settled(ctx, "web")
		w.scale(ctx, "web", 4)
		d = w.hasReplicas(ctx, "web", 2)
		Expect(d.Annotations).NotTo(HaveKey(v1alpha1.AnnotationInitial))

		By("and true again")
		w.website(ctx, "web", `{tls: true}`)
		Eventually(func(g Gomega) { w.child(ctx, g, &autoscalingv2.HorizontalPodAutoscaler{}, "web") }).WithContext(ctx).Should(Succeed())
		w.hasReplicas(ctx, "web", 2)
		w.scale(ctx, "web", 4)
		w.lookedAt(ctx, "web")
		w.hasReplicas(ctx, "web", 4)
	})
})

// absentService says that there is no Service of a name.
func (w *world) absentService(ctx context.Context, name string) {
	GinkgoHelper()
	err := kube.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, &corev1.Service{})
	Expect(client.IgnoreNotFound(err)).To(Succeed())
	Expect(err).To(HaveOccurred(), fmt.Sprintf("Service %q exists", name))
}
