package hooks

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestServicesThatAreNotCalled: where a Service leads to whatever its author says, writing one would lead past the guard of the manager.
func TestServicesThatAreNotCalled(t *testing.T) {
	spec := func(change func(map[string]any)) map[string]any {
		s := map[string]any{
			"type": "ClusterIP", "clusterIP": "10.0.0.1", "selector": map[string]any{"app": "a"},
			"ports": []any{map[string]any{"port": int64(443), "protocol": "TCP"}},
		}
		change(s)
		return s
	}
	for name, tc := range map[string]struct {
		change func(map[string]any)
		want   string
	}{
		"a Service":            {func(map[string]any) {}, ""},
		"the default protocol": {func(s map[string]any) { s["ports"] = []any{map[string]any{"port": int64(443)}} }, ""},
		"another name":         {func(s map[string]any) { s["type"] = "ExternalName" }, "is of the type ExternalName, which leads anywhere: give the url of the webhook instead"},
		"no selector":          {func(s map[string]any) { delete(s, "selector") }, "has no selector, so that its endpoints may be anything: give it one, or give the url of the webhook instead"},
		"an empty selector":    {func(s map[string]any) { s["selector"] = map[string]any{} }, "has no selector, so that its endpoints may be anything: give it one, or give the url of the webhook instead"},
		"headless":             {func(s map[string]any) { s["clusterIP"] = "None" }, "has no cluster IP"},
		"no address yet":       {func(s map[string]any) { delete(s, "clusterIP") }, "has no cluster IP"},
		"another port":         {func(s map[string]any) { s["ports"] = []any{map[string]any{"port": int64(80)}} }, "has no TCP port 443"},
		"another protocol":     {func(s map[string]any) { s["ports"] = []any{map[string]any{"port": int64(443), "protocol": "UDP"}} }, "has no TCP port 443"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &service{namespace: "team", name: "hook", port: 443}
			ip, wrong := s.clusterIP(&unstructured.Unstructured{Object: map[string]any{"spec": spec(tc.change)}})
			if wrong != tc.want || (ip == "10.0.0.1") != (tc.want == "") {
				t.Errorf("got %q, %q; want %q", ip, wrong, tc.want)
			}
		})
	}
}
