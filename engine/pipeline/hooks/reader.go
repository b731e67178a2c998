package hooks

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// reader reads for code: from the caches, where the account of the box and the namespaces let the resource, and everything becomes an input.
type reader struct {
	c     *children.Cycle
	kinds []schema.GroupVersionKind
}

// Get implements hook.Reader.
func (r *reader) Get(ctx context.Context, gvk schema.GroupVersionKind, key client.ObjectKey) (*unstructured.Unstructured, error) {
	if err := r.observe(ctx, gvk, key.Namespace, key.Name); err != nil {
		return nil, err
	}
	obj := r.c.Inputs.Get(r.c.Ports.Observer, gvk, key.Namespace, key.Name)
	if obj == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.String())
	}
	return obj, nil
}

// List implements hook.Reader.
func (r *reader) List(ctx context.Context, gvk schema.GroupVersionKind, options *client.ListOptions) ([]*unstructured.Unstructured, error) {
	if err := r.observe(ctx, gvk, options.Namespace, ""); err != nil {
		return nil, err
	}
	selector := options.LabelSelector
	if selector == nil {
		selector = labels.Everything()
	}
	return r.c.Inputs.Select(r.c.Ports.Observer, gvk, options.Namespace, selector), nil
}

// Secret implements hook.Reader.
func (r *reader) Secret(ctx context.Context, name, key string) (string, error) {
	namespace := r.c.Home()
	if namespace == "" {
		return "", mistake("Secret %q: a cluster-scoped resource has no namespace to read it from", name)
	}
	if err := r.watch(ctx, compile.SecretKind, namespace, name); err != nil {
		return "", err
	}
	secret := r.c.Inputs.Get(r.c.Ports.Observer, compile.SecretKind, namespace, name)
	if secret == nil {
		return "", apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, namespace+"/"+name)
	}
	encoded, found, _ := unstructured.NestedString(secret.Object, "data", key) // another type is no value
	if !found {
		return "", fmt.Errorf("Secret %q has nothing under the key %q", namespace+"/"+name, key)
	}
	value, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return "", fmt.Errorf("Secret %q: the value of the key %q is not in base64", namespace+"/"+name, key)
	}
	return string(value), nil
}

// mistake says what is wrong with the code, so that no retry mends it.
func mistake(format string, args ...any) error {
	return stage.NewPermanent(v1alpha1.ReasonHookFailed, fmt.Errorf(format, args...))
}

// observe asks whether objects may be read, and has their kind watched.
func (r *reader) observe(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) error {
	switch {
	case gvk.GroupKind() == compile.SecretKind.GroupKind():
		return mistake("Secrets are read by Secret(name, key), so that what they hold is not shown")
	case !slices.Contains(r.kinds, gvk):
		return mistake("%s %s is not among spec.reconciler.hooks.resources: list it there", gvk.GroupVersion(), gvk.Kind)
	}
	namespaced, err := r.c.Ports.Kinds.Namespaced(gvk)
	if err == nil && namespaced && namespace == "" && r.c.Home() != "" {
		err = mistake("reading %s: say in which namespace; a resource reads in its own, and in those that let it in", gvk.Kind)
	}
	if err != nil {
		return err //nolint:wrapcheck // it names the kind
	}
	return r.watch(ctx, gvk, namespace, name)
}

func (r *reader) watch(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) error {
	if err := r.c.MayReach(ctx, stage.Way{What: "the hook reads " + gvk.Kind, Namespace: namespace, Show: true, Code: v1alpha1.ReasonHookFailed}); err != nil {
		return err
	}
	if err := r.c.MayRead(ctx, gvk, namespace, name); err != nil {
		return err
	}
	return r.c.Ports.Observer.Observe(ctx, gvk)
}

// Client implements hook.Reader.
func (r *reader) Client() client.Client { return r.c.Ports.Client }
