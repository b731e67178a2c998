package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// knownBoxes remembers the boxes of all files, to find those that get into each other's way.
type knownBoxes struct {
	byName map[string]knownBox
	byCRD  map[string]knownBox
}

type knownBox struct {
	name, where string
}

func newKnownBoxes() *knownBoxes {
	return &knownBoxes{byName: map[string]knownBox{}, byCRD: map[string]knownBox{}}
}

// add remembers a box and says which earlier one it clashes with.
func (k *knownBoxes) add(doc document) []mistake {
	here := knownBox{name: doc.name(), where: doc.file}
	if line := doc.places.line(nil); line > 0 {
		here.where = fmt.Sprintf("%s:%d", doc.file, line)
	}
	if other, ok := k.byName[here.name]; ok {
		return []mistake{doc.mistake("metadata.name", fmt.Sprintf("another OperatorBox of this name is in %s", other.where))}
	}
	if here.name != "" {
		k.byName[here.name] = here
	}
	path, crd := served(doc.content)
	if other, ok := k.byCRD[crd]; ok {
		return []mistake{doc.mistake(path, fmt.Sprintf("OperatorBox %q in %s serves %s already; only one box can", other.name, other.where, crd))}
	}
	if crd != "" {
		k.byCRD[crd] = here
	}
	return nil
}

// served gives the name of the CRD that a box serves and the field that says so. A box that is wrong elsewhere has one too.
func served(box map[string]any) (path, crd string) {
	at := func(fields ...string) string {
		// What has another type is reported by the schema.
		s, _, _ := unstructured.NestedString(box, append([]string{"spec", "crd"}, fields...)...)
		return s
	}
	plural, group := at("definition", "names", "plural"), at("definition", "group")
	if plural != "" && group != "" {
		return pathDefinition, plural + "." + group
	}
	return "spec.crd.name", at("name")
}
