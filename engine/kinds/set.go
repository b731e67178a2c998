package kinds

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Scaler is the kind of what sets the replicas of others.
var Scaler = schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}

// Set are the kinds that the objects of one declaration may have.
type Set []schema.GroupVersionKind

// Only is the kind of all objects; empty where there are several.
func (s Set) Only() schema.GroupVersionKind {
	if len(s) != 1 {
		return schema.GroupVersionKind{}
	}
	return s[0]
}

// Has says whether a kind is among them, in whatever version.
func (s Set) Has(kind schema.GroupKind) bool {
	return slices.ContainsFunc(s, func(gvk schema.GroupVersionKind) bool { return gvk.GroupKind() == kind })
}

// String names them for messages: "ConfigMap or Deployment".
func (s Set) String() string {
	names := make([]string, 0, len(s))
	for _, gvk := range s {
		names = append(names, gvk.Kind)
	}
	return strings.Join(names, " or ")
}

// Listed gives them as they are listed: "v1/ConfigMap, apps/v1/Deployment".
func (s Set) Listed() string {
	all := make([]string, 0, len(s))
	for _, gvk := range s {
		all = append(all, Listed(gvk))
	}
	return strings.Join(all, ", ")
}

// ChildNames are the names by which templates know children of these kinds, each once.
func (s Set) ChildNames() []string {
	var out []string
	for _, gvk := range s {
		for _, name := range []string{SingularOf(gvk), PluralOf(gvk)} {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// Calls says whether a name is what templates call the only child of the only kind.
func (s Set) Calls(name string) bool {
	kind := s.Only()
	return !kind.Empty() && name == SingularOf(kind)
}

// Rank is their place in the order inside a group: that of the first of them, since what others need comes first.
func (s Set) Rank() int {
	rank := rankRest
	for _, gvk := range s {
		rank = min(rank, RankOf(gvk))
	}
	return rank
}
