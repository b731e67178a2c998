package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/test/fixtures"
)

// withTiers adds lists and a map to loop over.
func withTiers(v *apiextensionsv1.CustomResourceDefinitionVersion) {
	for name, schema := range map[string]string{
		"tiers":  `{type: array, items: {type: object, properties: {name: {type: string}, size: {type: integer}}}}`,
		"values": `{type: object, additionalProperties: {type: string}}`,
		"count":  `{type: integer}`,
	} {
		fixtures.With("spec", name, schema)(v)
	}
}

const tierBox = `
onReconcile:
  configmaps:
  - {name: "{{ .metadata.name }}-{{ .tier.name }}", forEach: {field: spec.tiers, as: tier, key: "{{ .item.name }}"}, data: {size: "{{ .tier.size }}"}}
`

// maps gives the UIDs of the world's ConfigMaps that Orkestra made, by name.
func (w *world) maps(ctx context.Context, g Gomega) map[string]string {
	var list corev1.ConfigMapList
	g.Expect(kube.List(ctx, &list, client.InNamespace(w.namespace), client.HasLabels{v1alpha1.LabelManaged})).To(Succeed())
	out := map[string]string{}
	for i := range list.Items {
		out[list.Items[i].Name] = string(list.Items[i].UID)
	}
	return out
}

