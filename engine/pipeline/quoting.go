package pipeline

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds/shape"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/value"
)

// mayShow says whether a message may show a value that was made of these paths. An item of a loop is what the loop goes over. The
// rule itself is expr.MayShow. What others say of an object is another question: quotable.
func (d *declaration) mayShow(paths []expr.Path) bool {
	if d.forEach != nil && slices.ContainsFunc(paths, d.forEach.readsItem) {
		// An empty path is everything, and stays.
		paths = slices.DeleteFunc(slices.Clone(paths), func(p expr.Path) bool { return len(p) > 0 && d.forEach.readsItem(p) })
		paths = append(paths, d.forEach.field.Paths()...)
	}
	return expr.MayShow(paths)
}

// showsKeys says whether messages may show what the items of a loop are known by.
func (d *declaration) showsKeys() bool {
	if d.forEach.key != nil {
		return d.mayShow(d.forEach.key.Paths())
	}
	paths := d.forEach.field.Paths()
	if d.name != nil {
		paths = slices.Concat(paths, d.name.Paths()) // without a key, an item is known by the name of its child
	}
	return d.mayShow(paths)
}

// called is what messages call an object that there may never be: by its name only where that may be shown.
func (d *declaration) called(obj *unstructured.Unstructured) string {
	if d.name != nil && !d.mayShow(d.name.Paths()) {
		return fmt.Sprintf("the %s of %s", obj.GetKind(), d.label())
	}
	return fmt.Sprintf("%s %q", obj.GetKind(), obj.GetName())
}

// pathsAt gives what is read for what stands at a place of the short fields, or of the overlay; everything where the place can't be read.
func (d *declaration) pathsAt(place string) []expr.Path {
	at, err := value.ParsePath(place)
	switch {
	case err == nil && at[0] == "spec" && d.spec != nil:
		return d.spec.PathsAt(at[1:])
	case err == nil && d.short != nil:
		return d.short.PathsAt(at)
	default:
		return d.contentPaths()
	}
}

// unfit shows the value in an error about one that its field can't take, where that may be shown. What goes into a Secret never is; ports
// may come from another declaration.
func (d *declaration) unfit(err error) error {
	misfit, ok := errors.AsType[*shape.FieldError](err)
	if !ok || d.gvk == compile.SecretKind || !d.mayShow(d.pathsAt(misfit.Path)) || d.takesOthersPorts() {
		return err
	}
	return errors.New(misfit.WithValue())
}

// takesOthersPorts says whether defaults come from a declaration whose ports may not be shown.
func (d *declaration) takesOthersPorts() bool {
	return slices.ContainsFunc([]*declaration{d.workload, d.service}, func(o *declaration) bool {
		return o != nil && o.ports != nil && !o.mayShow(o.ports.Paths())
	})
}
