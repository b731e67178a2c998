package derive

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/orkspace/orkestra/cmd/orkestra/importer/draft"
	"github.com/orkspace/orkestra/engine/expr"
)

// place is where a value stands in a manifest.
type place struct {
	path  string
	key   string   // the nearest name above it
	words []string // the names on the way to it, by which a field may be called
}

func (p place) below(key string) place {
	return place{path: draft.Below(p.path, key), key: key, words: append(slices.Clip(p.words), key)}
}

func (p place) item(i int, name string) place {
	out := place{path: fmt.Sprintf("%s[%d]", p.path, i), key: p.key, words: p.words}
	if name != "" {
		out.words = append(slices.Clip(p.words), name)
	}
	return out
}

// merging makes one manifest of those of several instances.
type merging struct {
	t       *translation
	g       *group
	present []int // the instances that have the object

	differing []mark // what tells the instances apart
	name      string // where all have one name: that
	namespace string // the same
	others    []string
	guessed   []string // paths of texts in which a word was taken for the name
	left      []string // paths of texts in which a word that is spelled like the name stays
	fields    []string // paths of what reads a field
}

// Names of fields, as manifests have them.
const (
	keyEnv   = "env"
	keyHosts = "hosts"
	keyImage = "image"
	keyPort  = "port"
)

const (
	readName      = "{{ .metadata.name }}"
	readNamespace = "{{ .metadata.namespace }}"
)

// merge makes the manifest of a declaration.
func (t *translation) merge(g *group) {
	m := &merging{t: t, g: g, present: g.present()}
	names, namespaces := mark{read: readName}, mark{read: readNamespace}
	for _, i := range m.present {
		names.values = append(names.values, t.instances[i].name)
		namespaces.values = append(namespaces.values, t.instances[i].namespace)
	}
	// The longer one first: it may begin with the other.
	for _, known := range []mark{names, namespaces} {
		if known.differs() {
			m.differing = append(m.differing, known)
		}
	}
	slices.SortStableFunc(m.differing, func(a, b mark) int { return len(b.values[0]) - len(a.values[0]) })
	first := t.instances[m.present[0]]
	if !names.differs() {
		m.name = first.name
		for _, o := range first.objects {
			if len(o.name) > len(m.name) && holds(o.name, m.name) {
				m.others = append(m.others, o.name)
			}
		}
	}
	if !namespaces.differs() {
		m.namespace = first.namespace
	}
	if len(m.present) < len(t.instances) {
		g.enabled = t.switched(g)
	}
	samples := make([]any, 0, len(m.present))
	for _, i := range m.present {
		samples = append(samples, g.members[i].content)
	}
	g.manifest, _ = m.value(place{}, samples).(map[string]any)
	m.tell()
}

// tell says what was taken for something without being sure of it.
func (m *merging) tell() {
	doc := m.g.first().doc
	say := func(message string) { m.t.Say(doc, subject(doc), "metadata.name", message, false) }
	taken, stays := "is taken for the name of the resource in "+listed(m.guessed), "stays as it is in "+listed(m.left)
	switch {
	case len(m.guessed) > 0 && len(m.left) > 0:
		say(fmt.Sprintf("%q %s, and %s: read whether that is right", m.name, taken, stays))
	case len(m.guessed) > 0:
		say(fmt.Sprintf("%q %s: read whether it is", m.name, taken))
	case len(m.left) > 0:
		say(fmt.Sprintf("%q %s: read whether it is the name of the resource", m.name, stays))
	}
	if m.t.alone(m.g) {
		message := fmt.Sprintf("only %s has this object, so that nothing says what of it differs: for all resources that have it, it is as it is here", m.t.instances[m.present[0]].name)
		if len(m.fields) > 0 {
			message += ", but for " + listed(m.fields)
		}
		say(message)
	}
}

// checksumPrefix begins the annotations in which charts keep a checksum of what Pods read, so that they are made anew when it changes. Helm's guide to charts
// has it ("Automatically Roll Deployments").
const checksumPrefix = "checksum/"

// tellOfChecksum says that a checksum which a chart computes is computed no more, and how a box does it.
func (m *merging) tellOfChecksum(path string) {
	doc, id := m.g.first().doc, "ID"
	for _, g := range m.t.groups {
		if kind := g.first().doc.Kind(); kind == "ConfigMap" || kind == "Secret" {
			id = g.id
			break
		}
	}
	m.t.Say(doc, subject(doc), path, fmt.Sprintf("the chart computes this checksum, so that Pods start anew when what they read changes; nothing computes it here. Have the box compute it, such as "+
		"{{ sha256sum (toJson .children.%s.data) }}", id), false)
}

