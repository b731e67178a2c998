package rollout

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/onsi/gomega"
)

// TestNoMoreThanWantedAreOutOfService: whatever the items are like, what is changed never puts more of them out of service than wanted; what is
// down already is never held, and something goes on as long as nothing is in the way.
func TestNoMoreThanWantedAreOutOfService(t *testing.T) {
	g := gomega.NewWithT(t)
	random := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		items := make([]Item, random.IntN(8))
		down, waiting := random.IntN(2), 0
		busy := down
		for i := range items {
			items[i] = Item{There: random.IntN(4) > 0, Current: random.IntN(3) > 0, Change: random.IntN(2) > 0}
			if it := items[i]; it.There && !it.Current {
				down++
			} else if it.Change {
				waiting++
			}
		}
		most := 1 + random.IntN(3)
		now := Next(items, busy, most, random.IntN(2) > 0)
		out := down
		for at, i := range now {
			g.Expect(items[i].Change).To(gomega.BeTrue())
			g.Expect(now[:at]).NotTo(gomega.ContainElement(i), "each once")
			if !items[i].There || items[i].Current {
				out++
			}
		}
		g.Expect(out).To(gomega.BeNumerically("<=", max(most, down)))
		g.Expect(out-down).To(gomega.Equal(min(waiting, max(most-down, 0))), "what may be changed is")
		for i, it := range items {
			if it.There && !it.Current && it.Change {
				g.Expect(now).To(gomega.ContainElement(i), "what is down is mended")
			}
		}
	}
}

func TestOrder(t *testing.T) {
	changed, missing := Item{There: true, Current: true, Change: true}, Item{Change: true}
	stuck, well := Item{There: true, Change: true}, Item{There: true, Current: true}
	for name, tc := range map[string]struct {
		items      []Item
		most       int
		descending bool
		want       []int
	}{
		"from the first":                      {[]Item{well, changed, changed}, 1, false, []int{1}},
		"from the last":                       {[]Item{changed, changed, well}, 1, true, []int{1}},
		"two at a time":                       {[]Item{changed, changed, changed}, 2, true, []int{2, 1}},
		"what is missing comes first":         {[]Item{changed, missing, missing}, 1, false, []int{1}},
		"also from the last":                  {[]Item{changed, missing, missing}, 2, true, []int{1, 2}},
		"a stuck item before all others":      {[]Item{changed, stuck, changed}, 1, false, []int{1}},
		"and alone":                           {[]Item{missing, stuck, changed}, 1, true, []int{1}},
		"nothing while one is on its way":     {[]Item{{There: true}, changed, missing}, 1, false, nil},
		"one beside another that is on it":    {[]Item{{There: true}, changed, changed}, 2, false, []int{1}},
		"nothing where nothing is to be done": {[]Item{well, well}, 1, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			gomega.NewWithT(t).Expect(Next(tc.items, 0, tc.most, tc.descending)).To(gomega.HaveExactElements(tc.want))
		})
	}
}

func TestItemsGoInTheOrderOfTheirKeys(t *testing.T) {
	ids := []string{"web#10", "web#9", "web#a-2", "web#a-10", "web#", "web#09", "web#9b"}
	slices.SortStableFunc(ids, ByKey)
	gomega.NewWithT(t).Expect(ids).To(gomega.Equal([]string{"web#", "web#9", "web#09", "web#9b", "web#10", "web#a-2", "web#a-10"}))
}
