package lifecycle

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"
)

func TestWaves(t *testing.T) {
	cases := map[string]struct {
		dependsOn map[string][]string
		want      [][]string
	}{
		"none":                        {map[string][]string{}, nil},
		"free ones":                   {map[string][]string{"b": nil, "a": nil}, [][]string{{"a", "b"}}},
		"a chain":                     {map[string][]string{"a": {"b"}, "b": {"c"}, "c": nil}, [][]string{{"c"}, {"b"}, {"a"}}},
		"the longest way counts":      {map[string][]string{"a": {"c", "b"}, "b": {"c"}, "c": nil, "d": {"c"}}, [][]string{{"c"}, {"b", "d"}, {"a"}}},
		"what is not among them":      {map[string][]string{"a": {"gone"}}, [][]string{{"a"}}},
		"itself":                      {map[string][]string{"a": {"a"}}, [][]string{{"a"}}},
		"a ring":                      {map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"a"}}, [][]string{{"c"}, {"b"}, {"a"}}},
		"what depends on a ring":      {map[string][]string{"a": {"z"}, "y": {"z"}, "z": {"y"}}, [][]string{{"y"}, {"z"}, {"a"}}},
		"two ways to the same in two": {map[string][]string{"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": nil}, [][]string{{"d"}, {"b", "c"}, {"a"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var names []string
			for name := range tc.dependsOn {
				names = append(names, name)
			}
			got := Waves(names, func(name string) []string { return tc.dependsOn[name] })
			NewWithT(t).Expect(got).To(Equal(tc.want))
		})
	}
}

func TestOneThatComesLaterBeginsAtOnce(t *testing.T) {
	g := NewWithT(t)
	turns := NewTurns(NewLeadership(clock.RealClock{}))
	turns.Lead(func() [][]*Turn { return nil })
	g.Expect(turns.Await(t.Context(), NewTurn())).To(BeTrue())
	ended, end := context.WithCancel(t.Context())
	end()
	g.Expect(turns.Await(ended, NewTurn())).To(BeFalse())
}

// One that ends before its turn does not hold up the wave after its own.
func TestOneThatEndsBeforeItsTurnHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		leadership := NewLeadership(clock.RealClock{})
		turns := NewTurns(leadership)
		first, second := NewTurn(), NewTurn()
		ctx, cancel := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		begins := map[*Turn]*bool{first: new(bool), second: new(bool)}
		for turn, of := range map[*Turn]context.Context{first: ctx, second: t.Context()} {
			waiting.Go(func() {
				defer turn.Begun()
				*begins[turn] = turns.Await(of, turn)
			})
		}
		synctest.Wait()
		g.Expect(leadership.Settling()).To(Equal(settleTime))
		cancel()
		turns.Lead(func() [][]*Turn { return [][]*Turn{{first}, {second}} })
		waiting.Wait()
		g.Expect(*begins[second]).To(BeTrue())
		g.Expect(leadership.Settling()).To(Equal(settleTime))
		time.Sleep(settleTime)
		g.Expect(leadership.Settling()).To(BeZero())
	})
}

// One that hangs holds up the others until half of the time is over; at its end it is canceled.
func TestOneThatHangsDoesNotKeepOthersFromStopping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		began := time.Now()
		finished, canceled := map[string]time.Duration{}, map[string]time.Duration{}
		Stopping[string]{
			Clock: clock.RealClock{}, Timeout: time.Minute,
			Finish: func(name string) { finished[name] = time.Since(began) },
			Stop: func(name string, over <-chan time.Time) {
				if name == "hangs" {
					<-over
					canceled[name] = time.Since(began)
				}
			},
		}.Backwards([][]string{{"free"}, {"hangs"}})
		g.Expect(finished).To(Equal(map[string]time.Duration{"free": time.Minute / 2, "hangs": time.Minute / 2}))
		g.Expect(canceled).To(Equal(map[string]time.Duration{"hangs": time.Minute}))
	})
}

func TestWhatStopsInTimeIsNotToldToFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		began := time.Now()
		var stopped []string
		Stopping[string]{
			Clock: clock.RealClock{}, Timeout: time.Minute,
			Finish: func(string) { t.Error("told to finish") },
			Stop:   func(name string, _ <-chan time.Time) { stopped = append(stopped, name) },
		}.Backwards([][]string{{"database"}, {"web"}})
		g.Expect(stopped).To(Equal([]string{"web", "database"}))
		g.Expect(time.Since(began)).To(BeZero())
	})
}
