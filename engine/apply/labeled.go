package apply

import (
	"context"
	"fmt"
	"path"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// metadataListOnly asks the API server for the metadata alone of the objects of a list.
const metadataListOnly = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"

// listLimit is how many objects one answer has.
const listLimit = 500

// ServedBy gives the metadata of the objects of others that have the label of a box, as the API server has them: in some namespaces, or, where
// these are nil, in all of them.
func (m Marker) ServedBy(ctx context.Context, box string, kind schema.GroupVersionKind, resource schema.GroupVersionResource, namespaces []string) ([]*unstructured.Unstructured, error) {
	prefix := path.Join("/apis", resource.Group, resource.Version)
	if resource.Group == "" {
		prefix = path.Join("/api", resource.Version)
	}
	urls := []string{path.Join(prefix, resource.Resource)}
	if namespaces != nil {
		urls = nil
		for _, namespace := range namespaces {
			urls = append(urls, path.Join(prefix, "namespaces", namespace, resource.Resource))
		}
	}
	var all []*unstructured.Unstructured
	for _, url := range urls {
		some, err := m.labeled(ctx, url, v1alpha1.LabelServedBy+"="+box, kind)
		if err != nil {
			return nil, fmt.Errorf("listing the %ss with marks of OperatorBox %q: %w", kind.Kind, box, err)
		}
		all = slices.Concat(all, some)
	}
	return all, nil
}

// labeled lists the objects below a path that a selector selects.
func (m Marker) labeled(ctx context.Context, url, selector string, kind schema.GroupVersionKind) (all []*unstructured.Unstructured, err error) {
	for options := (metav1.ListOptions{LabelSelector: selector, Limit: listLimit}); ; {
		raw, err := read(m.requests.rest.Get().AbsPath(url).SetHeader("Accept", metadataListOnly).
			SpecificallyVersionedParams(&options, metav1.ParameterCodec, metav1.SchemeGroupVersion).Do(ctx))
		if err != nil {
			return nil, err
		}
		var list unstructured.UnstructuredList
		if err := list.UnmarshalJSON(raw); err != nil {
			return nil, fmt.Errorf("decoding a list: %w", err)
		}
		for i := range list.Items {
			list.Items[i].SetGroupVersionKind(kind) // the answer calls them PartialObjectMetadata
			all = append(all, &list.Items[i])
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return all, nil
		}
	}
}
