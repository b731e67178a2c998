// Package validation checks boxes that somebody has written as the manager compiles them, and says of each mistake where it is and what to do. The
// command `orkestra validate` and the Control Center use the same code.
package validation

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/engine/admission"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/hook"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/pipeline/check"
	"github.com/orkspace/orkestra/engine/provider"
	"github.com/orkspace/orkestra/engine/suggest"
)

const (
	kindBox    = "OperatorBox"
	kindHealth = "CRDHealth"

	pathDefinition = "spec.crd.definition" // where a box holds a CRD
)

// Cluster is asked for what no document holds. What does not exist is nil, and no error.
type Cluster interface {
	// Get gives an object.
	Get(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error)
	// List gives the objects of a namespace, or of all where it is empty, that the labels select.
	List(ctx context.Context, kind schema.GroupVersionKind, namespace string, selector labels.Selector) ([]*unstructured.Unstructured, error)
	// CRD gives a CRD.
	CRD(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error)
	// Nearest gives `, did you mean "x"?` for the nearest name of its CRDs and of others; empty where none is near.
	Nearest(ctx context.Context, name string, others ...string) string
}

// Options are what boxes are checked with.
type Options struct {
	// Docs may hold boxes, and the boxes that others read.
	Docs []input.Document
	// CRDs are those that are given.
	CRDs *input.CRDs
	// Cluster is asked for what no document holds; nil: none is.
	Cluster Cluster
	// ClusterBoxes gives the boxes of the cluster, from which a box can't take a CRD. Its error is a note. Nil: none are asked for.
	ClusterBoxes func(context.Context) ([]v1alpha1.OperatorBox, error)
	// Kinds are those of the cluster; nil: only those of the CRDs are known.
	Kinds meta.RESTMapper
	// AllKinds says that Kinds are all of them: others are not installed.
	AllKinds bool
	// NoCRD says where a CRD was looked for that is nowhere, which is a mistake then; empty: there may be more than was looked at, and a note says so.
	NoCRD string
	// GiveCRD says how a CRD can be given.
	GiveCRD string
	// Code has the functions that are compiled in; nil: what a manager has is not known.
	Code *hook.Registry
	// Providers are those that are compiled in; nil: what a manager has is not known.
	Providers *provider.Registry
	// AllowGranting lets boxes make kinds that grant rights.
	AllowGranting bool
	// Restricted says whether the operator names the only hosts that the calls of a box may reach; nil: of none.
	Restricted func(*v1alpha1.OperatorBox) bool
	// WebhookServices are those that webhooks may be, by namespace or namespace/name; nil: that is not known.
	WebhookServices []string
	// Random is what values are drawn from; nil: the system's source.
	Random io.Reader
	// Instead checks a box in place of the compiler; nil: it is compiled.
	Instead func(*v1alpha1.OperatorBox) field.ErrorList
}

// Validator checks one box after the other.
type Validator struct {
	Options

	// Mapper knows the kinds of the CRDs, and with a cluster all that it serves.
	Mapper meta.RESTMapper
	// Boxes are those that have compiled so far.
	Boxes []Box

	schema  *input.Schema
	known   *knownBoxes
	cluster inCluster
}

// boxSchema is read once: it compiles the rules in it, which takes longer than to check a box.
var boxSchema = sync.OnceValues(input.BoxSchema)

// New makes a Validator.
func New(o Options) (*Validator, error) {
	s, err := boxSchema()
	if err != nil {
		return nil, fmt.Errorf("reading the schema of OperatorBox: %w", err)
	}
	v := &Validator{Options: o, Mapper: o.CRDs.Mapper(), schema: s, known: newKnownBoxes()}
	if o.Kinds != nil {
		v.Mapper = meta.FirstHitRESTMapper{MultiRESTMapper: meta.MultiRESTMapper{v.Mapper, o.Kinds}}
	}
	return v, nil
}

// Box is a box that compiled.
type Box struct {
	// Name of the box.
	Name string
	// Written is the box, with its defaults.
	Written *v1alpha1.OperatorBox
	// Plan that it compiled to, in Env.
	Plan *pipeline.Plan
	Env  pipeline.Env
}

// Validate checks all documents, and gives a result for each that is a box, can't be used, or is a CRD that the API server would refuse.
func (v *Validator) Validate(ctx context.Context) ([]Result, error) {
	var results []Result
	for _, u := range v.CRDs.Wrong() {
		results = append(results, unusable(u))
	}
	for _, d := range v.CRDs.All() {
		if err := ended(ctx); err != nil {
			return nil, err
		}
		if r := definitionResult(ctx, d); !r.Valid {
			results = append(results, r)
		}
	}
	for _, doc := range v.Docs {
		if err := ended(ctx); err != nil {
			return nil, err
		}
		result, err := v.document(ctx, doc)
		if err != nil {
			return nil, err
		}
		if result != nil {
			results = append(results, *result)
		}
	}
	return results, nil
}

