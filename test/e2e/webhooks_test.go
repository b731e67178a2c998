package e2e_test

import (
	"context"
	"net/http"
	"net/http/httptest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/orkspace/orkestra/engine/hook/protocol"
)

// onePerKey is a webhook that makes a ConfigMap for each setting.
func onePerKey(q *protocol.Request) *protocol.Response {
	spec, _ := q.Resource["spec"].(map[string]any)
	settings, _ := spec["settings"].(map[string]any)
	a := &protocol.Response{Status: map[string]any{"url": "https://" + q.Resource["metadata"].(map[string]any)["name"].(string)}}
	for key, text := range settings {
		a.Children = append(a.Children, protocol.Child{ID: key, Object: childMap(q.Resource["metadata"].(map[string]any)["name"].(string)+"-"+key, map[string]any{"text": text})})
	}
	return a
}

var _ = Describe("Webhooks", func() {
	It("make children, put them back, and prune them; an unchanged world sends nothing", func(ctx context.Context) {
		w, s := newWorld(ctx), newHookServer((*httptest.Server).StartTLS)
		s.trusted(ctx, w)
		s.says(onePerKey)
		w.running(ctx, w.box(ctx, s.hookedBy("", `, resync: 1h, status: {fields: [{path: phase, value: "{{ .children.hook.a.data.text }}"}]}`)))
		w.website(ctx, "shop", `{settings: {a: one, b: two}}`)
		w.hasData(ctx, "shop-a", map[string]string{"text": "one"})
		shown := w.settled(ctx, "shop")
		Expect(shown.Object["status"]).To(And(HaveKeyWithValue("url", "https://shop"), HaveKeyWithValue("phase", "one")))
		w.merge(ctx, w.configMap("shop-a"), `{"data":{"text":"other"}}`)
		w.hasData(ctx, "shop-a", map[string]string{"text": "one"})
		w.website(ctx, "shop", `{settings: {b: two}}`)
		w.gone(ctx, &corev1.ConfigMap{}, "shop-a")
		w.settled(ctx, "shop")

		nothingSent(ctx, w, "shop")
		s.heard()
		nothingSent(ctx, w, "shop")
		Expect(s.heard()).To(BeEmpty(), "the request is the same, and so is the answer")

		By("taking the webhook out of the box")
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{name: own}]}}`))
		w.gone(ctx, &corev1.ConfigMap{}, "shop-b")
	})

	It("are asked by their ETag once per resyncAfter", func(ctx context.Context) {
		w, s := newWorld(ctx), newHookServer((*httptest.Server).StartTLS)
		s.trusted(ctx, w)
		s.says(onePerKey)
		answer := s.answer
		s.answers(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("If-None-Match") == `"one"` {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			w.Header().Set("ETag", `"one"`)
			answer(w, r)
		})
		w.running(ctx, w.box(ctx, s.hookedBy(", resyncAfter: 1s", "")))
		w.website(ctx, "shop", `{settings: {a: one}}`)
		w.settled(ctx, "shop")
		Eventually(func() (tags []string) {
			for _, r := range s.heard() {
				tags = append(tags, r.header.Get("If-None-Match"))
			}
			return tags
		}).WithContext(ctx).Should(ContainElement(`"one"`))
		mark := manager.requests.mark()
		Eventually(s.heard).WithContext(ctx).Should(HaveLen(1), "it is asked again")
		w.hasData(ctx, "shop-a", map[string]string{"text": "one"})
		Expect(manager.requests.since(mark, "/namespaces/"+w.namespace+"/")).To(BeEmpty(), "what has not been modified is not written")
	})
})
