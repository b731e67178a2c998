package drift

import (
	"slices"
	"strconv"

	"github.com/orkspace/orkestra/engine/value"
)

// comparison collects the differences between an expectation and a live object.
type comparison struct {
	differences []Difference
}

// compare goes over one value and everything below it. Where a whole branch is absent, the branch is one difference.
func (c *comparison) compare(e *expectation, live any) {
	switch e.form {
	case formObject:
		c.compareObject(e, live)
	case formByPosition:
		c.compareByPosition(e, live)
	case formByKeys, formSet:
		c.compareByIdentity(e, live)
	default:
		if !e.scalarEquals(live) {
			c.differ(e, live)
		}
	}
}

func (c *comparison) compareObject(e *expectation, live any) {
	fields, ok := live.(map[string]any)
	if !ok {
		// The API server drops objects whose fields are all zero, so an absent one is often what was declared.
		if !isEmpty(live) || !e.allowsAbsence() {
			c.differ(e, live)
		}
		return
	}
	present := 0
	for i := range e.children {
		child := &e.children[i]
		field := fields[child.name]
		if field != nil {
			present++
		}
		c.compare(child, field)
	}
	if e.place.exact && present < len(fields) {
		c.surplusFields(e, fields)
	}
}

// surplusFields reports what others added to an atomic map or struct: the declaration owns all of it.
func (c *comparison) surplusFields(e *expectation, fields map[string]any) {
	wanted := make(map[string]bool, len(e.children))
	for i := range e.children {
		wanted[e.children[i].name] = true
	}
	for name, value := range fields {
		if value != nil && !wanted[name] && !slices.Contains(e.place.filledIn, name) {
			c.differences = append(c.differences, Difference{Path: joinPath(e.path(), name), Live: value})
		}
	}
}

func (c *comparison) compareByPosition(e *expectation, live any) {
	entries, ok := c.entries(e, live)
	if !ok {
		return
	}
	// Without keys the list is one value to the API server, so an entry too many is a difference like one that is missing.
	for i := range e.children {
		if i < len(entries) {
			c.compare(&e.children[i], entries[i])
		} else {
			c.differ(&e.children[i], nil)
		}
	}
	for i := len(e.children); i < len(entries); i++ {
		path := e.path() + "[" + strconv.Itoa(i) + "]"
		c.differences = append(c.differences, Difference{Path: path, Live: entries[i]})
	}
}

// compareByIdentity leaves entries alone that only the live object has: others may add theirs.
func (c *comparison) compareByIdentity(e *expectation, live any) {
	entries, ok := c.entries(e, live)
	if !ok {
		return
	}
	find := finder{list: e, entries: entries}
	for i := range e.children {
		child := &e.children[i]
		entry, found := find.entry(child)
		switch {
		case !found:
			c.differ(child, nil)
		case e.form == formByKeys:
			c.compare(child, entry)
		}
	}
}

// entries gives the live entries of a list. ok is false where there is nothing to compare one by one: the live value is no list, or is
// empty and should not be. That is then one difference for the whole list.
func (c *comparison) entries(e *expectation, live any) (entries []any, ok bool) {
	entries, ok = live.([]any)
	switch {
	case !ok && !isEmpty(live), len(entries) == 0 && len(e.children) > 0:
		c.differ(e, live)
		return nil, false
	default:
		return entries, true
	}
}

func (c *comparison) differ(e *expectation, live any) {
	if isEmpty(live) {
		live = nil
	}
	c.differences = append(c.differences, Difference{Path: e.path(), Live: live, Wanted: e.value, scalar: e.place.scalar})
}

// finder finds entries of a live list by their identity. Its index is only made when an entry is not where the declaration has it.
type finder struct {
	list    *expectation
	entries []any
	index   map[string][]int
}

// entry tries the wanted position first: nearly always it is there.
func (f *finder) entry(wanted *expectation) (entry any, found bool) {
	if i := wanted.index; wanted.occurrence == 0 && i < len(f.entries) && f.matches(f.entries[i], wanted) {
		return f.entries[i], true
	}
	if f.index == nil {
		f.index = make(map[string][]int, len(f.entries))
		for i, entry := range f.entries {
			if f.identifiable(entry) {
				identity := f.list.identify(entry)
				f.index[identity] = append(f.index[identity], i)
			}
		}
	}
	positions := f.index[wanted.name]
	if wanted.occurrence >= len(positions) {
		return nil, false
	}
	return f.entries[positions[wanted.occurrence]], true
}

func (f *finder) matches(entry any, wanted *expectation) bool {
	return f.identifiable(entry) && f.list.identify(entry) == wanted.name
}

func (f *finder) identifiable(entry any) bool {
	if f.list.form == formSet {
		return entry != nil && value.IsScalar(entry)
	}
	return f.list.hasScalarKeys(entry)
}

// scalarEquals says whether the live value means the same as the wanted one.
func (e *expectation) scalarEquals(live any) bool {
	switch {
	case isEmpty(live):
		return e.allowsAbsence() || live != nil && isEmpty(e.value)
	case value.SameScalar(e.value, live):
		return true // the usual case, without the cost of the canonical form
	case e.place.scalar == scalarPlain || isEmpty(e.value):
		return false
	default:
		return value.SameScalar(e.place.scalar.canonical(e.value), e.place.scalar.canonical(live))
	}
}

// allowsAbsence says whether an absent live value means the same as the declared one: a declared empty list, a null, or the zero of a Go
// type with omitempty, which the API server stores as nothing.
func (e *expectation) allowsAbsence() bool {
	switch e.form {
	case formObject:
		for i := range e.children {
			if !e.children[i].allowsAbsence() {
				return false
			}
		}
		return !e.place.emptyIsSet
	case formScalar:
		if isEmpty(e.value) {
			return e.value == nil || !e.place.emptyIsSet
		}
		return e.place.zeroIsAbsent && e.place.scalar.isZero(e.value)
	default:
		return len(e.children) == 0
	}
}
