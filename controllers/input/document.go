// Package input reads boxes, CRDs and resources that somebody has written, and says what is wrong with them, and in which line.
package input

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// KindCRD is the kind of CRDs.
const KindCRD = "CustomResourceDefinition"

// Document is one object of a file: a YAML document, or an item of a List.
type Document struct {
	// File is the file's name as given, or found in a directory that was given.
	File string
	// Content is the object as written; nil for a document that can't be read.
	Content map[string]any
	// Wrong says why the document can't be read; nil for one that can.
	Wrong *Mistake

	places *places // where the fields stand in the file
}

// Mistake is one thing that is wrong.
type Mistake struct {
	// Path of the field.
	Path string `json:"path"`
	// Message says what is wrong with it.
	Message string `json:"message"`
	// Line and Column of the file, from 1; 0 where they are not known.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
}

// items gives the items of a List, or else the document itself.
func (d Document) items() []Document {
	list, ok := d.Content["items"].([]any)
	kind, _ := d.Content["kind"].(string)
	if !ok || !strings.HasSuffix(kind, "List") {
		return []Document{d}
	}
	var docs []Document
	for i, item := range list {
		content, ok := item.(map[string]any)
		if !ok {
			continue
		}
		docs = append(docs, Document{File: d.File, Content: content, places: d.places.below(step{name: "items"}, step{index: i})}.items()...)
	}
	return docs
}

// APIVersion of the object; empty where it has none.
func (d Document) APIVersion() string { return text(d.Content["apiVersion"]) }

// Kind of the object; empty where it has none.
func (d Document) Kind() string { return text(d.Content["kind"]) }

// Group of the object's API; empty for the core group, and where the apiVersion can't be read.
func (d Document) Group() string {
	gv, err := schema.ParseGroupVersion(d.APIVersion())
	if err != nil {
		return ""
	}
	return gv.Group
}

// Name of the object; empty where it has none.
func (d Document) Name() string {
	meta, _ := d.Content["metadata"].(map[string]any)
	return text(meta["name"])
}

// IsCRD says whether the object is a CRD.
func (d Document) IsCRD() bool {
	return d.Kind() == KindCRD && d.APIVersion() == apiextensionsv1.SchemeGroupVersion.String()
}

// Line is that of the file in which the object begins; 0 where it is not known.
func (d Document) Line() int {
	line, _ := d.places.at(nil)
	return line
}

// Keys gives a mistake for each key that an object of the document has twice, or that is read as another name than the one that is written.
func (d Document) Keys() []Mistake { return d.places.keys() }

// Respelled says of each value that is read as another text than the one that is written what it is read as, such as false for no.
func (d Document) Respelled() []Mistake { return d.places.values() }

// Mistake is a mistake of one field.
func (d Document) Mistake(path, message string) Mistake {
	line, column := d.places.at(parsePath(path, d.Content))
	return Mistake{Path: path, Message: message, Line: line, Column: column}
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
