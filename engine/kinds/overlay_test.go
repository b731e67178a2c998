package kinds

import (
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/orkspace/orkestra/engine/kinds/shape"
)

// TestMergeChangesOnlyTheOrder compares the merge with the bare one of Kubernetes, on random specs: only the order of
// lists may differ.
func TestMergeChangesOnlyTheOrder(t *testing.T) {
	for key, k := range table {
		if k.spec == nil || key == "namespaces" { // whose only field is replaced
			continue
		}
		t.Run(key, func(t *testing.T) {
			into, example := k.spec, reflect.New(k.spec).Elem().Interface()
			s := shape.Of(into)
			random := &sampler{random: rand.New(rand.NewPCG(1, 2))}
			merges := 0
			for range 300 {
				base, over := random.object(s, 7, false), random.object(s, 7, true)
				want, err := strategicpatch.StrategicMergeMapPatch(copied(base), copied(over), example)
				if err != nil {
					t.Fatalf("merging %v over %v: %v", over, base, err)
				}
				compact, err := shape.Convert(map[string]any(want), into, "")
				if err != nil {
					t.Fatal(err)
				}
				got, err := shape.Merge(s, copied(base), over, "spec")
				if err != nil {
					t.Fatal(err)
				}
				if diff := gocmp.Diff(ordered(compact), ordered(got)); diff != "" {
					t.Fatalf("merging %v over %v (-want +got):\n%s", over, base, diff)
				}
				if !reflect.DeepEqual(ordered(got), ordered(over)) && !reflect.DeepEqual(ordered(got), ordered(base)) {
					merges++
				}
			}
			NewWithT(t).Expect(merges).To(BeNumerically(">", 10), "the samples must have something to merge")
		})
	}
}

// sampler makes random trees that fit a shape.
type sampler struct {
	random *rand.Rand
}

func (r *sampler) value(s *shape.Shape, depth int, nulls bool) any {
	if len(s.Values) > 0 {
		return s.Values[r.random.IntN(len(s.Values))]
	}
	switch s.Form {
	case shape.FormObject:
		return r.object(s, depth, nulls)
	case shape.FormDictionary:
		out := map[string]any{}
		for _, key := range []string{"a", "b", "c"} {
			if r.random.IntN(2) == 0 {
				out[key] = r.value(s.Elem, depth-1, nulls)
			}
		}
		return out
	case shape.FormList:
		elem := r.value(s.Elem, depth-1, nulls)
		// Lists in short forms have no merge keys by their types; those of the object that is made of them do.
		for _, key := range []string{"name", "containerPort", "devicePath", "mountPath", "port"} {
			if s.Elem.Members[key] != nil {
				elem.(map[string]any)[key] = r.value(s.Elem.Members[key].Shape, depth, false)
			}
		}
		return []any{elem}
	case shape.FormInteger, shape.FormUnsigned, shape.FormIntOrString:
		return r.random.Int64N(3)
	case shape.FormBoolean:
		return r.random.IntN(2) == 0
	case shape.FormQuantity:
		return []string{"1", "2", "3"}[r.random.IntN(3)]
	case shape.FormTime:
		return "2026-01-02T03:04:05Z"
	case shape.FormDuration:
		return "1s"
	case shape.FormBytes:
		return "AAE="
	default:
		return []string{"x", "y", "z"}[r.random.IntN(3)]
	}
}

func (r *sampler) object(s *shape.Shape, depth int, nulls bool) map[string]any {
	out := map[string]any{}
	if depth == 0 {
		return out
	}
	for _, name := range s.Names {
		// Pods have many fields: those that hold merged lists must come up often.
		m := s.Members[name]
		if odds := r.random.IntN(10); odds > 1 && (odds > 7 || (m.MergeKey == "" && name != "template" && name != "spec")) {
			continue
		}
		switch {
		case nulls && r.random.IntN(6) == 0:
			out[name] = nil
		case m.MergeKey != "":
			out[name] = r.mergedList(m, depth, nulls)
		default:
			out[name] = r.value(m.Shape, depth-1, nulls)
		}
	}
	return out
}

func (r *sampler) mergedList(m *shape.Member, depth int, nulls bool) []any {
	keys := []any{"a", "b", "c"}
	if f := m.Shape.Elem.Members[m.MergeKey].Shape.Form; f != shape.FormText {
		keys = []any{int64(1), int64(2), int64(3)}
	}
	out := []any{}
	for _, key := range keys {
		if r.random.IntN(2) == 0 {
			elem := r.object(m.Shape.Elem, depth-1, nulls)
			elem[m.MergeKey] = key
			out = append(out, elem)
		}
	}
	return out
}

func copied(in map[string]any) map[string]any {
	out, _ := shape.Copy(in, "")
	return shape.Object(out)
}

// ordered gives the same tree with every list in one order.
func ordered(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, elem := range v {
			out[key] = ordered(elem)
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, elem := range v {
			out = append(out, ordered(elem))
		}
		slices.SortFunc(out, func(a, b any) int {
			x, _ := json.Marshal(a)
			y, _ := json.Marshal(b)
			return cmp.Compare(string(x), string(y))
		})
		return out
	default:
		return v
	}
}
