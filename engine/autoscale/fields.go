package autoscale

import (
	"fmt"
	"strings"
	"time"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/value"
)

// The roots that conditions read. What is measured has two spellings.
const (
	rootStatus  = roots.Status
	rootMetrics = "metrics"
	rootTime    = "time"
)

// The fields whose meaning contradictions ask for.
const (
	fieldWorkers = "workers"
	fieldDay     = "dayOfWeek"
	fieldHour    = "hour"
)

// Field is one that conditions may read.
type Field struct {
	// Name, below status. and metrics., or below time.
	Name string
	// OfTime says that it is below time.
	OfTime bool
	// Doc says what it is.
	Doc string

	low, high float64 // of a number
	read      func(m Measured, now time.Time) any
}

const (
	percent   = 100
	unlimited = 1 << 31
)

// Fields are all that conditions may read.
func Fields() []Field {
	number := func(name string, low, high float64, read func(m Measured) int, doc string) Field {
		return Field{Name: name, Doc: doc, low: low, high: high, read: func(m Measured, _ time.Time) any { return int64(read(m)) }}
	}
	clock := func(name string, high float64, read func(now time.Time) int, doc string) Field {
		return Field{Name: name, OfTime: true, Doc: doc, high: high, read: func(_ Measured, now time.Time) any { return int64(read(now.UTC())) }}
	}
	return []Field{
		number("queueDepth", 0, unlimited, func(m Measured) int { return m.QueueDepth }, "Resources that wait for a worker, in the queue and outside of it."),
		number(fieldWorkers, 1, maxWorkers, func(m Measured) int { return m.Workers }, "Workers that the box has."),
		number("workersBusyPercent", 0, percent, func(m Measured) int { return m.BusyPercent }, "How much of their time the workers have reconciled since the last look."),
		number("reconcileP95Ms", 0, unlimited, func(m Measured) int { return int(m.P95.Milliseconds()) },
			"Milliseconds within which 95 % of the reconciles since the last look have ended. 0: there was none."),
		number("errorPercent", 0, percent, func(m Measured) int { return m.ErrorPercent }, "How many of these reconciles have failed, in percent. 0: there was none."),
		number("resources", 0, unlimited, func(m Measured) int { return m.Resources }, "Resources of the box."),
		{Name: fieldDay, OfTime: true, Doc: "The day in UTC: Monday, Tuesday and so on.", read: func(_ Measured, now time.Time) any { return now.UTC().Weekday().String() }},
		clock(fieldHour, 23, time.Time.Hour, "The hour in UTC, 0 to 23."),
		clock("minute", 59, time.Time.Minute, "The minute, 0 to 59."),
	}
}

// scope is what conditions may read.
func scope() *expr.Scope {
	measured, clock := map[string]roots.Schema{}, map[string]roots.Schema{}
	for _, f := range Fields() {
		kind, into := value.TypeInteger, measured
		if f.Name == fieldDay {
			kind = value.TypeString
		}
		if f.OfTime {
			into = clock
		}
		into[f.Name] = roots.Schema{Type: kind}
	}
	return expr.NewScopeOf(map[string]*roots.Schema{rootStatus: roots.OfBox(measured), rootMetrics: roots.OfBox(measured), rootTime: roots.OfBox(clock)},
		"autoscale looks at the box and not at a resource: it reads status., metrics. and time.")
}

// data is what conditions read at one look.
func data(m Measured, now time.Time) expr.Data {
	measured, clock := map[string]any{}, map[string]any{}
	for _, f := range Fields() {
		if f.OfTime {
			clock[f.Name] = f.read(m, now)
		} else {
			measured[f.Name] = f.read(m, now)
		}
	}
	return expr.Data{rootStatus: measured, rootMetrics: measured, rootTime: clock}
}

// named gives the fields that conditions read: `status.queueDepth, time.hour`.
func named(paths []expr.Path) string {
	var fields []string
	for _, p := range paths {
		if len(p) > 1 {
			fields = append(fields, p.String())
		}
	}
	return strings.Join(fields, ", ")
}

// shown says what conditions have read: `status.queueDepth is 512, time.hour is 3`.
func shown(paths []expr.Path, d expr.Data) string {
	var parts []string
	for _, p := range paths {
		if v, found := value.Lookup(d, p); found && len(p) > 1 {
			parts = append(parts, fmt.Sprintf("%s is %v", p, v))
		}
	}
	return strings.Join(parts, ", ")
}
