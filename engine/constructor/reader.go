package constructor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Resources are those of the box.
type Resources interface {
	// Get gives the one with a key.
	Get(key types.NamespacedName) (*unstructured.Unstructured, bool)
	// Keys gives the keys of all, sorted.
	Keys() []types.NamespacedName
}

// Objects are those of the kinds that the code lists, as the informers show them. What they give is shared memory.
type Objects interface {
	// Acquire makes the user one of those for whom kinds are watched, and returns when they are known.
	Acquire(ctx context.Context, user string, gvks ...schema.GroupVersionKind) error
	// Release ends that.
	Release(user string, gvks ...schema.GroupVersionKind)
	// Get gives an object; nil: there is none.
	Get(gvk schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured
	// Select gives the objects of a namespace, or of all if it is empty, sorted.
	Select(gvk schema.GroupVersionKind, namespace string, selector labels.Selector) []*unstructured.Unstructured
}

// reader reads for the code, from the caches of the manager: objects of any Go type, of the kind of the box and of those that it lists. It is
// safe for concurrent use.
type reader struct {
	Config

	indexes *indexer
}

var _ client.Reader = (*reader)(nil)

// Get implements client.Reader.
func (r *reader) Get(ctx context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	gvk, err := apiutil.GVKForObject(into, r.Scheme)
	if err != nil {
		return fmt.Errorf("kind of %T: %w", into, err)
	}
	if err := r.open(ctx, gvk, key.Namespace, key.Name); err != nil {
		return err
	}
	var found *unstructured.Unstructured
	if gvk == r.Kind {
		found, _ = r.Resources.Get(key)
	} else {
		found = r.Objects.Get(gvk, key.Namespace, key.Name)
	}
	if found == nil {
		return apierrors.NewNotFound(r.resource(gvk), key.Name)
	}
	if err := decode(found.DeepCopy().Object, into); err != nil {
		return fmt.Errorf("decoding %s %q into %T: %w", gvk.Kind, key, into, err)
	}
	return nil
}

// List implements client.Reader.
func (r *reader) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	gvk, err := apiutil.GVKForObject(into, r.Scheme)
	if err != nil {
		return fmt.Errorf("kind of %T: %w", into, err)
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	o := (&client.ListOptions{}).ApplyOptions(options)
	if o.Continue != "" {
		return fmt.Errorf("listing %s: the caches give all objects at once, and know no continue token", gvk.Kind)
	}
	if err := r.open(ctx, gvk, o.Namespace, ""); err != nil {
		return err
	}
	found, err := r.selected(gvk, o)
	if err != nil {
		return err
	}
	items := make([]any, 0, len(found))
	for _, obj := range found {
		items = append(items, obj.DeepCopy().Object)
	}
	if err := decodeList(gvk, items, into); err != nil {
		return fmt.Errorf("decoding %d objects of kind %s into %T: %w", len(items), gvk.Kind, into, err)
	}
	return nil
}

// selected gives the objects that options select.
func (r *reader) selected(gvk schema.GroupVersionKind, o *client.ListOptions) (found []*unstructured.Unstructured, err error) {
	selector := o.LabelSelector
	if selector == nil {
		selector = labels.Everything()
	}
	if gvk == r.Kind {
		for _, key := range r.Resources.Keys() {
			obj, there := r.Resources.Get(key)
			if there && (o.Namespace == "" || o.Namespace == key.Namespace) && selector.Matches(labels.Set(obj.GetLabels())) {
				found = append(found, obj)
			}
		}
	} else {
		found = r.Objects.Select(gvk, o.Namespace, selector)
	}
	if o.FieldSelector != nil && !o.FieldSelector.Empty() {
		if found, err = r.indexes.selected(gvk, found, o.FieldSelector); err != nil {
			return nil, err
		}
	}
	if o.Limit > 0 && int64(len(found)) > o.Limit {
		found = found[:o.Limit]
	}
	return found, nil
}

// open returns when objects of a kind may be read, and are known.
func (r *reader) open(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) error {
	listed := slices.Contains(r.Code.Kinds, gvk)
	if !listed && gvk != r.Kind {
		return fmt.Errorf("%s %s is not among spec.reconciler.constructor.resources: list it there", gvk.GroupVersion(), gvk.Kind)
	}
	if err := r.Rights.MayRead(ctx, gvk, namespace, name); err != nil {
		return err //nolint:wrapcheck // it says what may not be read
	}
	if !listed {
		return nil
	}
	return r.acquire(ctx, gvk)
}

// acquire has a kind watched, and waits until its objects are known.
func (c *Config) acquire(ctx context.Context, gvk schema.GroupVersionKind) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	return c.Objects.Acquire(ctx, c.Box, gvk) //nolint:wrapcheck // it names the kind
}

// resource says how a kind is served, for errors.
func (c *Config) resource(gvk schema.GroupVersionKind) schema.GroupResource {
	mapping, err := c.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return schema.GroupResource{Group: gvk.Group, Resource: strings.ToLower(gvk.Kind)}
	}
	return mapping.Resource.GroupResource()
}

// decode fills an object of any type.
func decode(content map[string]any, into runtime.Object) error {
	if u, ok := into.(*unstructured.Unstructured); ok {
		u.Object = content
		return nil
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(content, into) //nolint:wrapcheck // its callers say what was decoded
}

// decodeList fills a list of any type.
func decodeList(gvk schema.GroupVersionKind, items []any, into client.ObjectList) error {
	u, ok := into.(*unstructured.UnstructuredList)
	if !ok {
		return runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"items": items}, into) //nolint:wrapcheck // its callers say what was decoded
	}
	u.Items = make([]unstructured.Unstructured, 0, len(items))
	for _, item := range items {
		content, _ := item.(map[string]any)
		u.Items = append(u.Items, unstructured.Unstructured{Object: content})
	}
	u.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	return nil
}
