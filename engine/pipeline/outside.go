package pipeline

import (
	"errors"

	"github.com/orkspace/orkestra/engine/expr"
)

// outsideName names what a cycle reads from outside: a source of cross, or an external call.
type outsideName struct{ root, name string }

// errNotKnown says that a cycle ended, or held, before it came to what is read.
var errNotKnown = errors.New("not known in this cycle")

// outside gives the sources and calls that paths lead to: all of them where a path names none.
func (c *compiler) outside(paths []expr.Path) []outsideName {
	var out []outsideName
	for _, p := range paths {
		if len(p) > 0 && p[0] != rootCross && p[0] != rootExternal {
			continue
		}
		for _, name := range c.outsideNames() {
			if len(p) == 0 || p[0] == name.root && (len(p) == 1 || p[1] == name.name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// outsideNames are all that the box reads from outside.
func (c *compiler) outsideNames() []outsideName {
	var out []outsideName
	for i := range c.box.Spec.Cross {
		out = append(out, outsideName{rootCross, c.box.Spec.Cross[i].Name})
	}
	for i := range c.box.Spec.External {
		out = append(out, outsideName{rootExternal, c.box.Spec.External[i].Name})
	}
	return out
}

// knows says whether this cycle has come to all of these. What it has not come to is not absent.
func (r *Run) knows(all []outsideName) bool {
	for _, name := range all {
		if !r.known[name] {
			return false
		}
	}
	return true
}
