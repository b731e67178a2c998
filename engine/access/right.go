// Package access knows what the manager, and the accounts of boxes, may do: it asks the API server with reviews, and keeps the answers for
// all boxes.
package access

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// Right is one verb on one resource.
type Right struct {
	// Verb, such as patch.
	Verb string
	// Group of the resource; empty: the core group.
	Group string
	// Resource is a lower-case plural, and Subresource what stands after the slash, if anything.
	Resource, Subresource string
	// Namespace; empty: all.
	Namespace string
	// Name of the one object that is meant; empty: every one.
	Name string
	// User that lacks the right, where the API server has named one; empty: the one in whose name the right is asked for. The caches of a
	// box are the manager's, and the rest its account's.
	User string
}

// String gives the right as `verb resource.group/subresource`, with the name where it is about one object.
func (r Right) String() string { return r.Verb + " " + r.what() }

// what is the right without its verb.
func (r Right) what() string {
	name := r.Resource
	if r.Group != "" {
		name += "." + r.Group
	}
	if r.Subresource != "" {
		name += "/" + r.Subresource
	}
	if r.Name != "" {
		name += fmt.Sprintf(" %q", r.Name)
	}
	return name
}

// where is the place of the right, as it ends a sentence.
func (r Right) where() string {
	if r.Namespace == "" {
		return ""
	}
	return fmt.Sprintf(" in namespace %q", r.Namespace)
}

// concerns says whether a grant of r would have to be asked for anew when lost is found to be missing: it is about the same, there or
// everywhere.
func (r Right) concerns(lost Right) bool {
	same := r.Verb == lost.Verb && r.Group == lost.Group && r.Resource == lost.Resource && r.Subresource == lost.Subresource
	return same && overlap(r.Namespace, lost.Namespace) && overlap(r.Name, lost.Name)
}

// overlap says whether two names, of which an empty one means all, have anything in common.
func overlap(a, b string) bool { return a == "" || b == "" || a == b }

// Rights gives the rights that rules grant, in the order of the rules: each in the namespaces of its rule, and for the names there.
func Rights(rules []v1alpha1.RequiredRule) []Right {
	var out []Right
	for i := range rules {
		rule := &rules[i]
		for _, group := range rule.APIGroups {
			for _, name := range rule.Resources {
				resource, sub, _ := strings.Cut(name, "/")
				for _, verb := range rule.Verbs {
					out = append(out, places(rule, Right{Verb: verb, Group: group, Resource: resource, Subresource: sub})...)
				}
			}
		}
	}
	return out
}

// places gives a right of a rule for each of its namespaces and names.
func places(rule *v1alpha1.RequiredRule, right Right) []Right {
	var out []Right
	for _, namespace := range orAll(rule.Namespaces) {
		for _, name := range orAll(rule.ResourceNames) {
			right.Namespace, right.Name = namespace, name
			out = append(out, right)
		}
	}
	return out
}

// orAll gives names, or the one that stands for all.
func orAll(names []string) []string {
	if len(names) == 0 {
		return []string{""}
	}
	return names
}

// Everywhere gives policy rules as rules for all namespaces.
func Everywhere(rules ...rbacv1.PolicyRule) []v1alpha1.RequiredRule {
	out := make([]v1alpha1.RequiredRule, 0, len(rules))
	for _, rule := range rules {
		out = append(out, v1alpha1.RequiredRule{PolicyRule: rule})
	}
	return out
}

// compare orders rights as people read them.
func compare(a, b Right) int {
	return cmp.Or(cmp.Compare(a.String(), b.String()), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.User, b.User))
}

// Sorted gives rights in the order in which people read them, each once.
func Sorted(rights []Right) []Right {
	return slices.Compact(slices.SortedFunc(slices.Values(rights), compare))
}
