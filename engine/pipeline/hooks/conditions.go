package hooks

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/status"
)

// The types of the conditions that code sets are noted on the resource, before they are shown. So those that it does not set any more go, and no
// others, also where another process runs then, or a box that has no code any more.

// forgetting is the time to the cycle that takes off the note what has gone from the status. Were it taken off before, and the status could not be
// written, nobody would know any more whose the condition is.
const forgetting = time.Second

// noteConditions notes the conditions that the code has set in this cycle. whole says that it has said all: those that it has set before and does
// not set now go.
func noteConditions(ctx context.Context, c *children.Cycle, whole bool) error {
	note, changed := own(c, whole)
	if !changed {
		return nil
	}
	return c.MarkWith(ctx, v1alpha1.AnnotationHookConditions, note)
}

// Forget has the conditions go that the code of a former box has set. The next mark notes it.
func (h *Code) Forget(c *children.Cycle) {
	if h != nil {
		return
	}
	if note, changed := own(c, true); changed {
		c.Marks.Annotate(v1alpha1.AnnotationHookConditions, note)
	}
}

// own says which conditions of a resource are the code's from now on, and whether that is to be noted; which of them go, it adds to what is shown.
func own(c *children.Cycle, whole bool) (note string, changed bool) {
	noted := c.Stored.GetAnnotations()[v1alpha1.AnnotationHookConditions]
	if c.Plan.CRD.OfOthers || !c.Plan.CRD.HasStatus || noted == "" && len(c.Shown.Conditions) == 0 {
		return "", false
	}
	var all []string
	for _, one := range c.Shown.Conditions {
		if !c.Plan.Conditions[one.Type] { // the box has it stay
			all = append(all, one.Type)
		}
	}
	for kind := range strings.SplitSeq(noted, ",") {
		switch {
		case slices.Contains(all, kind), c.Plan.Conditions[kind], status.CheckType(kind) != nil: // who writes resources may write the note, too
		case !whole:
			all = append(all, kind)
		case status.HasCondition(c.Stored, kind):
			c.Shown.Gone = append(c.Shown.Gone, kind)
			all = append(all, kind)
			c.ReconcileAt(c.Now.Add(forgetting))
		}
	}
	slices.Sort(all)
	note = strings.Join(slices.Compact(all), ",")
	return note, note != noted
}
