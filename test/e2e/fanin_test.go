package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("An Ingress of many objects", func() {
	const rules = `cross: [{name: backends, apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {shop: "{{ .metadata.name }}"}}, optional: true}],
  values: [{name: rules, cel: 'cross.?backends.orValue([]).map(c, {"host": c.data.host, "http": {"paths": [{"path": "/", "pathType": "Prefix",
    "backend": {"service": {"name": "x", "port": {"number": 80}}}}]}})'}]`

	It("comes with the first of them and goes with the last", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{resync: 24h, `+rules+`, onReconcile: {ingresses: [
  {rules: "{{ .values.rules }}", when: [{cel: "size(values.rules) > 0"}], whenFalse: Delete, optional: true}]}}`))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"}}
		hosts := func(wanted ...string) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(ingress), ingress)).To(Succeed())
				var got []string
				for _, r := range ingress.Spec.Rules {
					got = append(got, r.Host)
				}
				g.Expect(got).To(Equal(wanted))
			}).WithContext(ctx).Should(Succeed())
		}
		for _, name := range []string{"a", "b"} {
			c := w.configMap(name)
			c.Labels, c.Data = map[string]string{"shop": "web"}, map[string]string{"host": name + ".example.com"}
			Expect(kube.Create(ctx, c)).To(Succeed())
		}
		hosts("a.example.com", "b.example.com")
		Expect(kube.Delete(ctx, w.configMap("a"))).To(Succeed())
		hosts("b.example.com")
		Expect(kube.Delete(ctx, w.configMap("b"))).To(Succeed())
		w.gone(ctx, ingress, "web")
		w.settled(ctx, "web")
	})

	It("is not opened for all hosts where there is no rule", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{resync: 24h, `+rules+`, onReconcile: {services: [{port: 80, selector: {a: b}}], ingresses: [{rules: "{{ .values.rules }}"}]}}`))
		w.website(ctx, "web", `{}`)
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError,
			"onReconcile: ingresses: rules: want a rule, got none; an Ingress can't be without: where there may be none, make the Ingress only when there are some, by `when`, or write spec.defaultBackend")
	})
})