// listed names the first of many.
func listed(paths []string) string {
	const most = 8
	if len(paths) > most {
		return fmt.Sprintf("%s and %d more places", strings.Join(paths[:most], ", "), len(paths)-most)
	}
	return strings.Join(paths, ", ")
}

// value makes one value of those of the instances; nil in samples: that one has none.
func (m *merging) value(at place, samples []any) any {
	if slices.Contains(samples, nil) {
		return m.field(at, samples, true)
	}
	if objects := all[map[string]any](samples); objects != nil {
		return m.object(at, objects)
	}
	if lists := all[[]any](samples); lists != nil && m.sameItems(lists) {
		out := make([]any, 0, len(lists[0]))
		for i := range lists[0] {
			items := make([]any, 0, len(lists))
			for _, list := range lists {
				items = append(items, list[i])
			}
			out = append(out, m.value(at.item(i, itemName(items[0])), items))
		}
		return out
	}
	if f := m.known(at, samples[0]); f != nil {
		return f
	}
	if m.isField(at) {
		return m.field(at, samples, false)
	}
	if texts := all[string](samples); texts != nil {
		if out, ok := m.text(at, texts); ok {
			return out
		}
	} else if equal(samples) {
		return samples[0]
	}
	return m.field(at, samples, false)
}

// all gives values as those of one type; nil: one has another.
func all[T any](samples []any) []T {
	out := make([]T, 0, len(samples))
	for _, s := range samples {
		v, ok := s.(T)
		if !ok {
			return nil
		}
		out = append(out, v)
	}
	return out
}

func equal(samples []any) bool {
	return !slices.ContainsFunc(samples, func(s any) bool { return !reflect.DeepEqual(s, samples[0]) })
}

func (m *merging) object(at place, samples []map[string]any) any {
	out := map[string]any{}
	for _, key := range sortedKeys(samples) {
		if strings.Contains(key, "{{") {
			doc := m.g.first().doc
			m.t.Say(doc, subject(doc), at.below(key).path, "left out: the name of a field can't hold {{ in a box", true)
			continue
		}
		values := make([]any, 0, len(samples))
		for _, s := range samples {
			values = append(values, s[key])
		}
		out[key] = m.value(at.below(key), values)
		if strings.HasPrefix(key, checksumPrefix) {
			m.tellOfChecksum(at.below(key).path)
		}
	}
	const cel = "cel"
	if written, ok := out[cel].(string); ok && len(out) == 1 && !strings.Contains(written, "{{") {
		out[cel] = "{{ " + strconv.Quote(written) + " }}" // a map with nothing but cel is an expression
	}
	return out
}

// sameItems says whether the items of lists belong together by their places.
func (m *merging) sameItems(lists [][]any) bool {
	for _, list := range lists[1:] {
		if len(list) != len(lists[0]) {
			return false
		}
	}
	for i := range lists[0] {
		names := make([]string, 0, len(lists))
		for _, list := range lists {
			names = append(names, itemName(list[i]))
		}
		if _, ok := align(names, m.differing); !ok {
			return false
		}
	}
	return true
}

// itemName is the name of an item; empty: it has none.
func itemName(item any) string {
	object, _ := item.(map[string]any)
	return text(object["name"])
}

// isField says of a value that it becomes a field even where it is the same in all instances: what Secrets hold, and where there is nothing
// to compare with, what changes in every application.
func (m *merging) isField(at place) bool {
	o := m.g.first()
	switch {
	case o.kind == "/v1, Kind=Secret" && len(at.words) == 2 && at.words[0] == "data":
		return true
	case len(m.present) > 1:
		return false
	case at.key == keyImage:
		return slices.Contains(at.words, "containers") || slices.Contains(at.words, "initContainers")
	case at.path == "spec.replicas", at.path == "spec.minReplicas", at.path == "spec.maxReplicas":
		return true
	default:
		return o.doc.Kind() == "Ingress" && (at.key == "host" || at.key == keyHosts)
	}
}

