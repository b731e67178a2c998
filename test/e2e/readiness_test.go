package e2e_test

import (
	"context"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// lever is a child that a spec pulls: it is made once, and says what its annotation says.
const lever = `{id: lever, name: "{{ .metadata.name }}-lever", once: true, data: {a: b}}`

// pull sets the lever of a resource.
func (w *world) pull(ctx context.Context, name, value string) {
	GinkgoHelper()
	w.patch(ctx, w.configMapOf(ctx, name+"-lever"), `{"metadata":{"annotations":{"lever":"`+value+`"}}}`)
}

var _ = Describe("readyWhen", func() {
	It("of the status keeps a resource from being Ready, and tools from taking it for done", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.box(ctx, `
onReconcile: {configmaps: [`+lever+`]}
status:
  fields: [{path: phase, value: Shown}]
  readyWhen:
  - {field: "children.lever.metadata.annotations['lever']", equals: "on"}
  - {field: spec.tls, equals: true}
`)
		w.running(ctx, name)
		w.website(ctx, "web", `{tls: true}`)
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForGate, "readyWhen: children.lever.metadata.annotations")
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonWaitingForGate, ": wanted equals on, actual absent")
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionFalse, "NotStalled", "")
		w.computed(ctx, "web", status.InProgressStatus)
		Eventually(func(g Gomega) {
			g.Expect(getHealth(ctx, g, name).Status.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 1, Waiting: 1}))
		}).WithContext(ctx).Should(Succeed())
		Expect(shownFields(w.get(ctx, Default, "web"))).To(Equal(map[string]any{"phase": "Shown"}))

		By("pulling the lever")
		w.pull(ctx, "web", "on")
		w.settled(ctx, "web")
		w.computed(ctx, "web", status.CurrentStatus)
		nothingSent(ctx, w, "web")

		By("breaking a condition on the resource itself")
		w.website(ctx, "web", `{tls: false}`)
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForGate, "readyWhen: spec.tls: wanted equals true, actual false")
		w.computed(ctx, "web", status.InProgressStatus)
		w.website(ctx, "web", `{tls: true}`)
		w.settled(ctx, "web")
	})

	It("of the status may read what the status shows", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
status:
  fields: [{path: phase, value: "{{ .spec.mode }}"}]
  readyWhen: [{field: status.phase, equals: up}]
`))
		w.website(ctx, "web", `{mode: down}`)
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForGate, "readyWhen: status.phase: wanted equals up, actual down")
		w.website(ctx, "web", `{mode: up}`)
		w.settled(ctx, "web")
		nothingSent(ctx, w, "web")
	})

	It("of the status is asked again when the time changes it", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{resync: 24h, status: {readyWhen: [{field: metadata.creationTimestamp, olderThan: 3s}]}}`))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
	})

	It("of the status that can't be evaluated stalls the resource", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{status: {readyWhen: [{field: spec.mode, greaterThan: 3}]}}`))
		w.website(ctx, "web", `{mode: many}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonConditionError, `status: readyWhen: comparing "spec.mode" by gt`)
		w.website(ctx, "web", `{mode: "4"}`)
		w.settled(ctx, "web")
	})

	It("of a declaration says when its objects are current, each for itself", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
onReconcile:
  configmaps:
  - name: "{{ .metadata.name }}-{{ .item }}"
    data: {a: b}
    forEach: {field: spec.tags, key: "{{ .item }}"}
    readyWhen: [{field: "object.metadata.annotations['done']", equals: "{{ .item }}"}]
status: {ready: Current}
`))
		w.website(ctx, "web", `{tags: [a, b]}`)
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonChildrenNotCurrent, `ConfigMap "web-a": object.metadata.annotations`)
		mark := func(name, value string) {
			GinkgoHelper()
			w.patch(ctx, w.configMapOf(ctx, name), `{"metadata":{"annotations":{"done":"`+value+`"}}}`)
		}
		mark("web-a", "a")
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonChildrenNotCurrent, `ConfigMap "web-b": object.metadata.annotations`)
		mark("web-b", "a")
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonChildrenNotCurrent, `actual a`)
		mark("web-b", "b")
		w.settled(ctx, "web")
		w.website(ctx, "web", `{tags: [a]}`)
		w.gone(ctx, &corev1.ConfigMap{}, "web-b")
		w.settled(ctx, "web")
		nothingSent(ctx, w, "web")
	})

	It("of a declaration stands in the place of kstatus", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
onReconcile:
  deployments:
  - {image: "nginx:1", replicas: 1, spec: {template: {spec: {schedulerName: nobody}}}, readyWhen: [{field: object.status.replicas, equals: 1}]}
status: {ready: Current}
`))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
	})
})

