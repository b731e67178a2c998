package compile

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/kinds"
)

// The names under which templates find what they may read, besides the fields of the resource.
const (
	RootSpec     = "spec"
	RootStatus   = "status"
	RootChildren = "children"
	RootCross    = "cross"
	RootExternal = "external"
	// RootProviders are the outputs of what providers have made.
	RootProviders = "providers"
	// RootValues is what the box has given names to.
	RootValues = "values"
	// RootPrevious is the snapshot, for the templates of onRollback.
	RootPrevious = "previous"
	// RootObject is the child itself, in the conditions under which it counts as current.
	RootObject = "object"

	// RootError is what a cycle has ended with, and RootConditions are the conditions that it comes to, for the fields of the status.
	RootError      = "error"
	RootConditions = "conditions"

	// RootItem, RootKey and RootIndex are what a loop gives to its templates.
	RootItem  = "item"
	RootKey   = "key"
	RootIndex = "index"
)

// SecretKind is the kind whose content only the templates of children may see (design: surface.md, "Secrets").
var SecretKind = corev1.SchemeGroupVersion.WithKind("Secret")

// hiddenContent is why a path to what a Secret holds is a mistake, everywhere but in the content of a child.
const hiddenContent = "what a Secret holds can be read only by the templates of a child's content; conditions, status fields, names and namespaces are shown to people"

// ObjectSchema says what an object of a kind may hold; nil where that is not known. Without withSecrets, the schema of a Secret hides its
// content.
func ObjectSchema(kind schema.GroupVersionKind, withSecrets bool) *apiextensionsv1.JSONSchemaProps {
	object := kinds.Schema(kind)
	if object == nil || withSecrets || kind != SecretKind {
		return object
	}
	without := *object
	without.Properties = maps.Clone(object.Properties)
	for _, name := range []string{"data", "stringData"} {
		without.Properties[name] = *roots.Hidden(hiddenContent)
	}
	return &without
}

// ResourceScope is what templates may read before anything else than the resource is read.
func (b *Box) ResourceScope() *expr.Scope {
	return b.Scope.WithoutRoots(RootChildren, RootCross, RootExternal, RootProviders)
}

// ContentScope is a scope in which these roots also hold what Secrets hold: that of the content of children, and of nothing else.
func (b *Box) ContentScope(scope *expr.Scope, roots ...string) *expr.Scope {
	for _, root := range roots {
		if schema, err := b.Secrets.SchemaAt(expr.Path{root}); err == nil {
			scope = scope.WithRoot(root, schema)
		}
	}
	return scope
}
