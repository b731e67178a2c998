// Package admission says rules of a box in the language of admission policies, with the meaning that they have in the reconcile: what the
// API server refuses is what the reconcile would refuse, with the same words. A rule that can't be said so stays in the reconcile alone,
// and the package says why.
//
// It is pure: it writes no object and knows no cluster.
package admission

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/value"
	"github.com/orkspace/orkestra/engine/when"
)

// Rules are what a box wants of the API server. They are immutable once compiled.
type Rules struct {
	// Spec is what the box says of admission.
	Spec v1alpha1.AdmissionSpec
	// Resource and Version say what is judged.
	Resource schema.GroupVersionResource
	// Include and Exclude are the patterns of namespaces, Selector the labels that the box selects.
	Include, Exclude []string
	Selector         *metav1.LabelSelector
	// Defaults are the rules of spec.mutation, Validations those of spec.validation, in their order.
	Defaults    []Default
	Validations []Validation
	// Computed are the fields that normalize sets, and Reads what its templates read.
	Computed, Reads []value.Path
}

// Default is a rule of spec.mutation.
type Default struct {
	Path     value.Path
	Value    any    // a literal, in the type that the schema wants
	Why      string // why it can't be a policy's, where that is known before: it is an override, or its value a template
	Gate     *when.Gate
	Reads    []value.Path // what the templates of the value read
	Required bool
}

// Validation is a rule of spec.validation.
type Validation struct {
	Test     *when.Condition
	Gate     *when.Gate
	Message  string // one line
	Warn     bool
	Required bool
}

// place is where a rule is checked: why says why it is not in a policy.
type place struct {
	path string
	why  string
}

// Compiled is what a policy can say of a box's rules.
type Compiled struct {
	rules       *Rules
	defaults    []place
	validations []place
	validating  *writer
	results     []string // of each validation rule; empty where the rule is not in a policy
}

// Compile says the rules in CEL. mutation says whether the API server has policies that mutate: without, fields that defaults set are judged
// in the reconcile alone.
func Compile(rules *Rules, mutation bool) *Compiled {
	c := &Compiled{rules: rules, validating: newWriter()}
	mutationOn := mutation && rules.Spec.Mutation
	touched := c.placeDefaults(mutationOn)
	for i := range rules.Validations {
		p := place{path: field.NewPath("spec", "validation", "rules").Index(i).String()}
		result := ""
		if !rules.Spec.Validation {
			p.why = "spec.admission.validation is not set"
		} else {
			p.why = whyTouched(touched, rules.Validations[i].Test, rules.Validations[i].Gate)
		}
		if p.why == "" {
			result, p.why = c.validating.rule(i, &rules.Validations[i])
		}
		if p.why != "" {
			result = ""
		}
		c.validations, c.results = append(c.validations, p), append(c.results, result)
	}
	return c
}

// Required gives the mistakes of rules that the API server must enforce and can't, without asking what API server there is.
func (c *Compiled) Required() field.ErrorList {
	var errs field.ErrorList
	check := func(places []place, required func(i int) bool, part string) {
		for i, p := range places {
			if required(i) && p.why != "" {
				at := field.NewPath("spec", part, "rules").Index(i).Child("admission")
				errs = append(errs, field.Invalid(at, v1alpha1.AdmissionRequired, "the API server can't enforce this rule: "+p.why))
			}
		}
	}
	check(c.defaults, func(i int) bool { return c.rules.Defaults[i].Required }, "mutation")
	check(c.validations, func(i int) bool { return c.rules.Validations[i].Required }, "validation")
	return errs
}

// Places says of each rule where it is checked.
func (c *Compiled) Places() []v1alpha1.AdmissionRuleStatus {
	var out []v1alpha1.AdmissionRuleStatus
	for _, p := range slices.Concat(c.defaults, c.validations) {
		where := v1alpha1.RuleInPolicy
		if p.why != "" {
			where = v1alpha1.RuleInReconcile
		}
		out = append(out, v1alpha1.AdmissionRuleStatus{Path: p.path, Where: where, Reason: p.why})
	}
	return out
}

// Refuses says whether the validation rule with an index is one by which the API server refuses resources.
func (c *Compiled) Refuses(i int) bool { return c.results[i] != "" && !c.rules.Validations[i].Warn }

// Spec is what the box says of admission.
func (c *Compiled) Spec() v1alpha1.AdmissionSpec { return c.rules.Spec }

