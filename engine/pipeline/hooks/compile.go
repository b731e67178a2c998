package hooks

import (
	"fmt"
	"go/token"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/hook"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/suggest"
)

// Compile compiles spec.reconciler.hooks; nil where the box has none.
func Compile(b *compile.Box, declared *declare.Set) *Code {
	r := b.Spec.Reconciler
	if t := b.Spec.APITypes; t != nil {
		apiTypes(b, t)
	}
	if r == nil || r.Hooks == nil {
		return nil
	}
	at := field.NewPath("spec", "reconciler", "hooks")
	h := &Code{first: r.Hooks.RunHooksFirst, declared: declared.Hook}
	if r.Hooks.Webhook != nil {
		h.runner = compileWebhook(b, r.Hooks, declared.Hook, at)
	} else if f := function(b, &r.Hooks.GoFunction, at); f != nil {
		typed(b, f, r.Hooks.Function)
		h.runner = compiled{f}
	}
	identifier(b, r.Hooks.Alias, at.Child("alias"))
	args, ok := b.JSON(r.Hooks.Args, at.Child("args"))
	tree, isObject := args.(map[string]any)
	if ok && args != nil && !isObject {
		b.Fail(field.Invalid(at.Child("args"), string(r.Hooks.Args.Raw), "wanted an object"))
	}
	h.args = b.Tree(b.Scope, tree, at.Child("args"))
	b.ReadsStatus = true // it is handed to the hook
	b.ReachesNamespaces = b.ReachesNamespaces || len(r.Hooks.Resources) > 0
	return h
}

// function finds the function that a box names; nil where the manager does not have it, or where that is not known.
func function(b *compile.Box, in *v1alpha1.GoFunction, at *field.Path) *hook.Function {
	name, known := nameOf(b, in, "gives the hooks", "the hook", at)
	if !known {
		return nil
	}
	f := b.Env.Code.Hooks(name)
	if f == nil {
		b.Fail(unknown(at.Child("function"), name, b.Env.Code.HookNames()))
	}
	return f
}

// nameOf gives the name of a Go function in the registry, or reports what is wrong with it. gives says what the function does, and unrun what is not
// run where it is not known which functions the manager has.
func nameOf(b *compile.Box, in *v1alpha1.GoFunction, gives, unrun string, at *field.Path) (name string, known bool) {
	switch {
	case in.Location == "":
		b.Fail(field.Required(at.Child("location"), "say the Go import path of the package that has the function"))
	case in.Function == "":
		b.Fail(field.Required(at.Child("function"), "say which function of the package "+gives))
	case !isExported(in.Function):
		b.Fail(field.Invalid(at.Child("function"), in.Function, "wanted the name of an exported Go function, such as Database"))
	case b.Env.Code == nil:
		b.Notes = append(b.Notes, fmt.Sprintf("%s: it is not known here which functions the manager has, and %s is not run", at.Child("function"), unrun))
	default:
		return in.Location + "." + in.Function, true
	}
	return "", false
}

// isExported says whether a name may be that of an exported Go function or type.
func isExported(name string) bool { return token.IsIdentifier(name) && token.IsExported(name) }

// unknown says that the manager has no function of a name.
func unknown(at *field.Path, name string, known []string) *field.Error {
	hint := "; it has none: run a manager that was built with it (docs/how-to/hooks.md)"
	if len(known) > 0 {
		near := suggest.DidYouMean(name, known)
		hint = near + fmt.Sprintf("; it has %d, which its command `manager --list-functions` lists", len(known))
		if near == "" && len(known) == 1 {
			hint = fmt.Sprintf("; it has %s alone", known[0])
		}
	}
	return &field.Error{Type: field.ErrorTypeNotFound, Field: at.String(), BadValue: name, Detail: hook.NotCompiledIn + hint}
}

