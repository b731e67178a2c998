package worker

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
)

// in is a key of a namespace, written team-a/1.
func in(text string) types.NamespacedName {
	namespace, name, _ := strings.Cut(text, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// fairQueue is a queue whose namespaces take turns, with a bound.
func fairQueue(t *testing.T, bound int, urgent ...string) *Queue {
	t.Helper()
	q := boundedQueue(t, bound, urgent...)
	q.SetFair(true)
	return q
}

func fill(q *Queue, keys string) {
	for key := range strings.FieldsSeq(keys) {
		q.Enqueue(0, in(key))
	}
}

// next takes keys, each of which is done before the next one.
func next(g Gomega, q *Queue, n int) string {
	var out []string
	for range n {
		key, found := q.Take()
		g.Expect(found).To(BeTrue())
		out = append(out, key.String())
		q.Done(key)
	}
	return strings.Join(out, " ")
}

func TestNamespacesTakeTurns(t *testing.T) {
	const many = "a/1 a/2 a/3 a/4 b/1 b/2 c/1"
	for name, tc := range map[string]struct {
		bound int
		fair  bool
		want  string
	}{
		"as they came":     {0, false, many},
		"in turns":         {0, true, "a/1 b/1 c/1 a/2 b/2 a/3 a/4"},
		"outside as well":  {1, true, "a/1 a/2 b/1 c/1 a/3 b/2 a/4"}, // a/2 is the first of its namespace that waits outside
		"outside, as ever": {1, false, many},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			q := boundedQueue(t, tc.bound)
			q.SetFair(tc.fair)
			fill(q, many)
			g.Expect(next(g, q, 7)).To(Equal(tc.want))
		})
	}
}

func TestOneThatComesLateIsSoonServed(t *testing.T) {
	g := NewWithT(t)
	q := fairQueue(t, 0)
	for n := range 1000 {
		q.Enqueue(0, in(fmt.Sprintf("a/%d", n)))
	}
	next(g, q, 500)
	fill(q, "b/1 b/2")
	g.Expect(next(g, q, 4)).To(Equal("b/1 a/500 b/2 a/501"))
}

func TestOneThatComesBackAtOnceIsNotServedTwice(t *testing.T) {
	g := NewWithT(t)
	q := fairQueue(t, 0)
	fill(q, "a/1 b/1 b/2 b/3")
	var got []string
	for range 6 {
		got = append(got, next(g, q, 1))
		fill(q, "a/1")
	}
	g.Expect(strings.Join(got, " ")).To(Equal("a/1 b/1 b/2 a/1 b/3 a/1"))
}

func TestEventsOfAllNamespacesComeBeforeSweeps(t *testing.T) {
	g := NewWithT(t)
	q := fairQueue(t, 0)
	q.EnqueueLow(0, in("a/1"), in("b/1"), in("b/2"))
	fill(q, "b/3 b/4")
	g.Expect(next(g, q, 5)).To(Equal("b/3 b/4 a/1 b/1 b/2"))
}

func TestTurnsBeginAndEndWhileKeysWait(t *testing.T) {
	g := NewWithT(t)
	q := boundedQueue(t, 4)
	fill(q, "a/1 a/2 a/3 b/1 b/2 b/3")
	q.SetFair(true)
	g.Expect(next(g, q, 3)).To(Equal("a/1 b/1 a/2"))
	q.SetFair(false)
	fill(q, "a/4")
	g.Expect(next(g, q, 4)).To(Equal("b/2 a/3 b/3 a/4"))
}

func TestTurnsBeginAnew(t *testing.T) {
	g := NewWithT(t)
	q := fairQueue(t, 0)
	fill(q, "a/1 a/2 a/3")
	q.SetFair(false)
	q.SetFair(true)
	fill(q, "b/1")
	g.Expect(next(g, q, 4)).To(Equal("a/1 b/1 a/2 a/3"))
}

func TestANamespaceThatWaitsIsNotForgotten(t *testing.T) {
	g := NewWithT(t)
	q := fairQueue(t, 0)
	for n := range 500 {
		q.Enqueue(0, in(fmt.Sprintf("a/%d", n)))
	}
	for n := range 200 { // that come and go
		fill(q, fmt.Sprintf("n%d/1", n))
		next(g, q, 2)
	}
	fill(q, "a/last b/1")
	g.Expect(next(g, q, 2)).To(ContainSubstring("b/1"))
	rest := next(g, q, q.Len())
	g.Expect(rest).To(HaveSuffix(" a/last"), "it stands behind those of its namespace that came before")
}

func TestADeletionPassesInItsNamespace(t *testing.T) {
	g := NewWithT(t)
	q := fairQueue(t, 2, "deleted")
	fill(q, "a/1 a/2 a/3 a/4 b/1 a/deleted")
	g.Expect(next(g, q, 6)).To(Equal("a/1 a/2 a/deleted b/1 a/3 a/4"))
}

// TestNobodyWaitsForMoreThanTwoOfAnother takes keys that come at random from queues with random bounds: while a key of a namespace waits, no other
// namespace is served more than twice between two of its own.
func TestNobodyWaitsForMoreThanTwoOfAnother(t *testing.T) {
	for seed := range uint64(100) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			g := NewWithT(t)
			random := rand.New(rand.NewPCG(seed, seed))
			q := fairQueue(t, 0)
			waiting, others := map[string]int{}, map[string]map[string]int{} // by namespace: its keys; how often each other one was served meanwhile
			serial := 0
			for range 2000 {
				if len(waiting) == 0 || random.IntN(5) < 2 {
					namespace := fmt.Sprintf("n%d", random.IntN(1+random.IntN(6)))
					for range 1 + random.IntN(8) {
						serial++
						q.Enqueue(0, types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(serial)})
						if waiting[namespace]++; waiting[namespace] == 1 {
							others[namespace] = map[string]int{}
						}
					}
					continue
				}
				key, _ := q.Take()
				q.Done(key)
				served := key.Namespace
				if waiting[served]--; waiting[served] == 0 {
					delete(waiting, served)
				}
				others[served] = map[string]int{}
				for namespace := range waiting {
					if namespace == served {
						continue
					}
					others[namespace][served]++
					g.Expect(others[namespace][served]).To(BeNumerically("<=", 2), "%s while %s waits", served, namespace)
				}
			}
		})
	}
}

func TestNamespacesThatAreServedAreForgotten(t *testing.T) {
	g := NewWithT(t)
	q := fairQueue(t, 0)
	for n := range 10_000 {
		fill(q, fmt.Sprintf("n%d/1 busy/%d", n, n))
		next(g, q, 2)
	}
	g.Expect(len(q.inside.turns.rounds)).To(BeNumerically("<", 200))
}

func TestWaitsOfNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		q := fairQueue(t, 1)
		fill(q, "a/1 a/2")
		time.Sleep(3 * time.Second)
		fill(q, "b/1")
		q.Enqueue(time.Hour, in("c/1"))
		time.Sleep(time.Second)
		g.Expect(q.Waits()).To(Equal([]Wait{{"a", 4 * time.Second}, {"b", time.Second}}))
		next(g, q, 3)
		g.Expect(q.Waits()).To(BeEmpty())
		g.Expect(q.delayed.turns.rounds).To(BeEmpty(), "who waits for a time takes no turns")
	})
}
