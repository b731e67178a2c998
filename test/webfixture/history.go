package main

import (
	"math"
	"strings"
	"time"

	"github.com/orkspace/orkestra/engine/web/api"
)

// hour gives the last one of a box: failures that begin 22 minutes ago where it has some, and a manager that remembers for an hour, but for one box
// for 14 minutes.
func (w *world) hour(b api.Box) *api.Hour {
	minutes := 60
	if b.Name == "databases" {
		minutes = 14
	}
	h := &api.Hour{Since: w.ago(time.Duration(minutes) * time.Minute), From: w.ago(time.Duration(minutes-1) * time.Minute), To: w.ago(0)}
	for i := range minutes {
		ago := minutes - 1 - i
		failing := int32(0)
		if ago <= 22 {
			failing = int32(float64(b.Resources.Failing) * math.Min(1, float64(23-ago)/9))
		}
		wave := 1 + math.Sin(float64(i)/4)
		waiting := int32(float64(b.Resources.Waiting) * wave / 2)
		h.Failing, h.Waiting = append(h.Failing, failing), append(h.Waiting, waiting)
		h.Total, h.Ready = append(h.Total, b.Resources.Total), append(h.Ready, b.Resources.Total-failing-waiting)
		h.Queue = append(h.Queue, waiting/3)
		h.Reconciles, h.Failures = append(h.Reconciles, 40+int32(30*wave)), append(h.Failures, failing/3)
		h.P95 = append(h.P95, 0.08*wave+float64(failing)/90)
	}
	return h
}

// history gives reconciles of every kind; "well" has none yet, and of "long" nobody remembers anything.
func (w *world) history(box, name string) api.History {
	since := w.since(3 * time.Hour)
	switch name {
	case "well":
		return api.History{Since: since, Cycles: []api.Cycle{}}
	case "long":
		return api.History{Note: "The manager remembers the last reconciles: its own page shows them, where the chart's web.enabled serves it", Cycles: []api.Cycle{}}
	}
	stages := []api.Stage{{Name: "gather", Seconds: 0.0004}, {Name: "validation", Seconds: 0.002}, {Name: "children", Seconds: 0.311}, {Name: "status", Seconds: 0.094}}
	out := api.History{Since: since, Cycles: []api.Cycle{
		{
			Time: w.ago(12 * time.Second), Seconds: 0.42, Times: 118, First: w.ago(22 * time.Minute), Woken: "the time of the next try", Action: "Retry", Why: "the last cycle failed, and its time has come",
			Outcome: "Refused", Stage: "children", Reason: "AdmissionDenied", Message: `applying Deployment shop/web: admission webhook "policy.example.com" denied the request: image has no digest`, Stages: stages[:3], Writes: []api.Write{},
		},
		{
			Time: w.ago(23 * time.Minute), Seconds: 0.407, Times: 1, First: w.ago(23 * time.Minute), Woken: "a change of the resource", Action: "Reconcile", Why: "something has changed",
			Outcome: "waiting", Reason: "WaitingForGate", Message: "services/web waits: children.deployment.status.readyReplicas is absent, wanted greater than 0", Stages: stages,
			Writes: []api.Write{{Action: "created", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}, {Action: "corrected", Kind: "Deployment", Namespace: "shop", Name: "web"}}, Others: 2,
		},
		{
			Time: w.ago(2 * time.Hour), Seconds: 1.9, Times: 1, First: w.ago(2 * time.Hour), Woken: "the first look of this manager", Action: "Reconcile", Why: "something has changed",
			Outcome: "success", Reason: "ReconcileSucceeded", Message: "everything that box websites declares is so", Stages: stages,
			Writes: []api.Write{{Action: "changed", Kind: "Ingress", Namespace: "edge", Name: "front", Patch: true}},
		},
	}}
	if box == "hostile" {
		out.Cycles[0].Message, out.Cycles[0].Woken, out.Cycles[1].Writes[0].Name = hostile, hostile, strings.Repeat("n", 253)
	}
	return out
}
