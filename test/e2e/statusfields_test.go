package e2e_test

import (
	"context"
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// richStatus is a schema of the status with every type.
func richStatus(v *apiextensionsv1.CustomResourceDefinitionVersion) {
	for name, schema := range map[string]string{
		"ports":  `{type: array, items: {type: integer}}`,
		"labels": `{type: object, additionalProperties: {type: string}}`,
		"nested": `{type: object, properties: {deep: {type: object, properties: {value: {type: string}, flag: {type: boolean}}}}}`,
		"ratio":  `{type: number}`,
		"size":   `{type: string, enum: [small, large]}`,
		"free":   `{x-kubernetes-preserve-unknown-fields: true}`,
	} {
		statusProperty(name, schema)(v)
	}
}

// shownFields gives the status of a resource without what Orkestra always writes.
func shownFields(obj *unstructured.Unstructured) map[string]any {
	all, _, err := unstructured.NestedMap(obj.Object, "status")
	Expect(err).NotTo(HaveOccurred())
	delete(all, "conditions")
	delete(all, "observedGeneration")
	return all
}

// computed waits until kstatus, as Flux runs it, says this of a resource.
func (w *world) computed(ctx context.Context, name string, want status.Status) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		res, err := status.Compute(w.get(ctx, g, name))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(res.Status).To(Equal(want), res.Message)
	}).WithContext(ctx).Should(Succeed())
}

