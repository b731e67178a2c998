package autoscale

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// Box is what is measured, and what gets other limits. No method may block, or call the Runner.
type Box interface {
	// Load gives what the box shows at this moment.
	Load() Load
	// SetLimits gives the box its limits. It may be called with those that it has.
	SetLimits(limits Limits)
	// Scaled tells of a change of State, but for the time since when conditions are false.
	Scaled(change Change)
	// Panicked tells of a panic that was caught.
	Panicked(value any, stack []byte)
}

// Load is what a box shows at one moment.
type Load struct {
	// Queued is the number of resources that wait for a worker.
	Queued int
	// Workers is the number of workers.
	Workers int
	// Resources is the number of resources.
	Resources int
	// Busy is the time that reconciles have taken, and Had that which workers had, of all workers together, since the box began.
	Busy, Had time.Duration
}

// Change is one of the limits, or of whether the conditions can be evaluated.
type Change struct {
	// Before and State are what was, and what is.
	Before, State State
	// From are the limits that the box had, and Limits those that it has now.
	From, Limits Limits
}

// String says what has changed, and why: `workers 3→12: status.queueDepth is 512`.
func (c Change) String() string {
	var parts []string
	if c.From.Workers != c.Limits.Workers {
		parts = append(parts, fmt.Sprintf("workers %d→%d", c.From.Workers, c.Limits.Workers))
	}
	if c.From.QueueDepth != c.Limits.QueueDepth {
		parts = append(parts, fmt.Sprintf("queue depth %d→%d", c.From.QueueDepth, c.Limits.QueueDepth))
	}
	if c.From.Resync != c.Limits.Resync {
		parts = append(parts, fmt.Sprintf("resync %s→%s", c.From.Resync, c.Limits.Resync))
	}
	return cmp.Or(strings.Join(parts, ", "), "no limit is another") + ": " + c.State.Reason
}

// Runner looks at the conditions of one box at each interval, for as long as the box has a rule and works. It is safe for concurrent use.
type Runner struct {
	box    Box
	clock  clock.WithTicker
	seen   window
	looks  atomic.Bool // whether there is somebody who looks at reconciles
	living sync.WaitGroup

	mu       sync.Mutex               // guards everything below
	begin    func(*Rule) (end func()) // begins to look by a rule; nil: the box does not work
	end      func()                   // ends that; nil: nobody looks
	rule     *Rule                    // nil: there is none
	baseline Limits
	state    State
	changes  int  // of the limits
	last     Load // at the last look
}

// NewRunner gives a runner that sets limits from the first Follow on, and looks from Start on.
func NewRunner(box Box, clk clock.WithTicker) *Runner { return &Runner{box: box, clock: clk} }

// Follow gives the box the limits of another spec. A rule that is the same goes on: what it has replaced stays replaced. Another one begins
// anew, with the limits of the spec. nil: there is none.
func (r *Runner) Follow(rule *Rule, baseline Limits) {
	r.mu.Lock()
	defer r.mu.Unlock()
	from := r.limitsLocked()
	r.baseline = baseline
	if r.rule.Same(rule) {
		r.box.SetLimits(r.limitsLocked())
		return
	}
	r.endLocked()
	before := r.state
	r.rule, r.state = rule, State{}
	r.box.SetLimits(baseline)
	if before.Active || before.Problem != "" {
		r.state.Reason = "spec.autoscale has changed"
		if rule == nil {
			r.state.Reason = "spec.autoscale is gone, or the box serves deletions alone"
		}
		r.tellLocked(before, from)
	}
	r.beginLocked()
}

// Start begins to look, until ctx ends. Stop must be called.
func (r *Runner) Start(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begin = func(rule *Rule) func() {
		looking, cancel := context.WithCancel(ctx)
		r.living.Go(func() { r.look(looking, rule) })
		return cancel
	}
	r.beginLocked()
}

