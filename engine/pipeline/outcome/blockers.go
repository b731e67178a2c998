package outcome

import (
	"cmp"
	"context"
	"slices"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/status"
)

// Children are the living children of the resource, as far as they stand between it and Ready.
type Children interface {
	// Unsettled gives the children that have not settled, or have failed.
	Unsettled(ctx context.Context) ([]stage.Blocker, error)
	// Blocker gives what is known of something that waits.
	Blocker(w stage.Wait, weight stage.Weight) stage.Blocker
}

// Blockers gives what is left to do after a cycle without error. A resource that is being deleted waits for nothing but its clean-up.
func (p *Plan) Blockers(ctx context.Context, c *stage.Cycle, children Children) ([]stage.Blocker, error) {
	left := waitsOf(c, children)
	if c.Deleting {
		return left, nil
	}
	unsettled, err := children.Unsettled(ctx)
	if err != nil {
		return nil, err
	}
	left = append(left, unsettled...)
	if p.readyWhen == nil {
		return left, nil
	}
	res, err := p.readyWhen.Eval(ctx, c.Data(p.readsChildren), c.Now)
	if err != nil {
		return nil, stage.Evaluating("readyWhen", v1alpha1.ReasonConditionError, err)
	}
	c.ReconcileAt(res.NextFlip)
	if !res.Open {
		left = append(left, stage.Blocker{Weight: stage.NotReadyYet, Wait: stage.Wait{Reason: v1alpha1.ReasonWaitingForGate, Message: "readyWhen: " + res.Message()}})
	}
	return left, nil
}

// Awaited says what the cycle waits for.
func Awaited(c *stage.Cycle, children Children) string {
	_, message := summarize(waitsOf(c, children))
	return message
}

// waitsOf gives what the cycle waits for.
func waitsOf(c *stage.Cycle, children Children) []stage.Blocker {
	left := make([]stage.Blocker, 0, len(c.Waits))
	for _, w := range c.Waits {
		left = append(left, children.Blocker(w, stage.Waiting))
	}
	return left
}

// rootOf picks the blocker that a condition names, and says how many others there are; there must be one. The smallest weight is named:
// of several that wait, the first that waits for none of the others. All others are counted, also those that are merely on their way.
func rootOf(all []stage.Blocker) (root stage.Blocker, others int) {
	first := slices.MinFunc(all, func(a, b stage.Blocker) int { return cmp.Compare(a.Weight, b.Weight) })
	candidates := slices.DeleteFunc(slices.Clone(all), func(b stage.Blocker) bool { return b.Weight > first.Weight })
	root = candidates[0] // of a ring, in which each waits for another, the first
	if at := slices.IndexFunc(candidates, func(b stage.Blocker) bool { return !waitsForOneOf(b, candidates) }); at >= 0 {
		root = candidates[at]
	}
	things := map[string]bool{}
	for _, b := range all {
		things[about(b)] = true
	}
	return root, len(things) - 1
}

// waitsForOneOf says whether a blocker needs what another one gives.
func waitsForOneOf(b stage.Blocker, all []stage.Blocker) bool {
	return slices.ContainsFunc(all, func(o stage.Blocker) bool { return o.Gives != b.Gives && slices.Contains(b.Needs, o.Gives) })
}

// about tells things apart where several blockers speak of one.
func about(b stage.Blocker) string { return cmp.Or(b.Of, b.Message) }

// summarize gives the blocker that a condition names, and the message of the condition: that of the blocker, and how many others there are.
func summarize(left []stage.Blocker) (root stage.Blocker, message string) {
	root, others := rootOf(left)
	if others == 0 {
		return root, root.Message
	}
	return root, status.WithOthers(root.Message, others)
}
