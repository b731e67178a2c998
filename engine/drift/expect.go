package drift

import (
	"strconv"
	"strings"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/value"
)

// expectation is one value that a declaration sets, and how the live value in its place is compared with it. It points to
// its parent, so its address must not change.
type expectation struct {
	parent *expectation
	place  *place
	form   form
	// name is the field's name below an object, and the identity of an entry below a set or a list with keys.
	name string
	// index is the position below a list; below a list with keys it is only where the entry is looked for first.
	index int
	// occurrence counts entries of the same identity before this one: a list may declare the same key twice, and each entry then has a
	// live entry of its own.
	occurrence int
	// value of a scalar.
	value any
	// children are the fields of an object or the entries of a list.
	children []expectation
}

// form is the kind of value that is wanted.
type form int

const (
	formScalar form = iota
	formObject
	formByPosition
	formByKeys
	formSet
)

// comparedMetadata are the fields of an object's own metadata that a declaration can set and others can change. The rest identifies the
// object (name, UID) or belongs to the API server (generation, managedFields).
var comparedMetadata = map[string]bool{keyLabels: true, keyAnnotations: true, "ownerReferences": true, "finalizers": true}

// expectRoot takes in a whole object. All kinds have the same metadata.
func (e *expectation) expectRoot(content map[string]any, root, metadata *place) {
	e.place = root
	e.children = make([]expectation, 0, len(content))
	for name, value := range content {
		switch name {
		case "apiVersion", keyKind:
		case keyMetadata:
			if m, ok := value.(map[string]any); ok {
				e.add(name, 0).expectMetadata(m, metadata)
			}
		default:
			if value != nil {
				e.add(name, 0).expect(value, root.field(name))
			}
		}
	}
}

func (e *expectation) expectMetadata(content map[string]any, p *place) {
	e.place, e.form = p, formObject
	e.children = make([]expectation, 0, len(comparedMetadata))
	for name, value := range content {
		if !comparedMetadata[name] || value == nil {
			continue
		}
		child := e.add(name, 0)
		if m, ok := value.(map[string]any); ok && name == keyAnnotations {
			// The writer reads the hash by itself, to tell a changed declaration from a changed child.
			child.expectFields(m, p.field(name), v1alpha1.AnnotationApplied)
		} else {
			child.expect(value, p.field(name))
		}
	}
}

// add appends a child. The caller has made room for all children before: growing the slice would move those that are pointed to as
// parents.
func (e *expectation) add(name string, index int) *expectation {
	e.children = append(e.children, expectation{parent: e, name: name, index: index})
	return &e.children[len(e.children)-1]
}

// expect takes in a value and everything below it.
func (e *expectation) expect(value any, p *place) {
	switch v := value.(type) {
	case map[string]any:
		e.expectFields(v, p, "")
	case []any:
		e.expectList(v, p)
	default:
		e.place, e.form, e.value = p, formScalar, v
	}
}

// expectFields takes in an object, without what is null: that is not set. It leaves out the field of the given name, too.
func (e *expectation) expectFields(fields map[string]any, p *place, except string) {
	e.place, e.form = p, formObject
	e.children = make([]expectation, 0, len(fields))
	for name, field := range fields {
		if field != nil && (except == "" || name != except) {
			e.add(name, 0).expect(field, p.field(name))
		}
	}
}

func (e *expectation) expectList(entries []any, p *place) {
	e.place = p
	e.form = e.formOf(entries)
	e.children = make([]expectation, 0, len(entries))
	var seen map[string]int
	if e.form != formByPosition && len(entries) > 1 {
		seen = make(map[string]int, len(entries))
	}
	element := p.element()
	for i, entry := range entries {
		child := e.add("", i)
		child.expect(entry, element)
		if e.form == formByPosition {
			continue
		}
		child.name = e.identify(entry)
		if seen != nil {
			child.occurrence = seen[child.name]
			seen[child.name]++
		}
	}
}

// formOf says how a list is compared. A list that does not fit its schema, such as one with an entry that lacks a key, is compared by
// position: whether it is valid is for the API server to say.
func (e *expectation) formOf(entries []any) form {
	switch e.place.list {
	case listByKeys:
		for _, entry := range entries {
			if !e.hasScalarKeys(entry) {
				return formByPosition
			}
		}
		return formByKeys
	case listAsSet:
		for _, entry := range entries {
			if entry == nil || !value.IsScalar(entry) {
				return formByPosition
			}
		}
		return formSet
	default:
		return formByPosition
	}
}

func (e *expectation) hasScalarKeys(entry any) bool {
	m, ok := entry.(map[string]any)
	if !ok {
		return false
	}
	for _, key := range e.place.keys {
		if !value.IsScalar(m[key.name]) {
			return false
		}
	}
	return true
}

// identify gives the text that says which entry of a set, or of a list with keys, this is: port=80,protocol=TCP. It is
// empty for what can't be an entry.
func (e *expectation) identify(entry any) string {
	if e.form == formSet {
		return scalarText(e.place.element().scalar.canonical(entry))
	}
	if !e.hasScalarKeys(entry) {
		return ""
	}
	m, _ := entry.(map[string]any)
	var b strings.Builder
	for _, key := range e.place.keys {
		// The declared entry may leave out what the API server fills in: port 80 is port=80,protocol=TCP on both sides.
		value := m[key.name]
		if isEmpty(value) {
			value = key.defaultValue
		}
		if isEmpty(value) {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(key.name)
		b.WriteByte('=')
		b.WriteString(scalarText(value))
	}
	return b.String()
}

// path says where this value is in the object.
func (e *expectation) path() string {
	if e.parent == nil {
		return ""
	}
	up := e.parent.path()
	switch e.parent.form {
	case formByPosition:
		return up + "[" + strconv.Itoa(e.index) + "]"
	case formByKeys, formSet:
		return up + "[" + e.name + "]"
	default:
		return joinPath(up, e.name)
	}
}
