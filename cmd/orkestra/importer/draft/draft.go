// Package draft is what an import has made so far: objects, from where each part of them comes, and what there is to say about it.
package draft

import (
	"cmp"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/engine/value"
)

// Draft is what an import makes of some documents.
type Draft struct {
	// Objects in the order in which they are printed.
	Objects []*Object
	// Remarks say what was not translated as it was written, and what is wrong.
	Remarks []Remark
}

// Remark is one thing to know about what was translated.
type Remark struct {
	// File and Line are where it is written; the line is 0 where it is not known.
	File string
	Line int
	// Subject is the object that it is written in, such as `Katalog "shop"`; empty for what can't be read.
	Subject string
	// Path is the field there.
	Path string
	// Message says what was done and why.
	Message string
	// Wrong says that it is a mistake, in the source or in what came of it. Otherwise the rest can be used as it is.
	Wrong bool

	object *Object // the object that a comment belongs to; nil: none does
	at     string  // the field there
}

// Object is one object that an import makes.
type Object struct {
	// Content is the object, as JSON has it.
	Content map[string]any
	// Source is the document that it comes from.
	Source input.Document

	draft   *Draft
	subject string
	origins map[string]string // fields of the object, and the fields of the source that they come from
}

// Add begins an object. Subject says what it is made of.
func (d *Draft) Add(source input.Document, subject string, content map[string]any) *Object {
	o := &Object{Content: content, Source: source, draft: d, subject: subject, origins: map[string]string{}}
	d.Objects = append(d.Objects, o)
	return o
}

// Say adds a remark about a field of a document that no object comes from.
func (d *Draft) Say(doc input.Document, subject, path, message string, wrong bool) {
	m := doc.Mistake(path, message)
	d.Remarks = append(d.Remarks, Remark{File: doc.File, Line: m.Line, Subject: subject, Path: path, Message: message, Wrong: wrong})
}

// Comes notes that a field of the object, with all below it, is made of a field of the source.
func (o *Object) Comes(field, from string) { o.origins[field] = from }

// Origin is the field of the source that a field of the object comes from, or the nearest above it.
func (o *Object) Origin(field string) string {
	for at := field; at != ""; at = above(at) {
		if from, ok := o.origins[at]; ok {
			return from + field[len(at):]
		}
	}
	return ""
}

// above is the path of the object or list that a field stands in.
func above(path string) string { return path[:max(0, strings.LastIndexAny(path, ".["))] }

// Note says why a field of the source has no equivalent, or not quite. A comment says it too, above the field of the object, or the nearest one
// that there is.
func (o *Object) Note(field, from, message string) { o.say(field, from, message, false) }

// Fail says what is wrong with a field of the source.
func (o *Object) Fail(field, from, message string) { o.say(field, from, message, true) }

func (o *Object) say(field, from, message string, wrong bool) {
	o.draft.Say(o.Source, o.subject, from, message, wrong)
	last := &o.draft.Remarks[len(o.draft.Remarks)-1]
	last.object, last.at = o, field
}

// Sort puts the remarks in the order of their files and lines.
func (d *Draft) Sort(files []string) {
	slices.SortStableFunc(d.Remarks, func(a, b Remark) int {
		return cmp.Or(
			cmp.Compare(slices.Index(files, a.File), slices.Index(files, b.File)), cmp.Compare(a.Line, b.Line),
			strings.Compare(a.Path, b.Path), strings.Compare(a.Message, b.Message))
	})
	d.Remarks = slices.CompactFunc(d.Remarks, func(a, b Remark) bool {
		return a.File == b.File && a.Line == b.Line && a.Path == b.Path && a.Message == b.Message
	})
}

// Below is the path of a field of what a path leads to.
func Below(at, name string) string {
	switch {
	case at == "":
		return name
	case strings.ContainsAny(name, ".[]/ "):
		return at + "[" + name + "]"
	default:
		return at + "." + name
	}
}

const fieldType = "type"

// StatusSchema is the schema of a status that shows the given fields, with what every resource of a box shows.
func StatusSchema(fields map[string]any) map[string]any {
	properties := map[string]any{
		"observedGeneration": map[string]any{fieldType: "integer", "format": "int64"},
		"conditions": map[string]any{
			fieldType:                    "array",
			"x-kubernetes-list-type":     "map",
			"x-kubernetes-list-map-keys": []any{fieldType},
			"items": map[string]any{
				fieldType:                              value.TypeObject,
				"required":                             []any{fieldType},
				"properties":                           map[string]any{fieldType: map[string]any{fieldType: value.TypeString}},
				"x-kubernetes-preserve-unknown-fields": true,
			},
		},
	}
	for name, schema := range fields {
		if properties[name] == nil {
			properties[name] = schema
		}
	}
	return map[string]any{fieldType: value.TypeObject, "default": map[string]any{"observedGeneration": int64(-1)}, "properties": properties}
}

// Columns are what `kubectl get` shows of every resource of a box.
func Columns() []any {
	return []any{
		map[string]any{"name": "Ready", fieldType: value.TypeString, "jsonPath": `.status.conditions[?(@.type=="Ready")].status`},
		map[string]any{"name": "Age", fieldType: "date", "jsonPath": ".metadata.creationTimestamp"},
	}
}
