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
			s := shapeOf(into)
			random := &sampler{random: rand.New(rand.NewPCG(1, 2))}
			merges := 0
			for range 300 {
				base, over := random.object(s, 7, false), random.object(s, 7, true)
				want, err := strategicpatch.StrategicMergeMapPatch(copied(base), copied(over), example)
				if err != nil {
					t.Fatalf("merging %v over %v: %v", over, base, err)
				}
				compact, err := Convert(map[string]any(want), into, "")
				if err != nil {
					t.Fatal(err)
				}
				got, err := mergeOverlay(s, copied(base), over, "spec")
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

func TestMergeJSON(t *testing.T) {
	for name, tc := range map[string]struct{ base, over, want string }{
		"objects are merged":          {`{a: {b: 1, c: 2}}`, `{a: {c: 3}}`, `{a: {b: 1, c: 3}}`},
		"lists are replaced":          {`{a: [1, 2]}`, `{a: [3]}`, `{a: [3]}`},
		"null removes":                {`{a: 1, b: 2}`, `{a: null, c: {d: null}}`, `{b: 2, c: {}}`},
		"an object replaces a scalar": {`{a: 1}`, `{a: {b: 2}}`, `{a: {b: 2}}`},
		"a scalar replaces an object": {`{a: {b: 2}}`, `{a: 1}`, `{a: 1}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(mergeJSON(tree(t, tc.base), tree(t, tc.over))).To(Equal(tree(t, tc.want)))
		})
	}
}

// sampler makes random trees that fit a shape.
type sampler struct {
	random *rand.Rand
}

func (r *sampler) value(s *shape, depth int, nulls bool) any {
	if len(s.values) > 0 {
		return s.values[r.random.IntN(len(s.values))]
	}
	switch s.form {
	case formObject:
		return r.object(s, depth, nulls)
	case formDictionary:
		out := map[string]any{}
		for _, key := range []string{"a", "b", "c"} {
			if r.random.IntN(2) == 0 {
				out[key] = r.value(s.elem, depth-1, nulls)
			}
		}
		return out
	case formList:
		elem := r.value(s.elem, depth-1, nulls)
		// Lists in short forms have no merge keys by their types; those of the object that is made of them do.
		for _, key := range []string{"name", "containerPort", "devicePath", "mountPath", "port"} {
			if s.elem.members[key] != nil {
				elem.(map[string]any)[key] = r.value(s.elem.members[key].shape, depth, false)
			}
		}
		return []any{elem}
	case formInteger, formUnsigned, formIntOrString:
		return r.random.Int64N(3)
	case formBoolean:
		return r.random.IntN(2) == 0
	case formQuantity:
		return []string{"1", "2", "3"}[r.random.IntN(3)]
	case formTime:
		return "2026-01-02T03:04:05Z"
	case formDuration:
		return "1s"
	case formBytes:
		return "AAE="
	default:
		return []string{"x", "y", "z"}[r.random.IntN(3)]
	}
}

func (r *sampler) object(s *shape, depth int, nulls bool) map[string]any {
	out := map[string]any{}
	if depth == 0 {
		return out
	}
	for _, name := range s.names {
		// Pods have many fields: those that hold merged lists must come up often.
		m := s.members[name]
		if odds := r.random.IntN(10); odds > 1 && (odds > 7 || (m.mergeKey == "" && name != "template" && name != "spec")) {
			continue
		}
		switch {
		case nulls && r.random.IntN(6) == 0:
			out[name] = nil
		case m.mergeKey != "":
			out[name] = r.mergedList(m, depth, nulls)
		default:
			out[name] = r.value(m.shape, depth-1, nulls)
		}
	}
	return out
}

func (r *sampler) mergedList(m *member, depth int, nulls bool) []any {
	keys := []any{"a", "b", "c"}
	if f := m.shape.elem.members[m.mergeKey].shape.form; f != formText {
		keys = []any{int64(1), int64(2), int64(3)}
	}
	out := []any{}
	for _, key := range keys {
		if r.random.IntN(2) == 0 {
			elem := r.object(m.shape.elem, depth-1, nulls)
			elem[m.mergeKey] = key
			out = append(out, elem)
		}
	}
	return out
}

func copied(in map[string]any) map[string]any {
	var w walker
	return asObject(w.anything(in))
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
