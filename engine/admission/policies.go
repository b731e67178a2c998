package admission

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// Policies are what the API server is to know of a box. Each is nil where there is nothing to say.
type Policies struct {
	// Deny refuses resources.
	Deny *admissionregistrationv1.ValidatingAdmissionPolicySpec
	// Warn answers with warnings.
	Warn *admissionregistrationv1.ValidatingAdmissionPolicySpec
	// Defaults sets fields.
	Defaults *admissionregistrationv1.MutatingAdmissionPolicySpec
}

// Policies writes the policies. Every field that the API server would fill is set.
func (c *Compiled) Policies() Policies {
	return Policies{Deny: c.deny(), Warn: c.warn(), Defaults: c.set()}
}

// deny is one validation for all rules: the API server tells the first that fails, and people are to read all mistakes at once.
func (c *Compiled) deny() *admissionregistrationv1.ValidatingAdmissionPolicySpec {
	var all []string
	for i, result := range c.results {
		switch {
		case result == "":
		case c.rules.Validations[i].Warn:
			all = append(all, "("+result+".startsWith('"+problem+"') ? "+result+" : '')") // a rule that can't be asked is no warning
		default:
			all = append(all, result)
		}
	}
	if len(all) == 0 {
		return nil
	}
	variables := append(slices.Clone(c.validating.variables), admissionregistrationv1.Variable{
		Name: "broken", Expression: "[" + strings.Join(all, ", ") + "].filter(t, t != '')",
	})
	return c.validatingPolicy(variables, admissionregistrationv1.Validation{
		Expression: "size(variables.broken) == 0",
		MessageExpression: "(variables.broken.filter(t, t.startsWith('" + problem + "')).map(t, t.substring(1)) + " +
			"[variables.broken.map(t, t.substring(1)).join('; ')])[0]",
		Message: "a rule of the box is broken",
	})
}

// warn is one validation for each rule: each is a warning of its own.
func (c *Compiled) warn() *admissionregistrationv1.ValidatingAdmissionPolicySpec {
	var validations []admissionregistrationv1.Validation
	for i, result := range c.results {
		if result == "" || !c.rules.Validations[i].Warn {
			continue
		}
		validations = append(validations, admissionregistrationv1.Validation{
			Expression:        "!" + result + ".startsWith('" + broken + "')",
			MessageExpression: result + ".substring(1)", Message: "a rule of the box is broken",
		})
	}
	if len(validations) == 0 {
		return nil
	}
	return c.validatingPolicy(slices.Clone(c.validating.variables), validations...)
}

func (c *Compiled) validatingPolicy(
	variables []admissionregistrationv1.Variable, validations ...admissionregistrationv1.Validation,
) *admissionregistrationv1.ValidatingAdmissionPolicySpec {
	return &admissionregistrationv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: c.failurePolicy(), MatchConstraints: c.matched(), MatchConditions: c.conditions(),
		Variables: variables, Validations: validations,
	}
}

// set is one patch for each default, each of which sees what the one before has set.
func (c *Compiled) set() *admissionregistrationv1.MutatingAdmissionPolicySpec {
	w := newWriter()
	var mutations []admissionregistrationv1.Mutation
	for i, d := range c.rules.Defaults {
		if c.defaults[i].why != "" {
			continue
		}
		mutations = append(mutations, admissionregistrationv1.Mutation{
			PatchType: admissionregistrationv1.PatchTypeJSONPatch, JSONPatch: &admissionregistrationv1.JSONPatch{Expression: w.patch(d)},
		})
	}
	if len(mutations) == 0 {
		return nil
	}
	return &admissionregistrationv1.MutatingAdmissionPolicySpec{
		FailurePolicy: c.failurePolicy(), MatchConstraints: c.matched(), MatchConditions: c.conditions(),
		Variables: w.variables, Mutations: mutations, ReinvocationPolicy: admissionregistrationv1.IfNeededReinvocationPolicy,
	}
}

// patch sets a default where the field is absent, and the objects around it where they are. It leaves alone what the schema will refuse.
func (w *writer) patch(d Default) string {
	pointer, open := "", w.field(d.Path)+" == null"
	var steps []string
	for i, segment := range d.Path {
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(segment)
		if i == len(d.Path)-1 {
			break
		}
		parent := w.field(d.Path[:i+1])
		open += " && (" + parent + " == null || " + isType(parent, "map") + ")"
		steps = append(steps, fmt.Sprintf("(%s == null ? [JSONPatch{op: 'add', path: %s, value: {}}] : [])", parent, quote(pointer)))
	}
	text, _ := literal(d.Value) // whyNoDefault has asked
	steps = append(steps, fmt.Sprintf("[JSONPatch{op: 'add', path: %s, value: %s}]", quote(pointer), text))
	if gate, _ := w.gate(d.Gate); gate != "" {
		open += " && " + gate + " == " + holds
	}
	return open + " ? " + strings.Join(steps, " + ") + " : []"
}

