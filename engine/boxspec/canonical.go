package boxspec

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds"
)

// DefaultDeletionTimeout is how long onDelete may take before the resource shows an error that says what it waits for.
const DefaultDeletionTimeout = 5 * time.Minute

// Canonical gives a copy of a box without its empty lists, maps and objects. To leave one out, to write null and to write [] or {} means
// the same, so it must give one plan and one revision. An object that holds only the defaults of the API server is dropped as well: it was
// written as {}. What Orkestra hands on stays as it is (manifests, the spec of a declaration, bodies and values), because only its reader
// knows what an empty list means there. An object whose presence alone means something, such as rollback, stays too.
func Canonical(box *v1alpha1.OperatorBox) *v1alpha1.OperatorBox {
	out := box.DeepCopy()
	s := &out.Spec
	s.Namespaces, s.AnnotationSelector = orZero(s.Namespaces), orNil(s.AnnotationSelector)
	s.Selector, s.Normalize, s.Mutation, s.Validation = orNil(s.Selector), orNil(s.Normalize), orNil(s.Mutation), orNil(s.Validation)
	maps.DeleteFunc(s.Providers, func(_ string, all v1alpha1.ProviderResourceList) bool { return len(all) == 0 })
	s.Providers, s.APITypes = orZero(s.Providers), orNil(s.APITypes)
	s.Status = orNil(s.Status, v1alpha1.StatusSpec{Ready: v1alpha1.ReadyReconciled})
	if s.Queue.Fairness == v1alpha1.FairnessNone {
		s.Queue.Fairness = "" // as below
	}
	if s.Deletion != nil && s.Deletion.Children == v1alpha1.DeletedByCollector {
		s.Deletion.Children = "" // to write a default and to leave it out is one box
	}
	s.Deletion = orNil(s.Deletion, v1alpha1.DeletionSpec{Timeout: &metav1.Duration{Duration: DefaultDeletionTimeout}})
	if r := s.Reconciler; r != nil {
		r.Hooks, r.Constructor = orNil(r.Hooks), orNil(r.Constructor)
		if r.Hooks != nil && r.Hooks.Webhook != nil {
			r.Hooks.Webhook.Headers = orAbsent(r.Hooks.Webhook.Headers)
		}
		s.Reconciler = orNil(r, v1alpha1.ReconcilerSpec{Default: new(true)})
	}
	s.CommonLabels, s.CommonAnnotations = orAbsent(s.CommonLabels), orAbsent(s.CommonAnnotations)
	for i := range s.External {
		s.External[i].Query, s.External[i].Headers = orAbsent(s.External[i].Query), orAbsent(s.External[i].Headers)
	}
	for i := range s.Cross {
		s.Cross[i].Selector.MatchLabels = orAbsent(s.Cross[i].Selector.MatchLabels)
		s.Cross[i].Selector = orZero(s.Cross[i].Selector)
	}
	for _, g := range groups(out) {
		canonicalGroup(g)
	}
	return out
}

// canonicalGroup changes a group in place. An unknown key stays: Compile refuses it by its name.
func canonicalGroup(g v1alpha1.ResourceGroup) {
	for key, list := range g {
		kind, ok := kinds.Lookup(key)
		if !ok {
			continue
		}
		if len(list) == 0 {
			delete(g, key)
		}
		for i := range list {
			list[i].Spec, list[i].Labels, list[i].Annotations = orAbsent(list[i].Spec), orAbsent(list[i].Labels), orAbsent(list[i].Annotations)
			list[i].Short = canonicalShort(kind, list[i].Short)
		}
	}
}

// canonicalShort gives short fields without the empty ones. They are decoded with json.Number, so that a number is encoded again as it was
// written: as a float64, a large integer would change, and the revision with it.
func canonicalShort(kind kinds.Kind, short map[string]apiextensionsv1.JSON) map[string]apiextensionsv1.JSON {
	raw, err := json.Marshal(short)
	if err != nil {
		return short // compiling it says what is wrong
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var tree map[string]any
	if err := decoder.Decode(&tree); err != nil {
		return short
	}
	out := make(map[string]apiextensionsv1.JSON, len(tree))
	for name, v := range kind.WithoutEmpty(tree) {
		raw, err := json.Marshal(v)
		if err != nil {
			return short
		}
		out[name] = apiextensionsv1.JSON{Raw: raw}
	}
	return out
}

// orNil gives nil for what has nothing in it, or nothing but defaults. Semantic.DeepEqual takes an empty list for a nil one.
func orNil[T any](v *T, defaults ...T) *T {
	if v == nil || slices.ContainsFunc(append(defaults, *new(T)), func(nothing T) bool { return equality.Semantic.DeepEqual(*v, nothing) }) {
		return nil
	}
	return v
}

// orZero is orNil for a list or a map that the spec holds by value.
func orZero[T any](v T) T {
	if held := orNil(&v); held != nil {
		return *held
	}
	return *new(T)
}

// orAbsent gives nil for JSON that is {} or null, which mean the same as an absent field.
func orAbsent(v *apiextensionsv1.JSON) *apiextensionsv1.JSON {
	if v == nil || slices.Contains([]string{"", "{}", "null"}, string(bytes.Join(bytes.Fields(v.Raw), nil))) {
		return nil
	}
	return v
}
