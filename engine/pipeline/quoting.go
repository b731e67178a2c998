package pipeline

import (
	"slices"

	"github.com/orkspace/orkestra/engine/expr"
)

// mayShow says whether a message may show a value that was made of these paths. An item of a loop is what the loop goes over. The
// rule itself is expr.MayShow. What others say of an object is another question: quotable.
func (d *declaration) mayShow(paths []expr.Path) bool {
	if d.forEach != nil && slices.ContainsFunc(paths, d.forEach.readsItem) {
		own := slices.DeleteFunc(slices.Clone(paths), func(p expr.Path) bool { return len(p) > 0 && d.forEach.readsItem(p) })
		paths = append(own, d.forEach.field.Paths()...)
	}
	return expr.MayShow(paths)
}

// pathsAt gives what is read for what stands at a place of the short fields; everything where the place can't be read.
func (d *declaration) pathsAt(place string) []expr.Path {
	at, err := expr.ParsePath(place)
	if err != nil || d.short == nil {
		return d.contentPaths()
	}
	return d.short.PathsAt(at)
}
