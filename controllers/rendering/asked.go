package rendering

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/controllers/validation"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/provider"
	"github.com/orkspace/orkestra/engine/value"
)

// The keys of a document of answers.
const (
	ofCalls     = "external"
	ofWebhook   = "webhook"
	ofProviders = "providers"
)

// answerKeys are all of them.
var answerKeys = []string{ofCalls, ofProviders, ofWebhook}

// holdsAnswers says whether a document has answers, and no object.
func holdsAnswers(doc input.Document) bool {
	return doc.Kind() == "" && doc.APIVersion() == "" && slices.ContainsFunc(answerKeys, func(key string) bool { return doc.Content[key] != nil })
}

// asked is what boxes ask for that is not called here: what else is given would be read by nobody.
type asked struct {
	calls    []string
	provided map[string]*apiextensionsv1.JSONSchemaProps // outputs by the ids of declarations, as far as they are known
	webhook  bool
	in       string // where the boxes stand
}

// CheckAnswers refuses answers in documents that no box asks for, and outputs that no provider gives.
func (r *Rendering) CheckAnswers(ctx context.Context, docs []input.Document) error {
	wanted := askedBy(r.Boxes, r.Providers, r.Words.Boxes)
	for _, doc := range docs {
		if !holdsAnswers(doc) {
			continue
		}
		if err := wanted.check(ctx, doc); err != nil {
			return err
		}
	}
	return nil
}

func askedBy(boxes []validation.Box, registry *provider.Registry, in string) asked {
	a := asked{in: in, provided: map[string]*apiextensionsv1.JSONSchemaProps{}}
	for _, box := range boxes {
		spec := box.Written.Spec
		for i := range spec.External {
			a.calls = append(a.calls, spec.External[i].Name)
		}
		a.webhook = a.webhook || spec.Reconciler != nil && spec.Reconciler.Hooks != nil && spec.Reconciler.Hooks.Webhook != nil
		for id, outputs := range compile.ProvidedSchemas(box.Written, registry, true) {
			if other, known := a.provided[id]; known && !reflect.DeepEqual(other, outputs) {
				outputs = nil // it holds for both
			}
			a.provided[id] = outputs
		}
	}
	return a
}

// check refuses answers that nobody asks for, and outputs that no provider gives.
func (a asked) check(ctx context.Context, doc input.Document) error {
	found := input.NewFindings(doc.Content)
	refuse := func(why string, at ...string) {
		found.Add(input.FromSchema, field.Forbidden(field.NewPath(at[0], at[1:]...), why))
	}
	given := runtime.DeepCopyJSON(doc.Content)
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(answerKeys, key) {
			refuse("a document of answers has no such key; "+listed(answerKeys), key)
		} else if _, isMap := given[key].(map[string]any); !isMap {
			found.Add(input.FromSchema, field.TypeInvalid(field.NewPath(key), value.TypeName(given[key]), "want object"))
		}
	}
	calls, _ := given[ofCalls].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		if !slices.Contains(a.calls, name) {
			refuse("no box of "+a.in+" makes a call of this name; "+listed(a.calls), ofCalls, name)
		}
	}
	provided, _ := given[ofProviders].(map[string]any)
	for _, id := range slices.Sorted(maps.Keys(provided)) {
		if _, known := a.provided[id]; !known {
			refuse("no box of "+a.in+" has a resource of a provider with this id; "+listed(slices.Collect(maps.Keys(a.provided))), ofProviders, id)
			delete(provided, id)
		}
	}
	if given[ofWebhook] != nil && !a.webhook {
		refuse("no box of "+a.in+" has a webhook; remove it", ofWebhook)
	}
	schema, err := input.NewSchema(&apiextensionsv1.JSONSchemaProps{Type: value.TypeObject, Properties: map[string]apiextensionsv1.JSONSchemaProps{ofProviders: a.outputs()}})
	if err != nil {
		return fmt.Errorf("reading what providers give: %w", err)
	}
	schema.Admit(ctx, map[string]any{ofProviders: provided}, found)
	var errs []error
	for _, m := range found.Mistakes(doc) {
		errs = append(errs, fmt.Errorf("%s:%d: %s: %s", doc.File, m.Line, m.Path, m.Message))
	}
	return errors.Join(errs...)
}

// listed says which names there are.
func listed(names []string) string {
	if len(names) == 0 {
		return "there are none; remove it"
	}
	return "wanted one of: " + strings.Join(slices.Compact(slices.Sorted(slices.Values(names))), ", ")
}

// outputs is the schema of what is given under providers. Outputs may be left out: who reads them waits.
func (a asked) outputs() apiextensionsv1.JSONSchemaProps {
	all := apiextensionsv1.JSONSchemaProps{Type: value.TypeObject, Properties: map[string]apiextensionsv1.JSONSchemaProps{}}
	for id, outputs := range a.provided {
		all.Properties[id] = *orAny(outputs)
	}
	return all
}

// orAny is the schema of outputs, or of items with outputs; where these are not known, of any object.
func orAny(outputs *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	if outputs == nil {
		anything := true
		return &apiextensionsv1.JSONSchemaProps{Type: value.TypeObject, XPreserveUnknownFields: &anything}
	}
	out := *outputs
	out.Required = nil
	if each := out.AdditionalProperties; each != nil {
		out.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: orAny(each.Schema)}
	}
	return &out
}
