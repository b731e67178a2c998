package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// fuzzDeadline is far above what the limits of expressions allow one cycle: it only tells a hang from an answer.
const fuzzDeadline = time.Minute

// FuzzCompile checks that every JSON that decodes as the spec of a box compiles or errs, the same way twice, and that a plan
// runs for a resource without a panic, whatever it comes to.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"onReconcile":{"configmaps":[{"data":{"a":"{{ .spec.image }}"}}]}}`,
		`{"onReconcile":{"deployments":[{"image":"x","forEach":{"field":"spec.tags","key":"{{ .item }}"},"name":"{{ .item }}"}],"services":[{}]}}`,
		`{"cross":[{"name":"db","box":"x","optional":true}],"onCreate":{"secrets":[{"once":true,"data":{"a":"{{ randAlphaNum 5 }}"}}]}}`,
		`{"validation":{"rules":[{"cel":"self.spec.replicas > 1"},{"field":"spec.image","regex":"("}]},"status":{"fields":[{"path":"phase","value":"x"}]}}`,
		`{"external":[{"name":"q","url":"https://example.com/{{ .spec.image }}"}],"onDelete":{"jobs":[{"image":"x"}]}}`,
		`{"normalize":{"spec":{"image":"{{ .spec.image | lower }}"}},"mutation":{"rules":[{"field":"spec.replicas","default":1}]}}`,
		`{"onReconcile":{"resources":[{"manifest":{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"}}}]}}`,
		`{"values":[{"name":"a","value":{"b":"{{ .spec.image }}"}},{"name":"c","cel":"[values.a, values.a]"}],"onReconcile":{"configmaps":[{"data":{"x":"{{ toJson .values.c }}"}}]}}`,
		`{"values":[{"name":"a","cel":"values.b"},{"name":"b","value":"{{ .values.a }}"}]}`,
		`{"onReconcile":{"configmaps":[{"id":"a","name":"{{ .t }}-{{ .n }}","forEach":{"loops":[{"field":"spec.tags","as":"t"},{"field":"{{ until 2 }}","as":"n"}],"key":"{{ .t }}{{ .n }}","rollout":{"maxUnavailable":"50%","order":"Descending"}},"data":{"x":"y"}},{"id":"b","name":"b","after":["a"],"labels":"{{ dict \"a\" \"b\" }}"}]},"deletion":{"children":"Reverse"}}`,
		`{"onReconcile":{"patches":[{"id":"p","target":{"apiVersion":"v1","kind":"ConfigMap","name":"theirs"},"forEach":{"field":"spec.tags"},"patch":{"metadata":{"labels":{"a":"{{ .item }}"}},"data":{"b":"c"}}}],"jobs":[{"id":"j","image":"x","rerunOn":["{{ .spec.image }}"]}]}}`,
		`{"status":{"fields":[{"path":"phase","value":"{{ default \"none\" .error.message }}"}]},"onReconcile":{"configmaps":[{"id":"a","after":["b"]},{"id":"b","name":"b","after":["a"]}]}}`,
	} {
		f.Add(seed, `{"image":"a","tags":["b","c"],"replicas":2}`)
	}
	f.Fuzz(func(t *testing.T, spec, resource string) {
		box := &v1alpha1.OperatorBox{}
		box.Name = "fuzz"
		if json.Unmarshal([]byte(spec), &box.Spec) != nil {
			return
		}
		env := Env{CRD: websites(t), Now: func() time.Time { return now }}
		plan, errs := Compile(box, env)
		again, errsAgain := Compile(box.DeepCopy(), env)
		if !slices.Equal(messages(errs), messages(errsAgain)) {
			t.Fatalf("one box, two answers:\n%q\n%q", messages(errs), messages(errsAgain))
		}
		if (plan == nil) != (len(errs) > 0) || (plan != nil) != (again != nil) {
			t.Fatalf("a plan is there exactly when nothing is wrong: %v", errs)
		}
		if plan == nil {
			return
		}
		stored := website(t, "")
		var content map[string]any
		if json.Unmarshal([]byte(resource), &content) == nil && content != nil {
			stored.Object["spec"] = jsonNumbers(content)
		}
		ctx, cancel := context.WithTimeout(t.Context(), fuzzDeadline)
		defer cancel()
		p := newPatcher(theirConfig("theirs"))
		in := p.ports.ports()
		in.Patcher = p
		r := plan.NewRun(stored, now, in)
		err := plan.Execute(ctx, r)
		if _, err = r.Result(ctx, err); ctx.Err() != nil {
			t.Fatalf("still running after %s: %v", fuzzDeadline, err)
		}
	})
}

