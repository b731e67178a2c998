package hook

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// NotCompiledIn begins what is said of a function that a box names and the manager does not have.
const NotCompiledIn = "the manager has no such function"

// IsUnknown says whether a mistake of a box is that the manager does not have a function.
func IsUnknown(e *field.Error) bool {
	return e.Type == field.ErrorTypeNotFound && strings.HasPrefix(e.Detail, NotCompiledIn)
}

// Phase is the moment of a resource's life at which a hook is called.
type Phase string

// The phases.
const (
	Create    Phase = "Create"
	Update    Phase = "Update"
	Reconcile Phase = "Reconcile"
	Delete    Phase = "Delete"
)

// Reader reads for a hook what it does not own. The engine gives it.
type Reader interface {
	// Get gives an object, or an error for which apierrors.IsNotFound holds.
	Get(ctx context.Context, gvk schema.GroupVersionKind, key client.ObjectKey) (*unstructured.Unstructured, error)
	// List gives the objects that options select.
	List(ctx context.Context, gvk schema.GroupVersionKind, options *client.ListOptions) ([]*unstructured.Unstructured, error)
	// Secret gives what a Secret of the resource's namespace holds under a key.
	Secret(ctx context.Context, name, key string) (string, error)
	// Client gives a client with the identity of the box.
	Client() client.Client
}

// Function is a hook that is compiled in, without the type of its resource.
type Function struct {
	// Pure is that of the Hooks.
	Pure bool
	// Type of the resource that it takes; nil: it takes *unstructured.Unstructured.
	Type reflect.Type

	calls  map[Phase]func(ctx context.Context, resource map[string]any, c Cycle) error
	scheme *runtime.Scheme
}

// Has says whether the hook is called in a phase.
func (f *Function) Has(p Phase) bool { return f.calls[p] != nil }

// Kind is the kind of the resource that the hook takes; empty where its type is not in the scheme of the registry.
func (f *Function) Kind() schema.GroupVersionKind {
	if f.Type == nil {
		return schema.GroupVersionKind{}
	}
	obj, isObject := reflect.TypeAssert[runtime.Object](reflect.New(f.Type))
	if !isObject {
		return schema.GroupVersionKind{}
	}
	known, _, err := f.scheme.ObjectKinds(obj)
	if err != nil || len(known) == 0 {
		return schema.GroupVersionKind{}
	}
	return known[0]
}

// Knows says whether a type of the package in which that of the resource is has been registered under a name.
func (f *Function) Knows(name string) bool {
	for _, known := range f.scheme.AllKnownTypes() {
		if known.Name() == name && known.PkgPath() == f.Type.PkgPath() {
			return true
		}
	}
	return false
}

// Call calls the hook in a phase. What it says is in out, whatever becomes of the call. The error is the hook's, or what it has said and can't be.
func (f *Function) Call(ctx context.Context, p Phase, resource map[string]any, c Cycle, reader Reader, out *Outcome) error {
	call := f.calls[p]
	if call == nil {
		return nil
	}
	out.ids = map[string]bool{}
	c.reader, c.scheme, c.outcome, c.Children.outcome = reader, f.scheme, out, out
	if err := call(ctx, resource, c); err != nil {
		return err
	}
	return out.wrong
}

// Say has something said that is no function of this program, such as the answer of a webhook. What it says is in out, within the limits of a
// hook; what can't be is the error.
func Say(out *Outcome, say func(*Cycle) error) error {
	out.ids = map[string]bool{}
	if err := say(&Cycle{scheme: runtime.NewScheme(), outcome: out}); err != nil {
		return err
	}
	return out.wrong
}

// Registry has the functions that are compiled into a manager, by "<location>.<function>", as boxes name them. It is filled before the manager
// starts and only read from then on.
type Registry struct {
	scheme       *runtime.Scheme
	hooks        map[string]*Function
	constructors map[string]Constructor
}

