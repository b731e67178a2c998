package engine

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

func TestTheBrakeSlowsDownWhatNeverRests(t *testing.T) {
	g := NewWithT(t)
	resource := &unstructured.Unstructured{Object: map[string]any{}}
	resource.SetGeneration(1)
	now := time.Unix(0, 0)
	var b brake
	cycle := func(action apply.Action) *pipeline.Run {
		run := &pipeline.Run{Cycle: &children.Cycle{Cycle: &stage.Cycle{Stored: resource, Now: now, Report: stage.Report{Writes: []stage.Written{{Kind: "ConfigMap", Name: "c", Action: action}}}}}}
		b.note(run, time.Minute)
		return run
	}
	pause := func() time.Duration {
		for i := range maxRewrites - 1 {
			g.Expect(cycle([]apply.Action{apply.Changed, apply.Replaced}[i%2]).Waits).To(BeEmpty())
		}
		g.Expect(cycle(apply.Changed).Waits).To(ConsistOf(pipeline.Wait{Reason: v1alpha1.ReasonRetrying, Message: `ConfigMap "c" gets new content in every cycle, ` +
			`so that cycles are slowed down: do its templates read what they write?`}))
		g.Expect(b.left(resource, now)).To(BeNumerically(">", 0))
		return b.loop.until.Sub(now)
	}
	for range 3 * maxRewrites {
		g.Expect(cycle(apply.Corrected).Waits).To(BeEmpty(), "putting back what others changed is something else")
		now = now.Add(rewriteWindow)
		g.Expect(cycle(apply.Changed).Waits).To(BeEmpty(), "now and then is no loop")
	}
	now = now.Add(time.Hour)
	cycle(apply.None)
	g.Expect(pause()).To(Equal(rewriteWindow))
	now = b.loop.until
	g.Expect(b.left(resource, now)).To(BeNumerically("<=", 0))
	g.Expect(pause()).To(Equal(2*rewriteWindow), "it did not rest")
	for range 5 {
		now = b.loop.until
		g.Expect(pause()).To(BeNumerically("<=", time.Minute), "resync is the longest")
	}
	resource.SetGeneration(2)
	for range maxRewrites - 1 {
		g.Expect(cycle(pipeline.Pruned).Waits).To(BeEmpty())
	}
	g.Expect(cycle(pipeline.Pruned).Waits).To(ConsistOf(pipeline.Wait{Reason: v1alpha1.ReasonRetrying, Message: `ConfigMap "c" is deleted, as others were, in every cycle, ` +
		`so that cycles are slowed down: do names, gates or loops read what they make?`}))
	g.Expect(b.left(resource, now)).To(BeNumerically(">", 0), "what is deleted may be made again under another name, for ever")
	resource.SetGeneration(3)
	g.Expect(b.left(resource, now)).To(BeNumerically("<=", 0), "an edit is seen at once")
	g.Expect(cycle(apply.Changed).Waits).To(BeEmpty(), "and begins anew")
}