// jsonNumbers makes whole numbers what Kubernetes decodes them to.
func jsonNumbers(v any) any {
	switch t := v.(type) {
	case float64:
		if t == float64(int64(t)) {
			return int64(t)
		}
	case map[string]any:
		for k := range t {
			t[k] = jsonNumbers(t[k])
		}
	case []any:
		for i := range t {
			t[i] = jsonNumbers(t[i])
		}
	}
	return v
}

// FuzzForEach compares a loop with a slow reference: the same items in the same order, or an error where there must be one.
func FuzzForEach(f *testing.F) {
	for _, seed := range []string{`["a","b"]`, `{"b":1,"a":[2]}`, `3`, `-1`, `1.5`, `null`, `"text"`, `["a","a"]`, `[[],{}]`, `1e9`, `{}`, `[null]`} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, written string, keyed bool) {
		var value any
		if json.Unmarshal([]byte(written), &value) != nil {
			return
		}
		value = jsonNumbers(value)
		key := ""
		if keyed {
			key = `, key: "{{ .item | toJson }}"`
		}
		plan := planOf(t, `onReconcile: {configmaps: [{id: map, name: "m", forEach: {field: "{{ .spec.any }}"`+key+`}}]}`)
		stored := website(t, "")
		stored.Object["spec"] = map[string]any{"any": value}
		r := plan.NewRun(stored, now, newPorts().ports())
		got, err := r.Instances(t.Context(), plan.declared.Live[0])
		want, fails := slowItems(value, keyed)
		if fails != (err != nil) {
			t.Fatalf("%s: wanted an error: %t, got %v", written, fails, err)
		}
		if err != nil {
			return
		}
		ids := make([]string, 0, len(got))
		for _, in := range got {
			ids = append(ids, in.Place())
			if plan.declared.Of(in.ID) != plan.declared.Live[0] {
				t.Fatalf("%s: the id %q leads to no declaration", written, in.ID)
			}
		}
		if !slices.Equal(ids, want) {
			t.Fatalf("%s: wanted %q, got %q", written, want, ids)
		}
	})
}

// slowItems says what the items of a loop are called, by the words of the documentation.
func slowItems(value any, keyed bool) (ids []string, fails bool) {
	var keys []string
	var items []any
	switch v := value.(type) {
	case nil:
	case []any:
		for i, e := range v {
			keys, items = append(keys, fmt.Sprint(i)), append(items, e)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			keys, items = append(keys, k), append(items, v[k])
		}
	case int64:
		if v < 0 || v > 1000 {
			return nil, true
		}
		for i := range v {
			keys, items = append(keys, fmt.Sprint(i)), append(items, i)
		}
	default:
		return nil, true
	}
	seen := map[string]bool{}
	for i, k := range keys {
		if keyed {
			text, err := json.Marshal(items[i])
			if items[i] == nil || err != nil {
				return nil, true // null is absent
			}
			k = string(text)
		}
		if seen[k] || keyed && len(k) > 253 || len(keys) > 1000 {
			return nil, true
		}
		seen[k] = true
		ids = append(ids, "map#"+k)
	}
	return ids, false
}
