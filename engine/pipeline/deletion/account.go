package deletion

import (
	"fmt"
	"strings"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/value"
)

// skipsCleanUp says whether people have asked for the resource to go without its clean-up.
func skipsCleanUp(c *children.Cycle) bool {
	return value.Annotation(c.Stored, v1alpha1.AnnotationSkipCleanup) == v1alpha1.True
}

// withoutAccount says what of the deletion has to wait because the box can't act as its account; nil: nothing. Children are deleted and
// Orkestra's finalizer is taken off by the manager, which does nothing else in the account's place.
func (d *deletion) withoutAccount(c *children.Cycle) error {
	problem := c.Plan.AccountProblem
	if problem.Reason == "" {
		return nil
	}
	var waiting, others []string
	if _, all := children.DoneMarks(c.Stored)[allDone]; !all && len(d.cleanup) > 0 {
		waiting = append(waiting, "onDelete")
	}
	for _, taker := range d.takers {
		if what := taker.Waits(c); what != "" {
			waiting = append(waiting, what)
		}
	}
	for _, child := range c.Living.All() {
		if stays(c, child) {
			waiting = append(waiting, fmt.Sprintf("letting %s %q go", child.GetKind(), c.ChildName(child)))
		}
	}
	for _, f := range c.Marks.Finalizers {
		if f != v1alpha1.Finalizer {
			others = append(others, f)
		}
	}
	if len(others) > 0 {
		waiting = append(waiting, "taking off the finalizers "+strings.Join(others, ", "))
	}
	if skipsCleanUp(c) {
		c.Marks.Finalizers = []string{v1alpha1.Finalizer}
		return nil
	}
	if len(waiting) == 0 {
		return nil
	}
	// What waits comes first: CRDHealth shows the beginning of the message.
	return stage.NewPermanent(problem.Reason, fmt.Errorf("waiting for the account, or for the annotation %s: \"true\", with %s; %s",
		v1alpha1.AnnotationSkipCleanup, strings.Join(waiting, ", "), problem.Message))
}
