package pipeline

import (
	"errors"

	"github.com/orkspace/orkestra/engine/expr"
)

// errNotKnown says that a cycle ended, or held, before it came to what is read.
var errNotKnown = errors.New("not known in this cycle")

// outsidePaths is everything that the declaration reads, and what the names and ports read that it takes from others.
func (d *declaration) outsidePaths() []expr.Path {
	out := d.paths()
	for _, other := range []*declaration{d.workload, d.service} {
		if other == nil {
			continue
		}
		if other.name != nil {
			out = append(out, other.name.Paths()...)
		}
		if other.ports != nil {
			out = append(out, other.ports.Paths()...)
		}
		if other == d.service && other.workload != nil {
			out = append(out, (&declaration{workload: other.workload}).outsidePaths()...)
		}
	}
	return out
}
