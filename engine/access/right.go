// Package access knows what the manager, and the accounts of boxes, may do: it asks the API server with reviews, and keeps the answers for
// all boxes.
package access

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/identity"
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

// Missing are rights that somebody lacks.
type Missing struct {
	// Account that lacks them; the zero value: the manager.
	Account identity.Account
	// Box that needs them; the command that grants what an account lacks names it.
	Box string
	// Rights that are missing, sorted.
	Rights []Right
}

// maxShown bounds the resources that a message names for each who lacks rights: it is a condition, an event and a line of the log. The command that
// the message gives prints all.
const maxShown = 20

// Sentence is the message for users: who may not do what, as `verb/verb resource.group`, and how to grant it.
func Sentence(missing ...Missing) string {
	texts := make([]string, 0, len(missing))
	for _, m := range missing {
		lines := list(m.Rights)
		more := ""
		if len(lines) > maxShown {
			lines, more = lines[:maxShown], fmt.Sprintf(", and %d more", len(lines)-maxShown)
		}
		texts = append(texts, lacks(m.Account, lines)+more+"; "+HowToGrant(m.Account, m.Box))
	}
	return strings.Join(texts, "; ")
}

// HowToGrant says how an account gets what a box lacks; the zero value: the manager.
func HowToGrant(account identity.Account, box string) string {
	if account.IsManager() {
		return `grant it with a ClusterRole labeled orkestra.orkspace.io/aggregate-to-manager: "true"`
	}
	return `grant it with "kubectl get operatorbox ` + box + ` -o yaml | orkestra rbac -f - --cluster | kubectl apply -f -"`
}

// Lacks says who may not do what, all of it, without how to grant it.
func Lacks(m Missing) string { return lacks(m.Account, list(m.Rights)) }

func lacks(account identity.Account, lines []string) string {
	return fmt.Sprintf("%s may not %s", account, strings.Join(lines, ", "))
}

// list names rights, those on one resource together, in an order that does not depend on theirs.
func list(rights []Right) []string {
	verbs := map[string][]string{}
	for _, r := range rights {
		at := r.what() + r.where()
		if !slices.Contains(verbs[at], r.Verb) {
			verbs[at] = append(verbs[at], r.Verb)
		}
	}
	texts := make([]string, 0, len(verbs))
	for _, what := range slices.Sorted(maps.Keys(verbs)) {
		texts = append(texts, strings.Join(slices.Sorted(slices.Values(verbs[what])), "/")+" "+what)
	}
	return texts
}

// compare orders rights as people read them.
func compare(a, b Right) int {
	return cmp.Or(cmp.Compare(a.String(), b.String()), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.User, b.User))
}

// Sorted gives rights in the order in which people read them, each once.
func Sorted(rights []Right) []Right {
	return slices.Compact(slices.SortedFunc(slices.Values(rights), compare))
}