// text makes a template of texts that differ by what tells the instances apart; false: they differ in more.
func (m *merging) text(at place, texts []string) (string, bool) {
	pieces := []piece{{literal: texts[0]}}
	if slices.ContainsFunc(texts, func(s string) bool { return s != texts[0] }) {
		var ok bool
		if pieces, ok = align(texts, m.differing); !ok {
			return "", false
		}
	}
	var out []piece
	for _, p := range pieces {
		if p.read != "" {
			out = append(out, p)
			continue
		}
		out = append(out, m.guess(at, p.literal)...)
	}
	m.note(at, out)
	return template(out), true
}

// note remembers what was guessed in a text, and where a word that is spelled like the name was left.
func (m *merging) note(at place, pieces []piece) {
	if m.name == "" || at.path == "metadata.name" || at.key == labelInstance || at.key == keyImage {
		return
	}
	if slices.ContainsFunc(pieces, func(p piece) bool { return p.read == readName }) {
		m.guessed = append(m.guessed, at.path)
	}
	if slices.ContainsFunc(pieces, func(p piece) bool { return holds(p.literal, m.name) }) {
		m.left = append(m.left, at.path)
	}
}

// template writes pieces as a template.
func template(pieces []piece) string {
	var b strings.Builder
	for i, p := range pieces {
		if p.read != "" {
			b.WriteString(p.read)
			continue
		}
		literal := expr.Literal(p.literal)
		if rest, ok := strings.CutSuffix(literal, "{"); ok && i+1 < len(pieces) {
			literal = rest + `{{ "{" }}` // it would begin the action
		}
		b.WriteString(literal)
	}
	return b.String()
}

// guess finds the name of the instance, and its namespace, where that is the same in all of them.
func (m *merging) guess(at place, literal string) []piece {
	if m.namespace != "" && at.key == "namespace" && literal == m.namespace {
		return []piece{{read: readNamespace}}
	}
	var out []piece
	from := 0
	for start := range len(literal) {
		word, read := m.readAt(at, literal, start)
		if start < from || read == "" {
			continue
		}
		if start > from {
			out = append(out, piece{literal: literal[from:start]})
		}
		out = append(out, piece{read: read})
		from = start + len(word)
	}
	if from < len(literal) || literal == "" {
		out = append(out, piece{literal: literal[from:]})
	}
	return out
}

// readAt is the word at a place of a text that is taken for the namespace or the name, and what reads it; empty: none is.
func (m *merging) readAt(at place, literal string, start int) (word, read string) {
	switch {
	case m.namespace != "" && isAt(literal, m.namespace, start) && strings.HasSuffix(literal[:start], ".") && isHost(literal[start+len(m.namespace):]):
		return m.namespace, readNamespace
	case m.name != "" && at.key != keyImage && isAt(literal, m.name, start) && (isNamePlace(at) || m.isReference(literal, start)):
		return m.name, readName
	default:
		return "", ""
	}
}

// isHost says whether a text goes on as the name of a Service does behind its namespace.
func isHost(rest string) bool {
	rest, ok := strings.CutPrefix(rest, ".svc")
	return ok && !isNameAt(rest, 0)
}

// isNamePlace says whether names stand in a place.
func isNamePlace(at place) bool {
	if at.path == "metadata.name" || strings.HasSuffix(strings.ToLower(at.key), "name") || at.key == "host" || at.key == keyHosts {
		return true
	}
	return len(at.words) > 1 && slices.Contains([]string{"labels", "matchLabels", "selector"}, at.words[len(at.words)-2])
}

// isReference says whether the name in a text is part of that of another object, or of a host in a URL.
func (m *merging) isReference(literal string, start int) bool {
	for _, other := range m.others {
		begin := start - next(other, m.name, 0)
		if begin >= 0 && strings.HasPrefix(literal[begin:], other) && !isNameAt(literal, begin-1) && !isNameAt(literal, begin+len(other)) {
			return true
		}
	}
	rest := literal[start+len(m.name):]
	return (strings.HasSuffix(literal[:start], "//") || strings.HasSuffix(literal[:start], "@")) && (rest == "" || strings.ContainsAny(rest[:1], ":/."))
}

func isNameAt(text string, at int) bool {
	return isWordAt(text, at) || at >= 0 && at < len(text) && (text[at] == '-' || text[at] == '_')
}

// plain gives what Secrets hold as text; nil: it is none.
func plain(samples []any) []any {
	out := make([]any, 0, len(samples))
	for _, s := range samples {
		decoded, err := base64.StdEncoding.DecodeString(text(s))
		if err != nil || !utf8.Valid(decoded) || base64.StdEncoding.EncodeToString(decoded) != text(s) {
			return nil
		}
		out = append(out, string(decoded))
	}
	return out
}
