package autoscale

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/suggest"
	"github.com/orkspace/orkestra/engine/when"
)

// span are the whole numbers from low to high. It is empty where low is above high.
type span struct{ low, high float64 }

func (s span) empty() bool { return s.low > s.high }

func (s span) meet(o span) span { return span{math.Max(s.low, o.low), math.Min(s.high, o.high)} }

var everything = span{math.Inf(-1), math.Inf(1)}

// contradictions are the mistakes of a rule whose conditions compile: conditions that never hold, and those that end what they have begun.
// Literals alone are looked at.
func contradictions(r *Rule, baseline Limits, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, group := range r.gate.Groups() {
		list := at.Child("when")
		if group.Any {
			list = at.Child("anyOf")
		}
		alone := impossible(group, list)
		errs = append(errs, alone...)
		if len(alone) > 0 {
			continue
		}
		if !group.Any {
			errs = append(errs, apart(group, list)...)
		}
		errs = append(errs, selfEnding(group, baseline, r.limits(baseline), list)...)
	}
	return errs
}

// impossible are the conditions that can't hold, whatever is measured.
func impossible(group when.GroupForm, list *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, c := range group.Conditions {
		form, f, ok := formOf(c)
		switch {
		case !ok:
		case f.Name == fieldDay:
			errs = append(errs, noDay(form, list.Index(i))...)
		case spanOf(form).meet(span{f.low, f.high}).empty():
			errs = append(errs, field.Invalid(list.Index(i), form.Field, fmt.Sprintf("it is never %s: it lies between %.0f and %.0f", form.Wanted, f.low, f.high)))
		}
	}
	return errs
}

// noDay says what of a condition on the day is no name of a day.
func noDay(form when.Form, at *field.Path) field.ErrorList {
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
func apart(group when.GroupForm, list *field.Path) field.ErrorList {
	left, said := map[string]span{}, map[string][]string{}
	var order []string
	for _, c := range group.Conditions {
		form, f, ok := formOf(c)
		if !ok || f.Name == fieldDay {
			continue
		}
		if _, known := left[f.Name]; !known {
			left[f.Name] = span{f.low, f.high}
			order = append(order, f.Name)
		}
		left[f.Name] = left[f.Name].meet(spanOf(form))
		said[f.Name] = append(said[f.Name], form.Wanted)
	}
	var errs field.ErrorList
	for _, name := range order {
		if left[name].empty() {
			errs = append(errs, field.Invalid(list, name, fmt.Sprintf("it can't be %s at once: the conditions never hold", strings.Join(said[name], " and "))))
		}
	}
	return errs
}

// selfEnding are the conditions on the number of workers that never begin with that of the spec, or end with that of do. There are no other
// numbers of workers.
func selfEnding(group when.GroupForm, baseline, scaled Limits, list *field.Path) field.ErrorList {
	for _, state := range []struct {
		workers int
		why     string
	}{
		{baseline.Workers, "the box has %d workers until the conditions hold, so that they never do"},
		{scaled.Workers, "with the %d workers of do the conditions are false: the limits would go back and forth"},
	} {
		closed := 0
		for _, c := range group.Conditions {
			form, f, ok := formOf(c)
			if !ok || f.Name != fieldWorkers || f.OfTime || !spanOf(form).meet(span{float64(state.workers), float64(state.workers)}).empty() {
				continue
			}
			closed++
		}
		if closed == len(group.Conditions) || closed > 0 && !group.Any {
			return field.ErrorList{field.Invalid(list, "status."+fieldWorkers, fmt.Sprintf(state.why, state.workers))}
		}
	}
	return nil
}

// formOf gives what a condition compares, and the field that it reads; ok is false where one of them is not known beforehand.
func formOf(c *when.Condition) (form when.Form, of Field, ok bool) {
	form, why := c.Form()
	if why != "" || form.CEL != "" {
		return form, of, false
	}
	const segments = 2 // the root and the field
	if len(form.Path) != segments {
		return form, of, false
	}
	all := Fields()
	at := slices.IndexFunc(all, func(f Field) bool { return f.Name == form.Path[1] && f.OfTime == (form.Path[0] == rootTime) })
	if at < 0 {
		return form, of, false
	}
	return form, all[at], true
}

// spanOf are the numbers for which a comparison may hold.
func spanOf(form when.Form) span {
	operator := form.Operator
	if form.Negate {
		operator = opposite[operator] // of one that has none, nothing is known
	}
	if operator == v1alpha1.OperatorBetween {
		bounds, ok := form.Value.([]any)
		if !ok || len(bounds) == 0 {
			return everything
		}
		low, high := number(bounds[0]), number(bounds[len(bounds)-1])
		return span{math.Ceil(low.low), math.Floor(high.high)}
	}
	if operator == v1alpha1.OperatorIn {
		all, _ := form.Value.([]any)
		hull := span{math.Inf(1), math.Inf(-1)}
		for _, v := range all {
			n := number(v)
			hull = span{math.Min(hull.low, n.low), math.Max(hull.high, n.high)}
		}
		return hull
	}
	n := number(form.Value)
	switch operator {
	case v1alpha1.OperatorEquals:
		return span{math.Ceil(n.low), math.Floor(n.high)}
	case v1alpha1.OperatorGt:
		return span{math.Floor(n.low) + 1, math.Inf(1)}
	case v1alpha1.OperatorGte:
		return span{math.Ceil(n.low), math.Inf(1)}
	case v1alpha1.OperatorLt:
		return span{math.Inf(-1), math.Ceil(n.high) - 1}
	case v1alpha1.OperatorLte:
		return span{math.Inf(-1), math.Floor(n.high)}
	default:
		return everything
	}
}

// opposite are the operators whose opposite is one, too.
var opposite = map[v1alpha1.Operator]v1alpha1.Operator{
	v1alpha1.OperatorGt: v1alpha1.OperatorLte, v1alpha1.OperatorLte: v1alpha1.OperatorGt,
	v1alpha1.OperatorLt: v1alpha1.OperatorGte, v1alpha1.OperatorGte: v1alpha1.OperatorLt,
	v1alpha1.OperatorNotEquals: v1alpha1.OperatorEquals, v1alpha1.OperatorNotIn: v1alpha1.OperatorIn, v1alpha1.OperatorNotBetween: v1alpha1.OperatorBetween,
}

// number is a literal as a span of one number; of what is none, such as a quantity, nothing is known.
func number(v any) span {
	switch n := when.Read(v).Number.(type) {
	case int64:
		return span{float64(n), float64(n)}
	case float64:
		return span{n, n}
	default:
		return everything
	}
}