func (c *Compiled) failurePolicy() *admissionregistrationv1.FailurePolicyType {
	policy := admissionregistrationv1.Fail
	if c.rules.Spec.FailurePolicy == v1alpha1.AdmissionIgnore {
		policy = admissionregistrationv1.Ignore
	}
	return &policy
}

// matched are the creations and updates of the box's resources, in whatever version they are made.
func (c *Compiled) matched() *admissionregistrationv1.MatchResources {
	scope, match := admissionregistrationv1.AllScopes, admissionregistrationv1.Equivalent
	return &admissionregistrationv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{}, MatchPolicy: &match,
		ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{c.rules.Resource.Group}, APIVersions: []string{c.rules.Resource.Version},
				Resources: []string{c.rules.Resource.Resource}, Scope: &scope,
			},
		}}},
	}
}

// conditions say which of the requests are judged: those for resources that the box selects, where the spec is new, or another than it was.
// Who deletes a resource is not held up by its spec.
func (c *Compiled) conditions() []admissionregistrationv1.MatchCondition {
	out := []admissionregistrationv1.MatchCondition{
		{Name: "orkestra-not-deleting", Expression: "!has(object.metadata.deletionTimestamp)"},
		{Name: "orkestra-spec-changed", Expression: "oldObject == null || " +
			"(has(object.spec) ? dyn(object.spec) : dyn(null)) != (has(oldObject.spec) ? dyn(oldObject.spec) : dyn(null))"},
	}
	if len(c.rules.Include) > 0 {
		out = append(out, admissionregistrationv1.MatchCondition{Name: "orkestra-included", Expression: namespaces(c.rules.Include)})
	}
	if len(c.rules.Exclude) > 0 {
		out = append(out, admissionregistrationv1.MatchCondition{Name: "orkestra-excluded", Expression: "!" + namespaces(c.rules.Exclude)})
	}
	if selected := selects(c.rules.Selector); selected != "" {
		out = append(out, admissionregistrationv1.MatchCondition{Name: "orkestra-selected", Expression: selected})
	}
	for _, m := range c.rules.Spec.MatchConditions {
		out = append(out, admissionregistrationv1.MatchCondition{Name: m.Name, Expression: m.Expression})
	}
	return out
}

// namespaces says that one of some patterns matches the namespace of a request.
func namespaces(patterns []string) string {
	parts := make([]string, len(patterns))
	for i, p := range patterns {
		parts[i] = glob(p)
	}
	return "request.namespace.matches(" + quote("^("+strings.Join(parts, "|")+")$") + ")"
}

// glob writes a pattern of path.Match as a regular expression. A namespace's name has no slash.
func glob(pattern string) string {
	var b strings.Builder
	inClass := false
	for i := 0; i < len(pattern); i++ {
		switch ch := pattern[i]; {
		case ch == '\\' && i+1 < len(pattern):
			i++
			b.WriteString(escaped(pattern[i]))
		case inClass && ch == ']':
			inClass = false
			b.WriteByte(ch)
		case inClass && (ch == '-' || ch == '^'):
			b.WriteByte(ch)
		case ch == '[':
			inClass = true
			b.WriteByte(ch)
		case ch == '*' && !inClass:
			b.WriteString(".*")
		case ch == '?' && !inClass:
			b.WriteByte('.')
		default:
			b.WriteString(escaped(ch))
		}
	}
	return b.String()
}

// escaped is a byte that means itself, in a class too.
func escaped(ch byte) string {
	if ch < 0x80 && strings.ContainsRune(`\.+*?()|[]{}^$-`, rune(ch)) {
		return `\` + string(rune(ch))
	}
	return string([]byte{ch})
}

// selects says that a selector selects the object; empty: it selects all.
func selects(s *metav1.LabelSelector) string {
	if s == nil {
		return ""
	}
	const labels = "object.metadata.labels"
	has := func(key string) string { return "(has(" + labels + ") && " + quote(key) + " in " + labels + ")" }
	in := func(key string, values []string) string {
		list := make([]any, len(values))
		for i, v := range values {
			list[i] = v
		}
		text, _ := literal(list)
		return "(has(" + labels + ") && " + quote(key) + " in " + labels + " && " + labels + "[" + quote(key) + "] in " + text + ")"
	}
	var parts []string
	for key, v := range s.MatchLabels {
		parts = append(parts, in(key, []string{v}))
	}
	for _, e := range s.MatchExpressions {
		switch e.Operator {
		case metav1.LabelSelectorOpIn:
			parts = append(parts, in(e.Key, e.Values))
		case metav1.LabelSelectorOpNotIn:
			parts = append(parts, "!"+in(e.Key, e.Values))
		case metav1.LabelSelectorOpExists:
			parts = append(parts, has(e.Key))
		case metav1.LabelSelectorOpDoesNotExist:
			parts = append(parts, "!"+has(e.Key))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, " && ")
}
