package kinds

import (
	"reflect"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds/shape"
	"github.com/orkspace/orkestra/engine/value"
)

// typeDoc is what the comments of a type of the API say. apiDocs in zz_generated.docs.go holds them all, for orkestra explain and the
// reference pages.
type typeDoc struct {
	text   string
	fields map[string]fieldDoc
}

// fieldDoc is what the comment of a field says.
type fieldDoc struct {
	text, standard, example string
	values                  []string
}

// APIKinds are the kinds of Orkestra's own API, each as a field with the name of the kind in small letters.
func APIKinds() []FieldDoc {
	var out []FieldDoc
	for _, of := range []reflect.Type{reflect.TypeFor[v1alpha1.CRDHealth](), reflect.TypeFor[v1alpha1.OperatorBox]()} {
		out = append(out, FieldDoc{Name: strings.ToLower(of.Name()), Type: of.Name(), Text: apiDocs[of.Name()].text, of: of})
	}
	return out
}

// DefaultRequired is the default of a field that must be there.
const DefaultRequired = "required"

// FieldDoc is what people read about one field.
type FieldDoc struct {
	// Name in YAML.
	Name string
	// Type in words: "list of EnvVar", "integer". The names of types are those of Kubernetes.
	Type string
	// Text says what the field means. It may be empty.
	Text string
	// Default is what counts where the field is absent: "80". It begins with DefaultRequired where the field must be there, and is
	// empty where there is nothing to say.
	Default string
	// Example is the field with a value, in YAML. Empty where there is none.
	Example string
	// Values are those that the field may have, or the entries of its list or map. Empty: they are not a few.
	Values []string

	of   reflect.Type
	less string // the field below it that it does not take; empty: it takes all
}

// Text says what the kind's declarations make.
func (k Kind) Text() string {
	return apiDocs[k.fields.Name()].text
}

// ShortFields are the short fields of the kind, in the order in which they are described.
func (k Kind) ShortFields() []FieldDoc {
	return fieldsOf(k.fields)
}

// CommonFields are those of the fields of all declarations that declarations of this kind take: spec where its objects have it, and of a patch those
// that do not say how a child is made.
func (k Kind) CommonFields() []FieldDoc {
	var out []FieldDoc
	for _, f := range fieldsOf(reflect.TypeFor[v1alpha1.CommonFields]()) {
		switch {
		case k.IsPatch() && !slices.Contains(v1alpha1.CommonFieldNamesOfPatches(), f.Name):
			continue
		case k.IsPatch() && f.Name == "forEach":
			f.less = "rollout"
		case f.Name != nameSpec:
		case k.spec != nil:
			f.of, f.Type = k.spec, shape.Words(k.spec)
		case k.GVK.Empty():
			f.Type = value.TypeObject
		default:
			continue
		}
		out = append(out, f)
	}
	return out
}

// Required says whether the field must always be there.
func (f FieldDoc) Required() bool {
	return f.Default == DefaultRequired
}

// Fields are the fields below this one, also where it is a list or a map of objects; nil where there are none.
func (f FieldDoc) Fields() []FieldDoc {
	return slices.DeleteFunc(fieldsOf(f.of), func(below FieldDoc) bool { return below.Name == f.less })
}

// Follow gives the field that names lead to from some fields on, one below the other. It ends at a field that is unknown, and at one that holds
// declarations by their keys: left are the names from there on, and among the fields that the first of them would be one of.
func Follow(fields []FieldDoc, names []string) (found FieldDoc, left []string, among []FieldDoc) {
	for i, name := range names {
		at := slices.IndexFunc(fields, func(f FieldDoc) bool { return f.Name == name })
		if at < 0 || found.IsGroup() {
			return found, names[i:], fields
		}
		found = fields[at]
		fields = found.Fields()
	}
	return found, nil, fields
}

// IsGroup says whether the field holds declarations by their keys: its fields are those of the kinds.
func (f FieldDoc) IsGroup() bool { return f.of == reflect.TypeFor[v1alpha1.ResourceGroup]() }

// Shape is what Go's type of the field says of its values.
func (f FieldDoc) Shape() *shape.Shape { return shape.Of(f.of) }

// Object names the Go type of the objects that the field is, or is a list or a map of.
func (f FieldDoc) Object() string { return shape.ElemOf(f.of).Name() }

// IsKubernetes says whether the field, or what it is a list or a map of, is an object of a type that Kubernetes has.
func (f FieldDoc) IsKubernetes() bool {
	of := shape.ElemOf(f.of)
	return of.Kind() == reflect.Struct && of.PkgPath() != reflect.TypeFor[v1alpha1.CommonFields]().PkgPath() && !shape.IsLeaf(of)
}

func fieldsOf(of reflect.Type) []FieldDoc {
	of = shape.ElemOf(of)
	if of == reflect.TypeFor[v1alpha1.ProviderResource]() {
		of = reflect.TypeFor[v1alpha1.ProviderFields]() // it reads them itself, besides the kind, which is that of a provider
	}
	if of.Kind() != reflect.Struct || shape.IsLeaf(of) {
		return nil
	}
	var out []FieldDoc
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && f.Anonymous:
			out = append(out, fieldsOf(f.Type)...)
		case name != "":
			doc := docOf(of, name)
			out = append(out, FieldDoc{
				Name: name, Type: shape.Words(f.Type), Text: doc.text, Default: doc.standard, Example: doc.example, of: f.Type,
				Values: valuesOf(doc, f.Type),
			})
		}
	}
	return out
}

// valuesOf are the values that a field may have: those that the API says, or those of a type of Kubernetes.
func valuesOf(doc fieldDoc, of reflect.Type) []string {
	if len(doc.values) > 0 {
		return doc.values
	}
	return shape.Of(shape.ElemOf(of)).Values
}

// docOf finds the comment of a field: ours are generated into this package, those of Kubernetes come from its SwaggerDoc methods.
func docOf(of reflect.Type, name string) fieldDoc {
	if of.PkgPath() == reflect.TypeFor[v1alpha1.CommonFields]().PkgPath() {
		return apiDocs[of.Name()].fields[name]
	}
	if documented, ok := reflect.TypeAssert[interface{ SwaggerDoc() map[string]string }](reflect.Zero(of)); ok {
		return fieldDoc{text: documented.SwaggerDoc()[name]}
	}
	return fieldDoc{}
}
