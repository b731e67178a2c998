package e2e_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// gatedBox has a child that is never touched again, whose annotation `on` specs turn on and off, and one gated child. Its
// resync is so long that only events move it.
func gatedBox(gated string) string {
	return fmt.Sprintf(`
resync: 24h
onReconcile:
  configmaps:
  - {id: lever, name: "{{ .metadata.name }}-lever", once: true, data: {a: b}}
  - {name: "{{ .metadata.name }}-always", data: {mode: "{{ .spec.mode }}"}}
  - {name: "{{ .metadata.name }}-gated", data: {mode: "{{ .spec.mode }}"}, %s}
`, gated)
}

const (
	byLever  = `when: [{field: "children.lever.metadata.annotations['on']", equals: "yes"}]`
	byChoice = `when: [{field: spec.tls, equals: true}]`
	// shut is what the status says of byLever.
	shut = `configmaps/web-gated: children.lever.metadata.annotations['on']: wanted equals yes, actual `
)

var _ = Describe("Gates", func() {
	var w *world
	BeforeEach(func(ctx context.Context) { w = newWorld(ctx) })

	// pull sets the lever's annotation.
	pull := func(ctx context.Context, on string) {
		GinkgoHelper()
		w.patch(ctx, w.configMap("web-lever"), `{"metadata":{"annotations":{"on":"`+on+`"}}}`)
	}
	waits := func(ctx context.Context, text string) {
		GinkgoHelper()
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonWaitingForGate, text)
	}
	mode := func(value string) map[string]string { return map[string]string{"mode": value} }

	It("true: the declaration acts, and corrects", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, gatedBox(byChoice)))
		w.website(ctx, "web", `{mode: a, tls: true}`)
		w.settled(ctx, "web")
		w.hasData(ctx, "web-gated", mode("a"))
		w.patch(ctx, w.configMap("web-gated"), `{"data":{"mode":"other"}}`)
		w.hasData(ctx, "web-gated", mode("a"))
	})

	It("false choice, child absent: nothing happens, and nothing waits", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, gatedBox(byChoice)))
		for name, spec := range map[string]string{"false": `{mode: a, tls: false}`, "absent": `{mode: a}`} {
			w.website(ctx, name, spec)
			w.settled(ctx, name)
			w.hasData(ctx, name+"-always", mode("a"))
			w.absent(ctx, name+"-gated")
		}
	})

	It("false choice, child exists: it is deleted by default, and made again when the gate opens", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, gatedBox(byChoice)))
		w.website(ctx, "web", `{mode: a, tls: true}`)
		w.settled(ctx, "web")
		w.website(ctx, "web", `{mode: a, tls: false}`)
		w.gone(ctx, w.configMap("web-gated"), "web-gated")
		w.settled(ctx, "web")
		w.website(ctx, "web", `{mode: b, tls: true}`)
		w.hasData(ctx, "web-gated", mode("b"))
	})

	It("false choice, child exists, whenFalse Keep: it is left as it is, and not corrected", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, gatedBox(byChoice+`, whenFalse: Keep`)))
		w.website(ctx, "web", `{mode: a, tls: true}`)
		w.settled(ctx, "web")
		w.website(ctx, "web", `{mode: b, tls: false}`)
		w.settled(ctx, "web")
		w.patch(ctx, w.configMap("web-gated"), `{"data":{"mode":"theirs"}}`)
		w.cycle(ctx, "web")
		w.settled(ctx, "web")
		w.hasData(ctx, "web-always", mode("b"))
		w.hasData(ctx, "web-gated", mode("theirs"))
		w.website(ctx, "web", `{mode: b, tls: true}`)
		w.hasData(ctx, "web-gated", mode("b"))
	})

	It("false choice, child exists: what holds data is kept by default", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `
resync: 24h
onReconcile:
  resources:
  - when: [{field: spec.tls, equals: true}]
    manifest:
      apiVersion: v1
      kind: PersistentVolumeClaim
      metadata: {name: "{{ .metadata.name }}-data"}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
  - when: [{field: spec.tls, equals: true}]
    manifest: {apiVersion: v1, kind: ServiceAccount, metadata: {name: "{{ .metadata.name }}-account"}}
`))
		w.website(ctx, "web", `{tls: true}`)
		Eventually(func(g Gomega) {
			w.child(ctx, g, &corev1.PersistentVolumeClaim{}, "web-data")
			w.child(ctx, g, &corev1.ServiceAccount{}, "web-account")
		}).WithContext(ctx).Should(Succeed())
		w.website(ctx, "web", `{tls: false}`)
		w.gone(ctx, &corev1.ServiceAccount{}, "web-account")
		w.cycle(ctx, "web")
		claim := &corev1.PersistentVolumeClaim{}
		w.child(ctx, Default, claim, "web-data")
		Expect(claim.DeletionTimestamp).To(BeNil())
	})

	It("false wait, child absent: skipped, and the status says what is waited for until a watch releases it", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, gatedBox(byLever)))
		w.website(ctx, "web", `{mode: a}`)
		waits(ctx, shut+"absent")
		w.absent(ctx, "web-gated")
		obj := w.observed(ctx, "web")
		Expect(condition(obj, v1alpha1.ConditionReady).Status).To(Equal(metav1.ConditionTrue), "what could be done is done")
		Expect(condition(obj, v1alpha1.ConditionStalled).Status).To(Equal(metav1.ConditionFalse))

		pull(ctx, "no")
		waits(ctx, shut+"no")
		w.absent(ctx, "web-gated")
		pull(ctx, "yes")
		w.hasData(ctx, "web-gated", mode("a"))
		w.settled(ctx, "web")
	})

	It("false wait, child absent, optional: skipped, and nothing waits", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, gatedBox(byLever+`, optional: true`)))
		w.website(ctx, "web", `{mode: a}`)
		w.settled(ctx, "web")
		w.absent(ctx, "web-gated")
		pull(ctx, "yes")
		w.hasData(ctx, "web-gated", mode("a"))
	})

	It("false wait, child exists: it is left as it is by default, and the status names it", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, gatedBox(byLever)))
		w.website(ctx, "web", `{mode: a}`)
		waits(ctx, shut)
		pull(ctx, "yes")
		w.settled(ctx, "web")
		pull(ctx, "no")
		waits(ctx, shut+`no; ConfigMap "web-gated" is left as it is`)
		w.patch(ctx, w.configMap("web-gated"), `{"data":{"mode":"theirs"}}`)
		w.website(ctx, "web", `{mode: b}`)
		w.hasData(ctx, "web-always", mode("b"))
		w.cycle(ctx, "web")
		w.hasData(ctx, "web-gated", mode("theirs"))
		pull(ctx, "yes")
		w.hasData(ctx, "web-gated", mode("b"))
		w.settled(ctx, "web")
	})

	It("false wait, child exists, whenFalse Delete: it is deleted, and waited for", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, gatedBox(byLever+`, whenFalse: Delete`)))
		w.website(ctx, "web", `{mode: a}`)
		waits(ctx, shut)
		pull(ctx, "yes")
		w.settled(ctx, "web")
		pull(ctx, "no")
		w.gone(ctx, w.configMap("web-gated"), "web-gated")
		waits(ctx, shut+"no")
	})

	It("a choice decides before a wait, in either order", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, gatedBox(`when: [
    {field: "children.lever.metadata.annotations['on']", equals: "yes"}, {field: spec.tls, equals: true}]`)))
		w.website(ctx, "web", `{mode: a, tls: false}`)
		w.settled(ctx, "web")
		w.website(ctx, "web", `{mode: a, tls: true}`)
		waits(ctx, shut+"absent")
		pull(ctx, "yes")
		w.hasData(ctx, "web-gated", mode("a"))
		w.website(ctx, "web", `{mode: a, tls: false}`)
		w.gone(ctx, w.configMap("web-gated"), "web-gated")
	})

	It("anyOf opens by one, and goes together with when", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, gatedBox(byChoice+`, anyOf: [{field: spec.mode, equals: a}, {field: spec.host, equals: h},
    {field: "children.lever.metadata.annotations['on']", equals: "yes"}]`)))
		w.website(ctx, "web", `{mode: a, tls: true}`)
		w.settled(ctx, "web")
		w.hasData(ctx, "web-gated", mode("a"))
		w.website(ctx, "web", `{mode: b, host: h, tls: true}`)
		w.settled(ctx, "web")
		w.hasData(ctx, "web-gated", mode("b"))
		w.website(ctx, "web", `{mode: c, tls: true}`)
		waits(ctx, `spec.mode: wanted equals a, actual c; ConfigMap "web-gated" is left as it is`)
		pull(ctx, "yes")
		w.hasData(ctx, "web-gated", mode("c"))
		w.settled(ctx, "web")
		w.website(ctx, "web", `{mode: a, host: h, tls: false}`)
		w.gone(ctx, w.configMap("web-gated"), "web-gated")
	})

	It("the box's own gate stands before each of its declarations", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `
resync: 24h
when: [{field: spec.tls, equals: true}]
anyOf: [{field: spec.mode, equals: a}, {field: spec.mode, equals: b}]
onCreate: {configmaps: [{name: "{{ .metadata.name }}-created", data: {mode: "{{ .spec.mode }}"}, reconcile: true}]}
onReconcile:
  configmaps:
  - {name: "{{ .metadata.name }}-plain", data: {mode: "{{ .spec.mode }}"}}
  - {name: "{{ .metadata.name }}-host", data: {mode: "{{ .spec.mode }}"}, when: [{field: spec.host, exists: true}]}
`))
		names := []string{"web-created", "web-plain", "web-host"}
		for _, shut := range []string{`{mode: a, tls: false, host: h}`, `{mode: c, tls: true, host: h}`} {
			w.website(ctx, "web", shut)
			w.settled(ctx, "web")
			for _, name := range names {
				w.absent(ctx, name)
			}
			w.website(ctx, "web", `{mode: b, tls: true, host: h}`)
			for _, name := range names {
				w.hasData(ctx, name, mode("b"))
			}
			w.website(ctx, "web", `{mode: b, tls: true}`)
			w.gone(ctx, w.configMap("web-host"), "web-host")
			w.hasData(ctx, "web-plain", mode("b"))
			w.website(ctx, "web", shut)
			for _, name := range names {
				w.gone(ctx, w.configMap(name), name)
			}
		}
	})

	It("a mistake in the box's own gate is a compile error", func(ctx context.Context) {
		name := w.box(ctx, `{when: [{field: spec.tsl, equals: true}], anyOf: [{field: spec.min, equals: few}], onReconcile: {configmaps: [{}]}}`)
		Eventually(func(g Gomega) {
			c := boxCondition(getBox(ctx, g, name), v1alpha1.ConditionCompiled)
			g.Expect(c).To(HaveField("Status", metav1.ConditionFalse))
			g.Expect(c.Message).To(And(ContainSubstring(`spec.when[0].field`), ContainSubstring(`did you mean "tls"?`), ContainSubstring(`spec.anyOf[0].equals`)))
		}).WithContext(ctx).Should(Succeed())
	})

	It("counters that Kubernetes leaves out read as 0 on a child that exists, and are absent without one", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `
resync: 24h
onReconcile:
  deployments:
  - {image: "nginx:1", replicas: "{{ .spec.replicas }}", when: [{field: spec.tls, equals: true}]}
  configmaps:
  - {name: "{{ .metadata.name }}-zero", data: {a: b}, when: [{field: children.deployment.status.readyReplicas, equals: 0}]}
`))
		w.website(ctx, "web", `{replicas: 0, tls: false}`)
		waits(ctx, "configmaps/web-zero: children.deployment.status.readyReplicas: wanted equals 0, actual absent")
		w.absent(ctx, "web-zero")
		w.website(ctx, "web", `{replicas: 0, tls: true}`)
		w.hasData(ctx, "web-zero", map[string]string{"a": "b"})
		deployment := &appsv1.Deployment{}
		w.child(ctx, Default, deployment, "web")
		w.website(ctx, "web", `{replicas: 1, tls: true}`)
		waits(ctx, `wanted equals 0, actual 1; ConfigMap "web-zero" is left as it is`)
	})

	It("order changes, too: what is read is changed first, and its rollout waited for", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `
resync: 24h
onReconcile:
  deployments:
  - {name: "{{ .metadata.name }}-app", image: "{{ .spec.image }}", when: [{field: "{{ rolloutComplete .children.db }}", equals: true}]}
  - {id: db, name: "{{ .metadata.name }}-db", image: "{{ .spec.image }}", spec: {paused: "{{ .spec.tls }}"}}
`))
		w.website(ctx, "web", `{image: "nginx:1", tls: false}`)
		w.settled(ctx, "web")
		mark := manager.requests.mark()
		w.website(ctx, "web", `{image: "nginx:2", tls: true}`)
		waits(ctx, `deployments/web-app: {{ rolloutComplete .children.db }}: wanted equals true, actual false; Deployment "web-app" is left as it is`)
		Expect(manager.requests.writes(mark, w.path("deployments")+"/web-db")).To(HaveLen(1), "it has a new image")
		Expect(manager.requests.writes(mark, w.path("deployments")+"/web-app")).To(BeEmpty())
		w.website(ctx, "web", `{image: "nginx:2", tls: false}`)
		w.settled(ctx, "web")
		Expect(manager.requests.writes(mark, w.path("deployments")+"/web-app")).To(HaveLen(1))
	})

	It("a gate on data of a ConfigMap opens, and the status does not show the data", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, gatedBox(`when: [{field: children.lever.data.key, equals: open}]`)))
		w.website(ctx, "web", `{mode: a}`)
		w.patch(ctx, w.configMapOf(ctx, "web-lever"), `{"data":{"key":"secret"}}`)
		waits(ctx, "children.lever.data.key: wanted equals open, actual a string")
		w.patch(ctx, w.configMap("web-lever"), `{"data":{"key":"open"}}`)
		w.hasData(ctx, "web-gated", mode("a"))
	})
})

// configMapOf waits until a ConfigMap exists.
func (w *world) configMapOf(ctx context.Context, name string) *corev1.ConfigMap {
	GinkgoHelper()
	c := &corev1.ConfigMap{}
	Eventually(func(g Gomega) { w.child(ctx, g, c, name) }).WithContext(ctx).Should(Succeed())
	return c
}
