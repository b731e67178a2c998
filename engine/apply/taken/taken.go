// Package taken knows whose the fields of an object are: what a patch manages, what stands in its way, what a forced one has taken from other field
// managers and how that is given back, and what has to stay. It reads objects and their managed fields, and sends nothing.
package taken

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/value"
)

// Fields are those that one patch has taken of one object.
type Fields struct {
	// UID of the object: nothing of it is given to another one of the name.
	UID types.UID `json:"uid"`
	// Fields that were taken, one for each manager that a field had.
	Fields []Field `json:"fields"`
}

// Holder is an entry of the managed fields: two of them with the same Holder are one.
type Holder struct {
	Manager     string                            `json:"manager"`
	Operation   metav1.ManagedFieldsOperationType `json:"operation"`
	Subresource string                            `json:"subresource,omitempty"`
	// APIVersion in which the fields are named.
	APIVersion string `json:"apiVersion"`
}

func holderOf(e metav1.ManagedFieldsEntry) Holder {
	return Holder{Manager: e.Manager, Operation: e.Operation, Subresource: e.Subresource, APIVersion: e.APIVersion}
}

// Field is one that was taken from one manager.
type Field struct {
	Holder

	// Time of the manager's last write before that.
	Time *metav1.Time `json:"time,omitempty"`
	// Path to the field, each step as managed fields write it: f:spec, k:{"name":"main"}, f:image.
	Path []string `json:"path"`
	// Value that the field had.
	Value json.RawMessage `json:"value"`
}

// steps is the path of the field; nil where it can't be read.
func (f Field) steps() fieldpath.Path {
	path := make(fieldpath.Path, 0, len(f.Path))
	for _, text := range f.Path {
		step, err := fieldpath.DeserializePathElement(text)
		if err != nil {
			return nil
		}
		path = append(path, step)
	}
	return path
}

// Place is where the field is, as people write it.
func (f Field) Place() string { return drift.ManagedPath(f.steps()) }

// LostError is the refusal of a patch that would take what could not be given back.
type LostError struct {
	// Manager that holds the field, and the Field's place.
	Manager, Field string
	// Why it could not.
	Why string
}

// Error gives the message.
func (e *LostError) Error() string {
	return fmt.Sprintf("%q manages %s, which is not taken from it: %s", e.Manager, e.Field, e.Why)
}

// By gives what a manager takes from others by an apply: what they manage of the object before, and not after it. What could not be given back is a
// *LostError.
func By(manager string, before, after *unstructured.Unstructured) ([]Field, error) {
	had, ours := setsOf(before), fieldpath.NewSet()
	left := map[Holder]*fieldpath.Set{}
	for _, e := range setsOf(after) {
		left[e.holder] = e.set
		if e.holder.Manager == manager {
			ours = ours.Union(e.set)
		}
	}
	if len(had) == 0 {
		had = untracked(before, after, ours)
	}
	var all []Field
	for _, e := range had {
		lost := e.set
		if kept := left[e.holder]; kept != nil && len(before.GetManagedFields()) > 0 {
			lost = lost.Difference(kept)
		}
		if e.holder.Manager == manager {
			continue
		}
		var paths []fieldpath.Path
		lost.Iterate(func(path fieldpath.Path) { paths = append(paths, path.Copy()) })
		for _, path := range paths {
			field, err := fieldAt(path, e, before, ours)
			if err != nil {
				return nil, err
			}
			all = append(all, field)
		}
	}
	return all, nil
}

// firstHolder manages all fields of an object without managed fields: the API server says so at the first apply.
const firstHolder = "before-first-apply"

// untracked is the entry of an object whose fields nobody is known to manage, as of those that are about to change.
func untracked(before, after *unstructured.Unstructured, ours *fieldpath.Set) []entry {
	set := fieldpath.NewSet()
	ours.Leaves().Iterate(func(path fieldpath.Path) {
		was, found := drift.ValueAt(before.Object, path)
		is, _ := drift.ValueAt(after.Object, path)
		if found && !value.Same(was, is) {
			set.Insert(path.Copy())
		}
	})
	return []entry{{holder: Holder{Manager: firstHolder, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: before.GetAPIVersion()}, set: set}}
}

// fieldAt notes one field that a manager loses.
func fieldAt(path fieldpath.Path, of entry, before *unstructured.Unstructured, ours *fieldpath.Set) (Field, error) {
	lost := func(why string) (Field, error) {
		return Field{}, &LostError{Manager: of.holder.Manager, Field: drift.ManagedPath(path), Why: why}
	}
	was, found := drift.ValueAt(before.Object, path)
	switch {
	case of.holder.APIVersion != before.GetAPIVersion():
		return lost(fmt.Sprintf("it is named there as a field of %s, and could not be given back as one; patch the object in that version", of.holder.APIVersion))
	case !found || !ours.Has(path):
		return lost("the patch puts something of another shape there, and it could not be given back")
	}
	field := Field{Holder: of.holder, Time: of.time}
	for _, step := range path {
		text, err := fieldpath.SerializePathElement(step)
		if err != nil {
			return lost(err.Error())
		}
		field.Path = append(field.Path, text)
	}
	var err error
	if field.Value, err = json.Marshal(was); err != nil {
		return lost(err.Error())
	}
	return field, nil
}