// NewRegistry gives an empty registry, whose scheme knows the kinds of Kubernetes.
func NewRegistry() (*Registry, error) {
	r := &Registry{scheme: runtime.NewScheme(), hooks: map[string]*Function{}, constructors: map[string]Constructor{}}
	if err := clientgoscheme.AddToScheme(r.scheme); err != nil {
		return nil, fmt.Errorf("adding the kinds of Kubernetes: %w", err)
	}
	return r, nil
}

// AddToScheme adds types by the functions that API packages have, such as v1.AddToScheme.
func (r *Registry) AddToScheme(add ...func(*runtime.Scheme) error) error {
	for _, f := range add {
		if err := f(r.scheme); err != nil {
			return fmt.Errorf("adding types to the scheme: %w", err)
		}
	}
	return nil
}

// AddTypes adds types by the function that their API package has, such as v1.AddToScheme, and sees that the type of the resource and its list
// are among them, for one version of one group: boxes name them in spec.apiTypes. Generated registries call it.
func (r *Registry) AddTypes(add func(*runtime.Scheme) error, object client.Object, list client.ObjectList) error {
	if err := r.AddToScheme(add); err != nil {
		return err
	}
	kind, err := apiutil.GVKForObject(object, r.scheme)
	if err != nil {
		return fmt.Errorf("%T: the function that was given with it does not add it to the scheme: %w", object, err)
	}
	listKind, err := apiutil.GVKForObject(list, r.scheme)
	if err != nil {
		return fmt.Errorf("%T: the function that was given with it does not add it to the scheme: %w", list, err)
	}
	if kind.GroupVersion() != listKind.GroupVersion() {
		return fmt.Errorf("%T is of %s, and its list %T of %s", object, kind.GroupVersion(), list, listKind.GroupVersion())
	}
	return nil
}

// Scheme has the types that are registered. A nil registry has none. It must not be changed once the manager runs.
func (r *Registry) Scheme() *runtime.Scheme {
	if r == nil {
		return nil
	}
	return r.scheme
}

// AddHooks registers the function that gives the hooks of a box. name is "<location>.<function>", such as
// "github.com/acme/operator.DatabaseHooks". A name that is taken, a T that is no pointer, and Hooks without a function are errors: mistakes of the
// program. function is called once, here.
func AddHooks[T client.Object](r *Registry, name string, function func() Hooks[T]) error {
	if _, taken := r.hooks[name]; taken {
		return fmt.Errorf("hooks %q are registered twice", name)
	}
	resourceType := reflect.TypeFor[T]()
	if resourceType.Kind() != reflect.Pointer {
		return fmt.Errorf("hooks %q: %s is no pointer to an API type, such as *v1.Database", name, resourceType)
	}
	h := function()
	f := &Function{Pure: h.Pure, scheme: r.scheme, calls: map[Phase]func(context.Context, map[string]any, Cycle) error{}}
	if resourceType != reflect.TypeFor[*unstructured.Unstructured]() {
		f.Type = resourceType.Elem()
	}
	for phase, call := range map[Phase]func(context.Context, *Call[T]) error{Create: h.OnCreate, Update: h.OnUpdate, Reconcile: h.OnReconcile, Delete: h.OnDelete} {
		if call == nil {
			continue
		}
		f.calls[phase] = func(ctx context.Context, resource map[string]any, c Cycle) error {
			into, ok := reflect.TypeAssert[T](reflect.New(resourceType.Elem()))
			if !ok {
				return fmt.Errorf("%s can't be made", resourceType)
			}
			if err := decodeResource(resource, into); err != nil {
				return err
			}
			return call(ctx, &Call[T]{Resource: into, Cycle: c})
		}
	}
	if len(f.calls) == 0 {
		return fmt.Errorf("hooks %q: none of OnCreate, OnUpdate, OnReconcile, OnDelete is set", name)
	}
	r.hooks[name] = f
	return nil
}

// Hooks gives the hooks of a name; nil where there are none. A nil registry has none.
func (r *Registry) Hooks(name string) *Function {
	if r == nil {
		return nil
	}
	return r.hooks[name]
}

// HookNames are the names of all hooks, sorted.
func (r *Registry) HookNames() []string {
	if r == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(r.hooks))
}
