package derive

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/orkspace/orkestra/engine/value"
)

// field is one of the CRD that is made: a value that is not the same in all instances.
type field struct {
	values   []any  // by instance
	has      []bool // which of them have it
	name     string
	places   []string // where it is written
	switches *group   // the declaration that is made where it is true; nil: it is written somewhere
	words    []string // by which it may be called
	short    string   // that of its declaration

	groups   []*group // that read it
	optional bool     // some of those that have the object lack it
	secret   bool     // it is of a Secret
	encoded  bool     // what is written is the value in base64
	own      bool     // the instance's name is in the value
	same     *field   // the one that stands for it
}

// field makes a field of a value.
func (m *merging) field(at place, samples []any, optional bool) *field {
	f := &field{
		values: make([]any, len(m.t.instances)), has: make([]bool, len(m.t.instances)), optional: optional,
		places: []string{at.path + " of " + m.g.id}, groups: []*group{m.g}, words: at.words, short: m.g.short,
		secret: m.g.first().kind == "/v1, Kind=Secret",
	}
	if texts := plain(samples); f.secret && !optional && texts != nil && len(at.words) == 2 {
		samples, f.encoded = texts, true
	}
	for n, i := range m.present {
		if samples[n] == nil {
			continue
		}
		f.values[i], f.has[i] = samples[n], true
		f.own = f.own || named(samples[n], m.t.instances[i].name)
	}
	if f.secret {
		doc := m.g.first().doc
		m.t.Say(doc, subject(doc), at.path, "what the Secret holds becomes a required field, which all see who may read the resources: better make the Secret apart, and let the box name it", false)
	}
	m.t.fields, m.fields = append(m.t.fields, f), append(m.fields, at.path)
	return f
}

// known is the field that has the name of a place, and the value that stands there in the one instance that has the object. Nil: there is none, or there are
// several that differ elsewhere.
func (m *merging) known(at place, sample any) *field {
	if !m.t.alone(m.g) || sample == "" || reflect.TypeOf(sample).Kind() == reflect.Bool {
		return nil
	}
	var found *field
	for _, f := range m.t.fields {
		i := m.present[0]
		if f.switches != nil || f.optional || f.secret || len(f.groups[0].present()) == 1 || f.base() != (&field{words: at.words}).base() || !reflect.DeepEqual(f.values[i], sample) {
			continue
		}
		if found != nil && !reflect.DeepEqual(f.values, found.values) {
			return nil
		}
		if found == nil {
			found = f
		}
	}
	if found != nil {
		found.places, found.groups = append(found.places, at.path+" of "+m.g.id), append(found.groups, m.g)
		m.fields = append(m.fields, at.path)
	}
	return found
}

// switched makes the field that says whether there is an object.
func (t *translation) switched(g *group) *field {
	f := &field{switches: g, words: []string{g.short + "Enabled"}, short: g.short}
	for _, o := range g.members {
		f.values, f.has = append(f.values, o != nil), append(f.has, true)
	}
	t.fields = append(t.fields, f)
	return f
}

// named says whether a name stands in a value.
func named(v any, name string) bool {
	switch v := v.(type) {
	case string:
		return holds(v, name)
	case map[string]any:
		for _, below := range v {
			if named(below, name) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(below any) bool { return named(below, name) })
	default: // a number has no name in it
	}
	return false
}

// shown is the field of the CRD that stands for it.
func (f *field) shown() *field {
	for f.same != nil {
		f = f.same
	}
	return f
}

// read is the template that reads the field.
func (f *field) read() string {
	f = f.shown()
	switch {
	case f.optional:
		return "{{ get .spec " + strconv.Quote(f.name) + " }}"
	case f.encoded:
		return "{{ b64enc .spec." + f.name + " }}"
	default:
		return "{{ .spec." + f.name + " }}"
	}
}

// longEnough is from how many letters on two equal texts are taken for the same thing.
const longEnough = 8

// share lets fields whose values are the same in all instances be one: those with one name, and texts that are equal by no chance.
func (t *translation) share() {
	known := map[string]*field{}
	for _, f := range t.fields {
		written, err := json.Marshal([]any{f.values, f.has, f.optional, f.secret, f.encoded})
		if err != nil || f.secret {
			continue // two secrets that are the same are so by chance, or should not be
		}
		for _, key := range []string{string(written) + f.base(), string(written)} {
			if key == string(written) && !f.isLong() {
				continue
			}
			if other := known[key]; other != nil && f.same == nil {
				f.same = other
				other.places, other.groups = append(other.places, f.places...), append(other.groups, f.groups...)
			}
			if f.same == nil {
				known[key] = f
			}
		}
	}
}

// isLong says whether all values are long texts.
func (f *field) isLong() bool {
	return !slices.ContainsFunc(f.values, func(v any) bool { return v != nil && len(text(v)) < longEnough })
}

// base is what a field is called first.
func (f *field) base() string { return f.called(1) }

// structure are names that say nothing of what a value is for.
var structure = []string{"spec", "template", "metadata", "data", "value", "values", "number", "containers", keyEnv, "rules", "http", "paths", "name", "resource", "target", "key", "labels", "annotations", "ports", "backend"}

