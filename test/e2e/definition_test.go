package e2e_test

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("A box that defines its CRD", func() {
	const works = `, onReconcile: {configmaps: [{data: {mode: "{{ .spec.mode }}"}}]}`
	var (
		w          *world
		definition *apiextensionsv1.CustomResourceDefinitionSpec
	)
	BeforeEach(func(ctx context.Context) {
		w = newWorldWithoutCRD(ctx)
		definition = &w.crd().Spec
		definition.Versions[0].Subresources = nil
	})
	// box applies a box with the definition as it is now, and more in spec.crd.
	box := func(ctx context.Context, name, more string) string {
		GinkgoHelper()
		written, err := json.Marshal(definition)
		Expect(err).NotTo(HaveOccurred())
		return w.boxNamed(ctx, name, `{crd: {definition: `+string(written)+more+`}`+works+`}`)
	}
	crd := func(ctx context.Context, g Gomega) *apiextensionsv1.CustomResourceDefinition {
		out := &apiextensionsv1.CustomResourceDefinition{}
		g.Expect(kube.Get(ctx, types.NamespacedName{Name: w.crdName()}, out)).To(Succeed())
		return out
	}
	version := func(name string) *apiextensionsv1.CustomResourceDefinitionVersion {
		out := definition.Versions[0].DeepCopy()
		out.Name, out.Storage = name, false
		return out
	}
	// refused waits until the definition is refused, and sees that the box serves its resources all the same.
	refused := func(ctx context.Context, reason, text string) {
		GinkgoHelper()
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, reason, text)
		boxShows(ctx, w.id, v1alpha1.ConditionStalled, metav1.ConditionTrue, reason, text)
		value := "v" + rand.String(8)
		w.website(ctx, "web", `{mode: `+value+`}`)
		w.hasData(ctx, "web", map[string]string{"mode": value})
	}

	It("installs it with a status, serves it, and keeps it as defined", func(ctx context.Context) {
		w.running(ctx, box(ctx, w.id, ""))
		made := crd(ctx, Default)
		Expect(made.Labels).To(And(HaveKeyWithValue(v1alpha1.LabelBox, w.id), HaveKeyWithValue("app.kubernetes.io/managed-by", "orkestra")))
		Expect(made.Spec.Versions[0].Subresources.Status).NotTo(BeNil())
		Expect(made.OwnerReferences).To(BeEmpty(), "the resources outlive the box")
		w.website(ctx, "web", `{mode: a}`)
		w.settled(ctx, "web")
		w.hasData(ctx, "web", map[string]string{"mode": "a"})

		By("looking again where nothing has changed")
		mark := manager.requests.mark()
		w.merge(ctx, &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: w.id}}, `{"spec":{"workers":2}}`)
		w.running(ctx, w.id)
		Expect(manager.requests.writes(mark, "customresourcedefinitions")).To(BeEmpty())

		By("adding a field to the schema")
		schema := definition.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		schema.Properties["added"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		w.running(ctx, box(ctx, w.id, ""))
		Eventually(func(g Gomega) {
			g.Expect(crd(ctx, g).Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties).To(HaveKey("added"))
		}).WithContext(ctx).Should(Succeed())

		By("changing the CRD by hand")
		w.merge(ctx, crd(ctx, Default), `{"spec":{"names":{"shortNames":["byhand"]}}}`)
		definition.Names.Categories = []string{"e2e"}
		w.running(ctx, box(ctx, w.id, ""))
		Eventually(func(g Gomega) {
			g.Expect(crd(ctx, g).Spec.Names.Categories).To(Equal([]string{"e2e"}))
		}).WithContext(ctx).Should(Succeed())
		w.website(ctx, "web", `{mode: b}`)
		w.hasData(ctx, "web", map[string]string{"mode": "b"})
	})

	It("makes it again when somebody deletes it", func(ctx context.Context) {
		w.running(ctx, box(ctx, w.id, ""))
		first := crd(ctx, Default).UID
		Expect(kube.Delete(ctx, w.crd())).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(crd(ctx, g).UID).NotTo(Equal(first))
		}).WithContext(ctx).Should(Succeed())
		w.waitEstablished(ctx)
		w.running(ctx, w.id)
		w.website(ctx, "web", `{mode: a}`)
		w.settled(ctx, "web")
	})

	It("stays when the box is deleted, with its resources and their children", func(ctx context.Context) {
		w.running(ctx, box(ctx, w.id, ""))
		w.website(ctx, "web", `{mode: a}`)
		w.settled(ctx, "web")
		deleteBox(ctx, w.id)
		boxGone(ctx, w.id)
		w.unmarked(ctx, "web")
		w.hasData(ctx, "web", map[string]string{"mode": "a"})
		Expect(crd(ctx, Default).DeletionTimestamp).To(BeNil())

		By("making the box again, which knows its CRD")
		w.running(ctx, box(ctx, w.id, ""))
		w.website(ctx, "web", `{mode: b}`)
		w.hasData(ctx, "web", map[string]string{"mode": "b"})
	})

	It("goes with the box after its resources are cleaned up, where the box says so", func(ctx context.Context) {
		w.running(ctx, box(ctx, w.id, `, deletionPolicy: Delete`))
		for _, name := range []string{"web", "other"} {
			w.website(ctx, name, `{mode: a}`)
			w.settled(ctx, name)
		}
		w.merge(ctx, w.ref("web"), `{"metadata":{"finalizers":["`+v1alpha1.Finalizer+`","e2e.test/hold"]}}`)
		deleteBox(ctx, w.id)
		w.vanished(ctx, "other")
		w.gone(ctx, &corev1.ConfigMap{}, "web")
		w.gone(ctx, &corev1.ConfigMap{}, "other")
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDeletionBlocked, "waits for")
		Expect(crd(ctx, Default).DeletionTimestamp).To(BeNil(), "the CRD is there until the last resource is gone")
		w.merge(ctx, w.ref("web"), `{"metadata":{"finalizers":null}}`)
		boxGone(ctx, w.id)
		err := kube.Get(ctx, types.NamespacedName{Name: w.crdName()}, w.crd())
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
	})

	It("goes with the box that names a version which it does not have", func(ctx context.Context) {
		w.running(ctx, box(ctx, w.id, `, deletionPolicy: Delete`))
		w.website(ctx, "web", `{mode: a}`)
		w.settled(ctx, "web")
		box(ctx, w.id, `, deletionPolicy: Delete, version: v9`)
		boxShows(ctx, w.id, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonCRDVersionNotServed, `"v9"; it serves v1`)
		deleteBox(ctx, w.id)
		boxGone(ctx, w.id)
		err := kube.Get(ctx, types.NamespacedName{Name: w.crdName()}, w.crd())
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
	})

	It("is left to the box that waits for it when its own defines another", func(ctx context.Context) {
		w.running(ctx, box(ctx, w.id, ""))
		waiting := w.boxNamed(ctx, w.id+"-waits", `{crd: {name: `+w.crdName()+`}`+works+`}`)
		boxShows(ctx, waiting, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonCRDClaimed, w.id)
		definition.Names.Plural, definition.Names.Singular = "sites", "site"
		sites := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "sites." + w.group}}
		DeferCleanup(func(ctx context.Context) {
			Expect(client.IgnoreNotFound(kube.Delete(ctx, sites))).To(Succeed())
		})
		box(ctx, w.id, "")
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonCRDRefused, "changes the name of the CRD")
		w.deleteCRD(ctx)
		w.running(ctx, w.id)
		Expect(getBox(ctx, Default, w.id).Status.CRD.Name).To(Equal(sites.Name))

		By("making the former one again, with a kind of its own")
		former := w.crd()
		former.Spec.Names.Kind, former.Spec.Names.ListKind = "Site", "SiteList"
		Expect(kube.Create(ctx, former)).To(Succeed())
		w.running(ctx, waiting)
		w.running(ctx, w.id)
	})

	It("refuses to touch one that it did not make, unless it may adopt it", func(ctx context.Context) {
		Expect(kube.Create(ctx, w.crd())).To(Succeed())
		w.waitEstablished(ctx)
		theirs := crd(ctx, Default)
		box(ctx, w.id, "")
		boxShows(ctx, w.id, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonCRDNotOwned,
			`CustomResourceDefinition "`+w.crdName()+`" exists and this box did not make it`)
		Expect(crd(ctx, Default).ResourceVersion).To(Equal(theirs.ResourceVersion))

		box(ctx, w.id, `, adopt: IfUnowned`)
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "spec.crd.adopt: a CRD that somebody else made")
		Expect(crd(ctx, Default).ResourceVersion).To(Equal(theirs.ResourceVersion))

		replaceManager(func(s *settings) { s.orkestra.AllowGrantingKinds = true })
		w.running(ctx, w.id)
		Expect(crd(ctx, Default).Labels).To(HaveKeyWithValue(v1alpha1.LabelBox, w.id))
		By("letting a second box try the same")
		box(ctx, w.id+"-second", `, adopt: IfUnowned`)
		boxShows(ctx, w.id+"-second", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonCRDNotOwned, w.crdName())
		Expect(crd(ctx, Default).Labels).To(HaveKeyWithValue(v1alpha1.LabelBox, w.id))
	})

	It("stays with its resources when the box that adopted it is deleted, whatever that asks for", func(ctx context.Context) {
		replaceManager(func(s *settings) { s.orkestra.AllowGrantingKinds = true })
		Expect(kube.Create(ctx, w.crd())).To(Succeed())
		w.waitEstablished(ctx)
		theirs := crd(ctx, Default).UID
		w.running(ctx, box(ctx, w.id, `, adopt: IfUnowned, deletionPolicy: Delete`))
		w.website(ctx, "web", `{mode: a}`)
		w.settled(ctx, "web")
		deleteBox(ctx, w.id)
		boxGone(ctx, w.id)
		Expect(crd(ctx, Default)).To(And(HaveField("UID", theirs), HaveField("DeletionTimestamp", BeNil())))
		w.unmarked(ctx, "web")
	})

	It("takes no conversion webhook from a box", func(ctx context.Context) {
		definition.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
			ConversionReviewVersions: []string{"v1"}, ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: new("https://example.com/x")},
		}}
		box(ctx, w.id, "")
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "spec.crd.definition.conversion: a conversion webhook")
		Expect(apierrors.IsNotFound(kube.Get(ctx, types.NamespacedName{Name: w.crdName()}, w.crd()))).To(BeTrue())
	})

	It("refuses changes that would lose resources, and goes on with the CRD that is there", func(ctx context.Context) {
		w.running(ctx, box(ctx, w.id, ""))
		w.website(ctx, "web", `{mode: a}`)
		w.settled(ctx, "web")
		good, revision := crd(ctx, Default).Spec, getBox(ctx, Default, w.id).Status.Revision

		By("dropping a version in which resources may be stored")
		kept := definition.Versions
		definition.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{*version("v2")}
		definition.Versions[0].Storage = true
		box(ctx, w.id, "")
		refused(ctx, v1alpha1.ReasonCRDRefused, `crd.definition drops version "v1", in which resources may be stored`)

		By("narrowing the scope")
		definition.Versions, definition.Scope = kept, apiextensionsv1.ClusterScoped
		box(ctx, w.id, "")
		refused(ctx, v1alpha1.ReasonCRDRefused, "crd.definition changes scope from Namespaced to Cluster")

		By("changing names")
		definition.Scope, definition.Names.Kind, definition.Names.ListKind = apiextensionsv1.NamespaceScoped, "Site", "SiteList"
		box(ctx, w.id, "")
		refused(ctx, v1alpha1.ReasonCRDRefused, "crd.definition changes the kind from Website to Site")
		definition.Names = w.crd().Spec.Names
		definition.Names.Plural, definition.Names.Singular = "sites", "site"
		box(ctx, w.id, "")
		refused(ctx, v1alpha1.ReasonCRDRefused, `crd.definition changes the name of the CRD from "`+w.crdName()+`" to "sites.`+w.group+`"`)

		By("writing a schema that the API server refuses")
		definition.Names = w.crd().Spec.Names
		spec := definition.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		spec.Properties["broken"] = apiextensionsv1.JSONSchemaProps{Type: "strnig"}
		box(ctx, w.id, "")
		refused(ctx, v1alpha1.ReasonCRDRefused, `spec.crd.definition.versions[0].schema.openAPIV3Schema.properties[spec].properties[broken].type`)
		Expect(crd(ctx, Default).Spec).To(Equal(good))
		Expect(getBox(ctx, Default, w.id).Status.Revision).To(Equal(revision), "what ran before goes on, and nothing of the new spec")

		By("mending it")
		delete(spec.Properties, "broken")
		w.running(ctx, box(ctx, w.id, ""))
	})

	It("is not changed by a box that does not compile against it: nothing is dropped from the resources", func(ctx context.Context) {
		w.running(ctx, box(ctx, w.id, ""))
		w.website(ctx, "web", `{mode: precious}`)
		w.settled(ctx, "web")
		good := crd(ctx, Default).ResourceVersion
		delete(definition.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties, "mode")
		box(ctx, w.id, "")
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "spec.mode: no such field in the CRD's schema")
		boxShows(ctx, w.id, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonCompileFailed, "spec.mode")
		w.saysEvent(ctx, "default", w.id, v1alpha1.ReasonCompileFailed, "spec.mode")
		Expect(crd(ctx, Default).ResourceVersion).To(Equal(good))
		Expect(w.get(ctx, Default, "web").Object["spec"]).To(HaveKeyWithValue("mode", "precious"))
		w.website(ctx, "web", `{mode: other}`)
		w.hasData(ctx, "web", map[string]string{"mode": "other"})
	})

	It("follows another storage version when both are kept", func(ctx context.Context) {
		w.running(ctx, box(ctx, w.id, ""))
		w.website(ctx, "web", `{mode: a}`)
		w.settled(ctx, "web")
		second := version("v2")
		second.Storage, definition.Versions[0].Storage = true, false
		definition.Versions = append(definition.Versions, *second)
		w.running(ctx, box(ctx, w.id, ""))
		Eventually(func(g Gomega) {
			g.Expect(crd(ctx, g).Status.StoredVersions).To(Equal([]string{"v1", "v2"}))
		}).WithContext(ctx).Should(Succeed())
		Expect(getBox(ctx, Default, w.id).Status.CRD.Version).To(Equal("v1"), "the version is chosen once")
		w.website(ctx, "web", `{mode: b}`)
		w.hasData(ctx, "web", map[string]string{"mode": "b"})
	})

	It("does not take a field that somebody else applies", func(ctx context.Context) {
		w.running(ctx, box(ctx, w.id, ""))
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"names":{"categories":["theirs"]}}}`))
		Expect(kube.Patch(ctx, w.crd(), patch, client.FieldOwner("someone"))).To(Succeed())
		definition.Names.Categories = []string{"ours"}
		box(ctx, w.id, "")
		refused(ctx, v1alpha1.ReasonCRDRefused, "someone")
		Expect(crd(ctx, Default).Spec.Names.Categories).To(Equal([]string{"theirs"}))
	})

	It("names every mistake in it with its path", func(ctx context.Context) {
		w.boxNamed(ctx, w.id, `{crd: {definition: {group: `+w.group+`, gruop: x, scope: Namespace, names: {plural: websites}, versions: [{name: v1, served: true, schema: {openAPIV3Schema: {typ: object}}}]}}`+works+`}`)
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed,
			`2 mistakes: spec.crd.definition.gruop: unknown field, did you mean "group"?; `+
				`spec.crd.definition.versions[0].schema.openAPIV3Schema.typ: unknown field, did you mean "type"?`)
		w.boxNamed(ctx, w.id, `{crd: {definition: {group: `+w.group+`, scope: Namespace, names: {plural: websites}, versions: [{name: v1, served: true, schema: {openAPIV3Schema: {type: object}}}]}}`+works+`}`)
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed,
			`3 mistakes: spec.crd.definition.names.kind: Required value: the kind of the resources; `+
				`spec.crd.definition.scope: Unsupported value: "Namespace": supported values: "Namespaced", "Cluster"; `+
				`spec.crd.definition.versions: Invalid value: 1: exactly one version must have storage: true, found 0`)
		nameless := w.boxObject(w.id, `{crd: {definition: {gruop: `+w.group+`, names: {plural: websites}}}`+works+`}`)
		Expect(kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(nameless), client.FieldOwner("e2e"), client.ForceOwnership)).To(
			MatchError(ContainSubstring("box-crd: spec.crd.definition names no resource: give group and names.plural")))
		definition = &w.crd().Spec
		w.running(ctx, box(ctx, w.id, ""))
	})
})
