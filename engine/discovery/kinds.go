package discovery

import (
	"context"
	"fmt"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/orkspace/orkestra/engine/decoding"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// Client reads objects whole, and the metadata of objects.
type Client struct {
	dynamic.Interface

	// Metadata lists and watches the metadata of objects.
	Metadata metadata.Interface
}

// NewClient gives a client of an API server. The error is one of the configuration.
func NewClient(config *rest.Config) (Client, error) {
	whole, err := decoding.NewDynamic(config)
	if err != nil {
		return Client{}, fmt.Errorf("making a dynamic client: %w", err)
	}
	metas, err := metadata.NewForConfig(config)
	if err != nil {
		return Client{}, fmt.Errorf("making a client of metadata: %w", err)
	}
	return Client{Interface: whole, Metadata: metas}, nil
}

// Kinds says how kinds are served, and keeps the schemas of custom kinds: templates are checked against the types of their fields, and
// lists are compared by their list types. A schema is read when a box begins to watch a kind, and again after the API server refused a
// child of it. It is safe for concurrent use.
type Kinds struct {
	client dynamic.Interface
	mapper meta.RESTMapper

	mu      sync.RWMutex
	schemas map[schema.GroupVersionKind]*apiextensionsv1.JSONSchemaProps // guarded by mu
}

var _ stage.Kinds = (*Kinds)(nil)

// NewKinds gives kinds of whose schemas none is known.
func NewKinds(client dynamic.Interface, mapper meta.RESTMapper) *Kinds {
	return &Kinds{client: client, mapper: mapper, schemas: map[schema.GroupVersionKind]*apiextensionsv1.JSONSchemaProps{}}
}

// Namespaced implements stage.Kinds.
func (k *Kinds) Namespaced(kind schema.GroupVersionKind) (bool, error) {
	mapping, err := k.mapping(kind)
	if err != nil {
		return false, err
	}
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

// Schema implements stage.Kinds and drift.ListSchema: nil where the schema is not known; lists are then compared by position.
func (k *Kinds) Schema(kind schema.GroupVersionKind) *apiextensionsv1.JSONSchemaProps {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.schemas[kind]
}

// Knows says whether nothing is left to be learned of a kind. It implements inventory.Schemas.
func (k *Kinds) Knows(kind schema.GroupVersionKind) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	_, known := k.schemas[kind]
	return known || scheme.Scheme.Recognizes(kind)
}

// Forget lets schemas be read anew when they are next needed: what they say was refused, so they may be out of date.
func (k *Kinds) Forget(kinds []schema.GroupVersionKind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, kind := range kinds {
		delete(k.schemas, kind)
	}
}

// Learn reads the schema of a kind that Kubernetes itself does not have. It implements inventory.Schemas.
func (k *Kinds) Learn(ctx context.Context, kind schema.GroupVersionKind) error {
	if scheme.Scheme.Recognizes(kind) {
		return nil
	}
	mapping, err := k.mapping(kind)
	if err != nil {
		return err
	}
	name := mapping.Resource.GroupResource().String()
	obj, err := k.client.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		k.put(kind, nil) // an aggregated API server serves it: there is no CRD to read a schema from
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading CustomResourceDefinition %q: %w", name, err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, crd); err != nil {
		return fmt.Errorf("reading CustomResourceDefinition %q: %w", name, err)
	}
	if picked, ok := stage.NewCRD(crd, kind.Version); ok {
		k.put(kind, picked.Schema)
	}
	return nil
}

func (k *Kinds) put(kind schema.GroupVersionKind, props *apiextensionsv1.JSONSchemaProps) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.schemas[kind] = props
}

func (k *Kinds) mapping(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	mapping, err := k.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, fmt.Errorf("finding kind %s: %w", kind.Kind, err)
	}
	return mapping, nil
}