// Stop ends all looks, and waits for one that is under way. The limits stay as they are.
func (r *Runner) Stop() {
	r.mu.Lock()
	r.endLocked()
	r.begin = nil
	r.mu.Unlock()
	r.living.Wait()
}

func (r *Runner) beginLocked() {
	if r.begin == nil || r.rule == nil {
		return
	}
	r.seen.take() // what was before is not of this interval
	r.last = r.box.Load()
	r.looks.Store(true)
	r.end = r.begin(r.rule)
}

func (r *Runner) endLocked() {
	if r.end != nil {
		r.looks.Store(false)
		r.end()
		r.end = nil
	}
}

// look looks at each interval.
func (r *Runner) look(ctx context.Context, rule *Rule) {
	ticker := r.clock.NewTicker(rule.interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			r.decide(ctx, rule)
		}
	}
}

// decide looks once. A panic on this goroutine would end the process.
func (r *Runner) decide(ctx context.Context, rule *Rule) {
	defer func() {
		if value := recover(); value != nil {
			r.box.Panicked(value, debug.Stack())
		}
	}()
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() != nil {
		return // another rule has taken its place
	}
	before, from := r.state, r.limitsLocked()
	r.state = rule.Decide(ctx, before, r.measureLocked(), r.clock.Now())
	if before.Active == r.state.Active && before.Problem == r.state.Problem {
		return
	}
	if before.Active != r.state.Active {
		r.box.SetLimits(r.limitsLocked())
	}
	r.tellLocked(before, from)
}

// measureLocked gives what has been measured since the last look.
func (r *Runner) measureLocked() Measured {
	now, was := r.box.Load(), r.last
	r.last = now
	m := Measured{QueueDepth: now.Queued, Workers: now.Workers, Resources: now.Resources}
	if had := now.Had - was.Had; had > 0 {
		m.BusyPercent = int(min(percent, (now.Busy-was.Busy)*percent/had)) // after a lowering, more are busy than there should be
	}
	m.P95, m.ErrorPercent = r.seen.take()
	return m
}

func (r *Runner) limitsLocked() Limits {
	if r.rule == nil || !r.state.Active {
		return r.baseline
	}
	return r.rule.limits(r.baseline)
}

// Reconciled counts one reconcile that was not skipped.
func (r *Runner) Reconciled(took time.Duration, failed bool) {
	if r.looks.Load() {
		r.seen.add(took, failed)
	}
}

// Measured says whether limits are replaced, by which fields (those that the conditions read, as `status.queueDepth, time.hour`, whatever their
// values), and how often that has changed; ok is false where there is no rule.
func (r *Runner) Measured() (active bool, reason string, changes int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rule == nil {
		return false, "", r.changes, false
	}
	return r.state.Active, named(r.rule.gate.Paths()), r.changes, true
}

// tellLocked tells the box of a change.
func (r *Runner) tellLocked(before State, from Limits) {
	if before.Active != r.state.Active {
		r.changes++
	}
	r.box.Scaled(Change{Before: before, State: r.state, From: from, Limits: r.limitsLocked()})
}

// Status is what CRDHealth shows; nil: the limits are those of the spec, and nothing is wrong.
func (r *Runner) Status() *v1alpha1.AutoscaleStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.state.Active && r.state.Problem == "" {
		return nil
	}
	status := &v1alpha1.AutoscaleStatus{Active: r.state.Active, Reason: cut(cmp.Or(r.state.Problem, r.state.Reason))}
	if r.state.Active {
		do := r.rule.spec.Do.DeepCopy()
		status.Since = &metav1.Time{Time: r.state.Changed.Truncate(time.Second)} // as the API server stores it
		status.Workers, status.QueueDepth, status.Resync = do.Workers, do.QueueDepth, do.Resync
	}
	return status
}

// cut makes a text fit for a status.
func cut(text string) string {
	const longest = 256
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest-1]) + "…"
	}
	return text
}
