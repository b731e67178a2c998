package cycle

// What is remembered of a cycle, for those who look at what a resource went through.

import (
	"strings"

	"github.com/orkspace/orkestra/engine/history"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/status"
)

// remember begins what is remembered of a cycle that runs a plan, before anything of it is known. Cycles that run none are not remembered: they
// would push out what somebody looks for.
func (c reporting) remember() *history.Cycle {
	if c.History == nil {
		return nil
	}
	const usual = 8 // stages
	return &history.Cycle{Woken: c.woken(), Stages: make([]history.Stage, 0, usual)}
}

// woken says what has woken the resource. Events are not kept in the queue, which has each resource once: what differs from what the last cycle has
// read says more than the event that came last.
func (c reporting) woken() string {
	st := c.st
	switch inputs := st.inputsOf(c.stored); {
	case !c.leavingSince.IsZero():
		return "the end of its selection"
	case st.last.at.IsZero():
		return "the first look of this manager"
	case inputs == nil && c.record.Decision.Action != Retry: // a panic, or a write that was not confirmed
		return "a reconcile whose end is not known"
	case inputs != nil && c.Plan().Constructor == nil:
		if d := inputs.Difference(&c.Plan().Plan, c.stored, reader{c.Inventory, c.Observer}, c.record.Began); d != (pipeline.Difference{}) {
			return d.String()
		}
	case c.Plan().Constructor != nil && st.last.version != c.stored.GetResourceVersion():
		return "a change of the resource"
	}
	switch {
	case c.record.Decision.Action == RollBack:
		return "the failure before"
	case c.record.Decision.Action == Retry:
		return "the time of the next try"
	case st.last.class == pipeline.Permission:
		return "a change of rights"
	case c.Plan().Constructor != nil:
		return "what belongs to it, or the time that its reconciler has named"
	default:
		return "the time of the next look"
	}
}

// note has the history take what a cycle came to, in the words that the resource itself shows, so that who may read the resource may read them.
func (c reporting) note() {
	kept, rec := c.laps.kept, c.record
	if kept == nil || rec.Run == nil {
		return
	}
	ready := rec.Status.After.Ready
	kept.At, kept.Took = rec.Began, rec.Took
	kept.Action, kept.Why = string(rec.Decision.Action), rec.Decision.Why
	kept.Outcome, kept.Reason, kept.Message = rec.result(), ready.Reason, ready.Message
	if step := rec.failure(); step != nil {
		kept.Stage = step.Step
		if rec.Err == nil { // the resource does not show it
			kept.Reason, kept.Message = "", status.Truncate(step.Error())
		}
	}
	for _, w := range rec.Run.Writes {
		namespace, name, apart := strings.Cut(w.Name, "/")
		if !apart {
			namespace, name = rec.Key.Namespace, w.Name
		}
		kept.Writes = append(kept.Writes, history.Write{Action: string(w.Action), Group: w.Group, Kind: w.Kind, Namespace: namespace, Name: name, Patch: w.Patch})
	}
	c.History.Note(c.Box, rec.Key, kept)
}