// Absent gives the code of a box that does not compile, for its deletions: where the manager does not have the function, or does not know how
// the webhook is called, nobody can say whether there is something to clean up, so that nothing is let go. nil: there is nothing to wait for.
func Absent(spec *v1alpha1.OperatorBoxSpec, known *hook.Registry) *Code {
	if spec.Reconciler == nil || spec.Reconciler.Hooks == nil || known == nil {
		return nil
	}
	if w := spec.Reconciler.Hooks.Webhook; w != nil {
		if !slices.Contains(w.Phases, v1alpha1.WebhookPhase(hook.Delete)) {
			return nil
		}
		return &Code{absent: stage.NewPermanent(v1alpha1.ReasonWebhookFailed, fmt.Errorf(
			"the box does not compile, and its webhook may have something to clean up: mend the box, or set the annotation %s: \"true\" to go without", v1alpha1.AnnotationSkipCleanup))}
	}
	name := spec.Reconciler.Hooks.Location + "." + spec.Reconciler.Hooks.Function
	if known.Hooks(name) != nil {
		return nil
	}
	return &Code{absent: stage.NewPermanent(v1alpha1.ReasonUnknownFunction, fmt.Errorf(
		"the manager has no function %q, which may have something to clean up: run a manager that has it, or set the annotation %s: \"true\" to go without", name, v1alpha1.AnnotationSkipCleanup))}
}

// typed checks that the Go type which a function takes is that of the box.
func typed(b *compile.Box, function *hook.Function, name string) {
	of, at, t := function.Type, field.NewPath("spec", "apiTypes"), b.Spec.APITypes
	if of == nil {
		return
	}
	switch kind, served := function.Kind(), b.Env.CRD.Kind; {
	case t == nil:
		b.Fail(field.Required(at, fmt.Sprintf("%s takes the resource as %s: name that type, or take *unstructured.Unstructured", name, of)))
	case t.Object != "" && t.Object != of.Name():
		b.Fail(field.Invalid(at.Child("object"), t.Object, fmt.Sprintf("%s takes %s", name, of.Name())))
	case t.Location != "" && t.Location != of.PkgPath():
		b.Fail(field.Invalid(at.Child("location"), t.Location, fmt.Sprintf("%s takes %s of %s", name, of.Name(), of.PkgPath())))
	case t.ObjectList != "" && !function.Knows(t.ObjectList):
		b.Fail(field.Invalid(at.Child("objectList"), t.ObjectList, fmt.Sprintf("%s has no such type in the registry of the manager: add it there, as `orkestra generate registry` does", of.PkgPath())))
	case !kind.Empty() && !served.Empty() && kind != served:
		b.Fail(field.Invalid(at.Child("object"), t.Object, fmt.Sprintf("it is the Go type of %s %s, and the box serves %s %s", kind.GroupVersion(), kind.Kind, served.GroupVersion(), served.Kind)))
	}
}

// apiTypes checks spec.apiTypes by itself.
func apiTypes(b *compile.Box, t *v1alpha1.APITypes) {
	at := field.NewPath("spec", "apiTypes")
	if r := b.Spec.Reconciler; r == nil || r.Hooks == nil && r.Constructor == nil {
		b.Fail(field.Forbidden(at, "it names the Go type that a hook takes, and the box has none; remove it, or name a function in spec.reconciler.hooks"))
		return
	} else if r.Hooks != nil && r.Hooks.Webhook != nil {
		b.Fail(field.Forbidden(at, "it names the Go type that a function takes, and the hook is a webhook; remove it"))
		return
	}
	if t.Location == "" {
		b.Fail(field.Required(at.Child("location"), "say the Go import path of the package that has the type"))
	}
	if t.Object == "" {
		b.Fail(field.Required(at.Child("object"), "say the name of the Go type, such as Database"))
	}
	for name, value := range map[string]string{"object": t.Object, "objectList": t.ObjectList} {
		if value != "" && !isExported(value) {
			b.Fail(field.Invalid(at.Child(name), value, "wanted the name of an exported Go type, such as Database"))
		}
	}
	identifier(b, t.Alias, at.Child("alias"))
}

// identifier checks a name under which a package is imported.
func identifier(b *compile.Box, alias string, at *field.Path) {
	if alias != "" && !token.IsIdentifier(alias) {
		b.Fail(field.Invalid(at, alias, "wanted a Go identifier, such as databasev1"))
	}
}
