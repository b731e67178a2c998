package hook

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	kjson "sigs.k8s.io/json"
)

// kindOf gives the kind of an object or a list.
func (c *Cycle) kindOf(obj runtime.Object) (schema.GroupVersionKind, error) {
	if v := reflect.ValueOf(obj); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return schema.GroupVersionKind{}, errors.New("wanted an object, got nil")
	}
	gvk, err := apiutil.GVKForObject(obj, c.scheme)
	if err != nil {
		return schema.GroupVersionKind{}, fmt.Errorf("kind of %T: %w", obj, err)
	}
	return gvk, nil
}

// declared gives an object as it is declared: without its status, and without what a typed object says of fields that nobody set.
func (c *Cycle) declared(obj client.Object) (*unstructured.Unstructured, error) {
	gvk, err := c.kindOf(obj)
	if err != nil {
		return nil, err
	}
	if obj.GetName() == "" {
		return nil, fmt.Errorf("a %s is declared without a name", gvk.Kind)
	}
	out := &unstructured.Unstructured{}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		out = u.DeepCopy()
	} else if out.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(obj); err != nil {
		return nil, fmt.Errorf("converting %s %q: %w", gvk.Kind, obj.GetName(), err)
	} else {
		withoutNulls(out.Object)
	}
	out.SetGroupVersionKind(gvk)
	unstructured.RemoveNestedField(out.Object, "status")
	for _, field := range []string{"creationTimestamp", "managedFields", "resourceVersion", "uid", "generation", "selfLink"} {
		unstructured.RemoveNestedField(out.Object, "metadata", field)
	}
	return out, nil
}

// fill copies an object that was read into one of the hook's.
func fill(found *unstructured.Unstructured, into client.Object) error {
	if u, ok := into.(*unstructured.Unstructured); ok {
		u.Object = found.DeepCopy().Object
		return nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.DeepCopy().Object, into); err != nil {
		return fmt.Errorf("decoding %s %q into %T: %w", found.GetKind(), found.GetName(), into, err)
	}
	return nil
}

// fillList copies objects that were read into a list of the hook's.
func fillList(found []*unstructured.Unstructured, into client.ObjectList) error {
	if u, ok := into.(*unstructured.UnstructuredList); ok {
		u.Items = make([]unstructured.Unstructured, 0, len(found))
		for _, obj := range found {
			u.Items = append(u.Items, *obj.DeepCopy())
		}
		return nil
	}
	items := make([]any, 0, len(found))
	for _, obj := range found {
		items = append(items, obj.DeepCopy().Object)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"items": items}, into); err != nil {
		return fmt.Errorf("decoding %d objects into %T: %w", len(found), into, err)
	}
	return nil
}

// itemKind is the kind of the items of a list.
func itemKind(list string) string { return strings.TrimSuffix(list, "List") }

// decodeResource decodes a resource strictly into its Go type: a field that the type does not have, but for those of the status, or that it has
// with another type, is an error that names it.
func decodeResource(resource map[string]any, into client.Object) error {
	if u, ok := into.(*unstructured.Unstructured); ok {
		u.Object = runtime.DeepCopyJSON(resource)
		return nil
	}
	text, err := json.Marshal(resource)
	if err != nil {
		return fmt.Errorf("encoding the resource: %w", err)
	}
	strict, err := kjson.UnmarshalStrict(text, into)
	if err == nil {
		// What stands in a status is not the author's doing, and the box may write more there than the type knows.
		err = errors.Join(slices.DeleteFunc(strict, func(e error) bool { return strings.HasPrefix(e.Error(), `unknown field "status.`) })...)
	}
	if err != nil {
		return &mistakeError{fmt.Errorf("the resource does not fit %T: %s", into, strings.ReplaceAll(err.Error(), "\n", "; "))}
	}
	return nil
}

// plainValue gives a value as JSON has it, and how many bytes that takes.
func plainValue(v any) (plain any, size int, err error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, 0, fmt.Errorf("encoding the value: %w", err)
	}
	if err := utiljson.Unmarshal(text, &plain); err != nil {
		return nil, 0, fmt.Errorf("decoding the value: %w", err)
	}
	return plain, len(text), nil
}

// withoutNulls removes what a typed object says of fields that nobody set.
func withoutNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, below := range v {
			if below == nil {
				delete(v, key)
				continue
			}
			withoutNulls(below)
		}
	case []any:
		for _, below := range v {
			withoutNulls(below)
		}
	}
}

// Owned says whether a type of condition is Orkestra's.
func Owned(condition string) bool {
	return condition == "Ready" || condition == "Reconciling" || condition == "Stalled"
}

// Args are the arguments of a hook, as JSON.
type Args struct{ values map[string]any }

// NewArgs gives arguments.
func NewArgs(values map[string]any) Args { return Args{values: values} }

// Decode decodes the arguments into a struct. A name that the struct does not have is an error, and
// no retry mends it.
func (a Args) Decode(into any) error {
	text, err := json.Marshal(a.values)
	if err != nil {
		return fmt.Errorf("encoding args: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return &mistakeError{fmt.Errorf("args: %w", err)}
	}
	return nil
}

// Get gives one argument as JSON; nil where there is none of that name.
func (a Args) Get(name string) any { return a.values[name] }

// Children are the children of a resource, as they are in the caches of the manager.
type Children struct {
	objects map[string]*unstructured.Unstructured
	tree    func() map[string]any
	outcome *Outcome
}

// NewChildren gives children by their ids, and what templates read of them.
func NewChildren(objects map[string]*unstructured.Unstructured, tree func() map[string]any) Children {
	return Children{objects: objects, tree: tree}
}

// Get copies a child into a typed object, or an *unstructured.Unstructured, and says whether there is one: by the id that Apply was given, or by
// the id of a declaration of the box.
func (c Children) Get(id string, into client.Object) (found bool, err error) {
	obj := c.objects[id]
	if obj == nil {
		return false, nil
	}
	if obj.GroupVersionKind().GroupKind() == secretKind && c.outcome != nil {
		c.outcome.Secrets = append(c.outcome.Secrets, valuesOf(obj)...)
	}
	return true, fill(obj, into)
}

var secretKind = schema.GroupKind{Kind: "Secret"}

// valuesOf are the values that a Secret holds.
func valuesOf(secret *unstructured.Unstructured) []string {
	var out []string
	data, _, _ := unstructured.NestedMap(secret.Object, "data") // another type is no value
	for _, v := range data {
		encoded, _ := v.(string)
		if plain, err := base64.StdEncoding.DecodeString(encoded); err == nil && len(plain) > 0 {
			out = append(out, string(plain))
		}
	}
	return out
}

// Has says whether there is a child with an id.
func (c Children) Has(id string) bool { return c.objects[id] != nil }

// Tree gives what templates read as .children, without what Secrets hold. It is shared: read only.
func (c Children) Tree() map[string]any {
	if c.tree == nil {
		return nil
	}
	return c.tree()
}
