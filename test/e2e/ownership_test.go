package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// The ways in which a child is written, as box specs that take further fields.
const (
	byApply        = `{onReconcile: {configmaps: [{data: {key: declared}, %s}]}}`
	byPost         = `{onReconcile: {configmaps: [{data: {key: declared}, once: true, %s}]}}`
	byPostOnCreate = `{onCreate: {configmaps: [{data: {key: declared}, %s}]}}`
)

// byEveryWay are entries for the ways in which a child is written.
func byEveryWay() []TableEntry {
	return []TableEntry{
		Entry("by server-side apply", byApply), Entry("by POST", byPost), Entry("by POST in onCreate", byPostOnCreate),
	}
}

var _ = Describe("Ownership", func() {
	DescribeTable("refuses an object that somebody else made, until that is gone", func(ctx context.Context, spec string) {
		w := newWorld(ctx)
		theirs := w.theirs(ctx, nil)
		w.running(ctx, w.box(ctx, fmt.Sprintf(spec, "")))
		w.website(ctx, "web", `{}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonNotOwned, `ConfigMap "web" exists`)
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, "adopt: IfUnowned")
		w.untouched(ctx, theirs)

		Expect(kube.Delete(ctx, theirs)).To(Succeed())
		w.lookedAt(ctx, "web")
		w.settled(ctx, "web")
		made := &corev1.ConfigMap{}
		w.child(ctx, Default, made, "web")
		Expect(made.Data).To(Equal(map[string]string{"key": "declared"}))
	}, byEveryWay())

	DescribeTable("refuses an object that another controller owns, even to adopt it", func(ctx context.Context, spec string) {
		w := newWorld(ctx)
		boss := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "boss"}}
		Expect(kube.Create(ctx, boss)).To(Succeed())
		theirs := w.theirs(ctx, func(c *corev1.ConfigMap) {
			c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "boss", UID: boss.UID, Controller: new(true)}}
		})
		w.running(ctx, w.box(ctx, fmt.Sprintf(spec, "adopt: IfUnowned")))
		w.website(ctx, "web", `{}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonNotOwned, `controlled by ConfigMap "boss"`)
		w.untouched(ctx, theirs)
	}, byEveryWay())

	Context("an object with copied labels", func() {
		var (
			w     *world
			taken *corev1.ConfigMap
		)
		// copied is the child as somebody copies it: kubectl get -o yaml, another name, kubectl create.
		copied := func(ctx context.Context, references bool) {
			GinkgoHelper()
			original := &corev1.ConfigMap{}
			w.child(ctx, Default, original, "web")
			taken = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Namespace: w.namespace, Name: "copy", Labels: original.Labels, Annotations: original.Annotations,
			}, Data: original.Data}
			if references {
				taken.OwnerReferences = original.OwnerReferences
			}
			Expect(kube.Create(ctx, taken)).To(Succeed())
		}
		const one = `{onReconcile: {configmaps: [{data: {key: declared}}]}}`
		BeforeEach(func(ctx context.Context) {
			w = newWorld(ctx)
			w.running(ctx, w.box(ctx, one))
			w.website(ctx, "web", `{}`)
			w.settled(ctx, "web")
		})

		DescribeTable("is not pruned", func(ctx context.Context, references bool) {
			copied(ctx, references)
			w.lookedAt(ctx, "web")
			w.settled(ctx, "web")
			w.untouched(ctx, taken)
		}, Entry("without owner references", false), Entry("with owner references", true))

		It("is not deleted with the resource", func(ctx context.Context) {
			copied(ctx, false)
			w.removed(ctx, "web")
			w.untouched(ctx, taken)
		})

		DescribeTable("is not written", func(ctx context.Context, spec string) {
			copied(ctx, true)
			w.running(ctx, w.box(ctx, strings.Replace(fmt.Sprintf(spec, ""), "data:", "name: copy, data:", 1)))
			w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonNotOwned, `ConfigMap "copy" exists`)
			w.untouched(ctx, taken)
		}, byEveryWay()[:2])
	})

	It("puts the label of ownership back on a child that it makes once, and nothing else", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{data: {key: declared}, once: true}]}}`))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		c := &corev1.ConfigMap{}
		w.child(ctx, Default, c, "web")
		uid, labels := c.UID, c.Labels
		c.Labels, c.Data = map[string]string{"team": "a"}, map[string]string{"key": "changed"}
		Expect(kube.Update(ctx, c)).To(Succeed())
		Eventually(func(g Gomega) {
			w.child(ctx, g, c, "web")
			g.Expect(c.UID).To(Equal(uid))
			for name, value := range labels {
				g.Expect(c.Labels).To(HaveKeyWithValue(name, value))
			}
		}).WithContext(ctx).Should(Succeed())
		Expect(c.Labels).To(HaveKeyWithValue("team", "a"))
		Expect(c.Data).To(Equal(map[string]string{"key": "changed"}))
		mark := manager.requests.mark()
		w.lookedAt(ctx, "web")
		Expect(manager.requests.since(mark, w.path("configmaps"))).To(BeEmpty(), "the cache knows the child again")
	})

	Context("after a restore from a backup", func() {
		// restored is a child of a former resource of the name, as a backup brings it back.
		restored := func(ctx context.Context, w *world, owner types.UID) *corev1.ConfigMap {
			GinkgoHelper()
			return w.theirs(ctx, func(c *corev1.ConfigMap) {
				c.Labels = map[string]string{
					v1alpha1.LabelManaged: v1alpha1.True, v1alpha1.LabelOwner: "web", v1alpha1.LabelOwnerUID: string(owner),
					v1alpha1.LabelBox: w.id, v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue,
				}
				c.Annotations = map[string]string{v1alpha1.AnnotationDeclaration: "configmaps", v1alpha1.AnnotationApplied: "0"}
			})
		}

		DescribeTable("takes the children of a resource that is gone", func(ctx context.Context, spec, data string) {
			w := newWorld(ctx)
			uid := restored(ctx, w, "0b2a4e0c-5a83-4a86-9d2e-1c6f0f3a7b10").UID
			w.running(ctx, w.box(ctx, fmt.Sprintf(spec, "")))
			w.website(ctx, "web", `{}`)
			owner := w.settled(ctx, "web")
			c := &corev1.ConfigMap{}
			w.child(ctx, Default, c, "web")
			Expect(c.UID).To(Equal(uid), "it is still the same object")
			Expect(c.Labels).To(HaveKeyWithValue(v1alpha1.LabelOwnerUID, string(owner.GetUID())))
			Expect(metav1.IsControlledBy(c, owner)).To(BeTrue())
			Expect(c.Data).To(HaveKeyWithValue("key", data))
			nothingSent(ctx, w, "web")
		},
			Entry("by server-side apply", byApply, "declared"),
			Entry("by POST, which changes nothing that is there", byPost, "theirs"),
		)

		DescribeTable("leaves alone what belongs to a resource that lives", func(ctx context.Context, spec string) {
			w := newWorld(ctx)
			w.running(ctx, w.box(ctx, fmt.Sprintf(spec, `name: "{{ .spec.host }}"`)))
			w.website(ctx, "other", `{host: another}`)
			other := w.settled(ctx, "other")
			theirs := restored(ctx, w, other.GetUID())
			w.website(ctx, "web", `{host: web}`)
			w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonNotOwned, `made for "web" by box`)
			w.untouched(ctx, theirs)
		}, byEveryWay()[:2])
	})

	It("names both declarations that render one object", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{onCreate: {configmaps: [{id: first, data: {a: b}}]}, onReconcile: {configmaps: [{id: second, name: "{{ .spec.host }}", data: {a: c}}]}}`))
		w.website(ctx, "web", `{host: web}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonDuplicateChild, `"first" and "second" both render ConfigMap "web"`)
		w.website(ctx, "web", `{host: web-2}`)
		w.settled(ctx, "web")
		w.child(ctx, Default, &corev1.ConfigMap{}, "web-2")
	})

	DescribeTable("waits for a child that is being deleted", func(ctx context.Context, spec string) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, fmt.Sprintf(spec, "")))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		c := &corev1.ConfigMap{}
		w.child(ctx, Default, c, "web")
		uid := c.UID
		w.merge(ctx, c, `{"metadata":{"finalizers":["e2e.test/hold"]}}`)
		Expect(kube.Delete(ctx, c)).To(Succeed())
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonChildTerminating, `ConfigMap "web"`)
		w.child(ctx, Default, c, "web")
		mark := manager.requests.mark()
		w.lookedAt(ctx, "web")
		w.untouched(ctx, c)
		Expect(manager.requests.since(mark, w.path("configmaps"))).To(BeEmpty(), "nothing is sent")

		w.merge(ctx, c, `{"metadata":{"finalizers":null}}`)
		w.settled(ctx, "web")
		Eventually(func(g Gomega) {
			again := &corev1.ConfigMap{}
			w.child(ctx, g, again, "web")
			g.Expect(again.UID).NotTo(Equal(uid))
		}).WithContext(ctx).Should(Succeed())
	}, byEveryWay()[:2])

	It("knows a child without owner reference again when somebody takes the owner's UID off", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{data: {key: declared}}]}, onDelete: {configmaps: [{name: "{{ .metadata.name }}-bye", data: {a: b}}]}}`))
		w.website(ctx, "web", `{}`)
		owner := w.settled(ctx, "web")
		c := &corev1.ConfigMap{}
		w.child(ctx, Default, c, "web")
		Expect(c.OwnerReferences).To(BeEmpty())
		uid := c.UID
		w.merge(ctx, c, `{"metadata":{"labels":{"`+v1alpha1.LabelOwnerUID+`":null}},"data":{"key":"changed"}}`)
		Eventually(func(g Gomega) {
			w.child(ctx, g, c, "web")
			g.Expect(c.Labels).To(HaveKeyWithValue(v1alpha1.LabelOwnerUID, string(owner.GetUID())))
			g.Expect(c.Data).To(Equal(map[string]string{"key": "declared"}))
		}).WithContext(ctx).Should(Succeed())
		Expect(c.UID).To(Equal(uid))
		w.removed(ctx, "web")
		w.gone(ctx, &corev1.ConfigMap{}, "web")
	})

	Context("across namespaces", func() {
		It("makes a child in a namespace that the box names, without owner reference, and deletes it itself", func(ctx context.Context) {
			w := newWorld(ctx)
			other := w.anotherNamespace(ctx)
			w.running(ctx, w.box(ctx, fmt.Sprintf(`{onReconcile: {configmaps: [{name: "{{ .metadata.namespace }}-{{ .metadata.name }}", namespace: %s, data: {key: declared}}]}}`, other)))
			w.website(ctx, "web", `{}`)
			owner := w.settled(ctx, "web")
			c := &corev1.ConfigMap{}
			key := types.NamespacedName{Namespace: other, Name: w.namespace + "-web"}
			Expect(kube.Get(ctx, key, c)).To(Succeed())
			Expect(c.OwnerReferences).To(BeEmpty())
			Expect(c.Labels).To(HaveKeyWithValue(v1alpha1.LabelOwnerUID, string(owner.GetUID())))

			By("correcting it")
			c.Data = map[string]string{"key": "changed"}
			Expect(kube.Update(ctx, c)).To(Succeed())
			Eventually(func(g Gomega) {
				g.Expect(kube.Get(ctx, key, c)).To(Succeed())
				g.Expect(c.Data).To(Equal(map[string]string{"key": "declared"}))
			}).WithContext(ctx).Should(Succeed())

			w.removed(ctx, "web")
			Expect(apierrors.IsNotFound(kube.Get(ctx, key, c))).To(BeTrue(), "the child went first")
		})

		It("does not let a resource's author choose the namespace", func(ctx context.Context) {
			w := newWorld(ctx)
			other := w.anotherNamespace(ctx)
			w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{namespace: "{{ .spec.host }}", data: {key: declared}}]}}`))
			w.website(ctx, "web", fmt.Sprintf(`{host: %s}`, other))
			w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonTemplateError, fmt.Sprintf("namespace %q does not let resources of", other))
			w.website(ctx, "web", fmt.Sprintf(`{host: %s}`, w.namespace))
			w.settled(ctx, "web")
			list := &corev1.ConfigMapList{}
			Expect(kube.List(ctx, list, client.InNamespace(other), client.HasLabels{v1alpha1.LabelManaged})).To(Succeed())
			Expect(list.Items).To(BeEmpty())
		})

		It("makes a cluster-scoped child only under a name that holds the namespace", func(ctx context.Context) {
			w := newWorld(ctx)
			const class = `{onReconcile: {resources: [{manifest: {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: "%s"}, value: 7}}]}}`
			w.box(ctx, fmt.Sprintf(class, w.id+"-{{ .metadata.name }}"))
			boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "its name must hold {{ .metadata.namespace }}")
			w.running(ctx, w.box(ctx, fmt.Sprintf(class, "{{ .metadata.namespace }}-{{ .metadata.name }}")))
			w.website(ctx, "web", `{}`)
			w.settled(ctx, "web")
			made := &schedulingv1.PriorityClass{}
			key := types.NamespacedName{Name: w.namespace + "-web"}
			Expect(kube.Get(ctx, key, made)).To(Succeed())
			Expect(made.OwnerReferences).To(BeEmpty())
			w.removed(ctx, "web")
			Expect(apierrors.IsNotFound(kube.Get(ctx, key, made))).To(BeTrue(), "the child went first")
		})

		It("asks the same of a cluster-scoped kind that was not installed when the box was compiled", func(ctx context.Context) {
			w := newWorld(ctx)
			later := newWorldWithoutCRD(ctx)
			w.running(ctx, w.box(ctx, fmt.Sprintf(`{onReconcile: {resources: [{manifest: {apiVersion: %s/v1, kind: Website, metadata: {name: "{{ .metadata.name }}"}, spec: {}}}]}}`, later.group)))
			w.website(ctx, "web", `{}`)
			w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, "Website")
			crd := later.crd()
			crd.Spec.Scope = "Cluster"
			Expect(kube.Create(ctx, crd)).To(Succeed())
			w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonTemplateError, "{{ .metadata.namespace }}")
			list := later.list()
			Expect(kube.List(ctx, list)).To(Succeed())
			Expect(list.Items).To(BeEmpty())
		})
	})

	DescribeTable("refuses kinds that grant rights", func(ctx context.Context, group, where, text string) {
		w := newWorld(ctx)
		w.box(ctx, `{onReconcile: {`+group+`}}`)
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, where)
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, text)
		boxShows(ctx, w.id, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonCompileFailed, text)
	},
		Entry("a Role", `resources: [{manifest: {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a}, rules: []}}]`,
			"spec.onReconcile.resources[0]", "Role grants rights"),
		Entry("a webhook", `resources: [{manifest: {apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: "{{ .metadata.namespace }}"}}}]`,
			"spec.onReconcile.resources[0]", "grants rights"),
		Entry("a CRD", `resources: [{manifest: {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: "{{ .metadata.namespace }}"}, spec: {}}}]`,
			"spec.onReconcile.resources[0]", "grants rights"),
		Entry("a box", `resources: [{manifest: {apiVersion: orkestra.orkspace.io/v1alpha1, kind: OperatorBox, metadata: {name: "{{ .metadata.namespace }}"}, spec: {}}}]`,
			"spec.onReconcile.resources[0]", "grants rights"),
	)
})

// theirs is the ConfigMap "web" as somebody else makes it.
func (w *world) theirs(ctx context.Context, change func(*corev1.ConfigMap)) *corev1.ConfigMap {
	GinkgoHelper()
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"}, Data: map[string]string{"key": "theirs"}}
	if change != nil {
		change(c)
	}
	Expect(kube.Create(ctx, c, client.FieldOwner("somebody"))).To(Succeed())
	return c
}

// untouched checks that nobody has written an object since it was read.
func (w *world) untouched(ctx context.Context, obj client.Object) {
	GinkgoHelper()
	now, ok := obj.DeepCopyObject().(client.Object)
	Expect(ok).To(BeTrue())
	Expect(kube.Get(ctx, client.ObjectKeyFromObject(obj), now)).To(Succeed())
	Expect(now.GetResourceVersion()).To(Equal(obj.GetResourceVersion()), "nobody has written it")
}

// merge patches an object as somebody else would.
func (w *world) merge(ctx context.Context, obj client.Object, patch string) {
	GinkgoHelper()
	Expect(kube.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("somebody"))).To(Succeed())
}

// annotate sets an annotation of a resource; an empty value removes it.
func (w *world) annotate(ctx context.Context, name, annotation, value string) {
	GinkgoHelper()
	var v any
	if value != "" {
		v = value
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{annotation: v}}})
	Expect(err).NotTo(HaveOccurred())
	w.merge(ctx, w.ref(name), string(patch))
}

// lookedAt asks for a reconcile of a resource, and waits until a cycle has been evaluated.
func (w *world) lookedAt(ctx context.Context, name string) {
	GinkgoHelper()
	before := manager.evaluations(Default, w.id)
	w.annotate(ctx, name, v1alpha1.AnnotationReconcileAt, rand.String(8))
	Eventually(func(g Gomega) { g.Expect(manager.evaluations(g, w.id)).To(BeNumerically(">", before)) }).WithContext(ctx).Should(Succeed())
}

// removed deletes a resource and waits until it is gone.
func (w *world) removed(ctx context.Context, name string, options ...client.DeleteOption) {
	GinkgoHelper()
	Expect(kube.Delete(ctx, w.ref(name), options...)).To(Succeed())
	w.vanished(ctx, name)
}

// vanished waits until a resource is gone.
func (w *world) vanished(ctx context.Context, name string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		obj := w.ref(name)
		err := kube.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%s is gone: %v %v", name, obj.Object["metadata"], obj.Object["status"])
	}).WithContext(ctx).Should(Succeed())
}

// told waits until an event of a reason about a resource holds a text.
func (w *world) told(ctx context.Context, name, reason, text string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		var list eventsv1.EventList
		g.Expect(kube.List(ctx, &list)).To(Succeed())
		g.Expect(list.Items).To(ContainElement(And(
			HaveField("Regarding.Name", name), HaveField("Regarding.APIVersion", w.group+"/v1"),
			HaveField("Reason", reason), HaveField("Note", ContainSubstring(text)))))
	}).WithContext(ctx).Should(Succeed())
}

// anotherNamespace makes a namespace that goes when the spec ends.
func (w *world) anotherNamespace(ctx context.Context) string {
	GinkgoHelper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.id + "-" + rand.String(4)}}
	Expect(kube.Create(ctx, ns)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, ns))).To(Succeed()) })
	return ns.Name
}

// allow lets resources of these namespaces into a namespace; "" lets none in.
func (w *world) allow(ctx context.Context, namespace, from string) {
	GinkgoHelper()
	value := "null"
	if from != "" {
		value = strconv.Quote(from)
	}
	w.patch(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, `{"metadata":{"annotations":{"`+v1alpha1.AnnotationAllowFrom+`":`+value+`}}}`)
}

// websiteIn applies a resource in a namespace.
func (w *world) websiteIn(ctx context.Context, namespace, name string, labels map[string]string) *unstructured.Unstructured {
	GinkgoHelper()
	obj := w.ref(name)
	obj.SetNamespace(namespace)
	obj.SetLabels(labels)
	obj.Object["spec"] = map[string]any{}
	Expect(kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("e2e"), client.ForceOwnership)).To(Succeed())
	return obj
}

// path is where objects of a resource are in the world's namespace.
func (w *world) path(resource string) string {
	return "/namespaces/" + w.namespace + "/" + resource
}

// sent counts requests of a method since a mark whose path ends so.
func sent(mark int, method, suffix string) int {
	n := 0
	for _, r := range manager.requests.since(mark, suffix) {
		if r.method == method && strings.HasSuffix(r.path, suffix) {
			n++
		}
	}
	return n
}
