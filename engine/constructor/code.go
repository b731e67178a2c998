// Package constructor runs reconcilers of controller-runtime as their users have written them: it makes the environment that the constructor of one
// is given, calls it, and says to which resource an object belongs. It decides nothing: when the reconciler is asked, and what comes of its
// answer, is the business of cycles.
package constructor

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/orkspace/orkestra/engine/pipeline/hooks"
)

// Rights says what the account of a box may read.
type Rights interface {
	// MayRead gives an error where it may not: the one object of a name, or without a name all of a namespace.
	MayRead(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) error
}

// Config is what the code of one box is made of.
type Config struct {
	// Box is the name of the box.
	Box string
	// Code is the constructor, compiled.
	Code *hooks.Constructor
	// Kind that the box serves, and whether its resources live in namespaces.
	Kind       schema.GroupVersionKind
	Namespaced bool
	// Resources of the box.
	Resources Resources
	// Objects of the kinds that the code lists.
	Objects Objects
	// Rights of the account of the box.
	Rights Rights
	// REST says where the API server is, and HTTP sends requests as the account of the box.
	REST *rest.Config
	HTTP *http.Client
	// Mapper resolves kinds, and Scheme knows the Go types of the user.
	Mapper meta.RESTMapper
	Scheme *runtime.Scheme
	// Recorder sends events as the account of the box; nil: none are sent.
	Recorder events.EventRecorder
	// Log is where the code logs.
	Log logr.Logger
	// Timeout is how long a read waits for a kind that is not known yet.
	Timeout time.Duration
	// Panicked is told of a panic that was caught.
	Panicked func(value any, stack []byte)
}

// Code is the code of one box: a reconciler, once Construct has made it.
type Code struct {
	config     Config
	client     client.Client
	indexes    *indexer
	reconciler reconcile.Reconciler // set before the workers of the box start
}

var _ reconcile.Reconciler = (*Code)(nil)

// New gives the code of a box, which makes nothing yet.
func New(config Config) (*Code, error) {
	indexes := &indexer{scheme: config.Scheme}
	c, err := client.New(config.REST, client.Options{
		HTTPClient: config.HTTP, Scheme: config.Scheme, Mapper: config.Mapper, FieldOwner: fieldOwner(config.Box),
		Cache: &client.CacheOptions{Reader: &reader{Config: config, indexes: indexes}, Unstructured: true},
	})
	if err != nil {
		return nil, fmt.Errorf("making the client of a constructor: %w", err)
	}
	return &Code{config: config, client: c, indexes: indexes}, nil
}

// fieldOwner is the field manager of what the code of a box writes where it names none: not that of Orkestra, which is read from objects.
func fieldOwner(box string) string { return "constructor-" + box }

// Fill has the kinds watched that the code lists, and waits for them. One that is not installed, or may not be read, fails when it is read.
func (c *Code) Fill(ctx context.Context) {
	for _, kind := range c.config.Code.Kinds {
		if err := c.config.acquire(ctx, kind); err != nil {
			c.config.Log.V(1).Info("Kind can't be watched yet", "gvk", kind.String(), "reason", err.Error())
		}
	}
}

// Reconcile implements reconcile.Reconciler.
func (c *Code) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	return c.reconciler.Reconcile(ctx, request)
}

// OwnerOf gives the resource that controls an object; ok is false where none of the box does.
func (c *Code) OwnerOf(obj *unstructured.Unstructured) (key types.NamespacedName, ok bool) {
	if obj == nil {
		return key, false
	}
	owner := metav1.GetControllerOf(obj)
	if owner == nil || owner.Kind != c.config.Kind.Kind {
		return key, false
	}
	group, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil || group.Group != c.config.Kind.Group {
		return key, false
	}
	key.Name = owner.Name
	if c.config.Namespaced {
		key.Namespace = obj.GetNamespace()
	}
	return key, true
}

// Lists says whether the code lists a kind.
func (c *Code) Lists(gvk schema.GroupVersionKind) bool {
	return slices.Contains(c.config.Code.Kinds, gvk)
}

// Release lets go of the kinds: the box ends.
func (c *Code) Release() { c.config.Objects.Release(c.config.Box) }
