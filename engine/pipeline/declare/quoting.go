package declare

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

// MayShow says whether a message may show a value that was made of these paths: by the rule of expr.MayShow, where an item of a loop counts
// as the fields that the loop goes over. Whether a message may repeat what the API server says of the whole object is Quoted.
func (d *Declaration) MayShow(paths []expr.Path) bool {
	if d.Loop != nil && slices.ContainsFunc(paths, d.Loop.ReadsItem) {
		// An empty path is everything, and stays.
		paths = slices.DeleteFunc(slices.Clone(paths), func(p expr.Path) bool { return len(p) > 0 && d.Loop.ReadsItem(p) })
		paths = append(paths, d.Loop.Paths()...)
	}
	return expr.MayShow(paths)
}

// ShowsKeys says whether messages may show what the items of a loop are known by.
func (d *Declaration) ShowsKeys() bool {
	if d.Loop.Key != nil {
		return d.MayShow(d.Loop.Key.Paths())
	}
	paths := d.Loop.Paths()
	return d.MayShow(slices.Concat(paths, d.namePaths())) // without a key, an item is known by the name of its child
}

// ShowsName says whether messages may show the name of the object.
func (d *Declaration) ShowsName() bool { return d.MayShow(d.namePaths()) }

// namePaths is what the name of the object is made of: of nothing where it is the resource's, and of all that a template reads which gives
// the whole object.
func (d *Declaration) namePaths() []expr.Path {
	if d.Name == nil && d.Whole && !d.Coded {
		return d.Short.PathsAt(value.Path{"manifest"})
	}
	return templatePaths(d.Name)
}

// Called is what messages call an object that there may never be: by its name only where that may be shown.
func (d *Declaration) Called(obj *unstructured.Unstructured) string {
	if !d.ShowsName() {
		return fmt.Sprintf("the %s of %s", obj.GetKind(), d.Label())
	}
	return fmt.Sprintf("%s %q", obj.GetKind(), obj.GetName())
}

// pathsAt gives what is read for what stands at a place of the short fields, or of the overlay; everything where the place can't be read.
func (d *Declaration) pathsAt(place string) []expr.Path {
	at, err := value.ParsePath(place)
	switch {
	case err == nil && at[0] == "spec" && d.Spec != nil:
		return d.Spec.PathsAt(at[1:])
	case err == nil && d.Short != nil:
		return d.Short.PathsAt(at)
	default:
		return d.contentPaths()
	}
}

// MayShowAt says whether a message may show what stands at a place of the short fields, or of the overlay.
func (d *Declaration) MayShowAt(place string) bool { return d.MayShow(d.pathsAt(place)) }

// MayShowContent says whether a message may show anything that the object holds.
func (d *Declaration) MayShowContent() bool { return d.MayShow(d.contentPaths()) }

// Unfit shows the value in an error about one that its field can't take, where that may be shown. What goes into a Secret never is; ports
// may come from another declaration.
func (d *Declaration) Unfit(err error) error {
	misfit, ok := errors.AsType[*shape.FieldError](err)
	if !ok || d.IsSecret() || !d.MayShowAt(misfit.Path) || d.takesOthersPorts() {
		return err
	}
	return errors.New(misfit.WithValue())
}

// takesOthersPorts says whether defaults come from a declaration whose ports may not be shown.
func (d *Declaration) takesOthersPorts() bool {
	return slices.ContainsFunc([]*Declaration{d.takes.workload, d.takes.service}, func(o *Declaration) bool {
		return o != nil && o.Ports != nil && !o.MayShow(o.Ports.Paths())
	})
}

// quotable finds out of which objects messages may quote what they, or the API server, say of them. Admission and controllers may put
// parts of an object into their words, so it may be no Secret, and nothing in it may come from a Secret, from another object, or from an
// external call; nor from a child that holds such things. What a message of ours may show of one value is another question: MayShow.
func quotable(all []*Declaration) {
	holders := holdersOf(all)
	var unquotable []*Declaration
	for _, d := range all {
		d.Quoted = !d.IsSecret() && !d.UsesSecrets && !slices.ContainsFunc(d.contentPaths(), leadsToOthers)
		if !d.Quoted {
			unquotable = append(unquotable, d)
		}
	}
	for len(unquotable) > 0 {
		source := unquotable[0]
		unquotable = unquotable[1:]
		for _, d := range holders[source] {
			if d.Quoted {
				d.Quoted = false
				unquotable = append(unquotable, d)
			}
		}
	}
}

// quotablePatches is quotable for patches and for resources of providers, which no object is made of.
func quotablePatches(patches []*Declaration) {
	for _, d := range patches {
		d.Quoted = !d.IsSecret() && !d.UsesSecrets && !slices.ContainsFunc(d.contentPaths(), func(p expr.Path) bool { return leadsToOthers(p) || p[0] == compile.RootChildren })
	}
}

// leadsToOthers says whether a path leads to what neither the resource nor its children hold: another object, or an answer.
func leadsToOthers(p expr.Path) bool {
	return len(p) == 0 || p[0] == compile.RootCross || p[0] == compile.RootExternal || p[0] == compile.RootProviders
}

// holdersOf gives, for each declaration, those whose objects may be made of its own: they take a default from it, or read it by what it
// may be called in any group.
func holdersOf(all []*Declaration) map[*Declaration][]*Declaration {
	byName := map[string][]*Declaration{}
	for _, d := range all {
		for _, name := range append(d.Kinds.ChildNames(), d.ID) {
			byName[name] = append(byName[name], d)
		}
	}
	holders := map[*Declaration][]*Declaration{}
	for _, d := range all {
		sources := []*Declaration{d.takes.workload, d.takes.service}
		if slices.ContainsFunc(d.contentPaths(), func(p expr.Path) bool { return len(p) == 1 && p[0] == compile.RootChildren }) {
			sources = append(sources, all...)
		}
		for name := range childNamesIn(d.contentPaths()) {
			sources = append(sources, byName[name]...)
		}
		for _, of := range sources {
			holders[of] = append(holders[of], d)
		}
	}
	return holders
}
