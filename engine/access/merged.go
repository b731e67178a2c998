package access

import (
	"slices"
	"strings"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// Merged gives rules that are equal but for their namespaces, or but for their names, as one, and leaves out those that others cover.
func Merged(rules []v1alpha1.RequiredRule) []v1alpha1.RequiredRule {
	var out []v1alpha1.RequiredRule
	for i := range rules {
		rule := *rules[i].DeepCopy()
		at := slices.IndexFunc(out, func(known v1alpha1.RequiredRule) bool {
			return about(&known) == about(&rule) && (slices.Equal(known.Namespaces, rule.Namespaces) && len(known.ResourceNames) > 0 && len(rule.ResourceNames) > 0 ||
				slices.Equal(known.ResourceNames, rule.ResourceNames) && len(known.Namespaces) > 0 && len(rule.Namespaces) > 0 ||
				slices.Equal(known.ResourceNames, rule.ResourceNames) && slices.Equal(known.Namespaces, rule.Namespaces))
		})
		if at < 0 {
			out = append(out, rule)
			continue
		}
		out[at].Namespaces = sorted(slices.Concat(out[at].Namespaces, rule.Namespaces))
		out[at].ResourceNames = sorted(slices.Concat(out[at].ResourceNames, rule.ResourceNames))
	}
	for i := len(out) - 1; i >= 0; i-- {
		if others := slices.Delete(slices.Clone(out), i, i+1); Covers(others, &out[i]) {
			out = others
		}
	}
	return out
}

// Covers says whether one of the rules gives all that another does: nothing would be missed without that.
func Covers(rules []v1alpha1.RequiredRule, rule *v1alpha1.RequiredRule) bool {
	return slices.ContainsFunc(rules, func(wide v1alpha1.RequiredRule) bool {
		return slices.Equal(wide.APIGroups, rule.APIGroups) && slices.Equal(wide.Resources, rule.Resources) && within(rule.Verbs, wide.Verbs) &&
			(len(wide.Namespaces) == 0 || len(rule.Namespaces) > 0 && within(rule.Namespaces, wide.Namespaces)) &&
			(len(wide.ResourceNames) == 0 || len(rule.ResourceNames) > 0 && within(rule.ResourceNames, wide.ResourceNames))
	})
}

// within says whether all names are among others.
func within(names, others []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(others, name) })
}

// about is what a rule is about, but for the places and names.
func about(rule *v1alpha1.RequiredRule) string {
	return strings.Join(slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs), " ")
}

// sorted gives names in their order, each once; nil for none.
func sorted(names []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(names)))
}
