package kinds

import (
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/orkspace/orkestra/engine/kinds/shape"
	"github.com/orkspace/orkestra/engine/suggest"
	"github.com/orkspace/orkestra/engine/value"
)

// builtIn gives the shape of a kind that comes with Kubernetes; nil for all others, whose manifests are taken as they are.
func builtIn(gvk schema.GroupVersionKind) (*shape.Shape, *shape.FieldError) {
	t, ok := scheme.Scheme.AllKnownTypes()[gvk]
	if !ok {
		return nil, nil
	}
	s := shape.Of(t)
	if !isObject(s) {
		return nil, &shape.FieldError{Path: shape.JoinPath(nameManifest, nameKind), Want: "kind of a single object", Got: value.TypeString, Value: gvk.Kind}
	}
	return s, nil
}

// Unknown says whether Kubernetes has the group and version of a kind, but not the kind: most likely a typing error. hint names the
// nearest kind. Of groups that Kubernetes does not have, nothing is known.
func Unknown(gvk schema.GroupVersionKind) (hint string, unknown bool) {
	if scheme.Scheme.Recognizes(gvk) || !scheme.Scheme.IsVersionRegistered(gvk.GroupVersion()) {
		return "", false
	}
	var names []string
	for name, t := range scheme.Scheme.KnownTypes(gvk.GroupVersion()) {
		if isObject(shape.Of(t)) {
			names = append(names, name)
		}
	}
	return suggest.DidYouMean(gvk.Kind, names), true
}

// isObject says whether a type is that of single objects, not of lists of them or of options of requests.
func isObject(s *shape.Shape) bool {
	return s.Members[nameMetadata] != nil && s.Members["items"] == nil
}

// Schema says what a live object of a built-in kind may hold, or gives nil for a kind that is none. Scalars that may be written in several
// ways (quantities, int-or-string) are unchecked. The caller must not change it. Safe for concurrent use.
func Schema(gvk schema.GroupVersionKind) *apiextensionsv1.JSONSchemaProps {
	if gvk == apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition") {
		return shape.Of(reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]()).Schema() // client-go's scheme is without it
	}
	t, ok := scheme.Scheme.AllKnownTypes()[gvk]
	if !ok {
		return nil
	}
	return shape.Of(t).Schema()
}

// CheckField says whether a kind that comes with Kubernetes has a field that a path of names leads to, through objects and maps
// only. Of other kinds nothing is known, and nothing is wrong.
func CheckField(gvk schema.GroupVersionKind, path []string) error {
	s, _ := builtIn(gvk)
	if s == nil {
		return nil // what is wrong with the kind is said elsewhere
	}
	return s.HasField(gvk.Kind, path)
}
