package constructor

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// indexer knows the fields by which the code selects objects, besides their names and namespaces. Nothing is stored by them: the objects that
// namespace and labels select are asked one by one. It is safe for concurrent use.
type indexer struct {
	scheme *runtime.Scheme

	mu  sync.RWMutex
	all map[schema.GroupVersionKind]map[string]index // guarded by mu
}

// index gives the values of a field of an object of a Go type.
type index struct {
	of     reflect.Type
	values client.IndexerFunc
}

var _ client.FieldIndexer = (*indexer)(nil)

// IndexField implements client.FieldIndexer.
func (x *indexer) IndexField(_ context.Context, obj client.Object, field string, values client.IndexerFunc) error {
	gvk, err := apiutil.GVKForObject(obj, x.scheme)
	if err != nil {
		return fmt.Errorf("kind of %T: %w", obj, err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.all == nil {
		x.all = map[schema.GroupVersionKind]map[string]index{}
	}
	if x.all[gvk] == nil {
		x.all[gvk] = map[string]index{}
	}
	x.all[gvk][field] = index{of: reflect.TypeOf(obj).Elem(), values: values}
	return nil
}

// selected gives those of the objects that a selector of fields selects.
func (x *indexer) selected(gvk schema.GroupVersionKind, found []*unstructured.Unstructured, selector fields.Selector) ([]*unstructured.Unstructured, error) {
	for _, want := range selector.Requirements() {
		if want.Operator != selection.Equals && want.Operator != selection.DoubleEquals {
			return nil, fmt.Errorf("listing %s: the caches select fields by equality alone, and not by %q", gvk.Kind, want.Operator)
		}
		var kept []*unstructured.Unstructured
		for _, obj := range found {
			values, err := x.valuesOf(gvk, obj, want.Field)
			if err != nil {
				return nil, err
			}
			if slices.Contains(values, want.Value) {
				kept = append(kept, obj)
			}
		}
		found = kept
	}
	return found, nil
}

// valuesOf gives what an object has under a field.
func (x *indexer) valuesOf(gvk schema.GroupVersionKind, obj *unstructured.Unstructured, field string) ([]string, error) {
	switch field {
	case "metadata.name":
		return []string{obj.GetName()}, nil
	case "metadata.namespace":
		return []string{obj.GetNamespace()}, nil
	}
	x.mu.RLock()
	by, known := x.all[gvk][field]
	x.mu.RUnlock()
	if !known {
		return nil, fmt.Errorf("listing %s: there is no index of the field %q: make one in the constructor with the Indexer of its environment, or select by labels, metadata.name or metadata.namespace", gvk.Kind, field)
	}
	typed, ok := reflect.TypeAssert[client.Object](reflect.New(by.of))
	if !ok {
		return nil, fmt.Errorf("%s can't be made", by.of)
	}
	if err := decode(obj.DeepCopy().Object, typed); err != nil {
		return nil, fmt.Errorf("decoding %s %q into %T: %w", gvk.Kind, obj.GetName(), typed, err)
	}
	return by.values(typed), nil
}
