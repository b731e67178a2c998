package kro

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/orkspace/orkestra/engine/value"
)

// marker is one marker of a field of SimpleSchema, such as default=3.
type marker struct{ name, value string }

// parseField takes a field of SimpleSchema apart: `integer | default=3 minimum=1`.
func parseField(text string) (kind string, markers []marker, err error) {
	kind, rest, _ := strings.Cut(text, "|")
	for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
		name, after, ok := strings.Cut(rest, "=")
		if !ok {
			return "", nil, fmt.Errorf("the marker %q has no value: wanted %s=VALUE", rest, strings.Fields(rest)[0])
		}
		var value string
		if value, rest, err = markerValue(after); err != nil {
			return "", nil, fmt.Errorf("the marker %s: %w", strings.TrimSpace(name), err)
		}
		markers = append(markers, marker{name: strings.TrimSpace(name), value: value})
	}
	return strings.TrimSpace(kind), markers, nil
}

// markerValue takes the value of a marker off a text: up to the next space that stands outside of quotes and brackets.
func markerValue(text string) (value, rest string, err error) {
	depth, quoted, end := 0, false, len(text)
scan:
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case c == ' ' && depth == 0:
			end = i
			break scan
		}
	}
	switch {
	case quoted:
		return "", "", errors.New("the quote is not closed")
	case depth != 0:
		return "", "", errors.New("the brackets are not balanced")
	}
	value, rest = text[:end], text[end:]
	if len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
		value = unescape(value[1 : len(value)-1])
	}
	return value, rest, nil
}

// unescape takes the backslashes in front of quotes and backslashes away. Others stay: a pattern has them.
func unescape(text string) string { return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(text) }

// property is a field of a schema, with whether its object requires it.
type property struct {
	schema   map[string]any
	required bool
}

// mark does what a marker says.
func (p *property) mark(m marker) error {
	kind, _ := p.schema[fieldType].(string)
	switch m.name {
	case "required", "immutable", "uniqueItems":
		on, err := strconv.ParseBool(m.value)
		if err != nil {
			return fmt.Errorf("the marker %s: wanted true or false, found %q", m.name, m.value)
		}
		p.flag(m.name, on)
		return nil
	case "description", "pattern":
		p.schema[m.name] = m.value
		return nil
	case "validation":
		p.rule(m.value, "the rule "+m.value+" is broken")
		return nil
	case fieldDefault:
		v, err := typed(kind, m.value)
		p.schema[m.name] = v
		return err
	case "enum":
		return p.enum(kind, m.value)
	case "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems":
		limit, err := typed(value.TypeNumber, m.value)
		p.schema[m.name] = limit
		return err
	default:
		return fmt.Errorf("the marker %q is not known", m.name)
	}
}

func (p *property) flag(name string, on bool) {
	switch {
	case name == "required":
		p.required = on
	case !on:
	case name == "immutable":
		p.rule("self == oldSelf", "the field can't be changed")
	default:
		p.schema["x-kubernetes-list-type"] = "set"
	}
}

func (p *property) rule(rule, message string) {
	rules, _ := p.schema["x-kubernetes-validations"].([]any)
	p.schema["x-kubernetes-validations"] = append(rules, map[string]any{"rule": rule, "message": message})
}

func (p *property) enum(kind, text string) error {
	var values []any
	for part := range strings.SplitSeq(text, ",") {
		value, err := typed(kind, strings.TrimSpace(part))
		if err != nil {
			return err
		}
		values = append(values, value)
	}
	p.schema["enum"] = values
	return nil
}

// typed reads the text of a marker as a value of the field's type.
func typed(kind, text string) (any, error) {
	if kind == value.TypeString {
		return text, nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil || d.More() {
		return nil, fmt.Errorf("wanted %s, found %q", kind, text)
	}
	return plain(v), nil
}

// plain gives numbers the types that objects of Kubernetes have.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64() // beyond all numbers it is infinite, which the schema refuses
		return f
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = plain(v[key])
		}
	}
	return v
}
