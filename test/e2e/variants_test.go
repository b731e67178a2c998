package e2e_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/test/fixtures"
)

// newWorldOf is newWorld with a CRD version that the spec has changed.
func newWorldOf(ctx context.Context, change func(*apiextensionsv1.CustomResourceDefinitionVersion)) *world {
	GinkgoHelper()
	w := newWorldWithoutCRD(ctx)
	crd := w.crd()
	change(&crd.Spec.Versions[0])
	Expect(kube.Create(ctx, crd)).To(Succeed())
	w.waitEstablished(ctx)
	return w
}

// statusProperty adds a property to the schema of the status.
func statusProperty(name, schema string) func(*apiextensionsv1.CustomResourceDefinitionVersion) {
	return fixtures.With("status", name, schema)
}

// observed waits until a resource shows the result of a cycle for its current generation.
func (w *world) observed(ctx context.Context, name string) *unstructured.Unstructured {
	GinkgoHelper()
	var obj *unstructured.Unstructured
	Eventually(func(g Gomega) {
		obj = w.get(ctx, g, name)
		observed, _, err := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(observed).To(Equal(obj.GetGeneration()))
	}).WithContext(ctx).Should(Succeed())
	return obj
}

// cycle changes spec.port and waits for the result: whatever Orkestra had to do before that, it has done.
func (w *world) cycle(ctx context.Context, name string) *unstructured.Unstructured {
	GinkgoHelper()
	obj := w.get(ctx, Default, name)
	w.patch(ctx, obj, fmt.Sprintf(`{"spec":{"port":%d}}`, 1000+obj.GetGeneration()))
	return w.observed(ctx, name)
}

// patch merges JSON into an object, as somebody else would.
func (w *world) patch(ctx context.Context, obj client.Object, patch string) {
	GinkgoHelper()
	Expect(kube.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("somebody"))).To(Succeed())
}

// configMap names a ConfigMap of the world.
func (w *world) configMap(name string) *corev1.ConfigMap {
	c := &corev1.ConfigMap{}
	c.Namespace, c.Name = w.namespace, name
	return c
}

// hasData waits until a ConfigMap has exactly this data.
func (w *world) hasData(ctx context.Context, name string, data map[string]string) *corev1.ConfigMap {
	GinkgoHelper()
	c := &corev1.ConfigMap{}
	Eventually(func(g Gomega) {
		*c = corev1.ConfigMap{}
		w.child(ctx, g, c, name)
		g.Expect(c.Data).To(Equal(data))
	}).WithContext(ctx).Should(Succeed())
	return c
}

// absent checks that a ConfigMap does not exist now.
func (w *world) absent(ctx context.Context, name string) {
	GinkgoHelper()
	err := kube.Get(ctx, client.ObjectKeyFromObject(w.configMap(name)), &corev1.ConfigMap{})
	Expect(apierrors.IsNotFound(err)).To(BeTrue(), "ConfigMap %s: %v", name, err)
}

// notes gives the texts of the events of one reason about a resource, each with how often it was sent.
func (w *world) notes(ctx context.Context, g Gomega, name, reason string) []string {
	var list eventsv1.EventList
	g.Expect(kube.List(ctx, &list, client.InNamespace(w.namespace))).To(Succeed())
	var out []string
	for i := range list.Items {
		if e := &list.Items[i]; e.Regarding.Name == name && e.Regarding.Kind == "Website" && e.Reason == reason {
			out = append(out, e.Note)
		}
	}
	return out
}

// skipped counts the looks of a box that ended because no input had changed.
func (p *process) skipped(g Gomega, box string) float64 {
	families, err := p.registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	for _, f := range families {
		if f.GetName() != "orkestra_reconcile_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			text := m.String()
			if strings.Contains(text, `"`+box+`"`) && strings.Contains(text, `"skipped"`) {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

// resting waits until the looks of a box find nothing to do, and gives the number of its evaluations so far. The box needs
// a short resync, and a resource that has settled.
func (p *process) resting(ctx context.Context, box string) float64 {
	GinkgoHelper()
	var evaluations float64
	before := p.skipped(Default, box)
	Eventually(func(g Gomega) {
		g.Expect(p.skipped(g, box)).To(BeNumerically(">", before))
		evaluations = p.evaluations(g, box)
	}).WithContext(ctx).Should(Succeed())
	return evaluations
}
