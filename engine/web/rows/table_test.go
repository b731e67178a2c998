package rows

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/web/api"
)

func row(namespace, name string, state api.State, reason string, age time.Duration) api.Row {
	return api.Row{Reference: api.Reference{Namespace: namespace, Name: name}, State: state, Reason: reason, Created: time.Unix(1e9, 0).Add(-age)}
}

// TestPagesAreWhatAFilterOfAllRowsGives: for random tables and questions, the pages together are what a plain filter and sort gives, without a row twice.
func TestPagesAreWhatAFilterOfAllRowsGives(t *testing.T) {
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(1, 2))
	states := []api.State{api.Ready, api.Failing, api.Waiting, api.RolledBack}
	for range 300 {
		table, all := New(), map[api.Reference]api.Row{}
		for range random.IntN(60) {
			r := row(fmt.Sprint("ns", random.IntN(3)), fmt.Sprint("Name-", random.IntN(30)), states[random.IntN(4)], fmt.Sprint("r", random.IntN(2)), time.Duration(random.IntN(5))*time.Hour)
			if random.IntN(5) == 0 {
				table.Remove(r.Reference)
				delete(all, r.Reference)
				continue
			}
			table.Set(r)
			all[r.Reference] = r
		}
		q := Query{Limit: 1 + random.IntN(4), Sort: []string{"name", "-name", "state", "-state", "-age", "age"}[random.IntN(6)]}
		if random.IntN(2) == 0 {
			q.State = states[random.IntN(4)]
		}
		if random.IntN(2) == 0 {
			q.Text = fmt.Sprint("NAME-", random.IntN(4))
		}
		if random.IntN(3) == 0 {
			q.Namespace = "ns1"
		}
		may := func(namespace string) bool { return namespace != "ns2" }
		var wanted []api.Reference
		seen := 0
		for _, r := range all {
			if !may(r.Namespace) {
				continue
			}
			seen++
			if (q.State == "" || r.State == q.State) && (q.Namespace == "" || r.Namespace == q.Namespace) && strings.Contains(strings.ToLower(r.Namespace+"/"+r.Name), strings.ToLower(q.Text)) {
				wanted = append(wanted, r.Reference)
			}
		}
		var got []api.Row
		for {
			page := table.Page(q, may)
			g.Expect(page.Matching).To(Equal(len(wanted)))
			g.Expect(page.Total).To(Equal(seen))
			if len(page.Rows) == 0 {
				break
			}
			got = append(got, page.Rows...)
			q.Offset += len(page.Rows)
		}
		g.Expect(slices.IsSortedFunc(got, func(a, b api.Row) int { return order(q.Sort)(&a, &b) })).To(BeTrue(), q.Sort)
		references := make([]api.Reference, 0, len(got))
		for _, r := range got {
			references = append(references, r.Reference)
		}
		g.Expect(references).To(ConsistOf(wanted))
	}
}

func TestSort(t *testing.T) {
	table := New()
	for _, r := range []api.Row{
		row("b", "x", api.Ready, "", time.Hour), row("a", "y", api.Failing, "", 2*time.Hour), row("a", "x", api.Waiting, "", 3*time.Hour),
	} {
		table.Set(r)
	}
	for by, want := range map[string]string{
		"": "a/x a/y b/x", "-name": "b/x a/y a/x", "state": "a/y a/x b/x", "age": "b/x a/y a/x", "-age": "a/x a/y b/x",
	} {
		var got []string
		for _, r := range table.Page(Query{Sort: by, Limit: 10}, nil).Rows {
			got = append(got, r.Namespace+"/"+r.Name)
		}
		NewWithT(t).Expect(strings.Join(got, " ")).To(Equal(want), by)
	}
}

