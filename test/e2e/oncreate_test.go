package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// activeSince gives the mark of a resource whose onCreate is complete.
func (w *world) activeSince(ctx context.Context, g Gomega, name string) string {
	return w.get(ctx, g, name).GetAnnotations()[v1alpha1.AnnotationActiveSince]
}

// active waits until a resource is Active, and gives the mark.
func (w *world) active(ctx context.Context, name string) string {
	GinkgoHelper()
	var since string
	Eventually(func(g Gomega) {
		since = w.activeSince(ctx, g, name)
		g.Expect(since).NotTo(BeEmpty())
	}).WithContext(ctx).Should(Succeed())
	return since
}

// createdBox has one onCreate child and one that always follows spec.mode. A lever holds the resource back from being Active.
const createdBox = `
resync: 24h
onCreate:
  configmaps:
  - {name: "{{ .metadata.name }}-created", data: {mode: "{{ .spec.mode }}"}}
  - {name: "{{ .metadata.name }}-held", data: {a: b}, when: [{field: "children.lever.metadata.annotations['on']", equals: "yes"}]}
onReconcile:
  configmaps:
  - {id: lever, name: "{{ .metadata.name }}-lever", once: true, data: {a: b}}
  - {name: "{{ .metadata.name }}-always", data: {mode: "{{ .spec.mode }}"}}
`

