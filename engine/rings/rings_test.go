package rings

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestTwoAreInARingWhereEachLeadsToTheOther(t *testing.T) {
	g := NewWithT(t)
	next := map[string][]string{
		"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, // a ring of three, and a way out of it
		"d": {"e"}, "e": {"f"}, "f": {"e"}, // a ring of two behind it
		"g": {"g", "a"}, // leads to itself, and into the first
	}
	ring := Of([]string{"g", "a", "b", "c", "d", "e"}, func(n string) []string { return next[n] })
	g.Expect(ring).To(HaveLen(7), "f is numbered, too")
	g.Expect(ring["b"]).To(And(Equal(ring["a"]), Equal(ring["c"])))
	g.Expect(ring["f"]).To(Equal(ring["e"]))
	for _, other := range []string{"d", "e", "g"} {
		g.Expect(ring[other]).NotTo(Equal(ring["a"]), other)
	}
	g.Expect(ring["d"]).NotTo(Equal(ring["e"]))
	g.Expect(ring).NotTo(ContainElement(0))
}
