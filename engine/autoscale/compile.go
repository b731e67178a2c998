// Package autoscale replaces limits of a box while conditions on its own measurements hold, and puts them back. It knows conditions, and
// nothing of plans, queues or workers: the box is a port.
package autoscale

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/when"
)

// Defaults and bounds, for boxes that did not pass through an API server.
const (
	defaultInterval, minInterval, maxInterval = 15 * time.Second, time.Second, time.Hour
	defaultCooldown, maxCooldown              = 2 * time.Minute, 24 * time.Hour
	minResync, maxResync                      = time.Second, 24 * time.Hour
	maxWorkers                                = 64
)

// Limits are what a box may take, as far as autoscale changes it.
type Limits struct {
	// Workers is the number of concurrent reconciles.
	Workers int
	// QueueDepth is the number of keys in the queue above which others wait outside; 0: no limit.
	QueueDepth int
	// Resync is the time within which each resource is reconciled once more.
	Resync time.Duration
}

// Rule is a compiled spec.autoscale. It is immutable. A nil rule replaces nothing.
type Rule struct {
	spec               v1alpha1.AutoscaleSpec
	interval, cooldown time.Duration
	gate               *when.Gate
}

// Same says whether two rules are of one spec.
func (r *Rule) Same(other *Rule) bool {
	if r == nil || other == nil {
		return r == other
	}
	return reflect.DeepEqual(r.spec, other.spec)
}

// limits are those of a box while the conditions hold, where it has these otherwise.
func (r *Rule) limits(baseline Limits) Limits {
	if r.spec.Do.Workers != nil {
		baseline.Workers = int(*r.spec.Do.Workers)
	}
	if r.spec.Do.QueueDepth != nil {
		baseline.QueueDepth = int(*r.spec.Do.QueueDepth)
	}
	if r.spec.Do.Resync != nil {
		baseline.Resync = r.spec.Do.Resync.Duration
	}
	return baseline
}

// Compile checks a spec of a box that has the limits of baseline otherwise, and freezes it; at is where it stands. All that is wrong is
// reported; the rule is nil then.
func Compile(spec *v1alpha1.AutoscaleSpec, baseline Limits, at *field.Path) (*Rule, field.ErrorList) {
	r := &Rule{spec: *spec.DeepCopy(), interval: defaultInterval, cooldown: defaultCooldown}
	errs := compileDo(&r.spec.Do, at.Child("do"))
	if spec.Interval != nil {
		r.interval = spec.Interval.Duration
		errs = append(errs, between(r.interval, minInterval, maxInterval, at.Child("interval"))...)
	}
	if spec.Cooldown != nil {
		r.cooldown = spec.Cooldown.Duration
		errs = append(errs, between(r.cooldown, 0, maxCooldown, at.Child("cooldown"))...)
	}
	conditions := at.Child("conditions")
	var wrong field.ErrorList
	r.gate, wrong = when.CompileGate(spec.Conditions, scope(), conditions)
	errs = append(errs, wrong...)
	if len(wrong) == 0 && r.gate == nil {
		errs = append(errs, field.Required(conditions, "give when or anyOf: limits that hold always are those of the spec"))
	}
	if len(errs) > 0 {
		return nil, errs
	}
	if r.limits(baseline) == baseline {
		return nil, field.ErrorList{field.Invalid(at.Child("do"), r.saysDo(), "that is what the box has already: nothing would be replaced")}
	}
	if errs = contradictions(r, baseline, conditions); len(errs) > 0 {
		return nil, errs
	}
	return r, nil
}

func compileDo(do *v1alpha1.AutoscaleLimits, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if do.Workers == nil && do.QueueDepth == nil && do.Resync == nil {
		errs = append(errs, field.Required(at, "give at least one of workers, queueDepth and resync"))
	}
	if do.Workers != nil && (*do.Workers < 1 || *do.Workers > maxWorkers) {
		errs = append(errs, field.Invalid(at.Child("workers"), *do.Workers, fmt.Sprintf("wanted 1 to %d", maxWorkers)))
	}
	if do.QueueDepth != nil && *do.QueueDepth < 0 {
		errs = append(errs, field.Invalid(at.Child("queueDepth"), *do.QueueDepth, "wanted 0 (no limit) or more"))
	}
	if do.Resync != nil {
		errs = append(errs, between(do.Resync.Duration, minResync, maxResync, at.Child("resync"))...)
	}
	return errs
}

func between(d, low, high time.Duration, at *field.Path) field.ErrorList {
	if d >= low && d <= high {
		return nil
	}
	return field.ErrorList{field.Invalid(at, d.String(), fmt.Sprintf("wanted %s to %s", low, high))}
}

// saysDo lists the limits as they are written: `workers 12, resync 1h0m0s`.
func (r *Rule) saysDo() string {
	var parts []string
	if w := r.spec.Do.Workers; w != nil {
		parts = append(parts, fmt.Sprintf("workers %d", *w))
	}
	if q := r.spec.Do.QueueDepth; q != nil {
		parts = append(parts, fmt.Sprintf("queueDepth %d", *q))
	}
	if s := r.spec.Do.Resync; s != nil {
		parts = append(parts, "resync "+s.Duration.String())
	}
	return strings.Join(parts, ", ")
}
