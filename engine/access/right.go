// Package access knows what the manager may do: it asks the API server with reviews, and keeps the answers for all boxes.
package access

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
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
}

// String gives the right as `verb resource.group/subresource`.
func (r Right) String() string {
	name := r.Resource
	if r.Group != "" {
		name += "." + r.Group
	}
	if r.Subresource != "" {
		name += "/" + r.Subresource
	}
	return r.Verb + " " + name
}

// key is one text for each right, for singleflight: String leaves out the namespace.
func (r Right) key() string { return r.Namespace + " " + r.String() }

// Rights gives the rights that rules grant, each in all namespaces, in the order of the rules.
func Rights(rules []rbacv1.PolicyRule) []Right {
	var out []Right
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, name := range rule.Resources {
				resource, sub, _ := strings.Cut(name, "/")
				for _, verb := range rule.Verbs {
					out = append(out, Right{Verb: verb, Group: group, Resource: resource, Subresource: sub})
				}
			}
		}
	}
	return out
}

// Sentence is the message for users: what the manager may not do, as `verb/verb resource.group`, and how to grant it. missing is what
// Reviews.Missing gives.
func Sentence(missing []string) string {
	verbs := map[string][]string{}
	for _, m := range missing {
		verb, resource, _ := strings.Cut(m, " ")
		verbs[resource] = append(verbs[resource], verb)
	}
	texts := make([]string, 0, len(verbs))
	for _, resource := range slices.Sorted(maps.Keys(verbs)) {
		texts = append(texts, strings.Join(verbs[resource], "/")+" "+resource)
	}
	return fmt.Sprintf("the manager may not %s; grant it with a ClusterRole labeled orkestra.orkspace.io/aggregate-to-manager: \"true\"", strings.Join(texts, ", "))
}