var _ = Describe("Status", func() {
	It("holds scalars, maps and lists, in the types of the schema, and follows the resource", func(ctx context.Context) {
		w := newWorldOf(ctx, richStatus)
		w.running(ctx, w.box(ctx, `
normalize: {spec: {mode: "{{ default \"slow\" .spec.mode }}"}}
status:
  fields:
  - {path: phase, value: Running}
  - {path: replicas, value: "{{ .spec.replicas }}"}
  - {path: url, value: "https://{{ .spec.host }}:{{ .spec.port }}"}
  - {path: ports, value: ["{{ .spec.port }}", "44{{ .spec.min }}", 80]}
  - {path: labels, value: "{{ .spec.settings }}"}
  - {path: nested.deep.value, value: "{{ .spec.mode }}"}
  - {path: nested.deep.flag, value: "{{ .spec.tls }}"}
  - {path: ratio, value: "{{ divf 1 .spec.replicas }}"}
  - {path: free, value: {list: "{{ .spec.tags }}", number: "{{ .spec.replicas }}", text: "{{ .spec.replicas }}!"}}
`))
		w.website(ctx, "web", `{replicas: 2, host: h, port: 8080, min: 3, settings: {a: b}, tls: false, tags: [x, z]}`)
		obj := w.settled(ctx, "web")
		Expect(shownFields(obj)).To(Equal(map[string]any{
			"phase": "Running", "replicas": int64(2), "url": "https://h:8080", "ports": []any{int64(8080), int64(443), int64(80)},
			"labels": map[string]any{"a": "b"}, "nested": map[string]any{"deep": map[string]any{"value": "slow", "flag": false}}, "ratio": 0.5,
			"free": map[string]any{"list": []any{"x", "z"}, "number": int64(2), "text": "2!"},
		}))

		By("leaving out what reads something absent, also when it was there before")
		w.website(ctx, "web", `{replicas: 4, settings: {c: d}, mode: fast, port: 1, min: 3, tags: []}`)
		obj = w.settled(ctx, "web")
		Expect(shownFields(obj)).To(Equal(map[string]any{
			"phase": "Running", "replicas": int64(4), "ports": []any{int64(1), int64(443), int64(80)},
			"labels": map[string]any{"c": "d"}, "nested": map[string]any{"deep": map[string]any{"value": "fast"}}, "ratio": 0.25,
			"free": map[string]any{"list": []any{}, "number": int64(4), "text": "4!"},
		}))
	})

	It("is written after an error too, by what is known then", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
validation: {rules: [{field: spec.mode, notEquals: wrong}]}
onReconcile: {configmaps: [{data: {host: "{{ .spec.host }}"}}]}
status: {fields: [{path: replicas, value: "{{ .spec.replicas }}"}, {path: url, value: "{{ .children.configmap.data.host }}"}]}
`))
		w.website(ctx, "web", `{replicas: 1, mode: wrong}`)
		obj := w.observed(ctx, "web")
		Expect(condition(obj, v1alpha1.ConditionReady).Reason).To(Equal(v1alpha1.ReasonReconcileError))
		Expect(shownFields(obj)).To(Equal(map[string]any{"replicas": int64(1)}))
		w.website(ctx, "web", `{replicas: 2, host: a}`)
		Expect(shownFields(w.settled(ctx, "web"))).To(Equal(map[string]any{"replicas": int64(2), "url": "a"}))
		w.website(ctx, "web", `{replicas: 3}`)
		obj = w.observed(ctx, "web")
		Expect(condition(obj, v1alpha1.ConditionReady).Message).To(HavePrefix("onReconcile: "))
		Expect(shownFields(obj)).To(Equal(map[string]any{"replicas": int64(3), "url": "a"}), "the child is still there")
	})

	It("that the API server refuses is an error that the resource shows", func(ctx context.Context) {
		w := newWorldOf(ctx, richStatus)
		box := w.box(ctx, `{resync: 1s, status: {fields: [{path: size, value: "{{ .spec.mode }}"}, {path: phase, value: "{{ .spec.host }}"}]}}`)
		w.running(ctx, box)
		w.website(ctx, "web", `{mode: huge, host: a}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonTemplateError, `status.size: Unsupported value: "huge"`)
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, `status: fields: `)
		before := manager.resting(ctx, box)
		Expect(manager.resting(ctx, box)).To(Equal(before), "evaluations: nothing is tried again")
		w.website(ctx, "web", `{mode: large, host: a}`)
		Expect(shownFields(w.settled(ctx, "web"))).To(Equal(map[string]any{"size": "large", "phase": "a"}))
	})

	It("carries over the conditions and fields of others, and sends nothing while nothing changes", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{status: {fields: [{path: phase, value: "{{ .spec.mode }}"}]}}`))
		w.website(ctx, "web", `{mode: a}`)
		obj := w.settled(ctx, "web")
		since := func(obj *unstructured.Unstructured) any {
			list, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
			Expect(err).NotTo(HaveOccurred())
			for _, entry := range list {
				if m, _ := entry.(map[string]any); m["type"] == v1alpha1.ConditionReady {
					return m["lastTransitionTime"]
				}
			}
			return nil
		}
		conditions, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
		Expect(err).NotTo(HaveOccurred())
		conditions = append([]any{map[string]any{"type": "Backup", "status": "True", "reason": "Done", "message": "by somebody"}}, conditions...)
		Expect(unstructured.SetNestedSlice(obj.Object, conditions, "status", "conditions")).To(Succeed())
		Expect(unstructured.SetNestedField(obj.Object, "https://theirs", "status", "url")).To(Succeed())
		Expect(kube.Status().Update(ctx, obj, client.FieldOwner("somebody"))).To(Succeed())

		w.website(ctx, "web", `{mode: b}`)
		after := w.settled(ctx, "web")
		Expect(shownFields(after)).To(Equal(map[string]any{"phase": "b", "url": "https://theirs"}))
		Expect(condition(after, "Backup")).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Message", "by somebody")))
		Expect(since(after)).To(Equal(since(obj)), "Ready did not change")
		nothingSent(ctx, w, "web")
	})

	It("lets kstatus compute InProgress, Current and Failed", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
validation: {rules: [{field: spec.mode, notEquals: wrong}]}
onReconcile:
  configmaps:
  - {id: lever, name: "{{ .metadata.name }}-lever", once: true, data: {a: b}}
  - {data: {a: b}, when: [{field: "children.lever.metadata.annotations['on']", equals: "yes"}]}
  resources:
  - when: [{field: spec.tls, equals: true}]
    manifest: {apiVersion: not.installed.test/v1, kind: Gadget, metadata: {name: "{{ .metadata.name }}"}}
`))
		w.website(ctx, "web", `{mode: a}`)
		w.observed(ctx, "web")
		w.computed(ctx, "web", status.InProgressStatus)
		w.patch(ctx, w.configMapOf(ctx, "web-lever"), `{"metadata":{"annotations":{"on":"yes"}}}`)
		w.computed(ctx, "web", status.CurrentStatus)

		By("breaking a rule: a retry can't mend it")
		w.website(ctx, "web", `{mode: wrong}`)
		w.computed(ctx, "web", status.FailedStatus)
		w.website(ctx, "web", `{mode: b}`)
		w.computed(ctx, "web", status.CurrentStatus)

		By("asking for a kind that is not installed: a retry may mend it")
		w.website(ctx, "web", `{mode: b, tls: true}`)
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonRetrying, "Gadget")
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, "onReconcile: ")
		w.computed(ctx, "web", status.InProgressStatus)

		By("not having looked at a change yet")
		obj := w.settledAfter(ctx, "web", `{mode: c}`)
		manager.stop()
		w.website(ctx, "web", `{mode: d}`)
		w.computed(ctx, "web", status.InProgressStatus)
		manager = startManager(cluster.Config())
		w.computed(ctx, "web", status.CurrentStatus)
		Expect(w.observed(ctx, "web").GetGeneration()).To(Equal(obj.GetGeneration() + 1))
	})

	DescribeTable("ready: says when Ready is True", func(ctx context.Context, policy string, readyBefore metav1.ConditionStatus) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, fmt.Sprintf(`
onReconcile:
  deployments: [{image: "nginx:1", replicas: 1, spec: {template: {spec: {schedulerName: "{{ .spec.mode }}"}}}}]
status: {%s}
`, policy)))
		w.website(ctx, "web", `{mode: nobody}`)
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonChildrenNotCurrent, `Deployment "web": `)
		Eventually(func(g Gomega) {
			d := &appsv1.Deployment{}
			w.child(ctx, g, d, "web")
			g.Expect(d.Status.UnavailableReplicas).To(BeEquivalentTo(1))
		}).WithContext(ctx).Should(Succeed())
		Expect(condition(w.cycle(ctx, "web"), v1alpha1.ConditionReady).Status).To(Equal(readyBefore))
		w.website(ctx, "web", `{mode: default-scheduler}`)
		w.settled(ctx, "web")
	},
		Entry("by default after a successful reconcile", ``, metav1.ConditionTrue),
		Entry("Reconciled: the same", `ready: Reconciled`, metav1.ConditionTrue),
		Entry("Current: when all children are current as well", `ready: Current`, metav1.ConditionFalse),
	)

	It("is not written without the subresource: results are in events and in CRDHealth", func(ctx context.Context) {
		w := newWorldOf(ctx, func(v *apiextensionsv1.CustomResourceDefinitionVersion) { v.Subresources = nil })
		name := w.box(ctx, `
failureThreshold: 100
validation: {rules: [{field: spec.mode, notEquals: wrong}]}
onReconcile: {configmaps: [{data: {host: "{{ .spec.host }}"}}]}
status: {fields: [{path: phase, value: Running}]}
`)
		w.running(ctx, name)
		Expect(boxCondition(getBox(ctx, Default, name), v1alpha1.ConditionStatusWritable)).To(HaveValue(And(
			HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonNoStatusSubresource),
			HaveField("Message", ContainSubstring("version v1 of "+w.crdName()+" has no status subresource")))))
		mark := manager.requests.mark()
		w.website(ctx, "web", `{host: a}`)
		w.hasData(ctx, "web", map[string]string{"host": "a"})
		w.website(ctx, "web", `{host: b}`)
		w.hasData(ctx, "web", map[string]string{"host": "b"})
		w.website(ctx, "web", `{host: c, mode: wrong}`)
		Eventually(func(g Gomega) {
			g.Expect(w.notes(ctx, g, "web", v1alpha1.ReasonReconcileError)).To(ConsistOf("validation: spec.mode: wanted anything but wrong, found wrong"))
			g.Expect(w.notes(ctx, g, "web", "Reconciled")).To(HaveLen(1), "events on transitions only")
			h := getHealth(ctx, g, name)
			g.Expect(h.Status.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 1, Failing: 1}))
			g.Expect(h.Status.Failing).To(ConsistOf(And(HaveField("Name", "web"), HaveField("Step", "validation"),
				HaveField("Message", "spec.mode: wanted anything but wrong, found wrong"))))
		}).WithContext(ctx).Should(Succeed())
		w.hasData(ctx, "web", map[string]string{"host": "b"})

		w.website(ctx, "web", `{host: c}`)
		w.hasData(ctx, "web", map[string]string{"host": "c"})
		Eventually(func(g Gomega) {
			g.Expect(w.notes(ctx, g, "web", v1alpha1.ReasonRecovered)).To(HaveLen(1))
			g.Expect(w.notes(ctx, g, "web", "Reconciled")).To(HaveLen(1))
			g.Expect(getHealth(ctx, g, name).Status.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 1, Ready: 1}))
		}).WithContext(ctx).Should(Succeed())
		Expect(w.get(ctx, Default, "web").Object).NotTo(HaveKey("status"))
		for _, r := range manager.requests.since(mark, w.group+"/v1/namespaces/") {
			Expect(r.path).NotTo(HaveSuffix("/status"))
		}
	})

	It("leaves out conditions that the schema does not know, and the box says so", func(ctx context.Context) {
		w := newWorldOf(ctx, func(v *apiextensionsv1.CustomResourceDefinitionVersion) {
			properties := v.Schema.OpenAPIV3Schema.Properties["status"].Properties
			delete(properties, "conditions")
			delete(properties, "observedGeneration")
		})
		name := w.box(ctx, `
validation: {rules: [{field: spec.mode, notEquals: wrong}]}
status: {fields: [{path: phase, value: "{{ .spec.mode }}"}]}
`)
		w.running(ctx, name)
		Expect(boxCondition(getBox(ctx, Default, name), v1alpha1.ConditionStatusWritable)).To(HaveValue(And(
			HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonStatusFieldsUnknown),
			HaveField("Message", ContainSubstring("does not know status.conditions and status.observedGeneration")))))
		phase := func(want string) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				g.Expect(w.get(ctx, g, "web").Object["status"]).To(Equal(map[string]any{"phase": want}))
			}).WithContext(ctx).Should(Succeed())
		}
		w.website(ctx, "web", `{mode: a}`)
		phase("a")
		w.website(ctx, "web", `{mode: b}`)
		phase("b")
		w.website(ctx, "web", `{mode: wrong}`)
		phase("wrong")
		Eventually(func(g Gomega) {
			g.Expect(w.notes(ctx, g, "web", v1alpha1.ReasonReconcileError)).To(HaveLen(1))
			g.Expect(w.notes(ctx, g, "web", "Reconciled")).To(HaveLen(1), "events on transitions only")
		}).WithContext(ctx).Should(Succeed())
	})
})

var _ = Describe("A status that is computed from itself", func() {
	It("converges where it does, and is not written for ever where it does not", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{resync: 1s, status: {fields: [
			{path: phase, value: "{{ .spec.mode }}"}, {path: url, value: "https://{{ .status.phase }}"},
			{path: replicas, value: "{{ add (default 0 .status.replicas) 1 }}"}]}}`))
		w.website(ctx, "web", `{mode: up}`)
		Eventually(func(g Gomega) {
			g.Expect(w.get(ctx, g, "web").Object["status"]).To(And(HaveKeyWithValue("phase", "up"), HaveKeyWithValue("url", "https://up")))
		}).WithContext(ctx).Should(Succeed())
		Expect(manager.resting(ctx, w.id)).To(BeNumerically("<", 30), "it rests")
	})
})

// settledAfter applies a spec and waits until the resource has settled.
func (w *world) settledAfter(ctx context.Context, name, spec string) *unstructured.Unstructured {
	GinkgoHelper()
	w.website(ctx, name, spec)
	return w.settled(ctx, name)
}
