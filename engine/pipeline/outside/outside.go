// Package outside reads what a box needs besides its resource and its children: objects that it does not own (cross), HTTP services
// (external), and the Secrets that calls are authenticated by.
package outside

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/when"
)

// Source is what is read from outside, for those who show what a box declares.
type Source struct {
	compile.Outside

	// Path is its place in the box.
	Path string
	// Box whose resources are read; empty: none.
	Box string
	// What is read: a kind, or a method and the scheme and host of a URL.
	What string
	// Optional says that nothing waits for it.
	Optional bool
	// Gate says when it is read; nil: always.
	Gate *when.Gate
	// Paths are what its templates read.
	Paths []expr.Path
}

// Compile compiles spec.cross and spec.external, and gives what is read in the order in which it is written. A stage that the box does not use is nil.
func Compile(b *compile.Box) (crossStage, externalStage stage.Stage[*stage.Cycle], all []Source) {
	sources, calls := sources(b), calls(b)
	for i := range sources {
		all = append(all, sources[i].shown(i))
	}
	for i, call := range calls {
		all = append(all, call.shown(i))
	}
	if len(sources) > 0 {
		crossStage = cross{sources: sources, calls: calls}
	}
	if len(calls) > 0 {
		externalStage = &externals{calls: calls}
	}
	return crossStage, externalStage, all
}

func (s *crossSource) shown(index int) Source {
	return Source{
		Outside: compile.Outside{Root: compile.RootCross, Name: s.name}, Path: field.NewPath("spec", "cross").Index(index).String(),
		Box: s.box, What: s.kind.Kind, Optional: s.optional,
	}
}

func (e *externalCall) shown(index int) Source {
	return Source{
		Outside: e.source(), Path: field.NewPath("spec", "external").Index(index).String(), What: e.method + " " + e.host(), Optional: e.proceed, Gate: e.gate, Paths: e.templatePaths(),
	}
}

// host is the scheme and the host of the URL as it is written, where no template says them.
func (e *externalCall) host() string {
	if e.url == nil {
		return Origin("")
	}
	literal, _, templated := strings.Cut(e.url.String(), "{{")
	if _, rest, _ := strings.Cut(literal, "://"); templated && !strings.ContainsAny(rest, "/?#") {
		return Origin("")
	}
	return Origin(literal)
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
