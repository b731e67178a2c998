package bench_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// turn is one contender that runs, in one turn.
type turn struct {
	*plane
	*contender

	b         *testing.B
	t         *sheet
	benchmark string
	name      string // tells its resources from those of others
	process   *process
	alive     []string // resources of its kind that it has made
	boxes     []string // boxes that were made for it
}

// step measures something of a contender that runs.
type step struct {
	name string
	// hand says that it can be asked of what is written by hand.
	hand bool
	run  func(u *turn) error
}

// takeTurns runs each contender once in a turn, the first one another time each. What goes wrong in a step is told in its rows, and the next
// step goes on: another binary may not know all that a box says.
func (p *plane) takeTurns(b *testing.B, t *sheet, benchmark string, all []*contender, steps []step, end func(u *turn) error) {
	b.Helper()
	steps = t.chosen(benchmark, all, steps)
	for n := range t.turns {
		for _, c := range slices.Concat(all[n%len(all):], all[:n%len(all)]) {
			if !c.takesPart(benchmark, steps) {
				continue
			}
			u := &turn{plane: p, contender: c, b: b, t: t, benchmark: benchmark, name: fmt.Sprintf("%s%d", c.short, n)}
			u.process = c.start(b)
			u.take(steps)
			if !u.process.ended() {
				u.told("end", end(u))
				u.told("end", u.process.stop())
			}
		}
	}
}

// chosen gives the steps that are measured, and has the rows of the others say why they are empty.
func (s *sheet) chosen(benchmark string, all []*contender, steps []step) (out []step) {
	for _, one := range steps {
		if s.steps == nil || s.steps.MatchString(one.name) {
			out = append(out, one)
			continue
		}
		for _, c := range all {
			s.MissStep(benchmark, one.name, c.column, "BENCH_STEPS leaves it out")
		}
	}
	return out
}

// takesPart says whether a contender has something to do in a benchmark. What a finalizer and an event cost is seen where a resource has few
// children, and where it has many.
func (c *contender) takesPart(benchmark string, steps []step) bool {
	if c.column == held && benchmark != inSides && benchmark != inWebsites {
		return false
	}
	return !c.byHand || slices.ContainsFunc(steps, func(s step) bool { return s.hand })
}

func (u *turn) take(steps []step) {
	u.b.Helper()
	for _, s := range steps {
		if u.byHand && !s.hand {
			continue
		}
		if u.process.ended() {
			u.told(s.name, errors.New("the process has ended before"))
			continue
		}
		err := s.run(u)
		if u.process.ended() {
			err = fmt.Errorf("the process has ended: %s", u.process.said())
		}
		u.told(s.name, err)
	}
}

// told puts an error of a step into its rows.
func (u *turn) told(step string, err error) {
	u.b.Helper()
	if err == nil {
		return
	}
	u.t.MissStep(u.benchmark, step, u.column, err.Error())
	if u.column == other {
		u.b.Logf("%s of %s: %v", step, u.column, err)
		return
	}
	u.b.Errorf("%s of %s: %v", step, u.column, err)
}

// add gives a figure of this turn.
func (u *turn) add(row string, figure float64) { u.t.Add(row, u.column, figure) }

// addTimes gives the median of times, and what most of them stay below.
func (u *turn) addTimes(row string, took times) {
	u.add(row+".p50", took.quantile(0.5))
	u.add(row+".p99", took.quantile(0.99))
}

// addRequests gives how many requests were sent for each of a number of things.
func (u *turn) addRequests(row string, counts map[string]int, of int) {
	u.add(row+".requests", float64(total(counts))/float64(of))
}

// counted gives the requests since they were last counted, once they have ended.
func (u *turn) counted() (counts map[string]int, sum int) {
	u.b.Helper()
	return u.audit.quiet(u.b, u.user)
}

// spent gives the processor time that something takes, with what comes of it afterwards, and its requests.
func (u *turn) spent(what func() error) (cpu time.Duration, counts map[string]int, err error) {
	u.b.Helper()
	u.counted()
	before, err := u.process.cpu()
	if err != nil {
		return 0, nil, err
	}
	if err := what(); err != nil {
		return 0, nil, err
	}
	counts, _ = u.counted()
	after, err := u.process.cpu()
	return after - before, counts, err
}

// rested is what a process has spent in a time in which nobody asked it for anything.
type rested struct {
	cpu, took time.Duration
	counts    map[string]int
	requests  int
}

// rests looks at the process for a time. Requests since they were last counted are in it, too.
func (u *turn) rests(d time.Duration) (rested, error) {
	u.b.Helper()
	before, err := u.process.cpu()
	if err != nil {
		return rested{}, err
	}
	began := time.Now()
	time.Sleep(d)
	r := rested{took: time.Since(began)}
	after, err := u.process.cpu()
	if err != nil {
		return rested{}, err
	}
	r.cpu = after - before
	r.counts, r.requests = u.audit.since(u.b, u.user)
	return r, nil
}

// load is the share of a core that the process took, in percent.
func (r rested) load() float64 { return 100 * float64(r.cpu) / float64(r.took) }

// aMinute is how many requests it sent in a minute.
func (r rested) aMinute() float64 { return float64(r.requests) / r.took.Minutes() }

// oneByOne does something with one name after another, and gives how long each took, as it says, and what all have spent.
func (u *turn) oneByOne(names []string, what func(name string) (time.Duration, error)) (took times, cpu time.Duration, counts map[string]int, err error) {
	u.b.Helper()
	cpu, counts, err = u.spent(func() error {
		for _, name := range names {
			d, err := what(name)
			if err != nil {
				return err
			}
			took = append(took, d)
		}
		return nil
	})
	return took, cpu, counts, err
}

// milliseconds each of a number of things took.
func milliseconds(d time.Duration, of int) float64 {
	return float64(d) / float64(time.Millisecond) / float64(of)
}
