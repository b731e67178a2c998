package gitops_test

import (
	"slices"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const ruleKey = "resource.customizations.health."

// rules gives the health rules of docs/how-to/argocd.md, by <group>_<kind>.
func rules(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, block := range page(t, "argocd.md") {
		var patch struct {
			Data map[string]string `json:"data"`
		}
		if err := yaml.Unmarshal([]byte(block), &patch); err != nil {
			t.Fatal(err)
		}
		for key, rule := range patch.Data {
			if name, ok := strings.CutPrefix(key, ruleKey); ok {
				out[name] = rule
			}
		}
	}
	return out
}

// ruleFor is the rule that Argo CD takes for an object.
func ruleFor(t *testing.T, obj *unstructured.Unstructured) string {
	t.Helper()
	kind := obj.GroupVersionKind()
	rule := rules(t)[kind.Group+"_"+kind.Kind]
	if rule == "" {
		t.Fatalf("docs/how-to/argocd.md has no rule for %s of %s", kind.Kind, kind.Group)
	}
	return rule
}

func TestArgoCDRule(t *testing.T) {
	each(t, func(v verdict) string { return v.argo }, func(t *testing.T, obj *unstructured.Unstructured) string {
		t.Helper()
		code, message := assess(t, obj)
		if message == "" {
			t.Error("the health has no message")
		}
		return code
	})
}

// TestArgoCDRuleSaysWhy checks that people read what is wrong, also of an object that is being deleted.
func TestArgoCDRuleSaysWhy(t *testing.T) {
	objects := recorded(t)
	for name, wanted := range map[string]string{
		"website-validation-failed":  "validation: spec.replicas: at most ten (found 11)",
		"website-gate":               "wanted equals on, actual absent",
		"website-cleanup-failed":     `clean-up Job "website-cleanup-failed-bye" failed`,
		"website-paused":             "paused by the annotation",
		"website-new":                "the newest spec has not been looked at yet",
		"website-ready":              "the last reconcile succeeded",
		"operatorbox-compile-failed": "spec.nothing: no such field",
		"operatorbox-suspended":      "spec.suspend is true",
		"crdhealth-degraded":         "3 reconciles in a row failed",
	} {
		t.Run(name, func(t *testing.T) {
			if _, message := assess(t, objects[name]); !strings.Contains(message, wanted) {
				t.Errorf("want %q in the message, got %q", wanted, message)
			}
		})
	}
}

func TestArgoCDRuleTakesOddObjects(t *testing.T) {
	for name, obj := range oddObjects(t) {
		t.Run(name, func(t *testing.T) {
			if code, _ := assess(t, obj); code != "Progressing" {
				t.Errorf("want Progressing, got %s", code)
			}
		})
	}
}

// assess runs the rule as Argo CD does: with the libraries that it opens for the rules of users, on obj, and gives the status and the
// message of the table that it returns.
func assess(t *testing.T, obj *unstructured.Unstructured) (code, message string) {
	t.Helper()
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for name, open := range map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		if err := l.CallByParam(lua.P{Fn: l.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			t.Fatal(err)
		}
	}
	l.SetContext(t.Context())
	l.SetGlobal("obj", luaValue(l, obj.Object))
	if err := l.DoString(ruleFor(t, obj)); err != nil {
		t.Fatal(err)
	}
	health, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the rule returns %s, want a table", l.Get(-1).Type())
	}
	status, ok := health.RawGetString("status").(lua.LString)
	if !ok || !slices.Contains([]string{"Healthy", "Progressing", "Degraded", "Suspended"}, string(status)) {
		t.Fatalf("the rule gives the status %v", health.RawGetString("status"))
	}
	text, ok := health.RawGetString("message").(lua.LString)
	if !ok {
		t.Fatalf("the rule gives the message %v", health.RawGetString("message"))
	}
	return string(status), string(text)
}

// luaValue gives a JSON value to Lua: numbers are numbers, lists count from one, and null is nil.
func luaValue(l *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case []any:
		table := l.NewTable()
		for _, item := range v {
			table.Append(luaValue(l, item))
		}
		return table
	case map[string]any:
		table := l.NewTable()
		for key, item := range v {
			table.RawSetString(key, luaValue(l, item))
		}
		return table
	default:
		return lua.LNil
	}
}
