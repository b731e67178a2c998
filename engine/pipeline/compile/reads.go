package compile

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds"
)

// Reads notes what a template or condition reads.
func (b *Box) Reads(paths []expr.Path) (usesChildren bool) {
	for _, p := range paths {
		if len(p) == 0 {
			continue
		}
		switch p[0] {
		case RootChildren:
			usesChildren = true
		case RootStatus:
			b.ReadsStatus = true
		case RootValues:
			b.readsValue(p)
		default:
		}
	}
	return usesChildren
}

// readsValue notes a path below values: one of them, or all.
func (b *Box) readsValue(p expr.Path) {
	if b.ValuesRead == nil {
		b.ValuesRead = map[string]bool{}
	}
	for i := range b.Spec.Values {
		if name := b.Spec.Values[i].Name; len(p) == 1 || p[1] == name {
			b.ValuesRead[name] = true
		}
	}
}

// Observe notes a kind that is read without being owned: the right to do so is needed, and its objects are watched.
func (b *Box) Observe(kind schema.GroupVersionKind) {
	if !slices.Contains(b.ObservedKinds, kind) {
		b.ObservedKinds = append(b.ObservedKinds, kind)
	}
}

// OutsideRead is something that is read without being owned, as it is written: one object, or all that labels select.
type OutsideRead struct {
	// Box whose resources are read; empty: objects of a kind are.
	Box string
	// Kind of the objects, where no box is named.
	Kind schema.GroupVersionKind
	// Namespace of the objects; empty: that of the resource.
	Namespace string
	// Name of the object; empty: all that labels select.
	Name string
}

// ReadOutside notes that something is read without being owned. Its kind is observed.
func (b *Box) ReadOutside(read OutsideRead) {
	if read.Box == "" {
		b.Observe(read.Kind)
	}
	b.OutsideReads = append(b.OutsideReads, read)
}

// LeadsTo notes whether a template for a namespace may lead into another one than the resource's.
func (b *Box) LeadsTo(namespace *expr.Template) {
	if namespace == nil {
		return
	}
	if _, literal := namespace.Literal(); !literal {
		b.ReachesNamespaces = true
	}
}

// Outside names what is read from outside the resource and its children: a source of cross, an external call, or what a provider has made.
type Outside struct {
	// Root is RootCross, RootExternal or RootProviders.
	Root string
	// Name of the source, or of the call.
	Name string
}

// ID names it in lists that also hold ids of declarations. It begins with a dot, which no such id does.
func (o Outside) ID() string { return "." + o.Root + "." + o.Name }

// Outside gives the sources and calls that paths lead to: all of them where a path names none.
func (b *Box) Outside(paths []expr.Path) []Outside {
	var out []Outside
	for _, p := range paths {
		if len(p) > 0 && p[0] != RootCross && p[0] != RootExternal && p[0] != RootProviders {
			continue
		}
		for _, name := range b.allOutside() {
			if len(p) == 0 || p[0] == name.Root && (len(p) == 1 || p[1] == name.Name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// allOutside are all that the box reads from outside.
func (b *Box) allOutside() []Outside {
	var out []Outside
	for i := range b.Spec.Cross {
		out = append(out, Outside{RootCross, b.Spec.Cross[i].Name})
	}
	for i := range b.Spec.External {
		out = append(out, Outside{RootExternal, b.Spec.External[i].Name})
	}
	for _, name := range slices.Sorted(maps.Keys(b.Spec.Providers)) {
		for i := range b.Spec.Providers[name] {
			out = append(out, Outside{RootProviders, b.Spec.Providers[name][i].ID})
		}
	}
	return out
}

// LeadsToSecret says whether a path may lead to what a Secret holds.
func (b *Box) LeadsToSecret(p expr.Path) bool {
	if len(p) == 0 {
		return true
	}
	all := len(p) == 1
	switch p[0] {
	case RootCross:
		return slices.ContainsFunc(b.Spec.Cross, func(s v1alpha1.CrossSource) bool {
			return (all || s.Name == p[1]) && s.Kind == SecretKind.Kind && s.APIVersion == SecretKind.Version
		})
	case RootProviders:
		return leadsToSecretOutput(b.Env.Providers, b.Spec.Providers, p)
	case RootChildren:
		return all || p[1] == kinds.SingularOf(SecretKind) || p[1] == kinds.PluralOf(SecretKind) || b.isSecretID(p[1])
	default:
		return false
	}
}

// isSecretID says whether an explicit id is that of a Secret's declaration.
func (b *Box) isSecretID(id string) bool {
	for gvk, d := range boxspec.Declarations(b.OperatorBox) {
		if gvk == SecretKind && d.ID == id {
			return true
		}
	}
	return false
}