// placeDefaults finds out which defaults a policy can set, and gives the fields that the reconcile alone sets, each with what does that.
func (c *Compiled) placeDefaults(mutation bool) map[string]touch {
	touched := map[string]touch{}
	for _, p := range c.rules.Computed {
		touched[p.String()] = touch{p, "normalize computes " + p.String()}
	}
	defaults := c.rules.Defaults
	c.defaults = make([]place, len(defaults))
	stays := func(i int, why string) {
		c.defaults[i].why = why
		p := defaults[i].Path
		touched[p.String()] = touch{p, fmt.Sprintf("%s sets %s in the reconcile", c.defaults[i].path, p)}
	}
	for i := range defaults {
		c.defaults[i].path = field.NewPath("spec", "mutation", "rules").Index(i).String()
		if why := cmp.Or(defaults[i].Why, c.whyNoDefault(i, mutation)); why != "" {
			stays(i, why)
		}
	}
	// A default that stays may set what another one reads, and one that another reads before it is set may not be set earlier.
	for changed := true; changed; {
		changed = false
		for i := range defaults {
			if c.defaults[i].why != "" {
				continue
			}
			why := whyTouched(touched, nil, defaults[i].Gate)
			if t := overlapping(touched, defaults[i].Path); t != nil && why == "" {
				why = t.by
			}
			if why == "" {
				why = c.whyRead(i)
			}
			if why != "" {
				stays(i, why)
				changed = true
			}
		}
	}
	return touched
}

// whyRead says what reads the field of a default in the reconcile, before it is set there.
func (c *Compiled) whyRead(i int) string {
	p := c.rules.Defaults[i].Path
	reads := func(paths []value.Path) bool {
		return slices.ContainsFunc(paths, func(read value.Path) bool { return overlap(read, p) })
	}
	if reads(c.rules.Reads) {
		return fmt.Sprintf("normalize reads %s before it is set", p)
	}
	for j, d := range c.rules.Defaults[:i] {
		if c.defaults[j].why != "" && (reads(d.Reads) || reads(d.Gate.Paths())) {
			return fmt.Sprintf("%s reads %s in the reconcile before it is set", c.defaults[j].path, p)
		}
	}
	return ""
}

// whyNoDefault says why a policy can't set a default that is a literal.
func (c *Compiled) whyNoDefault(i int, mutation bool) string {
	d := c.rules.Defaults[i]
	switch {
	case !c.rules.Spec.Mutation:
		return "spec.admission.mutation is not set"
	case !mutation:
		return "the API server has no MutatingAdmissionPolicy"
	case slices.ContainsFunc(d.Path, isIndex):
		return "it sets an element of a list"
	}
	if _, ok := literal(d.Value); !ok {
		return whyRounded
	}
	for _, p := range d.Gate.Paths() {
		if len(p) == 2 && p[0] == "metadata" && p[1] == "name" {
			return "the name may not be known when defaults are set"
		}
		for j := i; j < len(c.rules.Defaults); j++ {
			if overlap(p, c.rules.Defaults[j].Path) {
				return fmt.Sprintf("its gate reads %s, which a default sets later", p)
			}
		}
	}
	_, why := newWriter().gate(d.Gate)
	return why
}

// touch is a field that the reconcile sets.
type touch struct {
	path value.Path
	by   string
}

// whyTouched says which of the fields that a rule reads the reconcile sets.
func whyTouched(touched map[string]touch, test *when.Condition, gate *when.Gate) string {
	paths := gate.Paths()
	if test != nil {
		paths = slices.Concat(test.Paths(), paths)
	}
	for _, p := range paths {
		if t := overlapping(touched, p); t != nil {
			return t.by
		}
	}
	return ""
}

// overlapping gives the first field, by its path, of which a path is a part, or which is a part of it.
func overlapping(touched map[string]touch, p value.Path) *touch {
	var found *touch
	for _, t := range touched {
		if overlap(t.path, p) && (found == nil || t.path.String() < found.path.String()) {
			found = &t
		}
	}
	return found
}

func overlap(a, b value.Path) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

func isIndex(segment string) bool {
	for _, r := range segment {
		if r < '0' || r > '9' {
			return false
		}
	}
	return segment != ""
}

// What the result of a rule begins with where a resource breaks it.
const broken = "-"

// rule gives the variable of a rule's result: empty where the resource keeps it.
func (w *writer) rule(i int, r *Validation) (result, why string) {
	form, why := r.Test.Form()
	if why != "" {
		return "", why
	}
	test, why := w.condition(r.Test)
	if why != "" {
		return "", why
	}
	gate, why := w.gate(r.Gate)
	if why != "" {
		return "", why
	}
	x := w.field(form.Path)
	before, after := form.Text(r.Message)
	text := quote(broken+before) + " + " + w.let("shown", shown(x)) + " + " + quote(after)
	// A rule speaks of a field that is there, unless it asks for just that.
	absent := x + " == null"
	if form.Operator == v1alpha1.OperatorExists {
		absent = "false"
	}
	explained := func(answer, prefix string) string {
		return answer + ".startsWith('" + problem + "') ? " + quote(problem+prefix) + " + " + answer + ".substring(1) : "
	}
	expression := explained(test, fmt.Sprintf("rules[%d]: ", i)) + test + " == " + holds + " || " + absent + " ? '' : " + text
	if gate != "" {
		expression = explained(gate, "when: ") + gate + " == " + fails + " ? '' : (" + expression + ")"
	}
	return w.let("rule", expression), ""
}
