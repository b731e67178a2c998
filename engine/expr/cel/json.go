package cel

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/value"
)

// optionalType is the name of the type of optional values.
const optionalType = "optional_type"

// hasJSON says whether values of a type can be written as JSON, as far as the type tells.
func hasJSON(t *cel.Type) bool {
	switch t.Kind() {
	case types.TypeKind, types.ErrorKind, types.UnknownKind:
		return false
	case types.OpaqueKind:
		return t.TypeName() == optionalType && hasJSON(t.Parameters()[0])
	case types.ListKind:
		return hasJSON(t.Parameters()[0])
	case types.MapKind:
		key := t.Parameters()[0]
		return (key.IsExactType(cel.StringType) || key.IsExactType(cel.DynType)) && hasJSON(t.Parameters()[1])
	default:
		return true
	}
}

// Schema says what the expression yields, as far as its type tells.
func (p *Expression) Schema() *roots.Schema {
	p.env.mu.Lock()
	defer p.env.mu.Unlock()
	return p.env.types.schemaOfType(p.output)
}

func (t *typeProvider) schemaOfType(of *cel.Type) *roots.Schema {
	switch of.Kind() {
	case types.BoolKind:
		return &roots.Schema{Type: value.TypeBoolean}
	case types.IntKind, types.UintKind:
		return &roots.Schema{Type: value.TypeInteger}
	case types.DoubleKind:
		return &roots.Schema{Type: value.TypeNumber}
	case types.StringKind, types.BytesKind, types.DurationKind, types.TimestampKind:
		return &roots.Schema{Type: value.TypeString}
	case types.ListKind:
		return &roots.Schema{Type: value.TypeArray, Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: t.schemaOfType(of.Parameters()[0])}}
	case types.MapKind:
		below := t.schemaOfType(of.Parameters()[1])
		return &roots.Schema{Type: value.TypeObject, AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: below}}
	case types.StructKind:
		if declared, ok := t.objects[of.TypeName()]; ok {
			return declared.node
		}
	default:
	}
	return roots.Unchecked()
}

// writer writes what an expression yields as encoding/json makes it, with int64 for whole numbers. What an expression costs says nothing of
// that: two elements that are one list are written twice.
type writer struct{ *budget.Budget }

func (w writer) value(v ref.Val, depth int) (any, error) {
	if depth > budget.MaxNesting {
		return nil, budget.Over(budget.Nesting)
	}
	switch v := v.(type) {
	case types.Null:
		return nil, nil
	case types.Bool:
		return bool(v), nil
	case types.Int:
		return int64(v), nil
	case types.Uint:
		if v > math.MaxInt64 {
			return nil, fmt.Errorf("it yields %d, which is larger than 2^63-1", uint64(v))
		}
		return int64(v), nil
	case types.Double:
		return number(float64(v))
	case types.String:
		return string(v), w.Output(len(v))
	case types.Bytes:
		return base64.StdEncoding.EncodeToString(v), w.Output(base64.StdEncoding.EncodedLen(len(v)))
	case types.Timestamp:
		return v.UTC().Format(time.RFC3339Nano), nil
	case types.Duration:
		return v.String(), nil
	case *types.Optional:
		if !v.HasValue() {
			return nil, nil
		}
		return w.value(v.GetValue(), depth)
	case traits.Mapper:
		return w.object(v, depth)
	case traits.Lister:
		return w.list(v, depth)
	default:
		return nil, fmt.Errorf("it yields %s, which is no value of JSON: make a text or a number of it", typeText(v.Type().TypeName()))
	}
}

func number(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("it yields %v, which is no number of JSON", f)
	}
	if n, whole := value.Whole(f); whole {
		return n, nil
	}
	return f, nil
}

func (w writer) list(list traits.Lister, depth int) (any, error) {
	size, ok := list.Size().(types.Int)
	if !ok {
		return nil, errors.New("it yields a list without a size")
	}
	if err := w.Output(int(size)); err != nil {
		return nil, err
	}
	out := make([]any, 0, size)
	for i := range size {
		element, err := w.value(list.Get(i), depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, element)
	}
	return out, nil
}

func (w writer) object(m traits.Mapper, depth int) (any, error) {
	out := map[string]any{} // in order, so that of several faults it is always the same that is told
	for keys := (orderedMap{m}).Iterator(); keys.HasNext() == types.True; {
		key := keys.Next()
		name, ok := key.(types.String)
		if !ok {
			return nil, errors.New("it yields a map with a key that is no text")
		}
		if err := w.Output(len(name) + 1); err != nil {
			return nil, err
		}
		below, err := w.value(m.Get(key), depth+1)
		if err != nil {
			return nil, err
		}
		out[string(name)] = below
	}
	return out, nil
}
