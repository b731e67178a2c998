package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// boxShows waits until a condition of a box, of its current generation, has a status, a reason and a message that holds a text.
func boxShows(ctx context.Context, name, kind string, status metav1.ConditionStatus, reason, text string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		box := getBox(ctx, g, name)
		g.Expect(box.Status.ObservedGeneration).To(Equal(box.Generation))
		g.Expect(boxCondition(box, kind)).To(And(Not(BeNil()), HaveField("Status", status), HaveField("Reason", reason),
			HaveField("Message", ContainSubstring(text))), "%v", box.Status.Conditions)
	}).WithContext(ctx).Should(Succeed())
}

// inState waits until the CRDHealth of a box is in a state, for a reason.
func inState(ctx context.Context, name string, state v1alpha1.HealthState, reason string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		health := getHealth(ctx, g, name)
		g.Expect(health.Status.State).To(Equal(state))
		g.Expect(healthCondition(health, v1alpha1.ConditionReady)).To(And(Not(BeNil()), HaveField("Reason", reason)))
	}).WithContext(ctx).Should(Succeed())
}

// deleteCRD deletes the world's CRD and waits until it is gone, with its resources.
func (w *world) deleteCRD(ctx context.Context) {
	GinkgoHelper()
	Expect(kube.Delete(ctx, w.crd())).To(Succeed())
	Eventually(func() bool {
		return apierrors.IsNotFound(kube.Get(ctx, types.NamespacedName{Name: w.crdName()}, w.crd()))
	}).WithContext(ctx).Should(BeTrue(), "the CRD is gone")
}

// changeCRD changes the world's CRD.
func (w *world) changeCRD(ctx context.Context, change func(*apiextensionsv1.CustomResourceDefinition)) {
	GinkgoHelper()
	Eventually(func() error {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := kube.Get(ctx, types.NamespacedName{Name: w.crdName()}, crd); err != nil {
			return err
		}
		change(crd)
		return kube.Update(ctx, crd)
	}).WithContext(ctx).Should(Succeed())
}

// addVersion adds a version like the first one, which is not served.
func addVersion(crd *apiextensionsv1.CustomResourceDefinition, name string) *apiextensionsv1.CustomResourceDefinitionVersion {
	version := *crd.Spec.Versions[0].DeepCopy()
	version.Name, version.Served, version.Storage = name, false, false
	crd.Spec.Versions = append(crd.Spec.Versions, version)
	return &crd.Spec.Versions[len(crd.Spec.Versions)-1]
}

