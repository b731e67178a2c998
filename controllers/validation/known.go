package validation

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// knownBoxes remembers the boxes of all documents, to find those that get into each other's way.
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
func (k *knownBoxes) add(doc input.Document) []input.Mistake {
	here := knownBox{name: doc.Name(), where: doc.File}
	if line := doc.Line(); line > 0 {
		here.where = fmt.Sprintf("%s:%d", doc.File, line)
	}
	if other, ok := k.byName[here.name]; ok {
		return []input.Mistake{doc.Mistake("metadata.name", fmt.Sprintf("another OperatorBox of this name is in %s", other.where))}
	}
	if here.name != "" {
		k.byName[here.name] = here
	}
	path, crd := served(doc.Content)
	if other, ok := k.byCRD[crd]; ok {
		return []input.Mistake{doc.Mistake(path, fmt.Sprintf("OperatorBox %q in %s serves %s already; only one box can", other.name, other.where, crd))}
	}
	if crd != "" {
		k.byCRD[crd] = here
	}
	return nil
}

// served gives the name of the CRD that a box serves and the field that says so. A box that is wrong elsewhere has one too.
func served(box map[string]any) (path, crd string) {
	at := func(fields ...string) string {
		// A value of another type is reported by the schema, and counts as absent here.
		s, _, _ := unstructured.NestedString(box, append([]string{"spec", "crd"}, fields...)...)
		return s
	}
	plural, group := at("definition", "names", "plural"), at("definition", "group")
	if plural != "" && group != "" {
		return pathDefinition, plural + "." + group
	}
	return "spec.crd.name", at("name")
}

// box gives a box of the documents, and its content as written; nil where no document holds it, or where it can't be decoded: then its own result
// says why.
func (v *Validator) box(name string) (*v1alpha1.OperatorBox, map[string]any) {
	for _, doc := range v.Docs {
		if doc.Kind() == kindBox && doc.Name() == name {
			box, _ := decode(doc.Content)
			return box, doc.Content
		}
	}
	return nil, nil
}

// dependsOn gives what a box of the documents depends on. Boxes that no document holds depend on nothing, as far as is known here.
func (v *Validator) dependsOn(name string) []string {
	box, _ := v.box(name)
	if box == nil {
		return nil
	}
	names := make([]string, 0, len(box.Spec.DependsOn))
	for _, d := range box.Spec.DependsOn {
		names = append(names, d.Name)
	}
	return names
}

// boxSchema gives the schema of the CRD that another box of the documents serves; nil where that is not known.
func (v *Validator) boxSchema(ctx context.Context, name string) *apiextensionsv1.JSONSchemaProps {
	if crd := v.boxCRD(ctx, name); crd != nil {
		return crd.Schema
	}
	return nil
}

// boxCRD gives the CRD that another box of the documents serves; nil where that is not known.
func (v *Validator) boxCRD(ctx context.Context, name string) *pipeline.CRD {
	other, content := v.box(name)
	if other == nil {
		return nil
	}
	crd, err := v.findCRD(ctx, other, input.NewFindings(content))
	if err != nil || crd == nil {
		return nil
	}
	picked, _ := crds.OwnVersion(other, crd)
	return &picked
}
