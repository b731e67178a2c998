package initialize

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/orkspace/orkestra/cmd/orkestra/render"
	"github.com/orkspace/orkestra/cmd/orkestra/validate"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

// Texts such as manifests have, and such as only look like templates or like the name of an instance.
var (
	texts = []string{
		"", "a", "info", "5", "true", "null", "{{", "}}", "{{ .Title }}", "{", "{{{ .a }}}", "{{-", "{NAME", "{{NAME}}", "line\nbreak\n", "tab\there", "ü日本", `back\slash "and" 'quotes'`,
		"NAME", "NAME-api", "x-NAME", "http://NAME-api:80/", "NAME-api.NAMESPACE.svc", "NAMEs", "aNAME", "NAMESPACE", "registry.example.com/app:1", "registry.example.com/app:2", "self.spec", "500m",
	}
	keys = []string{"a", "b", "name", "value", "cel", "log.level", "example.com/path", "image", "host", "UPPER_CASE", "0", "x y", "labels", "namespace", "spec"}
)

// roller makes random manifests of two instances.
type roller struct {
	shared.Dice

	names, namespaces [2]string
}

// said gives a text as an instance has it.
func (r roller) said(text string, i int) string {
	text = strings.ReplaceAll(text, "NAMESPACE", r.namespaces[i])
	return strings.ReplaceAll(text, "NAME", r.names[i])
}

// pair gives a value as both instances have it; now and then they differ, and nil says that one has none.
func (r roller) pair(depth int) [2]any {
	if r.IntN(6) == 0 {
		return [2]any{r.one(depth, 0), r.one(depth, 1)}
	}
	switch n := r.IntN(10); {
	case n < 5 || depth == 0:
		text := shared.Pick(r.Dice, texts)
		return [2]any{r.said(text, 0), r.said(text, 1)}
	case n == 5:
		v := shared.Pick(r.Dice, []any{int64(0), int64(1), int64(80), int64(1 << 53), 0.5, true, false})
		return [2]any{v, v}
	case n < 8:
		out := [2]any{map[string]any{}, map[string]any{}}
		for range r.IntN(4) {
			r.entry(out, shared.Pick(r.Dice, keys), r.pair(depth-1))
		}
		return out
	default:
		var lists [2][]any
		for range r.IntN(4) {
			v := r.pair(depth - 1)
			for i := range v {
				if v[i] == nil {
					v[i] = "none"
				}
				lists[i] = append(lists[i], v[i])
			}
		}
		for i := range lists {
			if lists[i] == nil {
				lists[i] = []any{}
			}
		}
		return [2]any{lists[0], lists[1]}
	}
}

func (r roller) entry(of [2]any, key string, v [2]any) {
	for i := range of {
		object, _ := of[i].(map[string]any)
		if v[i] != nil || r.IntN(4) == 0 {
			object[key] = v[i]
		}
	}
}

// one gives a value that only one instance has.
func (r roller) one(depth, i int) any {
	switch r.IntN(7) {
	case 0:
		return nil
	case 1:
		return int64(r.IntN(5))
	case 2:
		return r.IntN(2) == 0
	case 3:
		return r.pair(depth)[i]
	case 4:
		return []any{}
	default:
		return r.said(shared.Pick(r.Dice, texts), i)
	}
}

// data gives a map of texts, such as labels and data.
func (r roller) data() [2]any {
	out := [2]any{map[string]any{}, map[string]any{}}
	for _, key := range []string{"a", "log.level", "UPPER_CASE", "cel"}[:r.IntN(5)] {
		text := shared.Pick(r.Dice, texts)
		v := [2]any{r.said(text, 0), r.said(text, 1)}
		switch r.IntN(4) {
		case 0:
			v[r.IntN(2)] = r.said(shared.Pick(r.Dice, texts), 0)
		case 1:
			v[r.IntN(2)] = nil
		}
		r.entry(out, key, v)
	}
	return out
}

// manifests gives those of both instances.
func (r roller) manifests() [2][]map[string]any {
	var out [2][]map[string]any
	add := func(apiVersion, kind, name string, fields map[string][2]any) {
		only := r.IntN(8) // 0 and 1: one instance has it alone
		for i := range out {
			if only == i && len(out[i]) > 0 {
				continue
			}
			metadata := map[string]any{"name": r.said(name, i)}
			if r.namespaces[i] != "" {
				metadata["namespace"] = r.namespaces[i]
			}
			obj := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
			for field, v := range fields {
				if v[i] != nil {
					obj[field] = v[i]
				}
			}
			out[i] = append(out[i], obj)
		}
	}
	add("v1", "ConfigMap", "NAME", map[string][2]any{"data": r.data()})
	add("v1", "ConfigMap", "NAME-api", map[string][2]any{"data": r.data()})
	add("demo.example.org/v1", "Thing", "NAME", map[string][2]any{"spec": r.pair(3)})
	add("demo.example.org/v1", "Other", "NAME-api", map[string][2]any{"spec": r.pair(4), "rest": r.pair(2)})
	return out
}

