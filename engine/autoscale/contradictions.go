package autoscale

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/suggest"
	"github.com/orkspace/orkestra/engine/when"
)

// contradictions are the mistakes of a rule whose conditions compile: conditions that never hold, and those that end what they have begun.
// What reads one field, or none, is tried on the values of that; of the others nothing is said.
func contradictions(r *Rule, baseline Limits, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	var required []tried // all of which must hold
	for _, group := range r.gate.Groups() {
		if !group.Any {
			required = append(required, trialsOf(group, at)...)
		}
	}
	for _, group := range r.gate.Groups() {
		list := at.Child("when")
		if group.Any {
			list = at.Child("anyOf")
		}
		trials := trialsOf(group, at)
		alone := impossible(trials)
		errs = append(errs, alone...)
		if len(alone) > 0 {
			continue
		}
		if group.Any {
			errs = append(errs, shutOut(group, trials, required, list)...)
		} else {
			errs = append(errs, apart(trials, list)...)
		}
		errs = append(errs, selfEnding(group, trials, baseline, r.limits(baseline), list)...)
	}
	return errs
}

// impossible are the conditions that can't hold, whatever is measured, and those that name a value that the field never has.
func impossible(trials []tried) field.ErrorList {
	var errs field.ErrorList
	for _, t := range trials {
		if t.of.Name == fieldDay {
			if wrong := noDay(t); len(wrong) > 0 {
				errs = append(errs, wrong...)
				continue
			}
		}
		if !together([]tried{t}) {
			errs = append(errs, field.Invalid(t.at, t.shown(), "it never holds"+t.of.values()))
			continue
		}
		errs = append(errs, outside(t)...)
	}
	return errs
}

// outside are the numbers of a condition, of those that it compares one by one or as bounds, that its field never has: an hour of 30 is
// mostly meant as one of the next day.
func outside(t tried) field.ErrorList {
	if t.of.Name == "" || t.of.Name == fieldDay {
		return nil
	}
	switch t.form.Operator {
	case v1alpha1.OperatorEquals, v1alpha1.OperatorNotEquals, v1alpha1.OperatorIn, v1alpha1.OperatorNotIn, v1alpha1.OperatorBetween, v1alpha1.OperatorNotBetween:
	default:
		return nil
	}
	hint := ""
	if t.of.Name == fieldHour && t.form.Operator == v1alpha1.OperatorBetween {
		hint = "; for a time over midnight, write notBetween"
	}
	numbers, _ := literals(t.form)
	var errs field.ErrorList
	for _, n := range numbers {
		if n < t.of.low || n > t.of.high {
			errs = append(errs, field.Invalid(t.at, n, "the field never has this value"+t.of.values()+hint))
		}
	}
	return errs
}

// noDay says what of a condition on the day is no name of a day.
func noDay(t tried) field.ErrorList {
	form, at := t.form, t.at
	wanted := []any{form.Value}
	switch form.Operator {
	case v1alpha1.OperatorEquals, v1alpha1.OperatorNotEquals:
	case v1alpha1.OperatorIn, v1alpha1.OperatorNotIn:
		wanted, _ = form.Value.([]any)
	case v1alpha1.OperatorGt, v1alpha1.OperatorGte, v1alpha1.OperatorLt, v1alpha1.OperatorLte, v1alpha1.OperatorBetween, v1alpha1.OperatorNotBetween:
		return field.ErrorList{field.Invalid(at, form.Field, "days have no order here; list them with in")}
	default:
		return nil
	}
	var names []string
	for day := time.Sunday; day <= time.Saturday; day++ {
		names = append(names, day.String())
	}
	var errs field.ErrorList
	for _, v := range wanted {
		if name := fmt.Sprint(v); !slices.Contains(names, name) {
			errs = append(errs, field.Invalid(at, name, fmt.Sprintf("no such day; wanted one of %s%s", strings.Join(names, ", "), suggest.DidYouMean(name, names))))
		}
	}
	return errs
}

// apart are the fields of which no value meets all conditions of a list that must all hold.
func apart(trials []tried, list *field.Path) field.ErrorList {
	var errs field.ErrorList
	var known []string
	for _, t := range trials {
		if t.of.Name == "" || slices.Contains(known, t.of.Name) {
			continue
		}
		known = append(known, t.of.Name)
		if same := on(t.of, trials); !together(same) {
			errs = append(errs, field.Invalid(list, t.verdict.Field, "no value meets "+said(same)+": the conditions never hold"))
		}
	}
	return errs
}

// shutOut are conditions of which one should hold, where those that must hold leave no value for any of them.
func shutOut(group when.GroupForm, trials, required []tried, list *field.Path) field.ErrorList {
	if len(trials) < len(group.Conditions) {
		return nil
	}
	for _, t := range trials {
		if together(append(on(t.of, required), t)) {
			return nil
		}
	}
	return field.ErrorList{field.Invalid(list, trials[0].verdict.Field, "none of these holds where those of when do: the conditions never hold")}
}

// selfEnding are the conditions on the number of workers that never begin with that of the spec, or end with that of do. There are no other
// numbers of workers.
func selfEnding(group when.GroupForm, trials []tried, baseline, scaled Limits, list *field.Path) field.ErrorList {
	for _, state := range []struct {
		workers int
		why     string
	}{
		{baseline.Workers, "the box has %d workers until the conditions hold, so that they never do"},
		{scaled.Workers, "with the %d workers of do the conditions are false: the limits would go back and forth"},
	} {
		closed := 0
		for _, t := range trials {
			if t.of.Name == fieldWorkers && !t.holds(int64(state.workers)) {
				closed++
			}
		}
		if closed == len(group.Conditions) || closed > 0 && !group.Any {
			return field.ErrorList{field.Invalid(list, "status."+fieldWorkers, fmt.Sprintf(state.why, state.workers))}
		}
	}
	return nil
}

// said names conditions and what each wants: `when[0] (more than 100) and when[1] (less than 50)`.
func said(trials []tried) string {
	var parts []string
	for _, t := range trials {
		wanted := t.form.Wanted
		if wanted == "" || t.form.CEL != "" {
			wanted = t.shown()
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", t.name, wanted))
	}
	return strings.Join(parts, " and ")
}
