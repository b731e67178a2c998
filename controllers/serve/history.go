package serve

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/controllers/center"
	"github.com/orkspace/orkestra/engine/history"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/person"
)

// follows is the note of a manager that does not lead.
const follows = "The manager that leads remembers the last reconciles, and another one has answered, because that one could not be asked"

// cycles gives the last reconciles of a resource, which the person may read. Objects that were written are named where they may be listed.
func (r *reader) cycles(ctx context.Context, box, namespace, name string) api.History {
	since := r.source.History.Since()
	if since.IsZero() {
		return center.NoHistory(follows)
	}
	out := api.History{Since: &since, Cycles: []api.Cycle{}}
	for _, c := range r.source.History.Cycles(box, types.NamespacedName{Namespace: namespace, Name: name}) {
		one := api.Cycle{
			Time: c.At, Seconds: c.Took.Seconds(), Times: c.Times, First: c.First, Woken: c.Woken, Action: c.Action, Why: c.Why, Outcome: c.Outcome, Stage: c.Stage,
			Reason: c.Reason, Message: c.Message, Stages: make([]api.Stage, 0, len(c.Stages)), Writes: []api.Write{}, Others: c.Unnamed,
		}
		for _, s := range c.Stages {
			one.Stages = append(one.Stages, api.Stage{Name: s.Name, Seconds: s.Took.Seconds()})
		}
		for _, w := range c.Writes {
			if !r.seesWrite(ctx, w) {
				one.Others++
				continue
			}
			one.Writes = append(one.Writes, api.Write{Action: w.Action, Kind: w.Kind, Namespace: w.Namespace, Name: w.Name, Patch: w.Patch})
		}
		out.Cycles = append(out.Cycles, one)
	}
	return out
}

// seesWrite says whether the person may list the objects beside one that was written.
func (r *reader) seesWrite(ctx context.Context, w history.Write) bool {
	of, namespaced, err := r.source.resourceOf(schema.GroupVersionKind{Group: w.Group, Kind: w.Kind})
	if err != nil {
		return false
	}
	want := person.Right{Verb: verbList, Group: of.Group, Resource: of.Resource}
	if namespaced {
		want.Namespace = w.Namespace
	}
	return r.allowed(ctx, want) == nil
}

// steps are what those of a box did in the last hour.
func (s *Source) steps(box string) api.Steps {
	out := api.Steps{Steps: []api.Step{}}
	since := s.History.Since()
	if since.IsZero() {
		out.Note = follows
		return out
	}
	out.Since = &since
	for _, did := range s.History.Steps(box) {
		one := api.Step{Name: did.Name, Runs: did.Runs, Failures: did.Failures, Mean: did.Mean.Seconds(), Longest: did.Longest.Seconds()}
		if f := did.Last; f != nil {
			one.LastFailure = &api.StepFailure{Time: f.At, Resource: api.Reference{Namespace: f.Resource.Namespace, Name: f.Resource.Name}, Message: f.Message}
		}
		out.Steps = append(out.Steps, one)
	}
	return out
}

// hour gives the last one of a box; nil where this process does not remember it.
func (s *Source) hour(box string) *api.Hour {
	all := s.History.Hour(box)
	if len(all) == 0 {
		return nil
	}
	out := &api.Hour{Since: s.History.Since(), From: all[0].At, To: all[len(all)-1].At}
	for _, m := range all {
		out.Total, out.Ready = append(out.Total, m.Total), append(out.Ready, m.Ready)
		out.Waiting, out.Failing = append(out.Waiting, m.Waiting), append(out.Failing, m.Failing)
		out.Queue = append(out.Queue, m.Queue)
		out.Reconciles, out.Failures = append(out.Reconciles, m.Reconciles), append(out.Failures, m.Failures)
		out.P95 = append(out.P95, m.P95.Seconds())
	}
	return out
}
