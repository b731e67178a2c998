package hook

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Environment is what a constructor is given.
type Environment struct {
	// Client reads from the caches of the box (its resources, and the kinds of spec.reconciler.constructor.resources) and writes with the
	// identity of the box. To read another kind is an error.
	Client client.Client
	// Indexer takes the fields by which Client lists objects besides their names, as that of a manager of controller-runtime does.
	Indexer client.FieldIndexer
	// Scheme has the types of the registry.
	Scheme *runtime.Scheme
	// Recorder sends events with the identity of the box.
	Recorder events.EventRecorder
	// Log has the name of the box.
	Log logr.Logger
	// Args are those of the box.
	Args Args
}

// Constructor makes the reconciler of a box. It is called before the workers of the box start, and again where it fails, and where the box is
// started anew: after an edit of what spec.reconciler.constructor says, for example. It must not wait for anything.
type Constructor func(Environment) (reconcile.Reconciler, error)

// AddConstructor registers a function that makes a reconciler. Beside a Constructor, it may be any function whose parameters are of what an
// Environment has, such as func(client.Client, *runtime.Scheme) *DatabaseReconciler: reconcilers of controller-runtime run as they are. name is
// "<location>.<function>".
func AddConstructor(r *Registry, name string, function any) error {
	if _, taken := r.constructors[name]; taken {
		return fmt.Errorf("constructor %q is registered twice", name)
	}
	c, err := constructorOf(function)
	if err != nil {
		return fmt.Errorf("constructor %q: %w", name, err)
	}
	r.constructors[name] = c
	return nil
}

// Constructor gives the constructor of a name; nil where there is none. A nil registry has none.
func (r *Registry) Constructor(name string) Constructor {
	if r == nil {
		return nil
	}
	return r.constructors[name]
}

// ConstructorNames are the names of all constructors, sorted.
func (r *Registry) ConstructorNames() []string {
	if r == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(r.constructors))
}

// errNoReconciler says what a constructor must be.
var errNoReconciler = errors.New("wanted a function of hook.Environment, client.Client, client.FieldIndexer, *runtime.Scheme, events.EventRecorder or logr.Logger that gives a reconcile.Reconciler, and maybe an error")

// constructorOf makes a Constructor of a function.
func constructorOf(function any) (Constructor, error) {
	if function == nil {
		return nil, fmt.Errorf("%w; found nil", errNoReconciler)
	}
	f := reflect.ValueOf(function)
	t := f.Type()
	if t.Kind() != reflect.Func || t.IsVariadic() || t.NumOut() < 1 || t.NumOut() > 2 {
		return nil, fmt.Errorf("%w; found %s", errNoReconciler, t)
	}
	fails := t.NumOut() == 2 && t.Out(1) == reflect.TypeFor[error]()
	if !t.Out(0).Implements(reflect.TypeFor[reconcile.Reconciler]()) || t.NumOut() == 2 && !fails {
		return nil, fmt.Errorf("%w; found %s", errNoReconciler, t)
	}
	for in := range t.Ins() {
		if _, known := argumentOf(in, &Environment{}); !known {
			return nil, fmt.Errorf("%w; found %s", errNoReconciler, t)
		}
	}
	return func(env Environment) (reconcile.Reconciler, error) {
		in := make([]reflect.Value, t.NumIn())
		for i := range in {
			in[i], _ = argumentOf(t.In(i), &env) // asked above
		}
		out := f.Call(in)
		if fails && !out[1].IsNil() {
			err, _ := reflect.TypeAssert[error](out[1])
			return nil, err
		}
		made, _ := reflect.TypeAssert[reconcile.Reconciler](out[0])
		if made == nil {
			return nil, fmt.Errorf("%s gives no reconciler", t)
		}
		return made, nil
	}, nil
}

// argumentOf gives what an environment has of a type.
func argumentOf(t reflect.Type, env *Environment) (v reflect.Value, known bool) {
	switch t {
	case reflect.TypeFor[Environment]():
		return reflect.ValueOf(*env), true
	case reflect.TypeFor[*runtime.Scheme]():
		return reflect.ValueOf(env.Scheme), true
	case reflect.TypeFor[logr.Logger]():
		return reflect.ValueOf(env.Log), true
	case reflect.TypeFor[client.Client](), reflect.TypeFor[client.Reader](), reflect.TypeFor[client.Writer]():
		v = reflect.New(t).Elem()
		if env.Client != nil {
			v.Set(reflect.ValueOf(env.Client))
		}
		return v, true
	case reflect.TypeFor[client.FieldIndexer]():
		v = reflect.New(t).Elem()
		if env.Indexer != nil {
			v.Set(reflect.ValueOf(env.Indexer))
		}
		return v, true
	case reflect.TypeFor[events.EventRecorder]():
		v = reflect.New(t).Elem()
		if env.Recorder != nil {
			v.Set(reflect.ValueOf(env.Recorder))
		}
		return v, true
	default:
		return v, false
	}
}