var _ = Describe("OnCreate", func() {
	var w *world
	BeforeEach(func(ctx context.Context) { w = newWorld(ctx) })

	mode := func(value string) map[string]string { return map[string]string{"mode": value} }
	// release lets the resource become Active.
	release := func(ctx context.Context) {
		GinkgoHelper()
		w.patch(ctx, w.configMapOf(ctx, "web-lever"), `{"metadata":{"annotations":{"on":"yes"}}}`)
	}
	foreign := func(ctx context.Context, name string) types.UID {
		GinkgoHelper()
		c := w.configMap(name)
		c.Data = mode("theirs")
		Expect(kube.Create(ctx, c)).To(Succeed())
		return c.UID
	}
	remove := func(ctx context.Context, name string) {
		GinkgoHelper()
		Expect(kube.Delete(ctx, w.configMap(name))).To(Succeed())
	}

	It("before Active: makes what is absent, and leaves what is there as it is", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, createdBox))
		w.website(ctx, "web", `{mode: a}`)
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonWaitingForGate, "configmaps/web-held: ")
		w.hasData(ctx, "web-created", mode("a"))

		By("drifting, and a declaration that renders something else")
		w.patch(ctx, w.configMap("web-created"), `{"data":{"mode":"drifted"}}`)
		w.website(ctx, "web", `{mode: b}`)
		w.hasData(ctx, "web-always", mode("b"))
		w.cycle(ctx, "web")
		w.hasData(ctx, "web-created", mode("drifted"))

		By("deleting it: onCreate is not complete, so it is made again")
		remove(ctx, "web-created")
		w.hasData(ctx, "web-created", mode("b"))
		Expect(w.activeSince(ctx, Default, "web")).To(BeEmpty())

		release(ctx)
		w.active(ctx, "web")
		w.settled(ctx, "web")
		w.hasData(ctx, "web-held", map[string]string{"a": "b"})
	})

	It("before Active: refuses what is not ours, and takes it over where the box says so", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, createdBox))
		uid := foreign(ctx, "web-created")
		w.website(ctx, "web", `{mode: a}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonNotOwned, `ConfigMap "web-created" exists and `)
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, "onCreate: ")
		Expect(w.hasData(ctx, "web-created", mode("theirs")).Labels).To(BeEmpty())
		Expect(w.activeSince(ctx, Default, "web")).To(BeEmpty())

		w.box(ctx, `{resync: 24h, onCreate: {configmaps: [{name: "{{ .metadata.name }}-created", adopt: IfUnowned, data: {mode: "{{ .spec.mode }}"}}]}}`)
		w.active(ctx, "web")
		adopted := w.hasData(ctx, "web-created", mode("theirs"))
		Expect(adopted.UID).To(Equal(uid))
		Expect(adopted.Labels).To(HaveKeyWithValue(v1alpha1.LabelOwnerUID, string(w.get(ctx, Default, "web").GetUID())), "ours, and left as it is")
	})

	It("after Active: does nothing, whatever becomes of the child", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, createdBox))
		w.website(ctx, "web", `{mode: a}`)
		release(ctx)
		since := w.active(ctx, "web")
		w.settled(ctx, "web")

		By("drifting")
		w.patch(ctx, w.configMap("web-created"), `{"data":{"mode":"drifted"}}`)
		w.website(ctx, "web", `{mode: b}`)
		w.hasData(ctx, "web-always", mode("b"))
		w.settled(ctx, "web")
		w.hasData(ctx, "web-created", mode("drifted"))

		By("deleting it")
		remove(ctx, "web-created")
		w.website(ctx, "web", `{mode: c}`)
		w.hasData(ctx, "web-always", mode("c"))
		w.settled(ctx, "web")
		w.absent(ctx, "web-created")

		By("putting something of ours in its place")
		uid := foreign(ctx, "web-created")
		w.cycle(ctx, "web")
		w.settled(ctx, "web")
		Expect(w.hasData(ctx, "web-created", mode("theirs"))).To(And(HaveField("UID", uid), HaveField("Labels", BeEmpty())))
		Expect(w.activeSince(ctx, Default, "web")).To(Equal(since))
	})

	It("with reconcile: true it is kept, before and after Active", func(ctx context.Context) {
		const kept = `
resync: 24h
onCreate:
  configmaps:
  - {name: "{{ .metadata.name }}-created", reconcile: true, data: {mode: "{{ .spec.mode }}"}}
  - {name: "{{ .metadata.name }}-held", data: {a: b}, when: [{field: "children.lever.metadata.annotations['on']", equals: "yes"}]}
onReconcile: {configmaps: [{id: lever, name: "{{ .metadata.name }}-lever", once: true, data: {a: b}}]}
`
		w.running(ctx, w.box(ctx, kept))
		uid := foreign(ctx, "other-created")
		w.website(ctx, "other", `{mode: a}`)
		w.shows(ctx, "other", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonNotOwned, `ConfigMap "other-created" exists and `)
		Expect(w.hasData(ctx, "other-created", mode("theirs")).UID).To(Equal(uid))

		w.website(ctx, "web", `{mode: a}`)
		w.hasData(ctx, "web-created", mode("a"))
		check := func(before string) {
			GinkgoHelper()
			w.patch(ctx, w.configMap("web-created"), `{"data":{"mode":"drifted"}}`)
			w.hasData(ctx, "web-created", mode(before))
			remove(ctx, "web-created")
			w.hasData(ctx, "web-created", mode(before))
			w.website(ctx, "web", `{mode: `+before+`x}`)
			w.hasData(ctx, "web-created", mode(before+"x"))
		}
		check("a")
		Expect(w.activeSince(ctx, Default, "web")).To(BeEmpty())
		release(ctx)
		w.active(ctx, "web")
		check("ax")
	})

	It("once: true in onReconcile is made, and made again, but never corrected", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `
resync: 24h
onReconcile:
  configmaps:
  - {name: "{{ .metadata.name }}-once", once: true, data: {mode: "{{ .spec.mode }}"}}
  - {name: "{{ .metadata.name }}-always", data: {mode: "{{ .spec.mode }}"}}
`))
		w.website(ctx, "web", `{mode: a}`)
		w.settled(ctx, "web")
		w.patch(ctx, w.configMap("web-once"), `{"data":{"mode":"drifted"}}`)
		w.website(ctx, "web", `{mode: b}`)
		w.hasData(ctx, "web-always", mode("b"))
		w.settled(ctx, "web")
		w.hasData(ctx, "web-once", mode("drifted"))
		remove(ctx, "web-once")
		w.hasData(ctx, "web-once", mode("b"))

		foreign(ctx, "other-once")
		w.website(ctx, "other", `{mode: a}`)
		w.shows(ctx, "other", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonNotOwned, `ConfigMap "other-once" exists and `)
		w.hasData(ctx, "other-once", mode("theirs"))
	})

	It("Active is held back by a wait gate, but not by an optional one nor by a choice", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `
resync: 24h
onCreate:
  configmaps:
  - {name: "{{ .metadata.name }}-chosen", data: {a: b}, when: [{field: spec.tls, equals: true}]}
  - {name: "{{ .metadata.name }}-optional", data: {a: b}, optional: true, when: [{field: "children.lever.metadata.annotations['on']", equals: "yes"}]}
onReconcile: {configmaps: [{id: lever, name: "{{ .metadata.name }}-lever", once: true, data: {a: b}}]}
`))
		w.website(ctx, "web", `{tls: false}`)
		w.active(ctx, "web")
		w.settled(ctx, "web")
		w.absent(ctx, "web-chosen")
		w.absent(ctx, "web-optional")

		By("opening the choice later: onCreate is over")
		w.website(ctx, "web", `{tls: true}`)
		release(ctx)
		w.cycle(ctx, "web")
		w.absent(ctx, "web-chosen")
		w.absent(ctx, "web-optional")
	})

	It("Active is held back by an error in a later step", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `
resync: 24h
onCreate: {configmaps: [{name: "{{ .metadata.name }}-created", data: {mode: "{{ default \"none\" .spec.mode }}"}}]}
onReconcile: {configmaps: [{name: "{{ .metadata.name }}-always", data: {mode: "{{ .spec.mode }}"}}]}
`))
		w.website(ctx, "web", `{}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonTemplateError, "spec.mode")
		w.hasData(ctx, "web-created", mode("none"))
		Expect(w.activeSince(ctx, Default, "web")).To(BeEmpty())
		w.website(ctx, "web", `{mode: a}`)
		w.active(ctx, "web")
		w.hasData(ctx, "web-created", mode("none"))
	})

	It("a restart neither repeats nor forgets", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, createdBox))
		w.website(ctx, "done", `{mode: a}`)
		w.patch(ctx, w.configMapOf(ctx, "done-lever"), `{"metadata":{"annotations":{"on":"yes"}}}`)
		since := w.active(ctx, "done")
		w.settled(ctx, "done")
		w.website(ctx, "web", `{mode: a}`)
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonWaitingForGate, "held")

		manager.stop()
		remove(ctx, "done-created")
		remove(ctx, "web-created")
		w.website(ctx, "done", `{mode: b}`)
		release(ctx)
		manager = startManager(cluster.Config())
		w.hasData(ctx, "done-always", mode("b"))
		w.settled(ctx, "done")
		w.absent(ctx, "done-created")
		Expect(w.activeSince(ctx, Default, "done")).To(Equal(since))
		w.active(ctx, "web")
		w.hasData(ctx, "web-created", mode("a"))
		w.hasData(ctx, "web-held", map[string]string{"a": "b"})
	})

	It("a declaration that is added later does not run for Active resources, and Compiled says so", func(ctx context.Context) {
		const (
			always = `, onReconcile: {configmaps: [{name: "{{ .metadata.name }}-always", data: {mode: "{{ .box.revision }}"}}]}}`
			before = `{resync: 24h, onCreate: {configmaps: [{name: "{{ .metadata.name }}-created", data: {a: b}}]}` + always
			after  = `{resync: 24h, onCreate: {configmaps: [{name: "{{ .metadata.name }}-created", data: {a: b}}], services: [{id: extra, port: 80, selector: {a: b}}]}` + always
			again  = `{resync: 23h, onCreate: {configmaps: [{name: "{{ .metadata.name }}-created", data: {a: b}}], services: [{id: extra, port: 80, selector: {a: b}}]}` + always
		)
		compiled := func(g Gomega) string {
			box := getBox(ctx, g, w.id)
			c := boxCondition(box, v1alpha1.ConditionCompiled)
			g.Expect(c).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("ObservedGeneration", box.Generation)))
			return c.Message
		}
		name := w.box(ctx, before)
		w.running(ctx, name)
		Expect(compiled(Default)).To(Equal("the spec is valid"))
		w.website(ctx, "web", `{}`)
		w.active(ctx, "web")
		w.settled(ctx, "web")

		w.box(ctx, after)
		const note = "the spec is valid; onCreate declarations that are new (extra) do not run for resources that are Active already"
		Eventually(compiled).WithContext(ctx).Should(Equal(note))
		revision := getBox(ctx, Default, name).Status.Revision
		w.hasData(ctx, "web-always", mode(revision))
		w.settled(ctx, "web")
		w.gone(ctx, &corev1.Service{}, "web")
		w.website(ctx, "new", `{}`)
		w.active(ctx, "new")
		w.child(ctx, Default, &corev1.Service{}, "new")

		By("restarting: nothing of the old plan is left")
		manager.stop()
		manager = startManager(cluster.Config())
		w.running(ctx, name)
		w.cycle(ctx, "web")
		Expect(compiled(Default)).To(Equal(note))

		By("changing something else")
		w.box(ctx, again)
		Eventually(compiled).WithContext(ctx).Should(Equal("the spec is valid"))
	})
})
