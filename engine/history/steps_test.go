package history

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// ran is a reconcile whose steps took some time each, and that failed in a step where one is given.
func ran(took time.Duration, failed string, steps ...string) *Cycle {
	c := &Cycle{At: began, Took: took, Outcome: Success}
	for _, name := range steps {
		c.Stages = append(c.Stages, Stage{Name: name, Took: took})
	}
	if failed != "" {
		c.Outcome, c.Stage, c.Message = "Transient", failed, "no answer"
	}
	return c
}

func TestStepsCountTheLastHour(t *testing.T) {
	g := NewWithT(t)
	h, clk := started(t)
	g.Expect(h.Steps("web")).To(BeEmpty())
	h.Note("web", key("shop"), ran(time.Second, "", "gather", "hook", "validation", "hook", "status"))
	h.Note("web", key("shop"), ran(3*time.Second, "validation", "gather", "validation", "status"))
	waits := ran(time.Second, "", "gather")
	waits.Outcome, waits.Stage = Waiting, "cross"
	h.Note("web", key("shop"), waits)
	h.Note("mail", key("shop"), ran(time.Minute, "status", "gather"))
	g.Expect(h.Steps("web")).To(Equal([]Step{
		{Name: "gather", Runs: 3, Mean: 5 * time.Second / 3, Longest: 3 * time.Second},
		{Name: "hook", Runs: 1, Mean: 2 * time.Second, Longest: 2 * time.Second},
		{Name: "validation", Runs: 2, Failures: 1, Mean: 2 * time.Second, Longest: 3 * time.Second, Last: &Failure{At: began, Resource: key("shop"), Message: "no answer"}},
		{Name: "status", Runs: 2, Mean: 2 * time.Second, Longest: 3 * time.Second},
	}))

	clk.Step(50 * time.Minute)
	h.Note("web", key("shop"), ran(time.Second, "", "gather"))
	g.Expect(h.Steps("web")[0].Runs).To(Equal(4), "all of it is less than an hour ago")
	clk.Step(10 * time.Minute)
	g.Expect(h.Steps("web")[0]).To(Equal(Step{Name: "gather", Runs: 1, Mean: time.Second, Longest: time.Second}))
	g.Expect(h.Steps("web")[2]).To(And(HaveField("Runs", 0), HaveField("Failures", 0), HaveField("Last", Not(BeNil()))), "the last failure stays")
	clk.Step(100 * time.Minute)
	h.Note("web", key("shop"), ran(time.Second, "", "gather"))
	g.Expect(h.Steps("web")[0].Runs).To(Equal(1), "a slot is used again")
	h.Forget("web")
	g.Expect(h.Steps("web")).To(BeEmpty())
	var none *History
	g.Expect(none.Steps("web")).To(BeEmpty())
}

// TestNamesOfStepsAreBounded: whatever code calls its steps.
func TestNamesOfStepsAreBounded(t *testing.T) {
	g := NewWithT(t)
	h, _ := started(t)
	for n := range 2 * maxSteps {
		h.Note("web", key("shop"), ran(time.Second, fmt.Sprint("step-", n), fmt.Sprint("step-", n)))
	}
	g.Expect(h.Steps("web")).To(HaveLen(maxSteps))
}
