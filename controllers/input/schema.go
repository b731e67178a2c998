package input

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/config/crd"
	"github.com/orkspace/orkestra/engine/suggest"
)

// Schema checks objects against the schema of a CRD's version, with the API server's own code.
type Schema struct {
	structural *structuralschema.Structural
	openAPI    validation.SchemaValidator
	rules      *cel.Validator
}

// BoxSchema reads the schema of OperatorBox.
func BoxSchema() (*Schema, error) {
	var own apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(crd.BoxDefinition(), &own); err != nil {
		return nil, err
	}
	return NewSchema(own.Spec.Versions[0].Schema.OpenAPIV3Schema)
}

// NewSchema reads the schema of a version of a CRD.
func NewSchema(schema *apiextensionsv1.JSONSchemaProps) (*Schema, error) {
	var props apiextensions.JSONSchemaProps
	err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(schema, &props, nil)
	if err != nil {
		return nil, err
	}
	s := &Schema{}
	if s.structural, err = structuralschema.NewStructural(&props); err != nil {
		return nil, err
	}
	if s.openAPI, _, err = validation.NewSchemaValidator(&props); err != nil {
		return nil, err
	}
	s.rules = cel.NewValidator(s.structural, true, celconfig.PerCallLimit)
	return s, nil
}

// Admit does to an object what the API server does before it stores one: it removes unknown fields, fills in defaults, and finds
// what is wrong. The API server refuses a box for the unknown fields only when its client asks for that, as kubectl does. Where the context ends, so
// does the work, and what was found is not all.
func (s *Schema) Admit(ctx context.Context, object map[string]any, found *Findings) {
	for _, step := range []func(){
		func() { found.Add(FromSchema, unknownFields(object, s.structural, nil, true)...) },
		func() {
			pruning.Prune(object, s.structural, true)
			defaulting.PruneNonNullableNullsWithoutDefaults(object, s.structural)
			defaulting.Default(object, s.structural)
		},
		func() {
			found.Add(FromSchema, oneEach(validation.ValidateCustomResource(nil, object, s.openAPI), object, s.structural)...)
		},
		func() { found.Add(FromSchema, listtype.ValidateListSetsAndMaps(nil, s.structural, object)...) },
		func() {
			broken, _ := s.rules.Validate(ctx, nil, s.structural, object, nil, celconfig.RuntimeCELCostBudget)
			// The API server checks no rule at all when something else is wrong. Here they are checked, so that all mistakes come out
			// at once; those that could not be evaluated are left for when the rest is mended.
			if len(found.all) > 0 {
				broken = slices.DeleteFunc(broken, notEvaluated)
			}
			found.Add(fromRules, broken...)
		},
	} {
		if ctx.Err() != nil {
			return
		}
		step()
	}
}

// Unknown gives an error for each field of an object, and for each value of an enumeration, that the schema does not have.
func (s *Schema) Unknown(object map[string]any) field.ErrorList {
	errs := unknownFields(object, s.structural, nil, true)
	for _, e := range validation.ValidateCustomResource(nil, object, s.openAPI) {
		if e.Type == field.ErrorTypeNotSupported {
			errs = append(errs, e)
		}
	}
	return errs
}

// Metadata checks what the schema of a CRD never holds.
func Metadata(content map[string]any) field.ErrorList {
	at := field.NewPath("metadata")
	errs := TypeErrors(content["metadata"], reflect.TypeFor[metav1.ObjectMeta](), at)
	known, _, err := objectmeta.GetObjectMeta(content, true)
	if err != nil || known == nil {
		known = &metav1.ObjectMeta{} // its type is reported already, or it is missing
	}
	// The API server takes the namespace away from objects that have none.
	known.Namespace = ""
	return append(errs, apivalidation.ValidateObjectMeta(known, false, apivalidation.NameIsDNSSubdomain, at)...)
}

// notEvaluated says whether a rule's error is that the rule could not be evaluated for the object, rather than that it is broken.
func notEvaluated(e *field.Error) bool {
	return strings.Contains(e.Detail, " evaluating rule: ") || strings.Contains(e.Detail, "call arguments did not match")
}

// unknownFields gives an error for each field that the schema does not have.
func unknownFields(value any, s *structuralschema.Structural, at *field.Path, root bool) field.ErrorList {
	if s == nil || s.XPreserveUnknownFields && len(s.Properties) == 0 {
		return nil
	}
	var errs field.ErrorList
	switch value := value.(type) {
	case []any:
		if s.Items == nil {
			return nil // the type is wrong, which the validator reports
		}
		for i, item := range value {
			if len(errs) >= maxFindings { // no more are looked at, and each is compared with all names
				break
			}
			errs = append(errs, unknownFields(item, s.Items, at.Index(i), false)...)
		}
	case map[string]any:
		if s.Type != "object" {
			return nil
		}
		valid := slices.Sorted(maps.Keys(s.Properties))
		errs = unknownKeys(value, s, at)
		for _, name := range slices.Sorted(maps.Keys(value)) {
			property, known := s.Properties[name]
			switch {
			case len(errs) >= maxFindings:
				return errs
			case root && slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, name):
				// The status is dropped, and the others have no schema here, or one that says nothing.
			case known:
				errs = append(errs, unknownFields(value[name], &property, child(at, name), false)...)
			case s.AdditionalProperties != nil:
				errs = append(errs, unknownFields(value[name], s.AdditionalProperties.Structural, child(at, name), false)...)
			case !s.XPreserveUnknownFields:
				errs = append(errs, field.Forbidden(child(at, name), "unknown field"+suggest.DidYouMean(name, valid)))
			}
		}
	}
	return errs
}

// keysMessage begins the message of the rule that lists the keys of a resource group.
const keysMessage = "unknown key; a kind that has no key goes under resources, as a manifest; valid keys: "

// unknownKeys names the keys that break the rule of a resource group. The rule itself can only say that there is one.
func unknownKeys(group map[string]any, s *structuralschema.Structural, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, rule := range s.XValidations {
		list, ok := strings.CutPrefix(rule.Message, keysMessage)
		if !ok {
			continue
		}
		valid := strings.Split(list, ", ")
		for _, key := range slices.Sorted(maps.Keys(group)) {
			if slices.Contains(valid, strings.ToLower(key)) {
				continue
			}
			message := rule.Message
			if near := suggest.DidYouMean(key, valid); near != "" {
				message = "unknown key" + near
			}
			errs = append(errs, field.Forbidden(child(at, key), message))
		}
	}
	return errs
}

func child(at *field.Path, name string) *field.Path {
	if at == nil {
		return field.NewPath(name)
	}
	return at.Child(name)
}
