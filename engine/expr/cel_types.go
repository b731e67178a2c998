package expr

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// celTypes tells CEL's type checker what the scope's schemas say. Each object that a schema describes is a type of its own, named by
// its path, and made when an expression first comes near it: most of a schema is never asked for.
type celTypes struct {
	types.Provider // the types that do not come from a schema
	scope          *Scope
	objects        map[string]celObject
	// missing are the errors of fields that the last expression asked for in vain.
	missing map[string]error
}

// celObject is a type: an object, and where it stands.
type celObject struct {
	node *schema
	path Path
}

func newCELTypes(s *Scope, base types.Provider) *celTypes {
	return &celTypes{Provider: base, scope: s, objects: map[string]celObject{}, missing: map[string]error{}}
}

// root gives the type of a variable.
func (t *celTypes) root(name string) *cel.Type {
	return t.typeOf(t.rootSchema(name), Path{name})
}

func (t *celTypes) rootSchema(name string) *schema {
	if name != rootSelf {
		return t.scope.roots[name]
	}
	self := &schema{Type: typeObject, Properties: map[string]schema{}}
	for _, root := range t.scope.visible() {
		if !ofResource(root) {
			continue
		}
		node := t.scope.roots[root]
		if node == nil {
			node = unchecked()
		}
		self.Properties[root] = *node
	}
	return self
}

// typeOf gives the type of what stands at a path.
func (t *celTypes) typeOf(node *schema, at Path) *cel.Type {
	switch {
	case node == nil || node.XIntOrString || node.Type == "":
		return cel.DynType
	case node.Type == typeArray:
		if node.Items == nil || node.Items.Schema == nil {
			return cel.ListType(cel.DynType)
		}
		return cel.ListType(t.typeOf(node.Items.Schema, at.with(anyElement)))
	case node.Type == typeObject:
		return t.typeOfObject(node, at)
	case node.Nullable:
		return cel.DynType
	}
	switch scalarOf(node) {
	case scalarText:
		return cel.StringType
	case scalarTime:
		return cel.TimestampType
	case scalarDuration:
		return cel.DurationType
	case scalarBytes:
		return cel.BytesType
	case scalarInteger:
		return cel.IntType
	case scalarNumber:
		return cel.DoubleType
	case scalarBoolean:
		return cel.BoolType
	default:
		return cel.DynType
	}
}

func (t *celTypes) typeOfObject(node *schema, at Path) *cel.Type {
	switch {
	case node.Nullable:
		return cel.DynType
	case node.XEmbeddedResource && !isOpen(node), len(node.Properties) > 0 && !isOpen(node):
		name := "object(" + at.String() + ")"
		t.objects[name] = celObject{node: node, path: at}
		return cel.ObjectType(name)
	case node.AdditionalProperties != nil && node.AdditionalProperties.Schema != nil:
		return cel.MapType(cel.StringType, t.typeOf(node.AdditionalProperties.Schema, at.with(anyElement)))
	case isOpen(node):
		return cel.DynType
	default: // nothing can be stored there
		name := "object(" + at.String() + ")"
		t.objects[name] = celObject{node: node, path: at}
		return cel.ObjectType(name)
	}
}

// FindStructType implements types.Provider.
func (t *celTypes) FindStructType(name string) (*types.Type, bool) {
	if _, ok := t.objects[name]; ok {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return t.Provider.FindStructType(name)
}

// FindStructFieldNames implements types.Provider.
func (t *celTypes) FindStructFieldNames(name string) ([]string, bool) {
	if object, ok := t.objects[name]; ok {
		return slices.Sorted(maps.Keys(object.node.Properties)), true
	}
	return t.Provider.FindStructFieldNames(name)
}

// FindStructFieldType implements types.Provider. Names may be escaped as in the rules of a CRD: a__dash__b.
func (t *celTypes) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	object, ok := t.objects[name]
	if !ok {
		return t.Provider.FindStructFieldType(name, field)
	}
	node, err := object.field(t.scope, field)
	if plain, escaped := unescape(field); err != nil && escaped {
		if below, plainErr := object.field(t.scope, plain); plainErr == nil {
			node, err, field = below, nil, plain
		}
	}
	if err != nil {
		t.missing[field] = err
		return nil, false
	}
	return &types.FieldType{
		Type:  t.typeOf(node, object.path.with(field)),
		IsSet: func(target any) bool { _, err := fieldOf(target, field); return err == nil },
		GetFrom: func(target any) (any, error) {
			v, err := fieldOf(target, field)
			return typed(node, v), err
		},
	}, true
}

// NewValue implements types.Provider: objects of a schema can't be made.
func (t *celTypes) NewValue(name string, fields map[string]ref.Val) ref.Val {
	if _, ok := t.objects[name]; ok {
		return types.NewErr("an object of a schema can't be made")
	}
	return t.Provider.NewValue(name, fields)
}

// field gives the schema of a field of the object.
func (o celObject) field(s *Scope, name string) (*schema, error) {
	if len(o.path) > 1 || o.path[0] != rootSelf {
		return descend(o.node, celPath(o.path), name)
	}
	if node, ok := o.node.Properties[name]; ok {
		return &node, nil
	}
	if _, ok := s.roots[name]; ok && !s.hidden[name] {
		return nil, fmt.Errorf("self.%s: %s is a variable of its own: write %s", name, name, name)
	}
	if s.hidden[name] {
		return nil, s.checkRoot(name)
	}
	return nil, fmt.Errorf("self.%s: the resource has no such field%s", shorten(name), didYouMean(name, slices.Collect(maps.Keys(o.node.Properties))))
}

// celPath gives the path in the template context of what CEL calls by a path of its own.
func celPath(p Path) Path {
	if p[0] == rootSelf {
		return p[1:]
	}
	return p
}

// unescape gives the name that an escaped one stands for.
func unescape(name string) (string, bool) {
	if !strings.Contains(name, "__") {
		return "", false
	}
	return apiservercel.Unescape(name)
}
