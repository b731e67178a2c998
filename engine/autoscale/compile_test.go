package autoscale

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestMistakes(t *testing.T) {
	const on = `conditions: {when: [{field: status.queueDepth, greaterThan: 100}]}`
	for name, tc := range map[string]struct {
		spec string
		want []string
	}{
		"no limit":             {`{` + on + `, do: {}}`, []string{"spec.autoscale.do: Required value: give at least one of workers, queueDepth and resync"}},
		"no condition":         {`{conditions: {}, do: {workers: 5}}`, []string{"spec.autoscale.conditions: Required value: give when or anyOf: limits that hold always are those of the spec"}},
		"no worker":            {`{` + on + `, do: {workers: 0}}`, []string{"spec.autoscale.do.workers: Invalid value: 0: wanted 1 to 64"}},
		"too many":             {`{` + on + `, do: {workers: 65}}`, []string{"spec.autoscale.do.workers: Invalid value: 65: wanted 1 to 64"}},
		"a negative depth":     {`{` + on + `, do: {queueDepth: -1}}`, []string{"spec.autoscale.do.queueDepth: Invalid value: -1: wanted 0 (no limit) or more"}},
		"a resync too short":   {`{` + on + `, do: {resync: 10ms}}`, []string{`spec.autoscale.do.resync: Invalid value: "10ms": wanted 1s to 24h0m0s`}},
		"an interval too long": {`{interval: 2h, ` + on + `, do: {workers: 5}}`, []string{`spec.autoscale.interval: Invalid value: "2h0m0s": wanted 1s to 1h0m0s`}},
		"a cooldown before":    {`{cooldown: -1s, ` + on + `, do: {workers: 5}}`, []string{`spec.autoscale.cooldown: Invalid value: "-1s": wanted 0s to 24h0m0s`}},
		"all at once": {
			`{interval: 0s, cooldown: 25h, conditions: {anyOf: [{field: status.queue, exists: true}]}, do: {workers: 99}}`,
			[]string{
				"spec.autoscale.do.workers: Invalid value: 99: wanted 1 to 64", `spec.autoscale.interval: Invalid value: "0s": wanted 1s to 1h0m0s`, `spec.autoscale.cooldown: Invalid value: "25h0m0s": wanted 0s to 24h0m0s`,
				`spec.autoscale.conditions.anyOf[0].field: Invalid value: "status.queue": `,
			},
		},
		"a field of the other spelling": {
			`{conditions: {when: [{field: metrics.queueDept, greaterThan: 5}]}, do: {workers: 5}}`,
			[]string{`spec.autoscale.conditions.when[0].field: Invalid value: "metrics.queueDept": metrics.queueDept: there is no such field of a box, did you mean "queueDepth"?`},
		},
		"a field of a resource": {
			`{conditions: {when: [{field: spec.replicas, greaterThan: 5}]}, do: {workers: 5}}`,
			[]string{`spec.autoscale.conditions.when[0].field: Invalid value: "spec.replicas": .spec: autoscale looks at the box and not at a resource: it reads status., metrics. and time.`},
		},
		"a field of a resource, in CEL": {
			`{conditions: {when: [{cel: "self.spec.replicas > 5"}]}, do: {workers: 5}}`,
			[]string{`spec.autoscale.conditions.when[0].cel: Invalid value: "self.spec.replicas > 5": `},
		},
		"what the box has already": {
			`{` + on + `, do: {workers: 3, resync: 60s}}`,
			[]string{`spec.autoscale.do: Invalid value: "workers 3, resync 1m0s": that is what the box has already: nothing would be replaced`},
		},
		"conditions that exclude one another": {
			`{conditions: {when: [{field: status.queueDepth, greaterThan: 100}, {field: metrics.queueDepth, lessThan: 101}]}, do: {workers: 5}}`,
			[]string{`spec.autoscale.conditions.when: Invalid value: "status.queueDepth": no value meets when[0] (more than 100) and when[1] (less than 101): the conditions never hold`},
		},
		"excluded by a negation": {
			`{conditions: {when: [{field: status.queueDepth, operator: gte, value: "100", valueType: int}, {field: status.queueDepth, greaterThan: 90, negate: true}]}, do: {workers: 5}}`,
			[]string{`spec.autoscale.conditions.when: Invalid value: "status.queueDepth": no value meets when[0] (at least 100) and when[1] (not (more than 90)): the conditions never hold`},
		},
		"out of range": {
			`{conditions: {anyOf: [{field: status.workersBusyPercent, greaterThan: 100}, {field: time.hour, in: [24, 25]}, {field: status.queueDepth, lessThan: 0}, {field: time.minute, between: "60,70"}]}, do: {workers: 5}}`,
			[]string{
				`spec.autoscale.conditions.anyOf[0]: Invalid value: "status.workersBusyPercent": it never holds; wanted 0 to 100`,
				`spec.autoscale.conditions.anyOf[1]: Invalid value: "time.hour": it never holds; wanted 0 to 23`,
				`spec.autoscale.conditions.anyOf[2]: Invalid value: "status.queueDepth": it never holds; wanted a whole number, 0 or more`,
				`spec.autoscale.conditions.anyOf[3]: Invalid value: "time.minute": it never holds; wanted 0 to 59`,
			},
		},
		"what no value is": {
			`{conditions: {anyOf: [{field: status.queueDepth, typeOf: string}, {field: metrics.queueDepth, notExists: true}, {field: time.dayOfWeek, in: []}, {field: time.minute, notBetween: [0, 59]},
				{field: time.hour, notBetween: "0,23"}]}, do: {workers: 5}}`,
			[]string{
				`spec.autoscale.conditions.anyOf[0]: Invalid value: "status.queueDepth": it never holds; wanted a whole number, 0 or more`,
				`spec.autoscale.conditions.anyOf[1]: Invalid value: "metrics.queueDepth": it never holds; wanted a whole number, 0 or more`,
				`spec.autoscale.conditions.anyOf[2]: Invalid value: "time.dayOfWeek": it never holds; wanted a day, such as Monday`,
				`spec.autoscale.conditions.anyOf[3]: Invalid value: "time.minute": it never holds; wanted 0 to 59`,
				`spec.autoscale.conditions.anyOf[4]: Invalid value: "time.hour": it never holds; wanted 0 to 23`,
			},
		},
		"a bound that the field never has": {
			`{conditions: {anyOf: [{field: time.hour, between: [22, 30]}, {field: status.workersBusyPercent, between: "90,150"}, {field: time.hour, in: [3, 25]}, {field: status.queueDepth, between: [-5, 30]}]}, do: {workers: 5}}`,
			[]string{
				`spec.autoscale.conditions.anyOf[0]: Invalid value: 30: the field never has this value; wanted 0 to 23; for a time over midnight, write notBetween`,
				`spec.autoscale.conditions.anyOf[1]: Invalid value: 150: the field never has this value; wanted 0 to 100`,
				`spec.autoscale.conditions.anyOf[2]: Invalid value: 25: the field never has this value; wanted 0 to 23`,
				`spec.autoscale.conditions.anyOf[3]: Invalid value: -5: the field never has this value; wanted a whole number, 0 or more`,
			},
		},
		"one value, and not that": {
			`{conditions: {when: [{field: status.queueDepth, equals: 5}, {field: status.queueDepth, notEquals: 5}]}, do: {workers: 5}}`,
			[]string{`spec.autoscale.conditions.when: Invalid value: "status.queueDepth": no value meets when[0] (equals 5) and when[1] (anything but 5): the conditions never hold`},
		},
		"one day, and not that": {
			`{conditions: {when: [{field: time.dayOfWeek, in: [Sunday, Monday]}, {field: status.queueDepth, greaterThan: 7}, {field: time.dayOfWeek, notIn: [Sunday, Monday]}]}, do: {workers: 5}}`,
			[]string{`spec.autoscale.conditions.when: Invalid value: "time.dayOfWeek": no value meets when[0] (one of Sunday, Monday) and when[2] (none of Sunday, Monday): the conditions never hold`},
		},
		"none of those that might hold": {
			`{conditions: {when: [{field: status.queueDepth, lessThan: 10}], anyOf: [{field: status.queueDepth, greaterThan: 100}, {field: metrics.queueDepth, equals: 50}]}, do: {workers: 5}}`,
			[]string{`spec.autoscale.conditions.anyOf: Invalid value: "status.queueDepth": none of these holds where those of when do: the conditions never hold`},
		},
		"in CEL": {
			`{conditions: {anyOf: [{cel: "time.hour > 25"}, {cel: "time.dayOfWeek == 'Mon'"}, {cel: "false"}, {cel: "metrics.workersBusyPercent > 80 && self.status.workersBusyPercent < 20"}]}, do: {workers: 5}}`,
			[]string{
				`spec.autoscale.conditions.anyOf[0]: Invalid value: "time.hour > 25": it never holds; wanted 0 to 23`,
				`spec.autoscale.conditions.anyOf[1]: Invalid value: "time.dayOfWeek == 'Mon'": it never holds; wanted a day, such as Monday`,
				`spec.autoscale.conditions.anyOf[2]: Invalid value: "false": it never holds`,
				`spec.autoscale.conditions.anyOf[3]: Invalid value: "metrics.workersBusyPercent > 80 && self.status.workersBusyPercent < 20": it never holds; wanted 0 to 100`,
			},
		},
		"it ends itself, in CEL": {
			`{conditions: {when: [{cel: "self.status.workers < 5"}]}, do: {workers: 8}}`,
			[]string{`spec.autoscale.conditions.when: Invalid value: "status.workers": with the 8 workers of do the conditions are false: the limits would go back and forth`},
		},
		"it ends itself, by a template": {
			`{conditions: {when: [{field: status.workers, lessThan: "{{ 5 }}"}]}, do: {workers: 8}}`,
			[]string{`spec.autoscale.conditions.when: Invalid value: "status.workers": with the 8 workers of do the conditions are false: the limits would go back and forth`},
		},
		"no day": {
			`{conditions: {when: [{field: time.dayOfWeek, in: [Monday, Sunnday]}]}, do: {workers: 5}}`,
			[]string{`spec.autoscale.conditions.when[0]: Invalid value: "Sunnday": no such day; wanted one of Sunday, Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, did you mean "Sunday"?`},
		},
		"a day above another": {
			`{conditions: {when: [{field: time.dayOfWeek, greaterThan: 1}]}, do: {workers: 5}}`,
			[]string{`spec.autoscale.conditions.when[0]: Invalid value: "time.dayOfWeek": days have no order here; list them with in`},
		},
		"it ends itself": {
			`{conditions: {when: [{field: status.workers, lessThan: 5}]}, do: {workers: 5}}`,
			[]string{`spec.autoscale.conditions.when: Invalid value: "status.workers": with the 5 workers of do the conditions are false: the limits would go back and forth`},
		},
		"it never begins": {
			`{conditions: {anyOf: [{field: status.workers, equals: 5}, {field: metrics.workers, greaterThan: 7}]}, do: {workers: 5}}`,
			[]string{`spec.autoscale.conditions.anyOf: Invalid value: "status.workers": the box has 3 workers until the conditions hold, so that they never do`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r, errs := compile(t, tc.spec)
			g.Expect(r).To(BeNil())
			g.Expect(errs).To(HaveLen(len(tc.want)), "%v", errs)
			for i, e := range errs {
				g.Expect(e.Error()).To(HavePrefix(tc.want[i]))
			}
		})
	}
}