// Held gives those of the fields that are the manager's to give back: of this very object, and nobody has done anything to them since. Fields that the
// manager has lost belong to who has taken them, and so do those that somebody else manages as well; unless they have their former value again, which
// the former manager would have kept. A field that its former manager has given up goes with the patch: an apply of that manager has succeeded since,
// so it did not name the field; or the entry of a list that it was in would be gone.
func (f *Fields) Held(live *unstructured.Unstructured, manager string) []Field {
	if f == nil || f.UID != live.GetUID() {
		return nil
	}
	ours, others := fieldpath.NewSet(), fieldpath.NewSet()
	last := map[Holder]*metav1.Time{}
	for _, e := range setsOf(live) {
		last[e.holder] = e.time
		switch {
		case e.holder.Manager == manager:
			ours = ours.Union(e.set)
		case !v1alpha1.IsPatchManager(e.holder.Manager): // another patch may set the same; it can have the field when it has taken it itself
			others = others.Union(e.set)
		}
	}
	var held []Field
	for _, field := range f.Fields {
		path := field.steps()
		if len(path) == 0 || !entriesStand(path, others) {
			continue
		}
		if others.Has(path) && !field.stands(live) || !others.Has(path) && !ours.Has(path) {
			continue
		}
		if wrote, found := last[field.Holder]; found && field.Operation == metav1.ManagedFieldsOperationApply && !wrote.Equal(field.Time) {
			continue
		}
		held = append(held, field)
	}
	return held
}

// stands says whether the field has its former value.
func (f Field) stands(live *unstructured.Unstructured) bool {
	is, found := drift.ValueAt(live.Object, f.steps())
	was, err := decoded(f.Value)
	return found && err == nil && value.Same(is, was)
}

// Together gives what is held and what is taken now. Who has updated a field to the value that it had before it was taken would have changed nothing
// without the patch, and so would not manage it. What one holder has of a field is there once: a write that failed after it was noted is tried again.
func Together(held, now []Field) []Field {
	all := slices.Clone(held)
	for _, f := range now {
		again := f.Operation == metav1.ManagedFieldsOperationUpdate && slices.ContainsFunc(held, func(h Field) bool {
			return slices.Equal(h.Path, f.Path) && bytes.Equal(h.Value, f.Value)
		})
		if again {
			continue
		}
		all = slices.DeleteFunc(all, func(h Field) bool { return h.Holder == f.Holder && slices.Equal(h.Path, f.Path) })
		all = append(all, f)
	}
	return all
}

// entriesStand says whether the entries of lists that a path leads through are there without the patches.
func entriesStand(path fieldpath.Path, others *fieldpath.Set) bool {
	for i := range len(path) - 1 {
		if path[i].Key != nil && !others.Has(path[:i+1]) {
			return false
		}
	}
	return true
}

// Named gives those of the fields that an object names.
func Named(fields []Field, in *unstructured.Unstructured) (named, unnamed []Field) {
	for _, f := range fields {
		if _, found := drift.ValueAt(in.Object, f.steps()); found {
			named = append(named, f)
		} else {
			unnamed = append(unnamed, f)
		}
	}
	return named, unnamed
}

// Without leaves out of the paths those of the fields.
func Without(paths []fieldpath.Path, fields []Field) []fieldpath.Path {
	set := fieldpath.NewSet()
	for _, f := range fields {
		set.Insert(f.steps())
	}
	return slices.DeleteFunc(paths, set.Has)
}

// Return gives the managed fields of an object in which fields are those of their former managers again, and a manager has them no more. rest says
// whether it goes on managing its other fields.
func Return(live *unstructured.Unstructured, manager string, fields []Field, rest bool) ([]metav1.ManagedFieldsEntry, error) {
	entries := live.GetManagedFields()
	given := fieldpath.NewSet()
	for _, f := range fields {
		given.Insert(f.steps())
	}
	entries = slices.DeleteFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == manager && !rest })
	for i, e := range entries {
		if e.Manager != manager {
			continue
		}
		if err := write(&entries[i], setOf(e).Difference(given)); err != nil {
			return nil, err
		}
	}
	for _, f := range fields {
		i := slices.IndexFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return holderOf(e) == f.Holder })
		if i < 0 {
			i = len(entries)
			entries = append(entries, metav1.ManagedFieldsEntry{Manager: f.Manager, Operation: f.Operation, Subresource: f.Subresource, APIVersion: f.APIVersion,
				Time: f.Time, FieldsType: "FieldsV1"})
		}
		if err := write(&entries[i], setOf(entries[i]).Union(fieldpath.NewSet(f.steps()))); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return setOf(e).Empty() }), nil
}

// entry is one of the managed fields.
type entry struct {
	holder Holder
	time   *metav1.Time
	set    *fieldpath.Set
}

func setsOf(obj *unstructured.Unstructured) []entry {
	var all []entry
	for _, e := range obj.GetManagedFields() {
		all = append(all, entry{holder: holderOf(e), time: e.Time, set: setOf(e)})
	}
	return all
}

func setOf(e metav1.ManagedFieldsEntry) *fieldpath.Set {
	set := fieldpath.NewSet()
	if e.FieldsV1 == nil || set.FromJSON(bytes.NewReader(e.FieldsV1.GetRawBytes())) != nil {
		return fieldpath.NewSet()
	}
	return set
}

func write(e *metav1.ManagedFieldsEntry, set *fieldpath.Set) error {
	raw, err := set.ToJSON()
	if err != nil {
		return fmt.Errorf("encoding the fields of %q: %w", e.Manager, err)
	}
	e.FieldsV1 = &metav1.FieldsV1{}
	e.FieldsV1.SetRawBytes(raw)
	return nil
}