// The strongest promise: what is made of two random instances renders both of them again, and the command says so itself.
func TestRoundTrip(t *testing.T) {
	for seed := range uint64(60) {
		r := roller{Dice: shared.NewDice(seed)}
		r.names = shared.Pick(r.Dice, [][2]string{{"shop", "blog"}, {"a", "aa"}, {"shop", "shop"}, {"shop", "shop-api"}, {"spec", "name"}})
		r.namespaces = shared.Pick(r.Dice, [][2]string{{"", ""}, {"team", "team"}, {"team-a", "team-b"}, {"shop", "blog"}})
		t.Run(fmt.Sprint(seed), func(t *testing.T) { roundTrip(t, r.names, r.manifests()) })
	}
}

func roundTrip(t *testing.T, names [2]string, manifests [2][]map[string]any) {
	t.Helper()
	g := NewWithT(t)
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	args := []string{"Website", "-o", out}
	for i, objects := range manifests {
		file := filepath.Join(in, fmt.Sprint(i)+".json")
		text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.WriteFile(file, text, 0o600)).To(Succeed())
		args = append(args, "--from", file, "--name", names[i])
	}
	_, stderr, code := orkestra(t, "", args...)
	shown := func() string {
		var b strings.Builder
		b.WriteString(stderr)
		files, _ := filepath.Glob(filepath.Join(out, "*.yaml"))
		for _, file := range append(files, filepath.Join(in, "0.json"), filepath.Join(in, "1.json")) {
			text, _ := os.ReadFile(file)
			fmt.Fprintf(&b, "--- %s\n%s\n", filepath.Base(file), text)
		}
		return b.String()
	}
	g.Expect(code).To(BeZero(), shown)
	box, crd := filepath.Join(out, "box.yaml"), filepath.Join(out, "crd.yaml")
	said, notes, code := shared.Run(t, validate.NewCommand(nil, nil), "", "validate", "-f", box, "--crd", crd)
	g.Expect(code).To(BeZero(), said+notes)
	for i, name := range names {
		file := filepath.Join(out, "resource-"+name+".yaml")
		if i == 1 && names[0] == names[1] {
			file = filepath.Join(out, "resource-"+name+"-2.yaml")
		}
		printed, notes, code := shared.Run(t, render.NewCommand(nil), "", "render", "-o", "json", "-f", box, "--crd", crd, "--crd", children, "-r", file)
		g.Expect(code).To(BeZero(), notes)
		var list struct {
			Items []map[string]any `json:"items"`
		}
		g.Expect(json.Unmarshal([]byte(printed), &list)).To(Succeed())
		g.Expect(list.Items).To(HaveLen(len(manifests[i])), shown)
		for _, want := range manifests[i] {
			at := slices.IndexFunc(list.Items, func(got map[string]any) bool {
				return got["kind"] == want["kind"] && got["metadata"].(map[string]any)["name"] == want["metadata"].(map[string]any)["name"]
			})
			g.Expect(at).To(BeNumerically(">=", 0), shown)
			g.Expect(bare(list.Items[at])).To(Equal(bare(want)), shown)
		}
	}
}

// bare is an object as JSON has it, without metadata but for the name, and without what says as much as nothing at its top.
func bare(obj map[string]any) map[string]any {
	out := runtime.DeepCopyJSON(numbersOf(obj).(map[string]any))
	out["metadata"] = map[string]any{"name": out["metadata"].(map[string]any)["name"]}
	maps.DeleteFunc(out, func(_ string, v any) bool {
		return reflect.DeepEqual(v, map[string]any{}) || reflect.DeepEqual(v, []any{})
	})
	return out
}

// numbersOf gives a value with all numbers of one type, and without what is null: to the API server that is as if it was not there.
func numbersOf(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, below := range v {
			if below != nil {
				out[key] = numbersOf(below)
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, below := range v {
			out = append(out, numbersOf(below))
		}
		return out
	default:
		return number(v)
	}
}
