package cel

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/suggest"
	"github.com/orkspace/orkestra/engine/value"
)

// typeProvider tells CEL's type checker what the scope's schemas say. Each object that a schema describes is a type of its own, named by
// its path, and made when an expression first comes near it: most of a schema is never asked for.
type typeProvider struct {
	types.Provider // the types that do not come from a roots.Schema
	roots          *roots.Set
	objects        map[string]object
	// missing are the errors of fields that the last expression asked for in vain.
	missing map[string]error
}

// object is a type: an object, and where it stands.
type object struct {
	node *roots.Schema
	path value.Path
}

func newTypeProvider(set *roots.Set, base types.Provider) *typeProvider {
	return &typeProvider{Provider: base, roots: set, objects: map[string]object{}, missing: map[string]error{}}
}

// root gives the type of a variable.
func (t *typeProvider) root(name string) *cel.Type {
	return t.typeOf(t.rootSchema(name), value.Path{name})
}

func (t *typeProvider) rootSchema(name string) *roots.Schema {
	if name != rootSelf {
		return schemaOf(t.roots, name)
	}
	self := &roots.Schema{Type: value.TypeObject, Properties: map[string]roots.Schema{}}
	for _, root := range t.roots.Names() {
		if !roots.OfResource(root) {
			continue
		}
		node := schemaOf(t.roots, root)
		if node == nil {
			node = roots.Unchecked()
		}
		self.Properties[root] = *node
	}
	return self
}

// typeOf gives the type of what stands at a path.
func (t *typeProvider) typeOf(node *roots.Schema, at value.Path) *cel.Type {
	switch {
	case node == nil || node.XIntOrString || node.Type == "":
		return cel.DynType
	case node.Type == value.TypeArray:
		if node.Items == nil || node.Items.Schema == nil {
			return cel.ListType(cel.DynType)
		}
		return cel.ListType(t.typeOf(node.Items.Schema, at.With(value.AnyElement)))
	case node.Type == value.TypeObject:
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

func (t *typeProvider) typeOfObject(node *roots.Schema, at value.Path) *cel.Type {
	switch {
	case node.Nullable:
		return cel.DynType
	case node.XEmbeddedResource && !roots.IsOpen(node), len(node.Properties) > 0 && !roots.IsOpen(node):
		name := "object(" + at.String() + ")"
		t.objects[name] = object{node: node, path: at}
		return cel.ObjectType(name)
	case node.AdditionalProperties != nil && node.AdditionalProperties.Schema != nil:
		return cel.MapType(cel.StringType, t.typeOf(node.AdditionalProperties.Schema, at.With(value.AnyElement)))
	case roots.IsOpen(node):
		return cel.DynType
	default: // nothing can be stored there
		name := "object(" + at.String() + ")"
		t.objects[name] = object{node: node, path: at}
		return cel.ObjectType(name)
	}
}

// FindStructType implements types.Provider.
func (t *typeProvider) FindStructType(name string) (*types.Type, bool) {
	if _, ok := t.objects[name]; ok {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return t.Provider.FindStructType(name)
}

// FindStructFieldNames implements types.Provider.
func (t *typeProvider) FindStructFieldNames(name string) ([]string, bool) {
	if declared, ok := t.objects[name]; ok {
		return slices.Sorted(maps.Keys(declared.node.Properties)), true
	}
	return t.Provider.FindStructFieldNames(name)
}

// FindStructFieldType implements types.Provider. Names may be escaped as in the rules of a CRD: a__dash__b.
func (t *typeProvider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	declared, ok := t.objects[name]
	if !ok {
		return t.Provider.FindStructFieldType(name, field)
	}
	node, err := declared.field(t.roots, field)
	if plain, escaped := unescape(field); err != nil && escaped {
		if below, plainErr := declared.field(t.roots, plain); plainErr == nil {
			node, err, field = below, nil, plain
		}
	}
	if err != nil {
		t.missing[field] = err
		return nil, false
	}
	return &types.FieldType{
		Type:  t.typeOf(node, declared.path.With(field)),
		IsSet: func(target any) bool { _, err := fieldOf(target, field); return err == nil },
		GetFrom: func(target any) (any, error) {
			v, err := fieldOf(target, field)
			return typed(node, v), err
		},
	}, true
}

// NewValue implements types.Provider: objects of a schema can't be made.
func (t *typeProvider) NewValue(name string, fields map[string]ref.Val) ref.Val {
	if _, ok := t.objects[name]; ok {
		return types.NewErr("an object of a schema can't be made")
	}
	return t.Provider.NewValue(name, fields)
}

// field gives the schema of a field of the object.
func (o object) field(set *roots.Set, name string) (*roots.Schema, error) {
	if len(o.path) > 1 || o.path[0] != rootSelf {
		return roots.Descend(o.node, dataPath(o.path), name)
	}
	if node, ok := o.node.Properties[name]; ok {
		return &node, nil
	}
	if set.Reads(name) {
		return nil, fmt.Errorf("self.%s: %s is a variable of its own: write %s", name, name, name)
	}
	if set.Hides(name) {
		return nil, set.Check(name)
	}
	return nil, fmt.Errorf("self.%s: the resource has no such field%s", value.Shorten(name), suggest.DidYouMean(name, slices.Collect(maps.Keys(o.node.Properties))))
}

// dataPath gives the path in the template context of what CEL calls by a path of its own.
func dataPath(p value.Path) value.Path {
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

// schemaOf gives what is known of a root; nil: nothing.
func schemaOf(set *roots.Set, root string) *roots.Schema {
	node, _ := set.Schema(root)
	return node
}
