package drift

import (
	"fmt"
	"reflect"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
)

// Fields of every object.
const (
	keyKind        = "kind"
	keyMetadata    = "metadata"
	keyAnnotations = "annotations"
	keyLabels      = "labels"
)

// ListSchema gives the structural schema of a custom kind, or nil where it has none, so that the list and map types in it
// are honored. It is asked for each object, must be safe for concurrent use, and should give the same pointer for as long
// as the schema is the same. What it gives is not changed, and may not change afterwards.
type ListSchema func(gvk schema.GroupVersionKind) *apiextensionsv1.JSONSchemaProps

// place is a node of a schema: it says how the values at one place of an object are compared, and leads to the places below. What is below
// is worked out when it is first asked for, since schemas may be recursive. It is safe for concurrent use.
type place struct {
	list   listType
	keys   []listKey
	scalar scalarType
	// zeroIsAbsent says that the kind's Go type can't tell zero from absent: a plain int, not a pointer to one.
	zeroIsAbsent bool
	// emptyIsSet says that an empty value means something else than an absent one, as with a label or `namespaceSelector: {}`.
	emptyIsSet bool
	// exact says that the map or struct is atomic: it belongs to its declaration as a whole, and what others add is a difference.
	exact bool
	// filledIn are fields of an exact struct that the API server fills in.
	filledIn []string

	once   sync.Once
	expand func() below
	found  below
}

// below are the places under a place; what is missing is unknown.
type below struct {
	// fields of an object, by name.
	fields map[string]*place
	// others is for names that are not among the fields: the values of a map.
	others *place
	// element is for the entries of a list.
	element *place
}

// listType says how the entries of two lists belong together.
type listType int

const (
	listByPosition listType = iota
	listByKeys
	listAsSet
)

// listKey is a field that identifies the entries of a list, and the value it has where it is absent.
type listKey struct {
	name         string
	defaultValue any
}

func (p *place) below() *below {
	p.once.Do(func() {
		if p.expand != nil {
			p.found = p.expand()
		}
	})
	return &p.found
}

// field leads to a field of an object or an entry of a map. It never gives nil.
func (p *place) field(name string) *place {
	b := p.below()
	if field, ok := b.fields[name]; ok {
		return field
	}
	return orUnknown(b.others)
}

// element leads to the entries of a list. It never gives nil.
func (p *place) element() *place { return orUnknown(p.below().element) }

// orUnknown gives an unknown place for a missing one: it has no traits, and nothing below it is known.
func orUnknown(p *place) *place {
	if p == nil {
		return &place{}
	}
	return p
}

// CheckPart says why a field of a kind can't have another field manager than the fields around it; nil: it can. An atomic map has one
// manager as a whole, and a FieldPath can't lead into a list. The last name is not checked, only what it leads through.
func (c *Comparer) CheckPart(gvk schema.GroupVersionKind, path FieldPath) error {
	at := c.schemas.root(gvk)
	for i, name := range path[:len(path)-1] {
		if i == 0 && name == keyMetadata {
			at = c.schemas.metadata
		} else {
			at = at.field(name)
		}
		switch {
		case at.exact:
			return fmt.Errorf("%s has one owner as a whole; name that instead", path[:i+1])
		case at.list != listByPosition || at.below().element != nil:
			return fmt.Errorf("%s is a list; name that instead", path[:i+1])
		}
	}
	return nil
}

// schemas finds the place of a whole object. It is safe for concurrent use.
type schemas struct {
	ask       ListSchema
	converter managedfields.TypeConverter
	// builtins holds the places of built-in kinds by GroupVersionKind, customs a customRoot.
	builtins, customs sync.Map
	// metadata is the place of every object's own metadata.
	metadata *place
}

// customRoot is the place of a custom kind, and the schema that it was made from.
type customRoot struct {
	props *apiextensionsv1.JSONSchemaProps
	place *place
}

func newSchemas(ask ListSchema) *schemas {
	s := &schemas{ask: ask, converter: applyconfigurations.NewTypeConverter(scheme.Scheme)}
	// Any built-in kind will do: all have the same metadata.
	s.metadata = s.root(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}).field(keyMetadata)
	return s
}

func (s *schemas) root(gvk schema.GroupVersionKind) *place {
	if known, ok := s.builtins.Load(gvk); ok {
		root, _ := known.(*place)
		return orUnknown(root)
	}
	if scheme.Scheme.Recognizes(gvk) {
		root := s.builtin(gvk)
		s.builtins.Store(gvk, root)
		return root
	}
	if s.ask == nil {
		return orUnknown(nil)
	}
	props := s.ask(gvk)
	if props == nil {
		s.customs.Delete(gvk)
		return orUnknown(nil)
	}
	// When a CRD changes, ListSchema gives another pointer, and the place is made again.
	known, _ := s.customs.Load(gvk)
	if root, ok := known.(customRoot); ok && root.props == props {
		return root.place
	}
	root := customRoot{props: props, place: customPlace{props: props}.place()}
	s.customs.Store(gvk, root)
	return root.place
}

// Knows says whether a kind is built in or comes from a CRD, so that the API server itself stores its objects. An aggregated API server may
// store them otherwise, and not heed what an apply asks for.
func (c *Comparer) Knows(gvk schema.GroupVersionKind) bool {
	return scheme.Scheme.Recognizes(gvk) || c.schemas.ask != nil && c.schemas.ask(gvk) != nil
}

// builtin finds the Go type and the type schema of a built-in kind. The type converter gives a schema only together with a value, so an
// empty object is converted. A kind that has no schema is compared by its Go type alone.
func (s *schemas) builtin(gvk schema.GroupVersionKind) *place {
	object, err := scheme.Scheme.New(gvk)
	if err != nil {
		return orUnknown(nil)
	}
	root := builtinPlace{goType: reflect.TypeOf(object)}
	empty := &unstructured.Unstructured{Object: map[string]any{}}
	empty.SetGroupVersionKind(gvk)
	if typed, err := s.converter.ObjectToTyped(empty); err == nil {
		root.schema = typed.Schema()
		root.atom, _ = typed.Schema().Resolve(typed.TypeRef())
	}
	return root.place()
}
