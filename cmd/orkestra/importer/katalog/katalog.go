// Package katalog makes boxes of a Katalog, the file in which earlier versions of Orkestra had their operators.
package katalog

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/importer/draft"
	"github.com/orkspace/orkestra/controllers/input"
)

// Kind is the kind of a Katalog.
const Kind = "Katalog"

const fieldBox = "operatorBox"

// CRD is a CRD that is given.
type CRD struct {
	// File that it is in.
	File string
	*apiextensionsv1.CustomResourceDefinition
}

// Is says whether a document is a Katalog, or one operatorBox that stands alone.
func Is(doc input.Document) bool {
	_, alone := doc.Content[fieldBox]
	return doc.Kind() == Kind || alone && doc.Kind() == ""
}

// Translate adds a box for each CRD of a Katalog. CRDs are those that are given: a Katalog may name the file of one.
func Translate(d *draft.Draft, doc input.Document, crds []CRD) {
	t := &translator{d: d, doc: doc, crds: crds, subject: fmt.Sprintf("%s %q", Kind, doc.Name())}
	if doc.Kind() == "" {
		t.subject = fieldBox
		t.entry("", "", doc.Content)
		return
	}
	if group := doc.Group(); group != v1alpha1.GroupName && !strings.HasPrefix(group, "orkestra.") {
		t.fail("apiVersion", fmt.Sprintf("%q has no Katalog: wanted %s/v1", doc.APIVersion(), v1alpha1.GroupName))
		return
	}
	t.rest("", doc.Content, "apiVersion", "kind", "metadata", "spec")
	spec, ok := doc.Content["spec"].(map[string]any)
	if !ok {
		t.fail("spec", "wanted an object with crds")
		return
	}
	t.finalizers = spec["finalizers"]
	t.rest("spec", spec, "crds", "finalizers")
	t.entries(spec["crds"])
}

// translator translates one document.
type translator struct {
	d          *draft.Draft
	doc        input.Document
	crds       []CRD
	subject    string
	finalizers any // those of each entry that has none of its own
}

func (t *translator) fail(path, message string) { t.d.Say(t.doc, t.subject, path, message, true) }

// rest says of each field that is none of those that are translated that it has no equivalent.
func (t *translator) rest(at string, object map[string]any, known ...string) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(known, name) {
			t.d.Say(t.doc, t.subject, draft.Below(at, name), noEquivalent(name, known), false)
		}
	}
}

// entries translates the CRDs of a Katalog: an object with a name for each, or a list of objects that have one.
func (t *translator) entries(crds any) {
	const at = "spec.crds"
	switch crds := crds.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(crds)) {
			t.entryAt(draft.Below(at, name), name, crds[name])
		}
	case []any:
		for i, item := range crds {
			path := fmt.Sprintf("%s[%d]", at, i)
			entry, _ := item.(map[string]any)
			name, _ := entry["name"].(string)
			if entry != nil && name == "" {
				t.fail(path+".name", "wanted a name: the box gets it")
				continue
			}
			t.entryAt(path, name, item)
		}
	default:
		t.fail(at, "wanted an object with an entry for each CRD")
	}
}

func (t *translator) entryAt(at, name string, entry any) {
	object, ok := entry.(map[string]any)
	if !ok {
		t.fail(at, "wanted an object")
		return
	}
	t.entry(at, name, object)
}

// entry makes the box of one CRD.
func (t *translator) entry(at, name string, content map[string]any) {
	spec := map[string]any{}
	metadata := map[string]any{}
	o := t.d.Add(t.doc, t.subject, map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "OperatorBox", "metadata": metadata, "spec": spec})
	e := &entry{o: o, spec: spec, from: map[string]string{}}
	o.Comes("metadata.name", at)
	own, _ := t.doc.Content["metadata"].(map[string]any)
	for _, field := range []string{"labels", "annotations"} {
		if own[field] != nil {
			metadata[field] = own[field]
			o.Comes("metadata."+field, "metadata."+field)
		}
	}
	crd := e.crd(at, content, t.crds)
	switch {
	case name != "":
	case crd != nil:
		name = crd.Spec.Names.Singular
	default:
		name = strings.ToLower(strings.TrimSuffix(filepath.Base(t.doc.File), filepath.Ext(t.doc.File)))
	}
	metadata["name"] = name
	box, ok := content[fieldBox].(map[string]any)
	if content[fieldBox] != nil && !ok {
		o.Fail("spec", draft.Below(at, fieldBox), "wanted an object")
	}
	e.fields(draft.Below(at, fieldBox), box)
	e.fields(at, content)
	if _, own := spec["finalizers"]; !own && t.finalizers != nil {
		e.set("finalizers", "spec.finalizers", t.finalizers)
	}
}