var _ = Describe("forEach", func() {
	var w *world
	BeforeEach(func(ctx context.Context) { w = newWorldOf(ctx, withTiers) })

	It("makes one child for each item, and a second cycle sends nothing", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, tierBox))
		w.website(ctx, "shop", `{tiers: [{name: web, size: 1}, {name: api, size: 2}, {name: db, size: 3}]}`)
		w.settled(ctx, "shop")
		Expect(w.maps(ctx, Default)).To(And(HaveLen(3), HaveKey("shop-web"), HaveKey("shop-api"), HaveKey("shop-db")))
		w.hasData(ctx, "shop-api", map[string]string{"size": "2"})
		nothingSent(ctx, w, "shop")
	})

	It("goes over several fields, and prunes exactly the combinations that are gone", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `
onReconcile:
  configmaps:
  - name: "{{ .metadata.name }}-{{ .key }}"
    forEach: {loops: [{field: spec.tiers, as: tier}, {field: tier.size, as: replica}], key: "{{ .tier.name }}-{{ .replica }}"}
    data: {of: "{{ .item.tier.name }}"}
    when: [{cel: "tier.name != 'db' || replica == 0"}]
`))
		w.website(ctx, "shop", `{tiers: [{name: web, size: 2}, {name: api, size: 1}, {name: db, size: 3}]}`)
		w.settled(ctx, "shop")
		before := w.maps(ctx, Default)
		Expect(slices.Sorted(maps.Keys(before))).To(Equal([]string{"shop-api-0", "shop-db-0", "shop-web-0", "shop-web-1"}))
		w.hasData(ctx, "shop-web-1", map[string]string{"of": "web"})
		nothingSent(ctx, w, "shop")

		w.website(ctx, "shop", `{tiers: [{name: db, size: 3}, {name: web, size: 1}]}`)
		w.settled(ctx, "shop")
		Eventually(w.maps).WithContext(ctx).WithArguments(Default).Should(Equal(map[string]string{"shop-web-0": before["shop-web-0"], "shop-db-0": before["shop-db-0"]}))

		By("asking for more than a resource may have")
		w.website(ctx, "shop", `{tiers: [{name: db, size: 700}, {name: web, size: 700}]}`)
		w.shows(ctx, "shop", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonBudgetExceeded, "spec.tiers × tier.size has more than 1000 items")
		Expect(w.maps(ctx, Default)).To(HaveLen(2))
	})

	It("prunes exactly what is gone, wherever it stood, and leaves the others as they are", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, tierBox))
		w.website(ctx, "shop", `{tiers: [{name: web, size: 1}, {name: api, size: 2}, {name: db, size: 3}]}`)
		w.settled(ctx, "shop")
		before := w.maps(ctx, Default)
		w.website(ctx, "shop", `{tiers: [{name: db, size: 3}, {name: web, size: 1}]}`)
		w.settled(ctx, "shop")
		Eventually(w.maps).WithContext(ctx).WithArguments(Default).Should(Equal(map[string]string{"shop-web": before["shop-web"], "shop-db": before["shop-db"]}))
	})

	It("writes nothing of what moves when the head of a list without keys goes, and comes back", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{name: "{{ .item.name }}", forEach: {field: spec.tiers}, data: {size: "{{ .item.size }}"}}]}}`))
		tiers := func(from int) string {
			var all []string
			for i := from; i < 100; i++ {
				all = append(all, fmt.Sprintf("{name: t%d, size: %d}", i, i))
			}
			return "{tiers: [" + strings.Join(all, ", ") + "]}"
		}
		w.website(ctx, "shop", tiers(0))
		w.settled(ctx, "shop")
		before := w.maps(ctx, Default)
		Expect(before).To(HaveLen(100))
		nothingSent(ctx, w, "shop")

		mark := manager.requests.mark()
		w.website(ctx, "shop", tiers(1))
		w.gone(ctx, w.configMap("t0"), "t0")
		w.settled(ctx, "shop")
		Expect(manager.requests.since(mark, "/"+w.namespace+"/configmaps/")).To(ConsistOf(
			WithTransform(request.String, HavePrefix("DELETE /api/v1/namespaces/"+w.namespace+"/configmaps/t0?"))))

		w.website(ctx, "shop", tiers(0))
		w.hasData(ctx, "t0", map[string]string{"size": "0"})
		w.settled(ctx, "shop")
		after := w.maps(ctx, Default)
		Expect(after).To(HaveLen(100))
		delete(before, "t0")
		for name, uid := range before {
			Expect(after).To(HaveKeyWithValue(name, uid))
		}
	})

	It("leaves the marks of an earlier version alone, which named the place of an item", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{id: part, name: "{{ .item.name }}", forEach: {field: spec.tiers}}]}}`))
		w.website(ctx, "shop", `{tiers: [{name: a}, {name: b}, {name: c}]}`)
		w.settled(ctx, "shop")
		w.annotate(ctx, "shop", v1alpha1.AnnotationPaused, v1alpha1.True)
		w.shows(ctx, "shop", v1alpha1.ConditionReconciling, metav1.ConditionFalse, v1alpha1.ReasonPaused, "")
		for i, name := range []string{"a", "b", "c"} {
			w.patch(ctx, w.configMap(name), fmt.Sprintf(`{"metadata":{"annotations":{%q:"part#%d"}}}`, v1alpha1.AnnotationDeclaration, i))
		}
		w.annotate(ctx, "shop", v1alpha1.AnnotationPaused, "")
		nothingSent(ctx, w, "shop")
		before := w.maps(ctx, Default)
		w.website(ctx, "shop", `{tiers: [{name: b}, {name: c}]}`)
		w.gone(ctx, w.configMap("a"), "a")
		w.settled(ctx, "shop")
		delete(before, "a")
		Expect(w.maps(ctx, Default)).To(Equal(before))
		b := &corev1.ConfigMap{}
		w.child(ctx, Default, b, "b")
		Expect(b.Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationDeclaration, "part#1"))
		nothingSent(ctx, w, "shop")
	})

	It("says which items collide, and changes nothing until they no longer do", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, tierBox))
		w.website(ctx, "shop", `{tiers: [{name: web, size: 1}]}`)
		w.settled(ctx, "shop")
		w.website(ctx, "shop", `{tiers: [{name: api, size: 1}, {name: api, size: 2}]}`)
		w.shows(ctx, "shop", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonDuplicateChild,
			"items 0 and 1 of spec.tiers both have the key \"api\"; give `key` a template that tells them apart")
		Expect(w.maps(ctx, Default)).To(And(HaveLen(1), HaveKey("shop-web")))
		w.website(ctx, "shop", `{tiers: [{name: api, size: 1}]}`)
		w.settled(ctx, "shop")
		Eventually(w.maps).WithContext(ctx).WithArguments(Default).Should(And(HaveLen(1), HaveKey("shop-api")))
	})

	It("runs in onCreate until the resource is Active, and in onDelete", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, fmt.Sprintf(`
onCreate: {configmaps: [%s]}
onDelete: {configmaps: [{id: bye, name: "bye-{{ .item.name }}", namespace: %s, forEach: {field: spec.tiers, key: "{{ .item.name }}"}}]}
`, `{name: "first-{{ .item.name }}", forEach: {field: spec.tiers, key: "{{ .item.name }}"}}`, w.namespace)))
		w.website(ctx, "shop", `{tiers: [{name: web}, {name: api}]}`)
		w.settled(ctx, "shop")
		w.active(ctx, "shop")
		first := w.maps(ctx, Default)
		Expect(first).To(And(HaveLen(2), HaveKey("first-web"), HaveKey("first-api")))
		w.website(ctx, "shop", `{tiers: [{name: web}]}`)
		w.settled(ctx, "shop")
		Expect(w.maps(ctx, Default)).To(Equal(first), "what onCreate made is left alone")
		w.removed(ctx, "shop")
		w.vanished(ctx, "shop")
		Eventually(w.maps).WithContext(ctx).WithArguments(Default).Should(BeEmpty())
	})
})
