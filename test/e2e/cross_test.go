package e2e_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// reader is a box whose resources read those of another one. Its resync is so long that only events move it.
func reader(source string) string {
	return fmt.Sprintf(`
resync: 24h
cross: [{name: db, %s}]
onReconcile: {configmaps: [{name: "{{ .metadata.name }}-db", data: {image: "{{ .cross.db.spec.image }}"}}]}
`, source)
}

var _ = Describe("cross", func() {
	var w, databases *world
	BeforeEach(func(ctx context.Context) { databases, w = newWorld(ctx), newWorld(ctx) })

	// database makes a resource of the other box, in the namespace of the first.
	database := func(ctx context.Context, name, spec string, labels map[string]string) {
		GinkgoHelper()
		databases.websiteIn(ctx, w.namespace, name, labels)
		obj := databases.ref(name)
		obj.SetNamespace(w.namespace)
		w.patch(ctx, obj, `{"spec":`+spec+`}`)
	}
	waits := func(ctx context.Context, text string) {
		GinkgoHelper()
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonWaitingForCross, text)
	}

	It("reads a resource of another box, and follows its changes, its end and its return", func(ctx context.Context) {
		databases.running(ctx, databases.box(ctx, `{onReconcile: {configmaps: [{name: "{{ .metadata.name }}-own"}]}}`))
		w.running(ctx, w.box(ctx, reader(`box: `+databases.id+`, selector: {name: "{{ .spec.mode }}"}`)))
		w.website(ctx, "web", `{mode: main}`)
		waits(ctx, fmt.Sprintf(`cross db: Website "%s/main" does not exist`, w.namespace))
		w.absent(ctx, "web-db")

		database(ctx, "main", `{"image":"postgres:16"}`, nil)
		w.settled(ctx, "web")
		w.hasData(ctx, "web-db", map[string]string{"image": "postgres:16"})
		nothingSent(ctx, w, "web")

		database(ctx, "main", `{"image":"postgres:17"}`, nil)
		w.hasData(ctx, "web-db", map[string]string{"image": "postgres:17"})

		obj := databases.ref("main")
		obj.SetNamespace(w.namespace)
		Expect(kube.Delete(ctx, obj)).To(Succeed())
		waits(ctx, "does not exist")
		w.hasData(ctx, "web-db", map[string]string{"image": "postgres:17"})

		database(ctx, "main", `{"image":"postgres:18"}`, nil)
		w.hasData(ctx, "web-db", map[string]string{"image": "postgres:18"})
	})

	It("stops only what reads an object that went away, and says what waits for what", func(ctx context.Context) {
		settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "settings"}, Data: map[string]string{"mode": "on"}}
		Expect(kube.Create(ctx, settings)).To(Succeed())
		w.running(ctx, w.box(ctx, `
resync: 24h
cross: [{name: settings, apiVersion: v1, kind: ConfigMap, selector: {name: settings}}]
onReconcile:
  configmaps:
  - {name: copy, data: {mode: "{{ .cross.settings.data.mode }}"}}
  - {name: free, data: {mode: "{{ .spec.mode }}"}}
`))
		w.website(ctx, "web", `{mode: a}`)
		w.settled(ctx, "web")
		Expect(kube.Delete(ctx, settings)).To(Succeed())
		waits(ctx, fmt.Sprintf(`cross settings: ConfigMap "%s/settings" does not exist; waiting for it: configmaps/copy`, w.namespace))
		w.patch(ctx, w.configMap("free"), `{"data":{"mode":"theirs"}}`)
		w.hasData(ctx, "free", map[string]string{"mode": "a"})
		w.website(ctx, "web", `{mode: b}`)
		w.hasData(ctx, "free", map[string]string{"mode": "b"})
		w.hasData(ctx, "copy", map[string]string{"mode": "on"})
		settings.ResourceVersion = ""
		settings.Data["mode"] = "off"
		Expect(kube.Create(ctx, settings)).To(Succeed())
		w.hasData(ctx, "copy", map[string]string{"mode": "off"})
		w.settled(ctx, "web")
	})

	It("waits for a field that an object does not have yet, where it is read, and nowhere else", func(ctx context.Context) {
		settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "settings"}}
		Expect(kube.Create(ctx, settings)).To(Succeed())
		w.running(ctx, w.box(ctx, `
resync: 24h
cross: [{name: settings, apiVersion: v1, kind: ConfigMap, selector: {name: settings}}]
onReconcile:
  configmaps:
  - {name: copy, data: {mode: "{{ .cross.settings.data.mode }}"}}
  - {name: free, data: {mode: "{{ .spec.mode }}"}}
`))
		w.website(ctx, "web", `{mode: a}`)
		waits(ctx, `configmaps/copy: cross.settings.data.mode is not there yet`)
		w.hasData(ctx, "free", map[string]string{"mode": "a"})
		w.absent(ctx, "copy")
		w.patch(ctx, w.configMap("settings"), `{"data":{"mode":"on"}}`)
		w.hasData(ctx, "copy", map[string]string{"mode": "on"})
		w.settled(ctx, "web")
	})

	It("waits for a box that does not run yet, and goes on when it does", func(ctx context.Context) {
		database(ctx, "main", `{"image":"postgres:16"}`, nil)
		w.running(ctx, w.box(ctx, reader(`box: `+databases.id+`, selector: {name: main}`)))
		w.website(ctx, "web", `{}`)
		waits(ctx, `cross db: box "`+databases.id+`" does not run`)
		databases.running(ctx, databases.box(ctx, `{onReconcile: {configmaps: [{name: "{{ .metadata.name }}-own"}]}}`))
		w.settled(ctx, "web")
		w.hasData(ctx, "web-db", map[string]string{"image": "postgres:16"})
	})

	It("gives a list of what the labels select, and follows who joins and leaves", func(ctx context.Context) {
		databases.running(ctx, databases.box(ctx, `{onReconcile: {configmaps: [{name: "{{ .metadata.name }}-own"}]}}`))
		w.running(ctx, w.box(ctx, `
resync: 24h
cross: [{name: dbs, box: `+databases.id+`, selector: {matchLabels: {app: "{{ .metadata.name }}"}}, optional: true}]
onReconcile:
  configmaps: [{name: all, data: {names: "{{ range .cross.dbs }}{{ .metadata.name }} {{ end }}"}}]
`))
		w.website(ctx, "web", `{}`)
		w.hasData(ctx, "all", map[string]string{"names": ""})
		database(ctx, "b", `{}`, map[string]string{"app": "web"})
		database(ctx, "a", `{}`, map[string]string{"app": "web"})
		database(ctx, "c", `{}`, map[string]string{"app": "other"})
		w.hasData(ctx, "all", map[string]string{"names": "a b "})
		obj := databases.ref("a")
		obj.SetNamespace(w.namespace)
		w.patch(ctx, obj, `{"metadata":{"labels":{"app":"gone"}}}`)
		w.hasData(ctx, "all", map[string]string{"names": "b "})
		nothingSent(ctx, w, "web")
	})

	It("reads any kind, optional or not", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `
resync: 24h
cross: [{name: settings, apiVersion: v1, kind: ConfigMap, selector: {name: settings}, optional: true}]
onReconcile:
  configmaps:
  - {name: copy, data: {mode: '{{ default "none" .cross.settings.data.mode }}'}}
  - {name: gated, when: [{field: cross.settings.data.mode, equals: "on"}], optional: true}
`))
		w.website(ctx, "web", `{}`)
		w.hasData(ctx, "copy", map[string]string{"mode": "none"})
		w.absent(ctx, "gated")
		settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "settings"}, Data: map[string]string{"mode": "on"}}
		Expect(kube.Create(ctx, settings)).To(Succeed())
		w.hasData(ctx, "copy", map[string]string{"mode": "on"})
		w.hasData(ctx, "gated", nil)
		Expect(kube.Delete(ctx, settings)).To(Succeed())
		w.hasData(ctx, "copy", map[string]string{"mode": "none"})
	})

	It("watches a kind once for all boxes, and stops when no box reads it any more", func(ctx context.Context) {
		watches := newStreams()
		replaceManager(via(watches.wrap))
		for _, world := range []*world{w, databases} {
			world.running(ctx, world.box(ctx, `
cross: [{name: limits, apiVersion: v1, kind: LimitRange, optional: true}]
onReconcile: {configmaps: [{name: count, data: {count: "{{ len .cross.limits }}"}}]}
`))
			world.website(ctx, "web", `{}`)
			world.hasData(ctx, "count", map[string]string{"count": "0"})
		}
		Expect(watches.count("/limitranges")).To(Equal(1))
		const other = `{onReconcile: {configmaps: [{name: count, data: {count: none}}]}}`
		w.running(ctx, w.box(ctx, other))
		w.hasData(ctx, "count", map[string]string{"count": "none"})
		Expect(watches.count("/limitranges")).To(Equal(1))
		databases.running(ctx, databases.box(ctx, other))
		Eventually(func() int { return watches.count("/limitranges") }).WithContext(ctx).Should(BeZero())
	})
})