// ownCondition waits until a resource has a condition of the box's own, and gives it as it is stored.
func (w *world) ownCondition(ctx context.Context, name, kind string, fields ...any) map[string]any {
	GinkgoHelper()
	var found map[string]any
	Eventually(func(g Gomega) {
		list, _, err := unstructured.NestedSlice(w.get(ctx, g, name).Object, "status", "conditions")
		g.Expect(err).NotTo(HaveOccurred())
		found = nil
		for _, entry := range list {
			if m, _ := entry.(map[string]any); m["type"] == kind {
				found = m
			}
		}
		for i := 0; i < len(fields); i += 2 {
			g.Expect(found).To(HaveKeyWithValue(fields[i], fields[i+1]))
		}
	}).WithContext(ctx).Should(Succeed())
	return found
}

var _ = Describe("Conditions of a box's own", func() {
	It("are written among Orkestra's and those of others, and removed when their gates are false", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
onReconcile: {configmaps: [`+lever+`]}
status:
  fields:
  - path: conditions[Available]
    value:
      status: "{{ hasKey .children.lever.metadata \"name\" }}"
      reason: "{{ .spec.mode }}"
      message: "{{ .spec.replicas }} wanted"
  - {path: "conditions[example.com/Public]", value: "True", when: [{field: spec.tls, equals: true}]}
  - {path: "conditions[Named]", value: {status: true, message: "{{ .spec.host }}"}}
`))
		w.website(ctx, "web", `{mode: First, replicas: 3, tls: true, host: a}`)
		w.settled(ctx, "web")
		first := w.ownCondition(ctx, "web", "Available", "status", "True", "reason", "First", "message", "3 wanted", "observedGeneration", int64(1))
		Expect(first["lastTransitionTime"]).NotTo(BeEmpty())
		w.ownCondition(ctx, "web", "example.com/Public", "status", "True", "reason", "Met", "message", "")
		w.ownCondition(ctx, "web", "Named", "status", "True", "message", "a")
		nothingSent(ctx, w, "web")

		By("letting somebody else write a condition, and changing reason and message")
		obj := w.get(ctx, Default, "web")
		conditions, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
		Expect(err).NotTo(HaveOccurred())
		conditions = append(conditions, map[string]any{"type": "Backup", "status": "True", "reason": "Done", "message": "by somebody"})
		Expect(unstructured.SetNestedSlice(obj.Object, conditions, "status", "conditions")).To(Succeed())
		Expect(kube.Status().Update(ctx, obj)).To(Succeed())
		w.website(ctx, "web", `{mode: Second, replicas: 4, tls: false}`)
		second := w.ownCondition(ctx, "web", "Available", "status", "True", "reason", "Second", "message", "4 wanted", "observedGeneration", int64(2))
		Expect(second["lastTransitionTime"]).To(Equal(first["lastTransitionTime"]), "the status is the same")
		w.settled(ctx, "web")
		Expect(w.ownCondition(ctx, "web", "example.com/Public")).To(BeNil(), "its gate is false")
		Expect(w.ownCondition(ctx, "web", "Named")).To(BeNil(), "what it reads is absent")
		w.ownCondition(ctx, "web", "Backup", "message", "by somebody")
		nothingSent(ctx, w, "web")
	})

	It("that are none stall the resource, and all others are written", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
status:
  fields:
  - {path: "conditions[A]", value: "{{ .spec.mode }}"}
  - {path: "conditions[B]", value: true}
`))
		w.website(ctx, "web", `{mode: perhaps}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonTemplateError,
			"status: fields: status.conditions[A].status: wanted True, False or Unknown, got another text")
		w.ownCondition(ctx, "web", "B", "status", "True")
		w.website(ctx, "web", `{mode: "Unknown"}`)
		w.settled(ctx, "web")
		w.ownCondition(ctx, "web", "A", "status", "Unknown", "reason", "Unknown")
	})

	It("are refused where Orkestra writes itself", func(ctx context.Context) {
		w := newWorld(ctx)
		w.box(ctx, `{status: {fields: [{path: "conditions[Ready]", value: true}]}}`)
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed,
			`spec.status.fields[0].path: Invalid value: "conditions[Ready]": Orkestra writes the condition Ready itself; give yours another type`)
	})
})
