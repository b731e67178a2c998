package declare

import (
	"slices"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
)

// Way is how one thing that a box declares depends on another.
type Way string

// The ways.
const (
	// ByGate: its conditions read the other one.
	ByGate Way = "gate"
	// ByTemplates: its templates do.
	ByTemplates Way = "templates"
	// ByAfter: it comes after the other one, which its after names.
	ByAfter Way = "after"
	// ByDefault: fields that it leaves out are taken from the other one.
	ByDefault Way = "default"
)

// Link says that something depends on a declaration, or on what is read from outside.
type Link struct {
	// On is the declaration; nil: it is Outside.
	On *Declaration
	// Outside is the source, the call, or what a provider makes.
	Outside compile.Outside
	// Way is how.
	Way Way
	// Path that is read; empty where no path is.
	Path expr.Path
}

// Links knows what the names below children mean, for those who look for what depends on what.
type Links struct{ living, deleting, rollingBack map[string][]*Declaration }

// Links gives those of a set.
func (s *Set) Links() Links {
	return Links{living: childrenByName(s.Making()), deleting: childrenByName(s.OnDelete), rollingBack: childrenByName(s.OnRollback)}
}

// Of gives what a declaration depends on, in the order in which it is written: once for each path that is read.
func (l Links) Of(d *Declaration) []Link {
	out := l.By(d.Phase, d.Gate.Paths(), ByGate)
	for _, other := range d.After {
		out = append(out, Link{On: other, Way: ByAfter})
	}
	out = append(out, l.By(d.Phase, d.contentPaths(), ByTemplates)...)
	for _, other := range []*Declaration{d.Workload(), d.Service()} {
		if other != nil {
			out = append(out, Link{On: other, Way: ByDefault})
		}
	}
	return slices.DeleteFunc(out, func(link Link) bool { return link.On == d })
}

// By gives what paths lead to that something reads which stands in a phase. A path to all children, or to all of what is outside, names nothing,
// and counts for nothing.
func (l Links) By(phase Phase, paths []expr.Path, way Way) []Link {
	var out []Link
	const segments = 2 // a root and a name
	for _, path := range paths {
		if len(path) < segments {
			continue
		}
		switch path[0] {
		case compile.RootChildren:
			for _, on := range l.named(phase, path[1]) {
				out = append(out, Link{On: on, Way: way, Path: path})
			}
		case compile.RootCross, compile.RootExternal, compile.RootProviders:
			out = append(out, Link{Outside: compile.Outside{Root: path[0], Name: path[1]}, Way: way, Path: path})
		default:
		}
	}
	return out
}

// named gives the declarations whose children a name below children may mean, for what stands in a phase: those of a resource that lives, else those
// of the phase itself.
func (l Links) named(phase Phase, name string) []*Declaration {
	if found := l.living[name]; len(found) > 0 {
		return found
	}
	switch phase {
	case OnDelete:
		return l.deleting[name]
	case OnRollback:
		return l.rollingBack[name]
	default:
		return nil
	}
}
