// Package skew finds what boxes say that this manager does not know. The CRD in the cluster is that of a newer Orkestra then, as it is after a
// downgrade. To pass over such a field would be wrong: children that it declares would be pruned.
package skew

import (
	"context"
	"fmt"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/config/crd"
	"github.com/orkspace/orkestra/controllers/input"
)

// help is said of each field.
const help = "; this manager is older than the CRD of boxes in the cluster: run the manager that belongs to that CRD, or take this out of the box"

// Check looks at boxes as the API server has them. It is safe for concurrent use.
type Check struct {
	// Cached reads the metadata of CRDs from the manager's cache.
	Cached client.Reader
	// Live reads from the API server.
	Live client.Reader

	schema func() (*input.Schema, error)
}

// New gives one. cached has the metadata of CRDs, live asks the API server.
func New(cached, live client.Reader) *Check {
	// Reading the schema takes a tenth of a second, and is hardly ever needed.
	return &Check{Cached: cached, Live: live, schema: sync.OnceValues(input.BoxSchema)}
}

// Unknown gives an error for each field of a box, and for each value of an enumeration, that this manager does not know. Where the CRD in the cluster
// is the one that this manager was built with, the API server is not asked.
func (c *Check) Unknown(ctx context.Context, box string) (field.ErrorList, error) {
	own, err := c.ownCRD(ctx)
	if err != nil || own {
		return nil, err
	}
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("OperatorBox"))
	if err := c.Live.Get(ctx, types.NamespacedName{Name: box}, stored); err != nil {
		return nil, fmt.Errorf("reading OperatorBox %q for fields that are not known: %w", box, err)
	}
	schema, err := c.schema()
	if err != nil {
		return nil, fmt.Errorf("reading the own schema of boxes: %w", err)
	}
	errs := schema.Unknown(stored.Object)
	for _, e := range errs {
		e.Detail += help
	}
	return errs, nil
}

// ownCRD says whether the CRD in the cluster is the one that this manager was built with. It is told by a mark that the CRD has of its schema.
func (c *Check) ownCRD(ctx context.Context) (bool, error) {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	if err := c.Cached.Get(ctx, types.NamespacedName{Name: crd.BoxName}, found); err != nil {
		return false, fmt.Errorf("reading the CRD of boxes: %w", err)
	}
	return found.Annotations[crd.SchemaAnnotation] == crd.BoxSchema(), nil
}
