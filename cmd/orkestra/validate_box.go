package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/pipeline/check"
	"github.com/orkspace/orkestra/engine/suggest"
)

const (
	kindBox    = "OperatorBox"
	kindHealth = "CRDHealth"
)

// validator checks one box after the other.
type validator struct {
	schema        *versionSchema
	crds          *crdSet
	cluster       *cluster // nil: not asked
	mapper        meta.RESTMapper
	allKinds      bool // the mapper asks a cluster
	crdsGiven     bool // by --crd: a CRD that is not among them is a mistake
	allowGranting bool
	externalOnly  bool
	known         *knownBoxes
	random        io.Reader     // nil: the system's
	docs          []document    // of -f, which may hold the boxes that others read
	plans         []compiledBox // the boxes that compiled
}

// document gives the result for one document, or nil for one that is no business of this command.
func (v *validator) document(ctx context.Context, doc document) (*boxResult, error) {
	if doc.wrong != nil {
		r := doc.unreadable()
		return &r, nil
	}
	group, apiVersion := groupOf(doc.apiVersion()), v1alpha1.GroupVersion.String()
	switch {
	case doc.kind() == kindBox:
		r, err := v.box(ctx, doc)
		if err == nil && doc.apiVersion() != apiVersion {
			r.add(doc.mistake("apiVersion", fmt.Sprintf("%q has no OperatorBox, did you mean %q?", doc.apiVersion(), apiVersion)))
		}
		return r, err
	case group == v1alpha1.GroupName && doc.kind() != kindHealth:
		r := &boxResult{File: doc.file, subject: fmt.Sprintf("%s %q", doc.kind(), doc.name())}
		r.add(doc.mistake("kind", fmt.Sprintf("unknown kind %q%s", doc.kind(), suggest.DidYouMean(doc.kind(), []string{kindBox, kindHealth}))))
		return r, nil
	default:
		return nil, nil //nolint:nilnil // Nothing to say is a legal answer.
	}
}

func groupOf(apiVersion string) string {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return ""
	}
	return gv.Group
}

// box checks one box.
func (v *validator) box(ctx context.Context, doc document) (*boxResult, error) {
	r := &boxResult{File: doc.file, Box: doc.name(), isBox: true, subject: fmt.Sprintf("%s %q", kindBox, doc.name())}
	content := runtime.DeepCopyJSON(doc.content)
	// The status is what a cluster said of the box, and is dropped when the box is applied.
	delete(content, "status")
	found := &findings{written: doc.content}
	found.add(fromSchema, metadata(content)...)
	found.add(fromSchema, definition(content)...)
	v.schema.admit(ctx, content, found)
	box, errs := decode(content)
	for _, e := range errs {
		if !found.tells(e.Field) {
			found.add(fromSchema, e)
		}
	}
	if box == nil {
		r.Notes = append(r.Notes, "templates, conditions and kinds are checked when the types are right")
	} else if err := v.compile(ctx, box, found, r); err != nil {
		return nil, err
	}
	for _, f := range found.distinct() {
		r.add(f.mistake(doc.places))
	}
	r.add(doc.places.duplicates()...)
	r.add(v.known.add(doc)...)
	if !r.Valid {
		r.Revision = ""
	}
	return r, nil
}

// metadata checks what the schema of a CRD never holds.
func metadata(content map[string]any) field.ErrorList {
	at := field.NewPath("metadata")
	errs := typeErrors(content["metadata"], reflect.TypeFor[metav1.ObjectMeta](), at)
	known, _, err := objectmeta.GetObjectMeta(content, true)
	if err != nil || known == nil {
		known = &metav1.ObjectMeta{} // its type is reported already, or it is missing
	}
	// The API server takes the namespace away from objects that have none.
	known.Namespace = ""
	return append(errs, validation.ValidateObjectMeta(known, false, validation.NameIsDNSSubdomain, at)...)
}

// pathDefinition is where a box holds a CRD.
const pathDefinition = "spec.crd.definition"

// definition checks what the schema of boxes leaves open: the CRD in a box.
func definition(content map[string]any) field.ErrorList {
	defined, ok, err := unstructured.NestedMap(content, "spec", "crd", "definition")
	if !ok || err != nil {
		return nil
	}
	return typeErrors(defined, reflect.TypeFor[apiextensionsv1.CustomResourceDefinitionSpec](), field.NewPath("spec", "crd", "definition"))
}

// decode gives the box, or what keeps it from being one.
func decode(content map[string]any) (*v1alpha1.OperatorBox, field.ErrorList) {
	errs := mismatches(content, reflect.TypeFor[v1alpha1.OperatorBox](), nil)
	if len(errs) > 0 {
		return nil, errs
	}
	box := &v1alpha1.OperatorBox{}
	b, err := json.Marshal(content)
	if err == nil {
		err = json.Unmarshal(b, box)
	}
	if err != nil {
		return nil, field.ErrorList{field.Invalid(field.NewPath("spec"), "", err.Error())}
	}
	return box, nil
}

