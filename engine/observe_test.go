package engine

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
	object := func(namespace, name, app string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		obj.SetNamespace(namespace)
		obj.SetName(name)
		obj.SetLabels(map[string]string{"app": app})
		return obj
	}
	one := interest{kind: kind, namespace: "a", name: "x"}
	web := interest{kind: kind, namespace: "a", selector: labels.SelectorFromSet(labels.Set{"app": "web"})}
	everywhere := interest{kind: kind, selector: labels.SelectorFromSet(labels.Set{"app": "web"})}
	cases := map[string]struct {
		asked    interest
		kind     schema.GroupVersionKind
		old, obj *unstructured.Unstructured
		want     bool
	}{
		"it appears":                       {one, kind, nil, object("a", "x", ""), true},
		"it goes":                          {one, kind, object("a", "x", ""), nil, true},
		"another name":                     {one, kind, nil, object("a", "y", ""), false},
		"another namespace":                {one, kind, nil, object("b", "x", ""), false},
		"another kind":                     {one, schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, nil, object("a", "x", ""), false},
		"it joins those that are selected": {web, kind, object("a", "y", "other"), object("a", "y", "web"), true},
		"it leaves them":                   {web, kind, object("a", "y", "web"), object("a", "y", "other"), true},
		"it was never one":                 {web, kind, object("a", "y", "other"), object("a", "y", "others"), false},
		"selected elsewhere":               {web, kind, nil, object("b", "y", "web"), false},
		"selected in all namespaces":       {everywhere, kind, nil, object("b", "y", "web"), true},
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
	object := func(name string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		obj.SetName(name)
		return obj
	}
	key := types.NamespacedName{Name: "web"}
	var i interests
	i.add(key, interest{kind: kind, name: "before"})
	i.add(key, interest{kind: kind, name: "now"})
	g.Expect(i.of(kind, nil, object("before"))).To(Equal([]types.NamespacedName{key}))
	i.replace(key, []interest{{kind: kind, name: "now"}})
	g.Expect(i.of(kind, nil, object("before"))).To(BeEmpty())
	g.Expect(i.of(kind, nil, object("now"))).To(Equal([]types.NamespacedName{key}))
	i.replace(key, nil)
	g.Expect(i.all).To(BeEmpty())
}