func TestWhatIsNoMistake(t *testing.T) {
	for name, spec := range map[string]string{
		"all spellings of all fields": everyField(),
		"the example of the promise":  `{interval: 15s, cooldown: 2m, conditions: {when: [{field: status.queueDepth, operator: gt, value: "100", valueType: int}]}, do: {workers: 5, queueDepth: 500, resync: 10s}}`,
		"one of some days":            `{conditions: {when: [{field: time.dayOfWeek, in: [Sunday, Monday]}, {field: time.dayOfWeek, notEquals: Monday}], anyOf: [{field: time.hour, lessThan: 6}, {field: time.hour, greaterThan: 21}]}, do: {workers: 5}}`,
		"two fields in CEL":           `{conditions: {when: [{cel: "metrics.workers < 5 && metrics.queueDepth > 5"}]}, do: {workers: 8}}`,
		"many in CEL":                 `{conditions: {when: [{cel: "metrics.queueDepth > 100 && metrics.queueDepth < 150"}]}, do: {workers: 8}}`,
		"fewer at night":              `{conditions: {when: [{field: time.hour, notBetween: "6,22"}]}, do: {workers: 1}}`,
		"one more condition beside":   `{conditions: {anyOf: [{field: status.workers, lessThan: 5}, {field: status.queueDepth, greaterThan: 7}]}, do: {workers: 5}}`,
		"a quantity":                  `{conditions: {when: [{field: status.queueDepth, greaterThan: 1k}, {field: status.queueDepth, lessThan: 2k}]}, do: {workers: 5}}`,
		"a template":                  `{conditions: {when: [{field: "{{ mul 2 .status.queueDepth }}", greaterThan: 5}]}, do: {workers: 5}}`,
	} {
		t.Run(name, func(t *testing.T) { rule(t, spec) })
	}
}

