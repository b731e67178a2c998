package observe

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

func TestInterests(t *testing.T) {
	kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	made := func(namespace, name, app string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		obj.SetNamespace(namespace)
		obj.SetName(name)
		obj.SetLabels(map[string]string{"app": app})
		return obj
	}
	one := interest{object: object{kind: kind, namespace: "a", name: "x"}}
	web := interest{object: object{kind: kind, namespace: "a"}, selector: labels.SelectorFromSet(labels.Set{"app": "web"})}
	everywhere := interest{object: object{kind: kind}, selector: labels.SelectorFromSet(labels.Set{"app": "web"})}
	cases := map[string]struct {
		asked    interest
		kind     schema.GroupVersionKind
		old, obj *unstructured.Unstructured
		want     bool
	}{
		"it appears":                       {one, kind, nil, made("a", "x", ""), true},
		"it goes":                          {one, kind, made("a", "x", ""), nil, true},
		"another name":                     {one, kind, nil, made("a", "y", ""), false},
		"another namespace":                {one, kind, nil, made("b", "x", ""), false},
		"another kind":                     {one, schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, nil, made("a", "x", ""), false},
		"it joins those that are selected": {web, kind, made("a", "y", "other"), made("a", "y", "web"), true},
		"it leaves them":                   {web, kind, made("a", "y", "web"), made("a", "y", "other"), true},
		"it was never one":                 {web, kind, made("a", "y", "other"), made("a", "y", "others"), false},
		"selected elsewhere":               {web, kind, nil, made("b", "y", "web"), false},
		"selected in all namespaces":       {everywhere, kind, nil, made("b", "y", "web"), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			key := types.NamespacedName{Namespace: "a", Name: "web"}
			var i interests
			i.add(key, tc.asked)
			g.Expect(slices.Contains(i.of(tc.kind, tc.old, tc.obj), key)).To(Equal(tc.want))
		})
	}
}

func TestInterestsOfAResourceAreThoseOfItsLastCycle(t *testing.T) {
	g := NewWithT(t)
	kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	made := func(name string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		obj.SetName(name)
		return obj
	}
	key := types.NamespacedName{Name: "web"}
	var i interests
	i.add(key, interest{object: object{kind: kind, name: "before"}})
	i.add(key, interest{object: object{kind: kind, name: "now"}})
	g.Expect(i.of(kind, nil, made("before"))).To(Equal([]types.NamespacedName{key}))
	i.replace(key, []interest{{object: object{kind: kind, name: "now"}}})
	g.Expect(i.of(kind, nil, made("before"))).To(BeEmpty())
	g.Expect(i.of(kind, nil, made("now"))).To(Equal([]types.NamespacedName{key}))
	i.replace(key, nil)
	g.Expect(i.all).To(BeEmpty())
}
