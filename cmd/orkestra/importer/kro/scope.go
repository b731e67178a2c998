package kro

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/engine/expr"
)

// plainID is what a resource may be called.
var plainID = regexp.MustCompile(`^[a-z][A-Za-z0-9]*$`)

// scope is a place in which expressions are translated.
type scope struct {
	g *graph
	n *node // the resource that it belongs to; nil: the status
	// object says that the resource, or each of a loop, is called object: so it is in readyWhen.
	object bool
	// items is how the variables of the loop are read; nil: there is none, or it can't be read here.
	items func(name string) string
}

// schemaName is how kro calls the resource.
const schemaName = "schema"

// boxNames are what expressions of a box begin with.
var boxNames = []string{"self", "children", "cross", "values", "object", "external", "box"}

// celNames are the names of CEL's own types, of its options, and of the libraries that the CEL of a box has, whose functions begin with them.
var celNames = []string{
	"bool", "bytes", "double", "dyn", "format", "int", "ip", "list", "lists", "map", "null_type", "optional", "sets", "string", "strings", "type", "uint",
}

// foreign are the functions of kro, by the name that they belong to, and what says the same here.
var foreign = map[string]string{
	"base64": "templates have b64enc and b64dec",
	"cel":    "give what it binds a name in values",
	"hash":   "templates have sha256sum and hash",
	"json":   "templates have fromJson and toJson",
	"math":   "templates have max, min, ceil, floor and round",
	"random": "hash in a template gives ten letters and digits that stand for a value: {{ hash .metadata.uid }}, another text than kro's",
}

// parse reads an expression, and says what of it there is no equivalent for.
func (s scope) parse(text string) (*expression, error) {
	e, err := parse(text)
	if err != nil {
		return nil, err
	}
	for _, call := range e.calls {
		target, _, _ := strings.Cut(call, ".")
		if s.g.byID[target] != nil || s.binds(target) || target == schemaName || slices.Contains(celNames, target) {
			continue
		}
		if instead := foreign[target]; instead != "" {
			return nil, fmt.Errorf("%s() has no equivalent in the CEL of a box: %s", call, instead)
		}
	}
	for _, name := range e.names {
		known := name == schemaName || s.g.byID[name] != nil || s.binds(name) || s.object && name == "each" || slices.Contains(celNames, name)
		if !known {
			return nil, s.g.unknown(name)
		}
	}
	for _, name := range e.bound {
		if slices.Contains(boxNames, name) {
			return nil, fmt.Errorf("the variable %s of its loop hides what a box calls so: give it another name", name)
		}
	}
	return e, nil
}

// binds says whether a name is a variable of the loop here.
func (s scope) binds(name string) bool { return s.n != nil && s.items != nil && s.n.loop.binds(name) }

// cel writes an expression as the CEL of the box. None is what it yields where it reads something optional that is not there.
func (s scope) cel(e *expression, none string) string {
	return e.rewrite(none, func(name string) string {
		other := s.g.byID[name]
		switch {
		case s.binds(name):
			return s.items(name)
		case s.object && (name == "each" || s.n != nil && s.n.external == nil && name == s.n.id):
			return "object"
		case name == schemaName:
			return "self"
		case other == nil:
			return name
		case other.external != nil:
			return "cross." + other.name
		case other.loop != nil:
			// kro reads a list, a box a map by the keys of the items, which is absent where there is no item.
			return "children.?" + other.name + ".orValue({}).transformList(k, v, v)"
		default:
			return "children." + other.name
		}
	})
}

// path writes a path as a template says it, without the dot in front; empty: it can't.
func (s scope) path(e *expression) string {
	if e.path == nil {
		return ""
	}
	rest := strings.Join(e.path[1:], ".")
	if rest != "" {
		rest = "." + rest
	}
	name := e.path[0]
	other := s.g.byID[name]
	switch {
	case s.binds(name):
		return s.items(name) + rest
	case name == schemaName:
		return strings.TrimPrefix(rest, ".")
	case other == nil || other.loop != nil:
		return ""
	case other.external != nil:
		return "cross." + other.name + rest
	default:
		return "children." + other.name + rest
	}
}

// action writes an expression as the action of a template. Base names the value that it becomes where templates can't say it.
func (s scope) action(e *expression, base, from string) string {
	path := s.path(e)
	switch {
	case path != "" && e.optional:
		return "{{ coalesce ." + path + " }}"
	case path != "":
		return "{{ ." + path + " }}"
	case s.n != nil && s.n.loop != nil && s.n.loop.reads(e):
		return "{{ .item." + s.n.loop.value(s.g, e) + " }}"
	default:
		return "{{ .values." + s.g.value(base, s.cel(e, null), from) + " }}"
	}
}

// text translates a text with expressions. An error names the first of them that can't be translated.
func (s scope) text(text, base, from string) (string, error) {
	pieces, err := parts(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, p := range pieces {
		if !p.cel {
			b.WriteString(expr.Literal(p.text))
			continue
		}
		e, err := s.parse(p.text)
		if err != nil {
			return "", fmt.Errorf("${%s}: %w", p.text, err)
		}
		b.WriteString(s.action(e, base, from))
	}
	return b.String(), nil
}

// condition translates an expression that yields true or false.
func (s scope) condition(text, from string) (condition, error) {
	pieces, err := parts(text)
	if err != nil {
		return condition{}, err
	}
	if len(pieces) != 1 || !pieces[0].cel {
		return condition{}, fmt.Errorf("wanted one expression, ${...}, found %q", text)
	}
	e, err := s.parse(pieces[0].text)
	if err != nil {
		return condition{}, err
	}
	return condition{cel: s.cel(e, "false"), from: from}, nil
}
