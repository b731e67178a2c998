// Package outside reads what a box needs besides its resource and its children: objects that it does not own (cross), HTTP services
// (external), and the Secrets that calls are authenticated by.
package outside

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// Compile compiles spec.cross and spec.external. A stage that the box does not use is nil.
func Compile(b *compile.Box) (crossStage, externalStage stage.Stage[*stage.Cycle]) {
	sources, calls := sources(b), calls(b)
	if len(sources) > 0 {
		crossStage = cross{sources: sources, calls: calls}
	}
	if len(calls) > 0 {
		externalStage = &externals{calls: calls}
	}
	return crossStage, externalStage
}

// Boxes are the boxes whose resources are read.
func Boxes(sources []v1alpha1.CrossSource) []string {
	var boxes []string
	for i := range sources {
		if sources[i].Box != "" {
			boxes = append(boxes, sources[i].Box)
		}
	}
	return boxes
}

// maxReaders is how many of those that wait for one source a message names.
const maxReaders = 3

// readersOf says which declarations wait for what is absent: those that read it, or the answer to a call that does.
func readersOf(ctx context.Context, c *stage.Cycle, calls []*externalCall, absent compile.Outside) string {
	names := []compile.Outside{absent}
	for _, call := range calls {
		if slices.ContainsFunc(call.outside, func(n compile.Outside) bool { return slices.Contains(names, n) }) {
			names = append(names, call.source())
		}
	}
	readers := c.Children.ReadersOf(ctx, names)
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