var _ = Describe("The CRD of a box", func() {
	const imageMap = `{onReconcile: {configmaps: [{data: {value: "{{ .spec.image }}"}}]}}`

	It("is named where a box names one that is nearly so", func(ctx context.Context) {
		w := newWorld(ctx)
		w.box(ctx, `{crd: {name: websits.`+w.group+`}}`)
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonCRDMissing,
			`CustomResourceDefinition "websits.`+w.group+`" does not exist, did you mean "`+w.crdName()+`"?; it is picked up when it is created`)
	})

	It("may come after the box", func(ctx context.Context) {
		w := newWorldWithoutCRD(ctx)
		w.box(ctx, imageMap)
		missing := `CustomResourceDefinition "` + w.crdName() + `" does not exist; it is picked up when it is created`
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonCRDMissing, missing)
		boxShows(ctx, w.id, v1alpha1.ConditionCRDEstablished, metav1.ConditionFalse, v1alpha1.ReasonCRDMissing, missing)
		boxShows(ctx, w.id, v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonCRDMissing, missing)
		boxShows(ctx, w.id, v1alpha1.ConditionStalled, metav1.ConditionFalse, "NotStalled", "")
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionUnknown, v1alpha1.ReasonCRDMissing, "checked against the CRD's schema when the CRD is there")
		inState(ctx, w.id, v1alpha1.HealthPending, v1alpha1.ReasonCRDMissing)

		Expect(kube.Create(ctx, w.crd())).To(Succeed())
		w.waitEstablished(ctx)
		w.running(ctx, w.id)
		boxShows(ctx, w.id, v1alpha1.ConditionCRDEstablished, metav1.ConditionTrue, v1alpha1.ReasonEstablished, "served")
		inState(ctx, w.id, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
		w.website(ctx, "web", `{image: "nginx:1"}`)
		w.settled(ctx, "web")
	})

	It("may go with all resources, and come back with the same schema or another", func(ctx context.Context) {
		w := newWorld(ctx)
		s := newStreams()
		replaceManager(via(s.wrap))
		w.running(ctx, w.box(ctx, imageMap))
		for _, name := range names(3) {
			w.website(ctx, name, `{image: "nginx:1"}`)
			w.settled(ctx, name)
		}
		Expect(w.get(ctx, Default, "web-000").GetFinalizers()).To(ConsistOf(v1alpha1.Finalizer))

		By("deleting it, which the finalizers of its resources hold up until they are served")
		w.deleteCRD(ctx)
		stopped := func() {
			GinkgoHelper()
			boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonCRDMissing, "does not exist")
			inState(ctx, w.id, v1alpha1.HealthStopped, v1alpha1.ReasonCRDMissing)
			Eventually(func(g Gomega) {
				g.Expect(getBox(ctx, g, w.id).Status.Revision).To(BeEmpty())
				g.Expect(getHealth(ctx, g, w.id).Status).To(And(
					HaveField("Resources.Total", BeZero()), HaveField("Workers", BeZero()), HaveField("StartedAt", BeNil())))
				g.Expect(s.count("/"+w.group+"/")).To(BeZero(), "open watches")
			}).WithContext(ctx).Should(Succeed())
		}
		stopped()
		for _, name := range names(3) {
			w.gone(ctx, &corev1.ConfigMap{}, name)
		}

		By("making it again")
		Expect(kube.Create(ctx, w.crd())).To(Succeed())
		w.waitEstablished(ctx)
		w.running(ctx, w.id)
		w.website(ctx, "web", `{image: "nginx:2"}`)
		w.settled(ctx, "web")
		w.holds(ctx, "web", "nginx:2")
		inState(ctx, w.id, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)

		By("making it with a schema that the box does not fit")
		w.deleteCRD(ctx)
		stopped()
		other := w.crd()
		properties := other.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
		delete(properties["spec"].Properties, "image")
		properties["spec"].Properties["picture"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		Expect(kube.Create(ctx, other)).To(Succeed())
		w.waitEstablished(ctx)
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "spec.image: no such field in the CRD's schema")
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{data: {value: "{{ .spec.picture }}"}}]}}`))
		w.website(ctx, "web", `{picture: "nginx:3"}`)
		w.settled(ctx, "web")
		w.holds(ctx, "web", "nginx:3")
	})

	It("may come back with another scope", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{namespace: `+w.namespace+`, data: {value: "{{ .spec.image }}"}}]}}`))
		w.website(ctx, "web", `{image: "nginx:1"}`)
		w.settled(ctx, "web")
		w.deleteCRD(ctx)
		inState(ctx, w.id, v1alpha1.HealthStopped, v1alpha1.ReasonCRDMissing)
		cluster := w.crd()
		cluster.Spec.Scope = apiextensionsv1.ClusterScoped
		Expect(kube.Create(ctx, cluster)).To(Succeed())
		w.waitEstablished(ctx)
		w.running(ctx, w.id)
		obj := w.ref("web")
		obj.SetNamespace("")
		obj.Object["spec"] = map[string]any{"image": "nginx:2"}
		fresh := uncached()
		Expect(fresh.Create(ctx, obj)).To(Succeed())
		w.holds(ctx, "web", "nginx:2")
		inState(ctx, w.id, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
		Expect(fresh.Delete(ctx, obj)).To(Succeed())
	})

	It("is followed when its schema changes under a box", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, imageMap))
		w.website(ctx, "web", `{image: "nginx:1"}`)
		w.settled(ctx, "web")
		w.changeCRD(ctx, func(crd *apiextensionsv1.CustomResourceDefinition) {
			delete(crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties, "image")
		})
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "spec.image: no such field")
		w.changeCRD(ctx, func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["image"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		})
		w.running(ctx, w.id)
	})

	It("may lack the version that the box asks for", func(ctx context.Context) {
		w := newWorld(ctx)
		w.box(ctx, `{crd: {name: `+w.crdName()+`, version: v2}, onReconcile: {configmaps: [{data: {value: "{{ .apiVersion }}"}}]}}`)
		unserved := `CustomResourceDefinition "` + w.crdName() + `" does not serve version "v2"; it serves v1`
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonCRDVersionNotServed, unserved)
		boxShows(ctx, w.id, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonCRDVersionNotServed, unserved)
		inState(ctx, w.id, v1alpha1.HealthPending, v1alpha1.ReasonCRDVersionNotServed)
		Eventually(func(g Gomega) {
			g.Expect(healthCondition(getHealth(ctx, g, w.id), v1alpha1.ConditionStalled)).To(HaveField("Status", metav1.ConditionTrue))
		}).WithContext(ctx).Should(Succeed())

		w.changeCRD(ctx, func(crd *apiextensionsv1.CustomResourceDefinition) { addVersion(crd, "v2").Served = true })
		w.running(ctx, w.id)
		Expect(getBox(ctx, Default, w.id).Status.CRD).To(And(HaveField("Version", "v2"), HaveField("Kind", "Website"), HaveField("Established", true)))
		w.website(ctx, "web", `{}`)
		w.holds(ctx, "web", w.group+"/v2")
	})

	It("is worked with in the version that stored resources when the box began, while that is served", func(ctx context.Context) {
		w := newWorld(ctx)
		box := func(text string) string {
			return `{onReconcile: {configmaps: [{data: {value: "{{ .apiVersion }}` + text + `"}}]}}`
		}
		w.running(ctx, w.box(ctx, box("")))
		Expect(getBox(ctx, Default, w.id).Status.CRD.Version).To(Equal("v1"))
		w.website(ctx, "web", `{}`)
		w.holds(ctx, "web", w.group+"/v1")

		By("storing another version")
		w.changeCRD(ctx, func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions[0].Storage = false
			second := addVersion(crd, "v2")
			second.Served, second.Storage = true, true
		})
		w.running(ctx, w.box(ctx, box(" later")))
		w.holds(ctx, "web", w.group+"/v1 later")
		Expect(getBox(ctx, Default, w.id).Status.CRD.Version).To(Equal("v1"))

		By("serving that version alone")
		w.changeCRD(ctx, func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = false })
		w.holds(ctx, "web", w.group+"/v2 later")
		w.running(ctx, w.id)
		Expect(getBox(ctx, Default, w.id).Status.CRD.Version).To(Equal("v2"))
		w.saysEvent(ctx, "default", w.id, "CRDVersionChanged",
			`version "v1" of `+w.crdName()+` is no longer served; the box works in "v2" from now on`)
	})

	It("of children may go: the box says so, serves deletions, and goes on when it is back", func(ctx context.Context) {
		w := newWorld(ctx)
		crd := w.gadgets(ctx)
		w.running(ctx, w.box(ctx, `{`+w.gadget()+`}`))
		for _, name := range []string{"web", "other"} {
			w.website(ctx, name, `{}`)
			w.settled(ctx, name)
		}
		Expect(kube.Delete(ctx, crd)).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(kube.Get(ctx, client.ObjectKeyFromObject(crd), crd))
		}).WithContext(ctx).Should(BeTrue())

		By("starting the sub-controller anew in a process that knew the kind")
		w.running(ctx, w.box(ctx, `{namespaces: {include: [`+w.namespace+`]}, `+w.gadget()+`}`))
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, "Gadget")
		Expect(condition(w.get(ctx, Default, "web"), v1alpha1.ConditionStalled).Status).To(Equal(metav1.ConditionFalse), "it may come back")
		w.removed(ctx, "other")

		w.gadgets(ctx)
		w.settled(ctx, "web")
		gadget := w.ref("web")
		gadget.SetKind("Gadget")
		w.child(ctx, Default, gadget, "web")
	})

	It("may not be served because of its names, and the box says why", func(ctx context.Context) {
		w := newWorld(ctx)
		second := w.crd()
		second.Name = "sites." + w.group
		second.Spec.Names.Plural, second.Spec.Names.Singular = "sites", "site"
		Expect(kube.Create(ctx, second)).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			Expect(client.IgnoreNotFound(kube.Delete(ctx, second))).To(Succeed())
		})
		w.boxNamed(ctx, w.id, `{crd: {name: sites.`+w.group+`}}`)
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonCRDNotEstablished, `" is already in use`)
		inState(ctx, w.id, v1alpha1.HealthPending, v1alpha1.ReasonCRDNotEstablished)
		w.deleteCRD(ctx)
		w.running(ctx, w.id)
	})
})

// saysEvent waits for an event about an object, by its name.
func (w *world) saysEvent(ctx context.Context, namespace, name, reason, note string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		var list eventsv1.EventList
		g.Expect(kube.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
		g.Expect(list.Items).To(ContainElement(And(HaveField("Regarding.Name", name), HaveField("Reason", reason),
			HaveField("Note", ContainSubstring(note)))))
	}).WithContext(ctx).Should(Succeed())
}

// uncached is a client that remembers no scope of any kind.
func uncached() client.Client {
	GinkgoHelper()
	fresh, err := client.New(cluster.Config(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return fresh
}
