package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("A status that somebody else has written over", func() {
	It("says at the next resync how the resource is, and what others have added stays", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{resync: 1s, onReconcile: {configmaps: [{data: {a: b}}]}}`))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		for _, said := range []string{
			`{"status":{"conditions":[{"type":"Ready","status":"False","reason":"Lie","message":"it is not","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`,
			`{"status":{"conditions":[]}}`, `{"status":null}`,
			`{"status":{"conditions":[{"type":"Of others","status":"True","reason":"A","message":"","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`,
		} {
			Expect(kube.Status().Patch(ctx, w.ref("web"), client.RawPatch(types.MergePatchType, []byte(said)))).To(Succeed())
			w.settled(ctx, "web")
		}
		Expect(condition(w.get(ctx, Default, "web"), "Of others").Reason).To(Equal("A"))
		w.shows(ctx, "web", v1alpha1.ConditionStalled, "False", "NotStalled", "")
	})
})
