package compile

import (
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/provider"
	"github.com/orkspace/orkestra/engine/value"
)

// ProvidedKind gives the kind of a resource of a provider; nil where it is not registered, or not known because there is no registry.
func ProvidedKind(registry *provider.Registry, name string, in *v1alpha1.ProviderResource) *provider.Kind {
	p := registry.Get(name)
	if p == nil || len(in.Kinds) != 1 {
		return nil
	}
	all := p.Kinds()
	for kind := range in.Kinds {
		if found, ok := all[kind]; ok {
			return &found
		}
	}
	return nil
}

// ProvidedSchemas says what there is below .providers. Kinds that are not known are unchecked. withSecrets: with the outputs that are secret.
func ProvidedSchemas(box *v1alpha1.OperatorBox, registry *provider.Registry, withSecrets bool) map[string]*apiextensionsv1.JSONSchemaProps {
	out := map[string]*apiextensionsv1.JSONSchemaProps{}
	for name, list := range box.Spec.Providers {
		for i := range list {
			outputs := outputsOf(ProvidedKind(registry, name, &list[i]), withSecrets)
			if list[i].ForEach != nil {
				outputs = &apiextensionsv1.JSONSchemaProps{Type: value.TypeObject, AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: outputs}}
			}
			out[list[i].ID] = outputs
		}
	}
	return out
}

func outputsOf(kind *provider.Kind, withSecrets bool) *apiextensionsv1.JSONSchemaProps {
	if kind == nil {
		return nil
	}
	out := kind.Outputs
	if !withSecrets && len(kind.SecretOutputs) > 0 {
		out.Properties = maps.Clone(out.Properties)
		for _, name := range kind.SecretOutputs {
			out.Properties[name] = *roots.Hidden(hiddenContent)
		}
	}
	return &out
}

// leadsToSecretOutput says whether a path below .providers may lead to an output that is secret.
func leadsToSecretOutput(registry *provider.Registry, all v1alpha1.ProviderResources, p expr.Path) bool {
	const ofOne, ofItem = 2, 3 // providers and an id; and the key of an item
	for name, list := range all {
		for i := range list {
			if len(p) > 1 && list[i].ID != p[1] {
				continue
			}
			kind, at := ProvidedKind(registry, name, &list[i]), ofOne
			if list[i].ForEach != nil {
				at = ofItem
			}
			if kind != nil && len(kind.SecretOutputs) > 0 && (len(p) <= at || slices.Contains(kind.SecretOutputs, p[at])) {
				return true
			}
		}
	}
	return false
}
