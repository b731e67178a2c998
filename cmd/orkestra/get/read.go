package get

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/cmd/orkestra/cluster"
)

// read gives all objects once, or those of the names. notes say what of them is not known.
func read(ctx context.Context, c client.Reader, s shelf, names []string) (lines []line, notes []string, err error) {
	shown := map[string]line{}
	for _, from := range s.follows() {
		objects, err := objectsOf(ctx, c, from, names)
		if from.Kind.Kind == kindHealth && len(names) > 0 && apierrors.IsForbidden(err) {
			notes = append(notes, fmt.Sprintf("How boxes fare is not known: %v", err)) // who may read a box may not always read that
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		for _, obj := range objects {
			if one, changes := s.put(obj, false); changes && !one.gone {
				shown[one.key] = one
			}
		}
	}
	return sorted(shown), notes, nil
}

// objectsOf gives the objects of the names, each by the right to get it; those of all where there are no names. One that is not there is none of them.
func objectsOf(ctx context.Context, c client.Reader, from cluster.Follow, names []string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	if len(names) == 0 {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(from.Kind.GroupVersion().WithKind(from.Kind.Kind + "List"))
		if err := c.List(ctx, list, from.Options...); err != nil {
			return nil, fmt.Errorf("listing objects of kind %s: %w", from.Kind.Kind, err)
		}
		for n := range list.Items {
			out = append(out, &list.Items[n])
		}
		return out, nil
	}
	namespace := (&client.ListOptions{}).ApplyOptions(from.Options).Namespace
	for _, name := range names {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(from.Kind)
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, obj)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s %q: %w", from.Kind.Kind, strings.TrimPrefix(namespace+"/"+name, "/"), err)
		}
		out = append(out, obj)
	}
	return out, nil
}
