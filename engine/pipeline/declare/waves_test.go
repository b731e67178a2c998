package declare

import (
	"fmt"
	"slices"
	"testing"

	"github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/kinds"
)

// What reads everything must not take ever longer: a search for each of a ring, at each wave, would not end here.
func TestWavesWhereAllReadAll(t *testing.T) {
	g := gomega.NewWithT(t)
	const many = 1500
	kind, ok := kinds.Lookup("configmaps")
	g.Expect(ok).To(gomega.BeTrue())
	var ring, all []*Declaration
	for i := range many {
		all = append(all, &Declaration{Kind: kind, ID: fmt.Sprintf("reader-%d", i)})
		ring = append(ring, &Declaration{Kind: kind, ID: fmt.Sprintf("ring-%d", i)})
	}
	all = append(all, ring...)
	for _, d := range all {
		d.Reads.Children = slices.DeleteFunc(slices.Clone(ring), func(other *Declaration) bool { return other == d })
	}
	waves := Waves(all)
	g.Expect(waves).To(gomega.HaveLen(many + 1))
	for i, wave := range waves[:many] {
		g.Expect(slices.Equal(wave, ring[i:i+1])).To(gomega.BeTrue(), "wave %d", i)
	}
	g.Expect(waves[many]).To(gomega.HaveLen(many), "all readers")
}
