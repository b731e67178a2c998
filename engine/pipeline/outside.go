package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
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

// maxReaders is how many of those that wait for one source a message names.
const maxReaders = 3

// readersOf says which declarations wait for what is absent: those that read it, or the answer to a call that does.
func (r *Run) readersOf(ctx context.Context, absent compile.Outside) string {
	names := []compile.Outside{absent}
	for _, call := range r.Plan.calls {
		if slices.ContainsFunc(call.outside, func(n compile.Outside) bool { return slices.Contains(names, n) }) {
			names = append(names, call.source())
		}
	}
	var readers []string
	for _, d := range r.Plan.declarations {
		if slices.ContainsFunc(d.outside, func(n compile.Outside) bool { return slices.Contains(names, n) }) {
			readers = append(readers, r.label(ctx, d.whole()))
		}
	}
	if len(readers) == 0 {
		return ""
	}
	more := ""
	if len(readers) > maxReaders {
		more = fmt.Sprintf(" and %d more", len(readers)-maxReaders)
		readers = readers[:maxReaders]
	}
	return "; waiting for it: " + strings.Join(readers, ", ") + more
}
