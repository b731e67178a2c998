package hooks

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/hook"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
)

// Constructor is what a box has of code that takes the place of its declarations, compiled. It is immutable.
type Constructor struct {
	// Name of the function.
	Name string
	// New makes the reconciler; nil: it is not known here which functions the manager has.
	New hook.Constructor
	// Args are those of the box.
	Args hook.Args
	// Kinds that the code makes or reads, besides that of the box.
	Kinds []schema.GroupVersionKind

	args []byte // as they are written
}

// Same says whether the reconciler that one constructor has made is that of another one. nil is a box without a constructor.
func (c *Constructor) Same(other *Constructor) bool {
	if c == nil || other == nil {
		return c == other
	}
	return c.Name == other.Name && slices.Equal(c.Kinds, other.Kinds) && bytes.Equal(c.args, other.args)
}

// CompileConstructor compiles spec.reconciler.constructor; nil where the box has none.
func CompileConstructor(b *compile.Box) *Constructor {
	r, at := b.Spec.Reconciler, field.NewPath("spec", "reconciler")
	if r == nil {
		return nil
	}
	replaces := r.Default != nil && !*r.Default
	in := r.Constructor
	if in == nil {
		if replaces {
			b.Fail(field.Invalid(at.Child("default"), false, "the declarations are replaced by a constructor, and the box names none in spec.reconciler.constructor; name one, or remove default"))
		}
		return nil
	}
	if !replaces {
		b.Fail(field.Invalid(at.Child("default"), true, "the reconciler of a constructor takes the place of the declarations: say default: false, or remove the constructor"))
	}
	at = at.Child("constructor")
	identifier(b, in.Alias, at.Child("alias"))
	c := &Constructor{Name: in.Location + "." + in.Function, Kinds: declare.CodeKinds(b, in.Resources, at.Child("resources"))}
	c.New = constructorOf(b, in, at)
	c.constant(b, in, at.Child("args"))
	if b.Spec.APITypes != nil && c.New != nil { // without the function, the types are missing, too
		typesOf(b)
	}
	return c
}

// constant takes the arguments, which are those of all resources: they are handed over once.
func (c *Constructor) constant(b *compile.Box, in *v1alpha1.GoFunction, at *field.Path) {
	args, ok := b.JSON(in.Args, at)
	if !ok || args == nil {
		return
	}
	tree, isObject := args.(map[string]any)
	c.args = in.Args.Raw
	switch {
	case !isObject:
		b.Fail(field.Invalid(at, string(in.Args.Raw), "wanted an object"))
	case expr.IsTemplate(string(in.Args.Raw)):
		b.Fail(field.Invalid(at, string(in.Args.Raw), "a constructor is called once, and not for each resource: there is nothing that a template could read"))
	}
	c.Args = hook.NewArgs(tree)
}

// constructorOf finds the function that a box names; nil where the manager does not have it, or where that is not known.
func constructorOf(b *compile.Box, in *v1alpha1.GoFunction, at *field.Path) hook.Constructor {
	name, known := nameOf(b, in, "makes the reconciler", "the reconciler", at)
	if !known {
		return nil
	}
	found := b.Env.Code.Constructor(name)
	switch {
	case found != nil:
	case b.Env.Code.Hooks(name) != nil:
		b.Fail(field.Invalid(at.Child("function"), name, "it gives hooks, and no reconciler: name it in spec.reconciler.hooks"))
	default:
		b.Fail(unknown(at.Child("function"), name, b.Env.Code.ConstructorNames()))
	}
	return found
}

// typesOf checks that the manager knows the kind of the box by the Go types that the box names.
func typesOf(b *compile.Box) {
	t, at, kind := b.Spec.APITypes, field.NewPath("spec", "apiTypes"), b.Env.CRD.Kind
	if b.Env.Code == nil || kind.Empty() || t.Location == "" || t.Object == "" {
		return
	}
	list := t.ObjectList
	if list == "" {
		list = t.Object + "List"
	}
	scheme := b.Env.Code.Scheme()
	for _, want := range []struct{ name, field, kind string }{{t.Object, "object", kind.Kind}, {list, "objectList", kind.Kind + "List"}} {
		made, err := scheme.New(kind.GroupVersion().WithKind(want.kind))
		if err != nil {
			b.Fail(field.Invalid(at.Child(want.field), want.name, fmt.Sprintf("the manager knows no Go type for %s %s: register it with Registry.AddToScheme (docs/how-to/constructor.md)", kind.GroupVersion(), want.kind)))
			continue
		}
		of := reflect.TypeOf(made).Elem()
		if of := of.PkgPath() + "." + of.Name(); of != t.Location+"."+want.name {
			b.Fail(field.Invalid(at.Child(want.field), want.name, fmt.Sprintf("the manager knows %s %s as %s", kind.GroupVersion(), want.kind, of)))
		}
	}
}