// compile compiles a box against its CRD, and fills in revision and notes.
func (v *validator) compile(ctx context.Context, box *v1alpha1.OperatorBox, found *findings, r *boxResult) error {
	env := pipeline.Env{Mapper: v.mapper, AllKinds: v.allKinds, AllowGrantingKinds: v.allowGranting, ExternalOnly: v.externalOnly, Random: v.random}
	crd, err := v.findCRD(ctx, box, found)
	if err != nil {
		return err
	}
	if crd != nil {
		picked, ok := pipeline.NewCRD(crd, box.Spec.CRD.Version)
		if !ok {
			found.add(fromSchema, notServed(crd, box.Spec.CRD.Version))
		}
		env.CRD = picked
	}
	switch {
	case env.CRD.Schema != nil:
	case found.tells("spec.crd"):
		r.Notes = append(r.Notes, "paths are checked when spec.crd is right")
	case crd != nil:
		r.Notes = append(r.Notes, fmt.Sprintf("%s has no schema: paths are not checked", crd.Name))
	case box.Spec.CRD.Name != "" && (v.crdsGiven || v.cluster != nil):
		found.add(fromSchema, field.Invalid(field.NewPath("spec", "crd", "name"), box.Spec.CRD.Name, v.unknownCRD(ctx, box.Spec.CRD.Name)))
	case box.Spec.CRD.Name != "":
		r.schemaNote = fmt.Sprintf("schema of %s unknown: paths are not checked; give --crd or --cluster", box.Spec.CRD.Name)
		r.Notes = append(r.Notes, r.schemaNote)
	}
	env.BoxSchema = func(name string) *apiextensionsv1.JSONSchemaProps { return v.boxSchema(ctx, name) }
	env.DependsOn = v.dependsOn
	plan, errs := pipeline.Compile(box, env)
	found.add(fromCompile, errs...)
	if plan != nil {
		r.Revision = plan.Revision
		v.plans = append(v.plans, compiledBox{name: box.Name, plan: plan})
		r.Notes = append(r.Notes, plan.Notes...)
	}
	return nil
}

// boxSchema gives the schema of the CRD that another box of the files serves; nil where that is not known.
func (v *validator) boxSchema(ctx context.Context, name string) *apiextensionsv1.JSONSchemaProps {
	for _, doc := range v.docs {
		if doc.kind() != kindBox || doc.name() != name {
			continue
		}
		other, _ := decode(doc.content)
		if other == nil {
			return nil
		}
		crd, err := v.findCRD(ctx, other, &findings{written: doc.content})
		if err != nil || crd == nil {
			return nil
		}
		picked, _ := pipeline.NewCRD(crd, other.Spec.CRD.Version)
		return picked.Schema
	}
	return nil
}

// unknownCRD says where a CRD is not, and which one may have been meant.
func (v *validator) unknownCRD(ctx context.Context, name string) string {
	if v.cluster == nil {
		return "no file of --crd holds this CRD" + suggest.DidYouMean(name, v.crds.names())
	}
	return "neither the cluster nor a file of -f or --crd has this CRD" + crds.Nearest(ctx, v.cluster.client, name, v.crds.names()...)
}

// findCRD gives the CRD of a box; nil where it is not known.
func (v *validator) findCRD(ctx context.Context, box *v1alpha1.OperatorBox, found *findings) (*apiextensionsv1.CustomResourceDefinition, error) {
	if box.Spec.CRD.Definition != nil {
		if found.tells(pathDefinition) || box.Spec.CRD.Name != "" {
			return nil, nil //nolint:nilnil // No CRD is a legal answer.
		}
		crd, errs := boxspec.Definition(box)
		if len(errs) == 0 {
			errs = definitionAdmitted(ctx, crd)
			if err := check.DefinitionGrants(box, crd); err != nil && !v.allowGranting {
				errs = append(errs, err)
			}
		}
		found.add(fromSchema, errs...)
		return crd, nil
	}
	name := box.Spec.CRD.Name
	if crd := v.crds.byName[name]; crd != nil || v.cluster == nil || name == "" {
		return crd, nil
	}
	return v.cluster.crd(ctx, name)
}

func notServed(crd *apiextensionsv1.CustomResourceDefinition, version string) *field.Error {
	at := field.NewPath("spec", "crd")
	var names []string
	for _, v := range crd.Spec.Versions {
		if v.Served {
			names = append(names, v.Name)
		}
	}
	slices.Sort(names)
	if version == "" {
		return field.Invalid(at, crd.Name, fmt.Sprintf("the storage version is not served; give a version that is: %s", strings.Join(names, ", ")))
	}
	return field.Invalid(at.Child("version"), version, fmt.Sprintf("%s serves %s%s", crd.Name, strings.Join(names, ", "), suggest.DidYouMean(version, names)))
}

// mistake is a mistake of one field.
func (d document) mistake(path, message string) mistake {
	return mistake{Path: path, Message: message, Line: d.places.line(parsePath(path, d.content))}
}
