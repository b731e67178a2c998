package status

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestReleasePatch(t *testing.T) {
	g := NewWithT(t)
	obj := stored(t, `{phase: Up, observedGeneration: 3, conditions: [{type: Theirs, status: "True"}, {type: Ready, status: "True", reason: Old},
		{type: Stalled, status: "True", reason: Old}, {type: RolledBack, status: "True", reason: RolledBack}]}`)
	obj.SetGeneration(4)
	patch, err := newWriter(t, aStatus).ReleasePatch(obj, "BoxDeleted", "nobody keeps it", early)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(patch).To(MatchJSON(`{"metadata":{"resourceVersion":"7"},"status":{"observedGeneration":4,"conditions":[
		{"type":"Theirs","status":"True"},
		{"type":"Ready","status":"Unknown","reason":"BoxDeleted","message":"nobody keeps it","observedGeneration":4,"lastTransitionTime":"2026-01-02T03:04:05Z"},
		{"type":"Stalled","status":"False","reason":"NotStalled","message":"nothing stands in the way","observedGeneration":4,"lastTransitionTime":"2026-01-02T03:04:05Z"},
		{"type":"Reconciling","status":"False","reason":"BoxDeleted","message":"nobody keeps it","observedGeneration":4,"lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`))

	none, err := NewWriter(schemaOf(t, aStatus), false)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(none.ReleasePatch(obj, "BoxDeleted", "nobody keeps it", early)).To(BeNil())
}
