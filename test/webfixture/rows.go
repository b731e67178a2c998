package main

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/orkspace/orkestra/engine/web/api"
)

// rows gives a page of the resources of a box: 50,000 of websites, 3 of hostile, none of nothing-yet.
func (w world) rows(box string, q url.Values) api.Rows {
	all := w.allRows(box)
	out := api.Rows{
		Rows: []api.Row{}, Total: len(all),
		States:     tally(all, func(r api.Row) string { return string(r.State) }),
		Reasons:    tally(all, func(r api.Row) string { return r.Reason }),
		Namespaces: tally(all, func(r api.Row) string { return r.Namespace }),
	}
	kept := slices.DeleteFunc(all, func(r api.Row) bool {
		return differs(q.Get("state"), string(r.State)) || differs(q.Get("reason"), r.Reason) || differs(q.Get("namespace"), r.Namespace) ||
			!strings.Contains(strings.ToLower(r.Namespace+"/"+r.Name), strings.ToLower(q.Get("text")))
	})
	sortRows(kept, q.Get("sort"))
	out.Matching = len(kept)
	from := min(number(q.Get("offset"), 0), len(kept))
	out.Rows = append(out.Rows, kept[from:min(from+number(q.Get("limit"), 100), len(kept))]...)
	return out
}

func differs(wanted, value string) bool { return wanted != "" && wanted != value }

func number(text string, otherwise int) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return otherwise
	}
	return n
}

// urgent is the order of states, trouble first.
var urgent = []api.State{api.Failing, api.RolledBack, api.Deleting, api.Waiting, api.Unknown, api.Paused, api.Ready}

func sortRows(rows []api.Row, by string) {
	by, down := strings.CutPrefix(by, "-")
	slices.SortStableFunc(rows, func(a, b api.Row) int {
		var c int
		switch by {
		case "state":
			c = cmp.Compare(slices.Index(urgent, a.State), slices.Index(urgent, b.State))
		case "age":
			c = b.Created.Compare(a.Created)
		case "name":
			c = cmp.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
		}
		if down {
			return -c
		}
		return c
	})
}

func tally(rows []api.Row, of func(api.Row) string) []api.Tally {
	counts := map[string]int{}
	for _, r := range rows {
		counts[of(r)]++
	}
	out := []api.Tally{}
	for value, n := range counts {
		out = append(out, api.Tally{Value: value, Count: n})
	}
	slices.SortFunc(out, func(a, b api.Tally) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Value, b.Value)) })
	return out
}

func (w world) allRows(box string) []api.Row {
	if box == "nothing-yet" {
		return nil
	}
	if box == "hostile" {
		return w.hostileRows()
	}
	return slices.Clone(w.many)
}

func (w world) manyRows() []api.Row {
	out := make([]api.Row, 0, 50_000)
	for i := range 50_000 {
		r := api.Row{
			Reference: api.Reference{Namespace: fmt.Sprintf("team-%02d", i%40), Name: fmt.Sprintf("site-%05d", i)},
			State:     api.Ready, Reason: "Settled", Created: w.ago(time.Duration(i) * time.Minute), Since: w.since(time.Duration(i%900) * time.Minute),
		}
		switch {
		case i%1063 == 0:
			r.State, r.Reason, r.Message = api.Failing, "AdmissionDenied", `admission webhook "policy.example.com" denied the request: image has no digest`
		case i%5000 == 4:
			r.State, r.Reason, r.Message = api.RolledBack, "Held", "rolled back to the state of revision websites-5f6b2, and held"
		case i%354 == 7:
			r.State, r.Reason, r.Message = api.Waiting, "WaitingForGate", "services/web waits: children.deployment.status.readyReplicas is 0, wanted > 0"
		case i%9000 == 9:
			r.State, r.Reason, r.Message = api.Paused, "Paused", "the annotation orkestra.orkspace.io/paused is set"
		case i%9500 == 11:
			r.State, r.Reason, r.Message = api.Deleting, "Deleting", "waiting for Job \"backup\" to complete"
		}
		out = append(out, r)
	}
	return out
}

func (w world) hostileRows() []api.Row {
	long := strings.Repeat("n", 253)
	return []api.Row{
		{Reference: api.Reference{Namespace: "shop", Name: "x\u202eevil\x1b"}, State: api.Failing, Reason: "<b>Bold</b>", Message: hostile, Created: w.ago(day)},
		{Reference: api.Reference{Namespace: long[:63], Name: long}, State: api.Failing, Reason: "ChildFailed", Message: strings.Repeat("0123456789", 1000), Created: w.ago(-day)},
		{Reference: api.Reference{Name: "\"><script>alert(1)</script>"}, State: api.Unknown, Message: "\u2066\u202b\u0600 אבג", Created: w.ago(0)},
	}
}
