package contention

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

func TestAResourceThatRewritesItsChildrenIsSlowedDown(t *testing.T) {
	g := NewWithT(t)
	resource := &unstructured.Unstructured{Object: map[string]any{}}
	resource.SetGeneration(1)
	now := time.Unix(0, 0)
	var guard Guard
	cycle := func(action apply.Action) string {
		guard.Begin(resource, now)
		return guard.Count([]stage.Written{{Kind: "ConfigMap", Name: "c", Action: action}}, now, time.Minute)
	}
	waits := func() bool { return guard.Delay(resource, now) > 0 }
	pause := func() time.Duration {
		for i := range maxRewrites - 1 {
			g.Expect(cycle([]apply.Action{apply.Changed, apply.Replaced}[i%2])).To(BeEmpty())
		}
		g.Expect(cycle(apply.Changed)).To(Equal(`ConfigMap "c" gets new content in every cycle, ` +
			`so that cycles are slowed down: do its templates read what they write?`))
		g.Expect(waits()).To(BeTrue())
		return guard.Delay(resource, now)
	}
	rest := func() { now = now.Add(guard.Delay(resource, now)) }
	for range 3 * maxRewrites {
		g.Expect(cycle(apply.Corrected)).To(BeEmpty(), "putting back what others changed is something else")
		now = now.Add(rewriteWindow)
		g.Expect(cycle(apply.Changed)).To(BeEmpty(), "now and then is no loop")
	}
	now = now.Add(time.Hour)
	cycle(apply.None)
	g.Expect(pause()).To(Equal(rewriteWindow))
	rest()
	g.Expect(waits()).To(BeFalse())
	g.Expect(pause()).To(Equal(2*rewriteWindow), "it did not rest")
	for range 5 {
		rest()
		g.Expect(pause()).To(BeNumerically("<=", time.Minute), "resync is the longest")
	}
	resource.SetGeneration(2)
	for range maxRewrites - 1 {
		g.Expect(cycle(stage.Pruned)).To(BeEmpty())
	}
	g.Expect(cycle(stage.Pruned)).To(Equal(`ConfigMap "c" is deleted, as others were, in every cycle, ` +
		`so that cycles are slowed down: do names, gates or loops read what they make?`))
	g.Expect(waits()).To(BeTrue(), "what is deleted may be made again under another name, for ever")
	resource.SetGeneration(3)
	g.Expect(waits()).To(BeFalse(), "an edit is seen at once")
	g.Expect(cycle(apply.Changed)).To(BeEmpty(), "and begins anew")
}