var _ = Describe("Other namespaces", func() {
	var w *world
	var elsewhere string
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		elsewhere = w.anotherNamespace(ctx)
	})
	has := func(ctx context.Context, name string) {
		GinkgoHelper()
		Eventually(func() error {
			return kube.Get(ctx, types.NamespacedName{Namespace: elsewhere, Name: name}, &corev1.ConfigMap{})
		}).WithContext(ctx).Should(Succeed())
	}

	It("are reached by a template only where they let the resource in", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{resync: 24h, onReconcile: {configmaps: [{name: guest, namespace: "{{ .spec.mode }}"}]}}`))
		w.website(ctx, "web", `{mode: `+elsewhere+`}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonTemplateError,
			fmt.Sprintf(`namespace %q does not let resources of %q in: add %q to its annotation orkestra.orkspace.io/allow-from`, elsewhere, w.namespace, w.namespace))
		w.allow(ctx, elsewhere, "a,"+w.namespace)
		has(ctx, "guest")
		w.settled(ctx, "web")
		nothingSent(ctx, w, "web")

		By("cleaning up there too")
		w.removed(ctx, "web")
		w.vanished(ctx, "web")
		Expect(client.IgnoreNotFound(kube.Get(ctx, types.NamespacedName{Namespace: elsewhere, Name: "guest"}, &corev1.ConfigMap{}))).To(Succeed())
	})

	It("are out of reach of a name", func(ctx context.Context) {
		Expect(kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: elsewhere, Name: "top"}})).To(Succeed())
		w.running(ctx, w.box(ctx, `{resync: 24h, onReconcile: {secrets: [{name: "x-{{ .spec.mode }}"}]}}`))
		mark := manager.requests.mark()
		for _, way := range []string{"/../../../" + elsewhere + "/secrets/top", "/../../../../nodes/node", "/../../../../../../healthz"} {
			w.website(ctx, "web", `{mode: "`+way+`"}`)
			w.observed(ctx, "web")
			w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidChild, "can't name an object: it may not contain '/'")
		}
		Expect(manager.requests.since(mark, elsewhere)).To(BeEmpty())
		Expect(manager.requests.since(mark, "healthz")).To(BeEmpty())
	})

	It("are read by a template only where they let the resource in", func(ctx context.Context) {
		Expect(kube.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: elsewhere, Name: "settings"}, Data: map[string]string{"mode": "x"}})).To(Succeed())
		w.running(ctx, w.box(ctx, `
resync: 24h
cross: [{name: settings, apiVersion: v1, kind: ConfigMap, selector: {name: settings, namespace: "{{ .spec.mode }}"}}]
onReconcile: {configmaps: [{name: copy, data: {mode: "{{ .cross.settings.data.mode }}"}}]}
`))
		w.website(ctx, "web", `{mode: `+elsewhere+`}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonTemplateError, "does not let resources of")
		w.allow(ctx, elsewhere, "*")
		w.hasData(ctx, "copy", map[string]string{"mode": "x"})
	})
})

var _ = Describe("A namespace that does not let in what an optional source reads", func() {
	It("is said by the resource, until it does", func(ctx context.Context) {
		w := newWorld(ctx)
		elsewhere := w.anotherNamespace(ctx)
		w.running(ctx, w.box(ctx, `
resync: 24h
cross: [{name: settings, apiVersion: v1, kind: ConfigMap, selector: {name: settings, namespace: "{{ .spec.mode }}"}, optional: true}]
onReconcile: {configmaps: [{name: copy, data: {mode: '{{ default "none" .cross.settings.data.mode }}'}}]}
`))
		w.website(ctx, "web", `{mode: `+elsewhere+`}`)
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonReconcileSucceeded, "cross settings: selector.namespace: namespace ")
		w.hasData(ctx, "copy", map[string]string{"mode": "none"})
		w.settled(ctx, "web")
		nothingSent(ctx, w, "web")
		w.allow(ctx, elsewhere, "*")
		Eventually(func(g Gomega) {
			g.Expect(condition(w.get(ctx, g, "web"), v1alpha1.ConditionReady).Message).To(Equal("the last reconcile succeeded"))
		}).WithContext(ctx).Should(Succeed())
	})
})

var _ = Describe("Secrets that a box reads", func() {
	It("are copied, followed, and shown nowhere", func(ctx context.Context) {
		w := newWorld(ctx)
		source := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "source"}, Data: map[string][]byte{"password": []byte("hunter2")}}
		Expect(kube.Create(ctx, source)).To(Succeed())
		w.running(ctx, w.box(ctx, `
resync: 24h
cross: [{name: source, apiVersion: v1, kind: Secret, selector: {name: source}}]
onReconcile: {resources: [{manifest: {apiVersion: v1, kind: Secret, metadata: {name: copy}, data: "{{ .cross.source.data }}"}}]}
status: {fields: [{path: phase, value: "{{ toJson .cross.source }}"}]}
`))
		w.website(ctx, "web", `{}`)
		copied := func(value string) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				secret := &corev1.Secret{}
				w.child(ctx, g, secret, "copy")
				g.Expect(secret.Data).To(HaveKeyWithValue("password", []byte(value)))
			}).WithContext(ctx).Should(Succeed())
		}
		copied("hunter2")
		w.patch(ctx, source, `{"stringData":{"password":"other"}}`)
		copied("other")
		w.settled(ctx, "web")
		Expect(fmt.Sprint(w.get(ctx, Default, "web").Object)).To(And(ContainSubstring(`"name":"source"`), Not(ContainSubstring("aHVudGVyMg")), Not(ContainSubstring("b3RoZXI"))))
		nothingSent(ctx, w, "web")
	})
})