// ended says that nobody waits for the answer any longer; nil: somebody does.
func ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("checking boxes: %w", context.Cause(ctx))
	}
	return nil
}

// unusable is the result for a document that can't be read, or whose CRD can't be used.
func unusable(u input.Unusable) Result {
	r := Result{File: u.File}
	if u.Wrong == nil {
		r.Subject = fmt.Sprintf("%s %q", input.KindCRD, u.Name())
	}
	r.add(u.Mistakes...)
	return r
}

// document gives the result for one document, or nil for one that is not checked.
func (v *Validator) document(ctx context.Context, doc input.Document) (*Result, error) {
	if doc.Wrong != nil {
		r := unusable(input.Unusable{Document: doc, Mistakes: []input.Mistake{*doc.Wrong}})
		return &r, nil
	}
	apiVersion := v1alpha1.GroupVersion.String()
	switch {
	case doc.Kind() == kindBox:
		r, err := v.check(ctx, doc)
		if err == nil && doc.APIVersion() != apiVersion {
			r.add(doc.Mistake("apiVersion", fmt.Sprintf("%q has no OperatorBox, did you mean %q?", doc.APIVersion(), apiVersion)))
		}
		return r, err
	case doc.Group() == v1alpha1.GroupName && doc.Kind() != kindHealth:
		r := &Result{File: doc.File, Subject: fmt.Sprintf("%s %q", doc.Kind(), doc.Name())}
		message := fmt.Sprintf("unknown kind %q%s", doc.Kind(), suggest.DidYouMean(doc.Kind(), []string{kindBox, kindHealth}))
		if doc.Kind() == "" {
			r.Subject = fmt.Sprintf("object %q", doc.Name())
			message = fmt.Sprintf("is missing: %s has %s and %s", apiVersion, kindBox, kindHealth)
		}
		r.add(doc.Mistake("kind", message))
		return r, nil
	default:
		return nil, nil //nolint:nilnil // Nothing to say is a legal answer.
	}
}

// check checks one box.
func (v *Validator) check(ctx context.Context, doc input.Document) (*Result, error) {
	var plan *pipeline.Plan
	r, found, box := v.admit(ctx, doc)
	if err := ended(ctx); err != nil {
		return nil, err
	}
	switch {
	case v.Instead != nil && box != nil:
		found.Add(input.FromCompile, v.Instead(box)...)
	case v.Instead != nil: // what is found already says why
	case box == nil:
		r.Notes = append(r.Notes, "templates, conditions and kinds are checked when the types are right")
	case found.Exceed():
		r.Notes = append(r.Notes, "templates, conditions and kinds are checked when nothing is too long")
	default:
		compiled, err := v.compile(ctx, box, found, r)
		if err != nil {
			return nil, err
		}
		plan = compiled
	}
	r.add(withForms(found.Mistakes(doc))...)
	r.add(doc.Keys()...)
	r.add(v.known.add(doc)...)
	if v.ClusterBoxes != nil && box != nil {
		v.claimed(ctx, doc, box, r)
	}
	r.respelled(doc)
	if plan != nil && r.Valid { // of one that is wrong, there is more to say first
		r.Notes = append(r.Notes, noted(box, plan)...)
	}
	if !r.Valid {
		r.Revision = ""
	}
	return r, nil
}

// admit checks a box by the schema, and gives what came of that; nil: it can't be decoded.
func (v *Validator) admit(ctx context.Context, doc input.Document) (*Result, *input.Findings, *v1alpha1.OperatorBox) {
	r := &Result{File: doc.File, Box: doc.Name(), IsBox: true, Subject: fmt.Sprintf("%s %q", kindBox, doc.Name())}
	content := runtime.DeepCopyJSON(doc.Content)
	// A box that was read from a cluster has a status. The API server ignores it when the box is applied, so it is not checked.
	delete(content, "status")
	found := input.NewFindings(doc.Content)
	found.Add(input.FromSchema, input.Metadata(content)...)
	found.Add(input.FromSchema, definition(content)...)
	v.schema.Admit(ctx, content, found)
	box, errs := decode(content)
	for _, e := range errs {
		if !found.Tells(e.Field) {
			found.Add(input.FromSchema, e)
		}
	}
	return r, found, box
}

