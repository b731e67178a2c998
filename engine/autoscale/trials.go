package autoscale

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/when"
)

// tried is a condition that reads one field, or none, so that it can be tried on the values of that.
type tried struct {
	condition *when.Condition
	name      string // as in its list: `when[0]`
	at        *field.Path
	of        Field        // without a name: it reads nothing
	form      when.Form    // empty where the condition has a template
	verdict   when.Verdict // for one of the values
}

// few is how many values a field may have of which all are tried.
const few = 101

// trialsOf gives the conditions of a list, below at, that can be tried.
func trialsOf(group when.GroupForm, at *field.Path) []tried {
	name := "when"
	if group.Any {
		name = "anyOf"
	}
	var out []tried
	for i, c := range group.Conditions {
		t := tried{condition: c, at: at.Child(name).Index(i), name: fmt.Sprintf("%s[%d]", name, i)}
		t.form, _ = c.Form()
		var known bool
		if t.of, known = fieldOf(c); !known {
			continue
		}
		if _, literal := literals(t.form); t.of.Name != "" && !t.of.hasFew() && !literal {
			continue
		}
		t.verdict, _ = t.eval(int64(t.of.low))
		out = append(out, t)
	}
	return out
}

// fieldOf gives the only field that a condition reads; it has no name where the condition reads nothing, and known is false where it reads
// several, or all at once.
func fieldOf(c *when.Condition) (of Field, known bool) {
	for _, path := range c.Paths() {
		const segments = 2 // the root and the field
		if len(path) != segments {
			return of, false
		}
		all := Fields()
		at := slices.IndexFunc(all, func(f Field) bool { return f.Name == path[1] && f.OfTime == (path[0] == rootTime) })
		if at < 0 || of.Name != "" && of.Name != all[at].Name {
			return of, false
		}
		of = all[at]
	}
	return of, true
}

// on gives the trials of one field.
func on(f Field, trials []tried) []tried {
	var out []tried
	for _, t := range trials {
		if t.of.Name == f.Name {
			out = append(out, t)
		}
	}
	return out
}

// together says whether some value of their field meets all of the trials, which are of one field.
func together(trials []tried) bool {
	return slices.ContainsFunc(candidates(trials), func(v any) bool {
		return !slices.ContainsFunc(trials, func(t tried) bool { return !t.holds(v) })
	})
}

// candidates are all values of a field, or, where it has many, its lowest, each number that it is compared with, and the next one: if any value meets
// the trials, one of these does.
func candidates(trials []tried) []any {
	f := trials[0].of
	switch {
	case f.Name == "":
		return []any{nil}
	case f.Name == fieldDay:
		var days []any
		for day := time.Sunday; day <= time.Saturday; day++ {
			days = append(days, day.String())
		}
		return days
	case f.hasFew():
		var all []any
		for n := int64(f.low); n <= int64(f.high); n++ {
			all = append(all, n)
		}
		return all
	}
	out := []any{int64(f.low)}
	for _, t := range trials {
		numbers, _ := literals(t.form)
		for _, n := range numbers {
			for _, v := range []float64{math.Floor(n), math.Floor(n) + 1} {
				if v >= f.low && v <= f.high {
					out = append(out, int64(v))
				}
			}
		}
	}
	return out
}

// holds says whether the condition holds for a value of its field. As at a look, it does not where it can't be evaluated.
func (t tried) holds(v any) bool {
	verdict, err := t.eval(v)
	return err == nil && verdict.True
}

//nolint:contextcheck,nolintlint // a box is compiled without one, and the limits of templates and of CEL hold; what the callers are told is not counted as a use
func (t tried) eval(v any) (when.Verdict, error) {
	d := data(Measured{}, time.Time{})
	root := rootStatus // metrics is the same map
	if t.of.OfTime {
		root = rootTime
	}
	if values, ok := d[root].(map[string]any); ok && t.of.Name != "" {
		values[t.of.Name] = v
	}
	return t.condition.Eval(context.Background(), d, time.Time{}) //nolint:forbidigo // see above
}

// shown is the condition as messages name it.
func (t tried) shown() string {
	if t.form.CEL != "" {
		return t.form.CEL
	}
	return t.verdict.Field
}

// hasFew says whether all values of the field are tried.
func (f Field) hasFew() bool { return f.Name == fieldDay || f.high-f.low < few }

// values says which the field may have, as the end of a message.
func (f Field) values() string {
	switch {
	case f.Name == "":
		return ""
	case f.Name == fieldDay:
		return "; wanted a day, such as Monday"
	case f.hasFew():
		return fmt.Sprintf("; wanted %.0f to %.0f", f.low, f.high)
	default:
		return fmt.Sprintf("; wanted a whole number, %.0f or more", f.low)
	}
}

// literals are the numbers that a condition compares its field with; ok is false where it compares in another way, or with what is no number.
func literals(form when.Form) (numbers []float64, ok bool) {
	var written []any
	switch form.Operator {
	case v1alpha1.OperatorExists, v1alpha1.OperatorNotExists, v1alpha1.OperatorTypeOf:
		return nil, true
	case v1alpha1.OperatorIn, v1alpha1.OperatorNotIn, v1alpha1.OperatorBetween, v1alpha1.OperatorNotBetween:
		if written, ok = form.Value.([]any); !ok {
			return nil, false
		}
	case v1alpha1.OperatorEquals, v1alpha1.OperatorNotEquals, v1alpha1.OperatorGt, v1alpha1.OperatorGte, v1alpha1.OperatorLt, v1alpha1.OperatorLte:
		written = []any{form.Value}
	default:
		return nil, false
	}
	for _, v := range written {
		switch n := when.Read(v).Number.(type) {
		case int64:
			numbers = append(numbers, float64(n))
		case float64:
			numbers = append(numbers, n)
		default:
			return nil, false
		}
	}
	return numbers, form.As == "" || form.As == v1alpha1.ValueTypeInt || form.As == v1alpha1.ValueTypeFloat
}