// everyField is a spec that reads each field in each spelling.
func everyField() string {
	var fields []string
	for _, f := range Fields() {
		if f.OfTime {
			fields = append(fields, "time."+f.Name)
		} else {
			fields = append(fields, "status."+f.Name, "metrics."+f.Name)
		}
	}
	return `{conditions: {anyOf: [{field: ` + strings.Join(fields, `, exists: true}, {field: `) + `, exists: true}]}, do: {workers: 5}}`
}

func TestDefaults(t *testing.T) {
	g := NewWithT(t)
	r := rule(t, `{conditions: {when: [{field: status.queueDepth, greaterThan: 100}]}, do: {resync: 10s}}`)
	g.Expect(r.interval).To(Equal(15 * time.Second))
	g.Expect(r.cooldown).To(Equal(2 * time.Minute))
	g.Expect(r.limits(Limits{Workers: 7, QueueDepth: 5, Resync: time.Hour})).To(Equal(Limits{Workers: 7, QueueDepth: 5, Resync: 10 * time.Second}))
	g.Expect(rule(t, `{conditions: {when: [{field: status.queueDepth, greaterThan: 100}]}, do: {workers: 8, queueDepth: 0}}`).limits(Limits{Workers: 7, QueueDepth: 5})).
		To(Equal(Limits{Workers: 8}))
	var none *Rule
	g.Expect(none.Same(nil)).To(BeTrue())
	g.Expect(none.Same(r)).To(BeFalse())
	g.Expect(r.Same(none)).To(BeFalse())
	g.Expect(r.Same(rule(t, `{conditions: {when: [{field: status.queueDepth, greaterThan: 100}]}, do: {resync: 10s}}`))).To(BeTrue())
	g.Expect(r.Same(rule(t, `{conditions: {when: [{field: status.queueDepth, greaterThan: 101}]}, do: {resync: 10s}}`))).To(BeFalse())
}
