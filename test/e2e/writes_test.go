package e2e_test

import (
	"context"
	"fmt"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("Writes of children", func() {
	var (
		w   *world
		log *writeLog
	)
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		log = &writeLog{parts: []string{"/namespaces/" + w.id, "/configmaps"}}
		replaceManager(via(log.wrap))
	})
	// somebody is the ConfigMap "web" as somebody else makes it.
	somebody := func(ctx context.Context, data map[string]string) (*corev1.ConfigMap, intrusion) {
		theirs := w.configMap("web")
		theirs.Data = data
		return theirs, func(http.RoundTripper, *http.Request) error {
			return kube.Create(ctx, theirs, client.FieldOwner("somebody"))
		}
	}
	interfered := func(ctx context.Context) {
		GinkgoHelper()
		Eventually(log.interfered).WithContext(ctx).Should(BeTrue())
	}

	It("are applied by force only over the child with the UID that was seen, and make a child without either", func(ctx context.Context) {
		labels := map[string]string{
			v1alpha1.LabelManaged: v1alpha1.True, v1alpha1.LabelOwner: "web", v1alpha1.LabelBox: w.id,
			v1alpha1.LabelOwnerUID: "0b2a4e0c-5a83-4a86-9d2e-1c6f0f3a7b10", v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue,
		}
		for name, marks := range map[string]map[string]string{"web-adopted": nil, "web-restored": labels} {
			c := w.configMap(name)
			c.Labels = marks
			Expect(kube.Create(ctx, c)).To(Succeed())
		}
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{data: {key: "{{ .spec.mode }}"}},
			{name: "{{ .metadata.name }}-adopted", adopt: IfUnowned, data: {a: b}}, {name: "{{ .metadata.name }}-restored", data: {a: b}}]}}`))
		w.website(ctx, "web", `{mode: first}`)
		owner := w.settled(ctx, "web")
		By("another declaration, drift, and a label that is gone")
		w.website(ctx, "web", `{mode: second}`)
		w.hasData(ctx, "web", map[string]string{"key": "second"})
		w.merge(ctx, w.configMap("web"), `{"data":{"key":"changed"}}`)
		w.hasData(ctx, "web", map[string]string{"key": "second"})
		w.merge(ctx, w.configMap("web"), `{"metadata":{"labels":null}}`)
		Eventually(func(g Gomega) {
			c := &corev1.ConfigMap{}
			w.child(ctx, g, c, "web")
			g.Expect(c.Labels).To(HaveKeyWithValue(v1alpha1.LabelOwnerUID, string(owner.GetUID())))
		}).WithContext(ctx).Should(Succeed())
		w.settled(ctx, "web")

		var made, refused, changed []string
		for _, a := range log.applies() {
			switch a.code {
			case http.StatusCreated:
				made = append(made, a.name())
				Expect(a.sent.GetUID()).To(BeEmpty(), "%s", a)
				Expect(a.query.Get("force")).To(Equal("false"), "%s", a)
			case http.StatusConflict:
				refused = append(refused, a.name())
				Expect(a.query.Get("force")).To(Equal("false"), "%s", a)
				Expect(a.sent.GetResourceVersion()).To(Equal("1"), "one that no object has: %s", a)
			default:
				changed = append(changed, a.name())
				Expect(a.code).To(Equal(http.StatusOK), "%s", a)
				Expect(a.sent.GetUID()).To(Equal(a.answer.GetUID()), "%s", a)
				Expect(a.query.Get("force")).To(Equal("true"), "%s", a)
				version := Not(BeEmpty())
				if a.name() == "web" {
					version = BeEmpty()
				}
				Expect(a.sent.GetResourceVersion()).To(version, "what is taken over is as it was seen: %s", a)
			}
		}
		Expect(made).To(ConsistOf("web"))
		Expect(refused).To(ConsistOf("web", "web-adopted", "web-restored"), "they were there, which the cache does not show")
		Expect(changed).To(ConsistOf("web", "web", "web", "web-adopted", "web-restored"))
	})

	It("that delete name the UID and the version that were seen", func(ctx context.Context) {
		other := w.anotherNamespace(ctx)
		const kept = `{onReconcile: {configmaps: [%s{id: far, name: "{{ .metadata.namespace }}-{{ .metadata.name }}", namespace: %s, data: {a: b}}]}}`
		w.running(ctx, w.box(ctx, fmt.Sprintf(kept, `{data: {key: declared}},`, other)))
		w.website(ctx, "web", `{}`)
		w.website(ctx, "last", `{}`)
		w.settled(ctx, "web")
		w.settled(ctx, "last")
		var seen []string
		expected := func(namespace, name string) {
			GinkgoHelper()
			c := &corev1.ConfigMap{}
			Expect(kube.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, c)).To(Succeed())
			seen = append(seen, fmt.Sprintf("/api/v1/namespaces/%s/configmaps/%s %s %s", namespace, name, c.UID, c.ResourceVersion))
		}
		expected(w.namespace, "web")
		expected(w.namespace, "last")
		expected(other, w.namespace+"-web")
		expected(other, w.namespace+"-last")

		By("removing a declaration, a resource, and the box with what it made")
		w.box(ctx, fmt.Sprintf(kept, "", other))
		w.gone(ctx, &corev1.ConfigMap{}, "web")
		w.gone(ctx, &corev1.ConfigMap{}, "last")
		w.removed(ctx, "web")
		w.merge(ctx, &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: w.id}}, `{"metadata":{"annotations":{"`+v1alpha1.AnnotationCleanup+`":"true"}}}`)
		deleteBox(ctx, w.id)
		boxGone(ctx, w.id)
		Expect(log.deletes()).To(ConsistOf(seen))
	})

	DescribeTable("do not touch what somebody makes between the look and the write", func(ctx context.Context, spec, method string, data map[string]string) {
		theirs, create := somebody(ctx, data)
		log.justBefore(method, create)
		w.running(ctx, w.box(ctx, fmt.Sprintf(spec, "")))
		w.website(ctx, "web", `{}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonNotOwned, "was not made by Orkestra")
		interfered(ctx)
		w.untouched(ctx, theirs)
	},
		Entry("where an apply would change it", byApply, http.MethodPatch, map[string]string{"key": "theirs"}),
		Entry("where an apply would add to it", byApply, http.MethodPatch, map[string]string{"other": "theirs"}),
		Entry("where an apply would share it", byApply, http.MethodPatch, map[string]string{"key": "declared"}),
		Entry("by POST", byPost, http.MethodPost, map[string]string{"key": "theirs"}),
		Entry("by POST in onCreate", byPostOnCreate, http.MethodPost, map[string]string{"key": "theirs"}),
	)

	DescribeTable("take for done what a former process makes between the look and the write", func(ctx context.Context, spec, method, key string) {
		watches := newStreams()
		replaceManager(via(log.wrap), via(watches.wrap))
		w.running(ctx, w.box(ctx, fmt.Sprintf(spec, "")))
		w.website(ctx, "first", `{}`)
		w.settled(ctx, "first")
		By("a cache that does not hear of it")
		watches.pause("/configmaps", "")
		DeferCleanup(watches.resume)
		former := &unstructured.Unstructured{}
		log.justBefore(method, func(next http.RoundTripper, r *http.Request) error {
			return sendBefore(next, r, former, `"declared"`, `"`+key+`"`)
		})
		w.website(ctx, "web", `{}`)
		owner := w.settled(ctx, "web")
		interfered(ctx)
		c := w.hasData(ctx, "web", map[string]string{"key": key})
		Expect(c.UID).To(Equal(former.GetUID()))
		Expect(metav1.IsControlledBy(c, owner)).To(BeTrue())
		Expect(c.Labels).To(HaveKeyWithValue(v1alpha1.LabelOwnerUID, string(owner.GetUID())))
		watches.resume()
		nothingSent(ctx, w, "web")
		w.untouched(ctx, c)
		Expect(c.ResourceVersion).To(Equal(former.GetResourceVersion()), "it is as the former process made it")
	},
		Entry("by server-side apply", byApply, http.MethodPatch, "declared"),
		Entry("by POST", byPost, http.MethodPost, "former"),
		Entry("by POST in onCreate", byPostOnCreate, http.MethodPost, "former"),
	)

	It("take back what an apply did to another's object, where the API server does not heed the version", func(ctx context.Context) {
		replaceManager(via(log.wrap), via(patchesWithout(`,"resourceVersion":"1"`)))
		theirs, create := somebody(ctx, map[string]string{"other": "theirs"})
		log.justBefore(http.MethodPatch, create)
		w.running(ctx, w.box(ctx, fmt.Sprintf(byApply, "")))
		w.website(ctx, "web", `{}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonNotOwned, "was not made by Orkestra")
		interfered(ctx)
		c := w.hasData(ctx, "web", theirs.Data)
		Expect(c.ResourceVersion).NotTo(Equal(theirs.ResourceVersion), "it was changed, and changed back")
		Expect(c.ManagedFields).To(Equal(theirs.ManagedFields))
		Expect(c.Labels).To(BeEmpty())
		Expect(c.Annotations).To(BeEmpty())
		Expect(c.OwnerReferences).To(BeEmpty())
	})

	DescribeTable("give one child to one resource", func(ctx context.Context, fields string, answered int, existing ...client.Object) {
		for _, obj := range existing {
			obj.SetNamespace(w.namespace)
			Expect(kube.Create(ctx, obj)).To(Succeed())
		}
		d := startBlocked(writesOf(w.namespace, "configmaps"), via(log.wrap))
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{name: "{{ .spec.host }}", data: {by: "{{ .metadata.name }}"}`+fields+`}]}}`))
		d.shut()
		w.website(ctx, "first", `{host: shared}`)
		w.website(ctx, "second", `{host: shared}`)
		Eventually(d.holding).WithContext(ctx).Should(Equal(2), "both have looked, and both write")
		d.open()
		Eventually(func(g Gomega) {
			c := &corev1.ConfigMap{}
			w.child(ctx, g, c, "shared")
			g.Expect(c.OwnerReferences).To(HaveLen(1))
			winner, loser := c.OwnerReferences[0].Name, "second"
			if winner == loser {
				loser = "first"
			}
			g.Expect(c.Data).To(Equal(map[string]string{"by": winner}))
			g.Expect(c.Labels).To(HaveKeyWithValue(v1alpha1.LabelOwner, winner))
			g.Expect(condition(w.get(ctx, g, winner), v1alpha1.ConditionReady).Status).To(Equal(metav1.ConditionTrue))
			g.Expect(condition(w.get(ctx, g, loser), v1alpha1.ConditionStalled).Reason).To(Equal(v1alpha1.ReasonNotOwned))
		}).WithContext(ctx).Should(Succeed())
		codes := map[int]int{}
		for _, a := range log.applies() {
			codes[a.code]++
		}
		Expect(codes).To(And(HaveLen(2), HaveKeyWithValue(answered, 1), HaveKey(http.StatusConflict)), "the second changes nothing")
	},
		Entry("where two make it at the same time", "", http.StatusCreated),
		Entry("where two adopt it at the same time", ", adopt: IfUnowned", http.StatusOK,
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "shared"}}),
	)

	It("adopt only what nobody has taken since the look", func(ctx context.Context) {
		boss := w.configMap("boss")
		Expect(kube.Create(ctx, boss)).To(Succeed())
		theirs := w.theirs(ctx, nil)
		log.justBefore(http.MethodPatch, func(http.RoundTripper, *http.Request) error {
			theirs.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "boss", UID: boss.UID, Controller: new(true)}}
			return kube.Update(ctx, theirs, client.FieldOwner("somebody"))
		})
		w.running(ctx, w.box(ctx, fmt.Sprintf(byApply, "adopt: IfUnowned")))
		w.website(ctx, "web", `{}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonNotOwned, `controlled by ConfigMap "boss"`)
		interfered(ctx)
		w.untouched(ctx, theirs)
	})

	It("never bring back a child that is deleted just before it is corrected", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, fmt.Sprintf(byApply, "")))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		log.justBefore(http.MethodPatch, func(http.RoundTripper, *http.Request) error { return kube.Delete(ctx, w.configMap("web")) })
		w.merge(ctx, w.configMap("web"), `{"data":{"key":"changed"}}`)
		interfered(ctx)
		w.hasData(ctx, "web", map[string]string{"key": "declared"})
		w.settled(ctx, "web")
		applies := log.applies()
		Expect(applies).To(HaveLen(3), "make it, correct it, make it again")
		Expect(applies[1].code).To(Equal(http.StatusConflict), "%s", applies[1])
		Expect(applies[2].code).To(Equal(http.StatusCreated), "%s", applies[2])
		Expect(applies[2].answer.GetUID()).NotTo(Equal(applies[0].answer.GetUID()))
	})

	// dropped removes the declaration of the child, and with it nothing else of the box.
	dropped := func(ctx context.Context) { w.box(ctx, `{onReconcile: {services: [{port: 80, selector: {a: b}}]}}`) }
	// replaces puts something else in the place of the child; takes keeps the child and takes it away from us.
	replaces := func(ctx context.Context) error {
		if err := kube.Delete(ctx, w.configMap("web")); err != nil {
			return err
		}
		theirs, create := somebody(ctx, map[string]string{"key": "theirs"})
		theirs.Labels = map[string]string{v1alpha1.LabelManagedBy: "Helm"}
		return create(nil, nil)
	}
	takes := func(ctx context.Context) error {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":null,"annotations":null,"ownerReferences":null},"data":{"key":"theirs"}}`))
		return kube.Patch(ctx, w.configMap("web"), patch, client.FieldOwner("somebody"))
	}
	DescribeTable("leave alone what is another's since the look", func(ctx context.Context, way, fields, method string, trigger func(context.Context), meddle func(context.Context) error) {
		w.running(ctx, w.box(ctx, fmt.Sprintf(way, fields)))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		theirs := w.configMap("web")
		log.justBefore(method, func(http.RoundTripper, *http.Request) error {
			if err := meddle(ctx); err != nil {
				return err
			}
			return kube.Get(ctx, client.ObjectKeyFromObject(theirs), theirs)
		})
		trigger(ctx)
		interfered(ctx)
		w.cycle(ctx, "web")
		w.untouched(ctx, theirs)
		Expect(theirs.Data).To(Equal(map[string]string{"key": "theirs"}))
	},
		Entry("when it would correct the child", byApply, "", http.MethodPatch,
			func(ctx context.Context) { w.merge(ctx, w.configMap("web"), `{"data":{"key":"changed"}}`) }, replaces),
		Entry("when it would put labels on a child that is made once", byPost, "", http.MethodPatch,
			func(ctx context.Context) { w.merge(ctx, w.configMap("web"), `{"metadata":{"labels":null}}`) }, replaces),
		Entry("when it would let the child go", byApply, "deletionPolicy: Orphan", http.MethodPatch, dropped, replaces),
		Entry("when it would delete the child", byApply, "", http.MethodDelete, dropped, replaces),
		Entry("when it would delete a child that somebody takes", byApply, "", http.MethodDelete, dropped, takes),
	)
})
