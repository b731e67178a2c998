package drift

import (
	"encoding/json"
	"reflect"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

// builtinPlace is what is known of a place in a built-in kind. The Go type knows how scalars are spelled and what absence
// means, the type schema knows how lists and maps are merged.
type builtinPlace struct {
	// goType is nil where the Go types know nothing.
	goType reflect.Type
	// schema is nil where there is no type schema; atom is empty where it knows nothing.
	schema *schema.Schema
	atom   schema.Atom
	// entryOfMap says that the place is the value of a key in a map, not a field of a struct.
	entryOfMap bool
	// atomic says that the struct around the place is one value to the API server.
	atomic bool
}

// atomicTypes are structs that mean something else when somebody adds a field: an added port range or peer lets more through, an
// empty selector selects all. The API server replaces them as one value. The names are of the fields that it fills in itself.
var atomicTypes = map[reflect.Type][]string{
	reflect.TypeFor[metav1.LabelSelector]():                  {},
	reflect.TypeFor[networkingv1.IPBlock]():                  {},
	reflect.TypeFor[networkingv1.NetworkPolicyPeer]():        {},
	reflect.TypeFor[networkingv1.NetworkPolicyPort]():        {"protocol"},
	reflect.TypeFor[networkingv1.NetworkPolicyEgressRule]():  {},
	reflect.TypeFor[networkingv1.NetworkPolicyIngressRule](): {},
	reflect.TypeFor[rbacv1.PolicyRule]():                     {},
}

// scalarTypes are the Go types with a spelling of their own.
var scalarTypes = map[reflect.Type]scalarType{
	reflect.TypeFor[resource.Quantity]():  scalarQuantity,
	reflect.TypeFor[intstr.IntOrString](): scalarIntOrString,
	reflect.TypeFor[[]byte]():             scalarBytes,
	reflect.TypeFor[metav1.Time]():        scalarTime,
	reflect.TypeFor[metav1.MicroTime]():   scalarMicroTime,
	reflect.TypeFor[metav1.Duration]():    scalarDuration,
}

func (b builtinPlace) place() *place {
	p := &place{}
	pointer := b.goType != nil && b.goType.Kind() == reflect.Pointer
	if pointer {
		b.goType = b.goType.Elem()
	}
	if b.goType != nil {
		scalar, own := scalarTypes[b.goType]
		p.scalar = scalar
		p.emptyIsSet = b.entryOfMap || pointer && !own && b.goType.Kind() == reflect.Struct
		p.zeroIsAbsent = !b.entryOfMap && !pointer
		p.exact = b.goType.Kind() == reflect.Map && (b.atomic || b.isAtomicMap())
		if filledIn, whole := atomicTypes[b.goType]; whole {
			p.exact, p.filledIn = true, filledIn
		}
		if own || reflect.PointerTo(b.goType).Implements(reflect.TypeFor[json.Unmarshaler]()) {
			// What is inside is not what the fields of the Go type say.
			b.goType = nil
		}
	}
	p.list, p.keys = b.listType()
	p.expand = b.below
	return p
}

func (b builtinPlace) isAtomicMap() bool {
	return b.atom.Map != nil && b.atom.Map.ElementRelationship == schema.Atomic
}

func (b builtinPlace) below() below {
	var out below
	if b.goType == nil {
		b.schemaBelow(&out)
		return out
	}
	switch b.goType.Kind() {
	case reflect.Struct:
		// Fields that a newer API server has and this Go type does not are left unknown, and compared as they are written.
		types := map[string]reflect.Type{}
		collectFields(b.goType, types)
		out.fields = make(map[string]*place, len(types))
		for name, t := range types {
			out.fields[name] = b.child(name, t, false)
		}
	case reflect.Map:
		out.others = b.child("", b.goType.Elem(), true)
	case reflect.Slice:
		out.element = b.entry(b.goType.Elem())
	default:
	}
	return out
}

// schemaBelow is for places that only the type schema knows.
func (b builtinPlace) schemaBelow(out *below) {
	if m := b.atom.Map; m != nil {
		out.fields = make(map[string]*place, len(m.Fields))
		for _, f := range m.Fields {
			out.fields[f.Name] = b.child(f.Name, nil, false)
		}
		out.others = b.child("", nil, false)
	}
	if b.atom.List != nil {
		out.element = b.entry(nil)
	}
}

// child is the place of a field, or of the values of a map.
func (b builtinPlace) child(name string, t reflect.Type, entryOfMap bool) *place {
	child := builtinPlace{goType: t, schema: b.schema, entryOfMap: entryOfMap}
	if m := b.atom.Map; m != nil {
		ref := m.ElementType
		if field, ok := m.FindField(name); ok {
			ref = field.Type
		}
		child.atom = b.resolve(ref)
		child.atomic = m.ElementRelationship == schema.Atomic
	}
	return child.place()
}

// entry is the place of the entries of a list.
func (b builtinPlace) entry(t reflect.Type) *place {
	entry := builtinPlace{goType: t, schema: b.schema}
	if b.atom.List != nil {
		entry.atom = b.resolve(b.atom.List.ElementType)
	}
	return entry.place()
}

func (b builtinPlace) resolve(ref schema.TypeRef) schema.Atom {
	if b.schema == nil {
		return schema.Atom{}
	}
	atom, _ := b.schema.Resolve(ref)
	return atom
}

func (b builtinPlace) listType() (listType, []listKey) {
	list := b.atom.List
	if list == nil || list.ElementRelationship != schema.Associative {
		return listByPosition, nil
	}
	if len(list.Keys) == 0 {
		return listAsSet, nil
	}
	element := b.resolve(list.ElementType)
	keys := make([]listKey, 0, len(list.Keys))
	for _, name := range list.Keys {
		key := listKey{name: name}
		if element.Map != nil {
			field, _ := element.Map.FindField(name)
			key.defaultValue = field.Default
		}
		keys = append(keys, key)
	}
	return listByKeys, keys
}

// collectFields finds the fields of a Go struct by their JSON names.
func collectFields(t reflect.Type, fields map[string]reflect.Type) {
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || !field.IsExported():
		case name != "":
			fields[name] = field.Type
		case field.Anonymous:
			inline := field.Type
			if inline.Kind() == reflect.Pointer {
				inline = inline.Elem()
			}
			if inline.Kind() == reflect.Struct {
				collectFields(inline, fields)
			}
		default:
			fields[field.Name] = field.Type
		}
	}
}
