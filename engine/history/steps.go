package history

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// slot is how long what a step did is counted together, and slots how many such times are kept: an hour, in a sixth of the memory of minutes.
	slot  = 10 * time.Minute
	slots = 6
	// maxSteps is how many steps of a box are counted. There are fewer names of steps.
	maxSteps = 32
)

// Step is what a step of a box's reconciles did in the last hour.
type Step struct {
	// Name of the step.
	Name string
	// Runs counts how often it ran, and Failures how often a reconcile failed in it.
	Runs, Failures int
	// Mean is how long it took on average, and Longest at most.
	Mean, Longest time.Duration
	// Last is the failure in it that was the last one; nil: none is remembered.
	Last *Failure
}

// Failure is a reconcile that failed. It never changes.
type Failure struct {
	// At is when that reconcile began.
	At time.Time
	// Resource that failed.
	Resource types.NamespacedName
	// Message is the error.
	Message string
}

// stepCounts counts one step in each slot of the hour, by the number of the slot since the epoch.
type stepCounts struct {
	name  string
	slots [slots]counted
	last  *Failure
}

type counted struct {
	number         int64
	runs, failures int32
	took, longest  time.Duration
}

// stepOf gives the step of a name; nil where there are too many.
func (b *box) stepOf(name string) *stepCounts {
	if at := slices.IndexFunc(b.steps, func(s *stepCounts) bool { return s.name == name }); at >= 0 {
		return b.steps[at]
	}
	if len(b.steps) == maxSteps {
		return nil
	}
	s := &stepCounts{name: name}
	b.steps = append(b.steps, s)
	return s
}

func slotOf(at time.Time) int64 { return at.UnixNano() / int64(slot) }

// now gives the counts of a slot, which are those of an hour ago where nothing was counted in it.
func (s *stepCounts) now(number int64) *counted {
	c := &s.slots[number%slots]
	if c.number != number {
		*c = counted{number: number}
	}
	return c
}

// countSteps counts what the steps of a reconcile did. A step that ran twice counts once, with the time of both.
func (b *box) countSteps(key types.NamespacedName, c *Cycle, now time.Time) {
	number := slotOf(now)
	for i, ran := range c.Stages {
		s := b.stepOf(ran.Name)
		if s == nil || slices.ContainsFunc(c.Stages[:i], func(earlier Stage) bool { return earlier.Name == ran.Name }) {
			continue
		}
		took := time.Duration(0)
		for _, again := range c.Stages[i:] {
			if again.Name == ran.Name {
				took += again.Took
			}
		}
		counts := s.now(number)
		counts.runs++
		counts.took += took
		counts.longest = max(counts.longest, took)
	}
	if c.Outcome == Success || c.Outcome == Waiting || c.Stage == "" {
		return
	}
	if s := b.stepOf(c.Stage); s != nil {
		s.now(number).failures++
		s.last = &Failure{At: c.At, Resource: key, Message: c.Message}
	}
}

// Steps gives what the steps of a box did in the last hour, in the order in which they were seen first.
func (h *History) Steps(name string) []Step {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.boxes[name]
	if b == nil {
		return nil
	}
	newest := slotOf(h.clock.Now())
	out := make([]Step, 0, len(b.steps))
	for _, s := range b.steps {
		out = append(out, s.sum(newest))
	}
	return out
}

// sum adds up the slots of the hour that ends with one.
func (s *stepCounts) sum(newest int64) Step {
	out := Step{Name: s.name, Last: s.last}
	var took time.Duration
	for _, c := range s.slots {
		if c.number > newest-slots && c.number <= newest {
			out.Runs, out.Failures = out.Runs+int(c.runs), out.Failures+int(c.failures)
			out.Longest = max(out.Longest, c.longest)
			took += c.took
		}
	}
	if out.Runs > 0 {
		out.Mean = took / time.Duration(out.Runs)
	}
	return out
}
