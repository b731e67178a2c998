package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("A declaration after another", func() {
	It("acts when that is current, also when both change", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{resync: 24h, status: {ready: Current}, onReconcile: {configmaps: [
  {name: "{{ .metadata.name }}-last", data: {mode: "{{ .spec.mode }}"}, after: [first]},
  {id: first, name: "{{ .metadata.name }}-first", data: {mode: "{{ .spec.mode }}"},
   readyWhen: [{field: "object.metadata.annotations['e2e.test/done']", equals: "{{ .spec.mode }}"}]}]}}`))
		done := func(mode string) {
			GinkgoHelper()
			w.hasData(ctx, "web-first", map[string]string{"mode": mode})
			w.patch(ctx, w.configMap("web-first"), `{"metadata":{"annotations":{"e2e.test/done":"`+mode+`"}}}`)
		}
		waits := func(text string) {
			GinkgoHelper()
			w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonWaitingForGate, text)
		}
		w.website(ctx, "web", `{mode: a}`)
		waits(`configmaps/web-last: after first: ConfigMap "web-first": object.metadata.annotations['e2e.test/done']: wanted equals a, actual absent`)
		w.absent(ctx, "web-last")
		done("a")
		w.hasData(ctx, "web-last", map[string]string{"mode": "a"})
		w.settled(ctx, "web")
		nothingSent(ctx, w, "web")

		By("changing both")
		w.website(ctx, "web", `{mode: b}`)
		w.hasData(ctx, "web-first", map[string]string{"mode": "b"})
		waits(`wanted equals b, actual a; ConfigMap "web-last" is left as it is`)
		w.hasData(ctx, "web-last", map[string]string{"mode": "a"})
		done("b")
		w.hasData(ctx, "web-last", map[string]string{"mode": "b"})
		w.settled(ctx, "web")

		By("taking the first one away")
		Expect(kube.Delete(ctx, w.configMap("web-first"))).To(Succeed())
		waits(`wanted equals b, actual absent; ConfigMap "web-last" is left as it is`)
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(w.configMap("web-last")), w.configMap("web-last"))).To(Succeed())
		done("b")
		w.settled(ctx, "web")
	})
})
