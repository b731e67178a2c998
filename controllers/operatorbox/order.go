package operatorbox

import "context"

// step does one thing for a box, and says whether to stop: the steps after it have nothing to do then.
type step func(ctx context.Context, s *scope) (stop bool, err error)

// order lists what is done for a box, one step after the other, and what shows how far it came, wherever a step stopped. It is
// the only place that knows the order.
func (r *Reconciler) order(s *scope) (steps, always []step) {
	switch {
	case s.deleted:
		return []step{r.account.identify, r.release.finalize}, []step{r.status.record}
	case s.draining:
		return []step{r.account.identify, r.release.drain}, []step{r.status.record}
	}
	return []step{
			r.hold.addFinalizer, // so that its resources can be let go when it is deleted
			r.status.misread,    // annotations whose values are not understood
			r.account.identify,  // as whom the box acts
			r.crd.find,          // which CRD, in which version; crd.definition is installed
			r.claim.take,        // one box runs a CRD
			r.history.recall,    // what former specs have made, where the status was lost
			r.compile.compile,   // the plan; without one, what ran before goes on
			r.account.require,   // without its account, a box does nothing but let go
			r.run.checkRights,   // of the manager over what the plan makes
			r.history.keep,      // the spec, as a revision that can be gone back to
			r.run.start,         // the engine runs the plan
		}, []step{
			r.admission.enforce, // what runs, at the API server too
			r.status.record,     // the status, and what CRDHealth shows
			r.claim.freeOthers,  // what it does not serve any more is free for others
		}
}