func TestWhatFiltersOffer(t *testing.T) {
	g, table := NewWithT(t), New()
	for n := range 120 {
		table.Set(row(fmt.Sprintf("ns%03d", n%60), fmt.Sprint(n), api.Ready, []string{"", "Why"}[n%2], 0))
	}
	page := table.Page(Query{Limit: 1, Namespace: "ns001"}, nil)
	g.Expect(page.States).To(Equal([]api.Tally{{Value: "Ready", Count: 120}}), "before the filters")
	g.Expect(page.Reasons).To(Equal([]api.Tally{{Value: "Why", Count: 60}}), "no reason is none")
	g.Expect(page.Namespaces).To(HaveLen(50))
	g.Expect(page.Namespaces[0]).To(Equal(api.Tally{Value: "ns000", Count: 2}))
}

func TestSetTellsWhetherAnythingChanged(t *testing.T) {
	g, table := NewWithT(t), New()
	at := time.Unix(5, 0)
	again := time.Unix(5, 0).UTC()
	r := row("a", "b", api.Ready, "", 0)
	r.Since = &at
	g.Expect(table.Set(r)).To(BeTrue())
	r.Since = &again
	g.Expect(table.Set(r)).To(BeFalse(), "the same moment in another zone")
	r.Since = nil
	g.Expect(table.Set(r)).To(BeTrue())
	r.Message = "m"
	g.Expect(table.Set(r)).To(BeTrue())
}

// many makes a table of 50,000 rows.
func many() *Table {
	table := New()
	for n := range 50000 {
		table.Set(row(fmt.Sprint("ns", n%100), fmt.Sprint("name-", n), []api.State{api.Ready, api.Failing}[n%2], "r", time.Duration(n)*time.Second))
	}
	return table
}

// TestOnlyThePageIsSorted: wherever a page is, and in whichever order the rows were before, it takes a few comparisons for each row. To sort all takes 16.
func TestOnlyThePageIsSorted(t *testing.T) {
	g := NewWithT(t)
	rows := make([]*api.Row, 0, 50000)
	many().rows.Ascend(func(r *api.Row) bool {
		rows = append(rows, r)
		return true
	})
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	sorted := slices.Clone(rows)
	slices.SortFunc(sorted, order("age"))
	reversed := slices.Clone(sorted)
	slices.Reverse(reversed)
	for name, given := range map[string][]*api.Row{"random": rows, "sorted": sorted, "reversed": reversed} {
		for _, from := range []int{0, 100, 25000, 49900} {
			all, comparisons := slices.Clone(given), 0
			sortPage(all, from, from+100, func(a, b *api.Row) int {
				comparisons++
				return order("age")(a, b)
			})
			g.Expect(all[from:from+100]).To(Equal(sorted[from:from+100]), "%s from %d", name, from)
			g.Expect(comparisons).To(BeNumerically("<", 8*len(all)), "%s from %d", name, from)
		}
	}
}

// BenchmarkPage is a page of 50,000 rows.
func BenchmarkPage(b *testing.B) {
	table := many()
	for _, by := range []string{"name", "state", "age"} {
		for _, offset := range []int{0, 25000, 49900} {
			b.Run(fmt.Sprint("by ", by, " from ", offset), func(b *testing.B) {
				for b.Loop() {
					table.Page(Query{Limit: 100, Sort: by, Offset: offset}, nil)
				}
			})
		}
	}
}

// TestARowIsFoundByWhatItCountsAs: a number of a box leads to a list that has as many rows.
func TestARowIsFoundByWhatItCountsAs(t *testing.T) {
	g := NewWithT(t)
	table := New()
	back := row("a", "back", api.RolledBack, "", 0)
	back.CountsAs = api.Failing
	table.Set(back)
	table.Set(row("a", "bad", api.Failing, "", 0))
	table.Set(row("a", "good", api.Ready, "", 0))
	page := table.Page(Query{State: api.Failing, Limit: 9}, nil)
	g.Expect(page.Rows).To(HaveExactElements(HaveField("Name", "back"), HaveField("Name", "bad")))
	g.Expect(table.Page(Query{State: api.RolledBack, Limit: 9}, nil).Matching).To(Equal(1))
	g.Expect(page.States).To(Equal([]api.Tally{{Value: "Failing", Count: 2}, {Value: "Ready", Count: 1}, {Value: "RolledBack", Count: 1}}))
}