// decode gives the box, or what keeps it from being one.
func decode(content map[string]any) (*v1alpha1.OperatorBox, field.ErrorList) {
	errs := input.Mismatches(content, reflect.TypeFor[v1alpha1.OperatorBox](), nil)
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

// compile compiles a box against its CRD, and fills in revision and notes. The plan is nil where there are mistakes.
func (v *Validator) compile(ctx context.Context, box *v1alpha1.OperatorBox, found *input.Findings, r *Result) (*pipeline.Plan, error) {
	env := pipeline.Env{Mapper: v.Mapper, AllKinds: v.AllKinds, AllowGrantingKinds: v.AllowGranting, ExternalOnly: v.Restricted != nil && v.Restricted(box), Code: v.Code, WebhookServices: v.WebhookServices, Providers: v.Providers, Random: v.Random}
	crd, err := v.findCRD(ctx, box, found)
	if err != nil {
		return nil, err
	}
	if crd != nil {
		picked, ok := crds.OwnVersion(box, crd)
		if !ok {
			found.Add(input.FromSchema, notServed(crd, box.Spec.CRD.Version))
		}
		env.CRD = picked
	}
	switch {
	case env.CRD.Schema != nil:
	case found.Tells("spec.crd"):
		r.Notes = append(r.Notes, "paths are checked when spec.crd is right")
	case crd != nil:
		r.Notes = append(r.Notes, fmt.Sprintf("%s has no schema: paths are not checked", crd.Name))
	case box.Spec.CRD.Kind != "" && v.NoCRD != "":
		name := crds.NameOf(box)
		found.Add(input.FromSchema, field.Invalid(field.NewPath("spec", "crd", "kind"), name, v.unknownCRD(ctx, name)+"; if the plural is another one, say so in spec.crd.plural"))
	case box.Spec.CRD.Kind != "":
		r.SchemaNote = v.unknownSchema(crds.NameOf(box))
		r.Notes = append(r.Notes, r.SchemaNote)
	case crds.NoCRD(box.Spec.CRD.Name) != "":
		found.Add(input.FromSchema, field.Invalid(field.NewPath("spec", "crd", "name"), box.Spec.CRD.Name, crds.NoCRD(box.Spec.CRD.Name)))
	case box.Spec.CRD.Name != "" && v.NoCRD != "":
		found.Add(input.FromSchema, field.Invalid(field.NewPath("spec", "crd", "name"), box.Spec.CRD.Name, v.unknownCRD(ctx, box.Spec.CRD.Name)))
	case box.Spec.CRD.Name != "":
		r.SchemaNote = v.unknownSchema(box.Spec.CRD.Name)
		r.Notes = append(r.Notes, r.SchemaNote)
	}
	env.BoxSchema = func(name string) *apiextensionsv1.JSONSchemaProps { return v.boxSchema(ctx, name) }
	env.BoxCRD = func(name string) *pipeline.CRD { return v.boxCRD(ctx, name) }
	env.DependsOn = v.dependsOn
	plan, errs := pipeline.Compile(box, env)
	found.Add(input.FromCompile, errs...)
	if plan != nil {
		r.Revision = plan.Revision
		v.Boxes = append(v.Boxes, Box{Name: box.Name, Written: box, Plan: plan, Env: env})
		r.Notes = append(append(r.Notes, plan.Notes...), unserved(plan, v.Mapper)...)
		if plan.Admission != nil {
			r.Rules = admission.Compile(plan.Admission, v.mutates()).Places()
		}
	}
	return plan, nil
}

// mutates says whether the API server has policies that set defaults. Without a cluster it is taken for one that has.
func (v *Validator) mutates() bool {
	if v.Cluster == nil {
		return true
	}
	kind := schema.GroupKind{Group: admissionregistrationv1.GroupName, Kind: "MutatingAdmissionPolicy"}
	_, err := v.Mapper.RESTMapping(kind, "v1")
	return !meta.IsNoMatchError(err)
}

// unknownSchema notes that paths are not checked, and which CRD may have been meant.
func (v *Validator) unknownSchema(crd string) string {
	return fmt.Sprintf("schema of %s unknown: paths are not checked; %s%s", crd, v.GiveCRD, suggest.DidYouMean(crd, v.CRDs.Names()))
}

// unknownCRD says where the CRD was looked for, and which one may have been meant.
func (v *Validator) unknownCRD(ctx context.Context, name string) string {
	if v.Cluster == nil {
		return v.NoCRD + suggest.DidYouMean(name, v.CRDs.Names())
	}
	return v.NoCRD + v.Cluster.Nearest(ctx, name, v.CRDs.Names()...)
}

// findCRD gives the CRD of a box; nil where it is not known.
func (v *Validator) findCRD(ctx context.Context, box *v1alpha1.OperatorBox, found *input.Findings) (*apiextensionsv1.CustomResourceDefinition, error) {
	if box.Spec.CRD.Definition != nil {
		if found.Tells(pathDefinition) || box.Spec.CRD.Name != "" {
			return nil, nil //nolint:nilnil // No CRD is a legal answer.
		}
		crd, errs := boxspec.Definition(box)
		if len(errs) == 0 {
			errs = crds.Admitted(ctx, crd)
			if err := check.DefinitionGrants(box, crd); err != nil && !v.AllowGranting {
				errs = append(errs, err)
			}
		}
		found.Add(input.FromSchema, errs...)
		return crd, nil
	}
	if crd := crds.OfKubernetes(box); crd != nil {
		return crd, nil
	}
	name := crds.NameOf(box)
	if crd := v.CRDs.Named(name); crd != nil || v.Cluster == nil || name == "" {
		return crd, nil
	}
	return v.Cluster.CRD(ctx, name)
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
