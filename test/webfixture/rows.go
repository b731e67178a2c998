package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/rows"
)

// table has the resources of a box: 50,000 of websites, 3 of hostile, none of nothing-yet.
func (w *world) table(box string) *rows.Table {
	switch box {
	case "nothing-yet":
		return tableOf(nil)
	case "hostile":
		return tableOf(w.hostileRows())
	default:
		return w.many
	}
}

func tableOf(all []api.Row) *rows.Table {
	t := rows.New()
	for _, row := range all {
		t.Set(row)
	}
	return t
}

func (w *world) manyRows() []api.Row {
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

func (w *world) hostileRows() []api.Row {
	long := strings.Repeat("n", 253)
	return []api.Row{
		{Reference: api.Reference{Namespace: "shop", Name: "x\u202eevil\x1b"}, State: api.Failing, Reason: "<b>Bold</b>", Message: hostile, Created: w.ago(day)},
		{Reference: api.Reference{Namespace: long[:63], Name: long}, State: api.Failing, Reason: "ChildFailed", Message: strings.Repeat("0123456789", 1000), Created: w.ago(-day)},
		{Reference: api.Reference{Name: "\"><script>alert(1)</script>"}, State: api.Unknown, Message: "\u2066\u202b\u0600 אבג", Created: w.ago(0)},
	}
}
