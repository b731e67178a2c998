package admission

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/value"
	"github.com/orkspace/orkestra/engine/when"
)

// writer collects the variables of a policy. Each value that several expressions need is one: the API server evaluates it once, when it
// is first read.
type writer struct {
	variables []admissionregistrationv1.Variable
	names     map[string]string // by what they hold
}

func newWriter() *writer { return &writer{names: map[string]string{}} }

// let gives the variable that holds an expression. The letter says what it is.
func (w *writer) let(letter, expression string) string {
	if name, ok := w.names[expression]; ok {
		return name
	}
	count := 0
	for _, v := range w.variables {
		if strings.HasPrefix(v.Name, letter) {
			count++
		}
	}
	name := letter + strconv.Itoa(count)
	w.variables = append(w.variables, admissionregistrationv1.Variable{Name: name, Expression: expression})
	w.names[expression] = "variables." + name
	return w.names[expression]
}

// field gives the variable that holds what is at a path; null where there is nothing.
func (w *writer) field(path value.Path) string {
	at := "object"
	for _, segment := range path {
		key := quote(segment)
		read := fmt.Sprintf("%[1]s && %[2]s in %[3]s ? %[3]s[%[2]s] : ", isType(at, "map"), key, at)
		if index, err := strconv.ParseUint(segment, 10, 31); err == nil {
			read += fmt.Sprintf("%[1]s && size(%[2]s) > %[3]d ? %[2]s[%[3]d] : ", isType(at, "list"), at, index)
		}
		at = w.let("field", read+"dyn(null)")
	}
	return at
}

// isNull says whether null stands at a path.
func (w *writer) isNull(path value.Path) string {
	last := len(path) - 1
	parent := w.field(path[:last])
	return "(" + isType(parent, "map") + " && " + quote(path[last]) + " in " + parent + ")"
}

// condition gives the answer of a condition, in a variable; why says why it can't be written. there is the expression that says whether the
// condition's field is there.
func (w *writer) condition(c *when.Condition) (answer, why string) {
	form, why := c.Form()
	if why != "" {
		return "", why
	}
	if form.CEL != "" {
		return "", "it is a CEL expression, and values have other types in a policy"
	}
	if why := unreadable(form.Path); why != "" {
		return "", why
	}
	x := w.field(form.Path)
	test := &comparison{Form: form, x: x, is: w.let("type", described(x))}
	there := test.write()
	if test.why != "" {
		return "", test.why
	}
	if form.Not != form.Negate {
		there = turned(there)
	}
	absent := fails
	if form.Absent != form.Negate {
		absent = holds
	}
	if form.Operator == v1alpha1.OperatorTypeOf && len(form.Path) > 1 {
		null := form.Value == value.TypeNull
		truth := fails
		if null != form.Negate {
			truth = holds
		}
		absent = "(" + w.isNull(form.Path) + " ? " + truth + " : " + absent + ")"
	}
	return w.let("test", "("+x+" == null ? "+absent+" : "+there+")"), ""
}

// turned is an answer turned round. A problem stays one.
func turned(answer string) string {
	return with("t", answer, "t == "+holds+" ? "+fails+" : t == "+fails+" ? "+holds+" : t")
}

// gate gives the answer of a gate, in a variable; empty: it has no conditions.
func (w *writer) gate(g *when.Gate) (answer, why string) {
	var groups []string
	for _, group := range g.Groups() {
		var conditions []string
		for _, c := range group.Conditions {
			one, why := w.condition(c)
			if why != "" {
				return "", "a condition of its gate: " + why
			}
			conditions = append(conditions, one)
		}
		nothing := holds
		if group.Any {
			nothing = fails
		}
		groups = append(groups, first("["+strings.Join(conditions, ", ")+"]", nothing))
	}
	if len(groups) == 0 {
		return "", ""
	}
	// A problem of any list counts before one that is closed.
	return w.let("gate", with("g", "["+strings.Join(groups, ", ")+"]",
		"(g.filter(t, t.startsWith('"+problem+"')) + g.filter(t, t == "+fails+") + ["+holds+"])[0]")), ""
}

// unreadable says why a policy can't judge by what is at a path.
func unreadable(p value.Path) string {
	switch {
	case p[0] == "spec", p[0] == "apiVersion", p[0] == "kind":
		return ""
	case p[0] != "metadata":
		return p.String() + " is not known to the API server when it judges"
	case len(p) == 2 && slices.Contains([]string{"name", "namespace"}, p[1]):
		return ""
	case len(p) == 3 && slices.Contains([]string{"labels", "annotations"}, p[1]) && !ours(p[2]):
		return ""
	default:
		return p.String() + " is written after the API server has judged"
	}
}

// ours says whether Orkestra sets a label or annotation.
func ours(key string) bool {
	return strings.HasPrefix(key, v1alpha1.GroupName+"/") || key == v1alpha1.LabelOwner
}
