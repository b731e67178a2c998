package autoscale

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var ofSpec = Limits{Workers: 3, Resync: time.Minute}

// compile compiles a spec.
func compile(t *testing.T, text string) (*Rule, field.ErrorList) {
	t.Helper()
	var spec v1alpha1.AutoscaleSpec
	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	return Compile(&spec, ofSpec, field.NewPath("spec", "autoscale"))
}

// rule compiles a spec without a mistake.
func rule(t *testing.T, text string) *Rule {
	t.Helper()
	r, errs := compile(t, text)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return r
}

const busy = `{interval: 10s, cooldown: 30s, conditions: {when: [{field: status.queueDepth, greaterThan: 100}]}, do: {workers: 12}}`

// began is a Monday, at seven in the morning.
var began = time.Date(2026, 3, 2, 7, 0, 0, 0, time.UTC)

func TestDecide(t *testing.T) {
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	const held = "status.queueDepth is 500"
	active := State{Active: true, Changed: at(0), Reason: held}
	for name, tc := range map[string]struct {
		rule   string
		before State
		queued int
		now    time.Time
		want   State
	}{
		"nothing is to do":               {busy, State{}, 100, at(10), State{Unmet: at(10)}},
		"it stays so":                    {busy, State{Unmet: at(10)}, 0, at(20), State{Unmet: at(10)}},
		"the conditions hold":            {busy, State{Unmet: at(10)}, 500, at(20), State{Active: true, Changed: at(20), Reason: held}},
		"they hold at the first look":    {busy, State{}, 500, at(10), State{Active: true, Changed: at(10), Reason: held}},
		"they go on holding":             {busy, active, 700, at(10), active},
		"they are false, and cool down":  {busy, active, 5, at(60), State{Active: true, Changed: at(0), Unmet: at(60), Reason: held}},
		"they are still cooling down":    {busy, State{Active: true, Changed: at(0), Unmet: at(60), Reason: held}, 5, at(80), State{Active: true, Changed: at(0), Unmet: at(60), Reason: held}},
		"they hold again before the end": {busy, State{Active: true, Changed: at(0), Unmet: at(60), Reason: held}, 101, at(80), active},
		"the cooldown is over": {
			busy, State{Active: true, Changed: at(0), Unmet: at(60), Reason: held}, 5, at(90),
			State{Changed: at(90), Unmet: at(60), Reason: "the conditions have been false for 30s"},
		},
		"not twice within an interval": {
			busy, State{Changed: at(90), Unmet: at(60), Reason: "x"}, 500, at(99), State{Changed: at(90), Reason: "x"},
		},
		"again after an interval": {
			busy, State{Changed: at(90), Unmet: at(60), Reason: "x"}, 500, at(100), State{Active: true, Changed: at(100), Reason: held},
		},
		"without a cooldown, back at the first look": {
			`{cooldown: 0s, conditions: {when: [{field: metrics.queueDepth, greaterThan: 100}]}, do: {workers: 12}}`,
			active, 5, at(15), State{Changed: at(15), Unmet: at(15), Reason: "the conditions have been false for 0s"},
		},
		"without a cooldown, not within an interval either": {
			`{cooldown: 0s, conditions: {when: [{field: metrics.queueDepth, greaterThan: 100}]}, do: {workers: 12}}`,
			active, 5, at(14), State{Active: true, Changed: at(0), Unmet: at(14), Reason: held},
		},
		"one of several": {
			`{conditions: {anyOf: [{field: status.errorPercent, greaterThan: 50}, {field: status.queueDepth, greaterThan: 100}]}, do: {workers: 12}}`,
			State{}, 500, at(15), State{Active: true, Changed: at(15), Reason: "status.errorPercent is 0, status.queueDepth is 500"},
		},
		"by the day and the hour": {
			`{conditions: {when: [{field: time.dayOfWeek, in: [Monday, Friday]}, {field: time.hour, between: "7,9"}]}, do: {workers: 12}}`,
			State{}, 0, at(15), State{Active: true, Changed: at(15), Reason: "time.dayOfWeek is Monday, time.hour is 7"},
		},
		"on another day": {
			`{conditions: {when: [{field: time.dayOfWeek, in: [Monday, Friday]}, {field: time.hour, between: "7,9"}]}, do: {workers: 12}}`,
			State{}, 0, at(24 * 3600), State{Unmet: at(24 * 3600)},
		},
		"the time is that in UTC": {
			`{conditions: {when: [{field: time.hour, equals: 7}]}, do: {workers: 12}}`,
			State{}, 0, at(15).In(time.FixedZone("east", 7200)), State{Active: true, Changed: at(15).In(time.FixedZone("east", 7200)), Reason: "time.hour is 7"},
		},
		"by an expression": {
			`{conditions: {when: [{cel: "metrics.queueDepth > 100 && time.hour * 60 + time.minute >= 420"}]}, do: {workers: 12}}`,
			State{}, 500, at(15), State{Active: true, Changed: at(15), Reason: "metrics.queueDepth is 500, time.hour is 7, time.minute is 0"},
		},
		"conditions that can't be evaluated are false": {
			`{cooldown: 0s, conditions: {when: [{field: "{{ div 100 .status.errorPercent }}", greaterThan: 1}]}, do: {workers: 12}}`,
			active, 5, at(15), State{Changed: at(15), Unmet: at(15), Reason: "the conditions have been false for 0s", Problem: "the conditions can't be evaluated: "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := rule(t, tc.rule).Decide(t.Context(), tc.before, Measured{QueueDepth: tc.queued, Workers: 3}, tc.now)
			g.Expect(got.Problem).To(HavePrefix(tc.want.Problem))
			if tc.want.Problem == "" {
				g.Expect(got.Problem).To(BeEmpty())
			}
			got.Problem, tc.want.Problem = "", ""
			g.Expect(got).To(Equal(tc.want))
		})
	}
}

// TestNoFlapping looks at random times at conditions that hold at random, and even at each second look: the limits never change twice within
// an interval, and never go back before the conditions have been false, at each look, for the cooldown.
func TestNoFlapping(t *testing.T) {
	r := rule(t, busy)
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, seed))
			now, s := began, State{}
			var changed, metLast time.Time
			changes := 0
			for look := range 300 {
				now = now.Add(time.Duration(random.IntN(20_000)) * time.Millisecond)
				queued := 1000 * (look % 2)
				if seed%2 == 0 {
					queued = random.IntN(2) * random.IntN(2) * 1000
				}
				if queued > 100 {
					metLast = now
				}
				next := r.Decide(t.Context(), s, Measured{QueueDepth: queued}, now)
				if next.Active != s.Active {
					if changes > 0 && now.Sub(changed) < 10*time.Second {
						t.Fatalf("look %d: two changes within %s", look, now.Sub(changed))
					}
					if s.Active && now.Sub(metLast) < 30*time.Second {
						t.Fatalf("look %d: back %s after the conditions held", look, now.Sub(metLast))
					}
					changed, changes = now, changes+1
				}
				s = next
			}
			if changes == 0 {
				t.Fatal("nothing has changed")
			}
		})
	}
}