// called is a name of so many of the words on the way to a field.
func (f *field) called(count int) string {
	var words []string
	for _, word := range slices.Backward(f.words) {
		if len(words) == count {
			break
		}
		word = camel(word[strings.LastIndexByte(word, '/')+1:])
		if word != "" && !slices.Contains(structure, word) {
			words = append(words, word)
		}
	}
	if len(words) == 0 && len(f.words) > 0 {
		words = []string{camel(f.words[len(f.words)-1])}
	}
	var b strings.Builder
	for i, word := range slices.Backward(words) {
		if i < len(words)-1 {
			word = upperFirst(word)
		}
		b.WriteString(word)
	}
	return b.String()
}

// callFields gives each field a name: as short as it tells it from the others.
func (t *translation) callFields() {
	byBase := map[string][]*field{}
	var bases []string
	for _, f := range t.fields {
		if f.same != nil {
			continue
		}
		base := f.base()
		if byBase[base] == nil {
			bases = append(bases, base)
		}
		byBase[base] = append(byBase[base], f)
	}
	taken := map[string]bool{}
	for _, base := range bases {
		names := distinct(byBase[base])
		for i, f := range byBase[base] {
			f.name = free(names[i], taken)
		}
	}
}

// distinct are names for fields that have one base. Those that no words tell apart have the same.
func distinct(fields []*field) []string {
	ways := []func(f *field) string{
		(*field).base,
		func(f *field) string { return f.short + upperFirst(f.base()) },
		func(f *field) string { return f.called(2) },
		func(f *field) string { return f.short + upperFirst(f.called(2)) },
		func(f *field) string { return f.short + upperFirst(f.called(3)) },
		func(f *field) string { return f.short + upperFirst(f.called(4)) },
	}
	var names []string
	for _, way := range ways {
		names = names[:0]
		seen := map[string]bool{}
		for _, f := range fields {
			names = append(names, way(f))
			seen[names[len(names)-1]] = true
		}
		if len(seen) == len(fields) {
			break
		}
	}
	return names
}

// schema is that of the field, and whether a resource must have it.
func (f *field) schema() (schema map[string]any, required bool) {
	var known []any
	for i, v := range f.values {
		if f.has[i] {
			known = append(known, v)
		}
	}
	schema = schemaOf(known)
	schema["description"] = f.describe()
	switch {
	case f.optional:
		return schema, false
	case f.secret, f.own:
		return schema, !slices.Contains(f.has, false)
	default:
		schema[fieldDefault] = known[0]
		return schema, false
	}
}

// describe says where a field is written.
func (f *field) describe() string {
	if f.switches != nil {
		return "Whether " + f.switches.id + " is made."
	}
	const most = 3
	if len(f.places) > most {
		return fmt.Sprintf("Sets %s and %d more places.", strings.Join(f.places[:most], ", "), len(f.places)-most)
	}
	return "Sets " + strings.Join(f.places, ", ") + "."
}

// needed are the rules of the CRD for what is needed only where an object is made: a resource without it is refused when it is applied, and not when it
// is reconciled.
func (f *field) needed() []any {
	schema, must := f.schema()
	if _, has := schema[fieldDefault]; has || must || f.optional {
		return nil
	}
	var out []any
	told := map[*field]bool{}
	for _, g := range f.groups {
		if g.enabled == nil || told[g.enabled.shown()] {
			continue
		}
		told[g.enabled.shown()] = true
		on := g.enabled.shown().name
		switched := "self." + celName(on) // it is not there in the default of the spec, which the rule is for, too
		out = append(out, map[string]any{
			"rule":      "!(has(" + switched + ") && " + switched + ") || has(self." + celName(f.name) + ")",
			"message":   fmt.Sprintf("%s is needed where %s is true", f.name, on),
			"fieldPath": "." + f.name, "reason": "FieldValueRequired",
		})
	}
	return out
}

// celName is a name as rules of CRDs write it.
func celName(name string) string {
	escaped, ok := apiservercel.Escape(name)
	if !ok {
		return name
	}
	return escaped
}

const (
	fieldType    = "type"
	fieldDefault = "default"
	keepsAll     = "x-kubernetes-preserve-unknown-fields"
	typeString   = value.TypeString
)

// schemaOf is a schema that takes all of some values.
func schemaOf(known []any) map[string]any {
	switch {
	case len(known) == 0:
		return map[string]any{keepsAll: true}
	case all[string](known) != nil:
		return map[string]any{fieldType: typeString}
	case all[bool](known) != nil:
		return map[string]any{fieldType: "boolean"}
	case all[int64](known) != nil:
		return map[string]any{fieldType: "integer", "format": "int64"}
	case numbers(known):
		return map[string]any{fieldType: "number"}
	case !slices.ContainsFunc(known, func(v any) bool { _, is := v.(int64); return !is && text(v) == "" && v != "" }):
		return map[string]any{"x-kubernetes-int-or-string": true}
	}
	if lists := all[[]any](known); lists != nil {
		return map[string]any{fieldType: "array", "items": schemaOf(slices.Concat(lists...))}
	}
	if objects := all[map[string]any](known); objects != nil {
		var below []any
		for _, key := range sortedKeys(objects) {
			for _, o := range objects {
				if v, has := o[key]; has {
					below = append(below, v)
				}
			}
		}
		if len(below) > 0 && all[string](below) != nil {
			return map[string]any{fieldType: value.TypeObject, "additionalProperties": map[string]any{fieldType: typeString}}
		}
		return map[string]any{fieldType: value.TypeObject, keepsAll: true}
	}
	return map[string]any{keepsAll: true}
}

func numbers(known []any) bool {
	return !slices.ContainsFunc(known, func(v any) bool {
		switch v.(type) {
		case int64, float64:
			return false
		default:
			return true
		}
	})
}
