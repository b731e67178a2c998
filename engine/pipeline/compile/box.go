// Package compile is what every part of a box is compiled with: what the box is compiled against, what its templates may read, and the list
// of its mistakes. Each part adds to that list, so that people read everything that is wrong at once.
//
// It is a leaf: it knows neither the stages nor the declarations, which import it.
package compile

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/suggest"
	"github.com/orkspace/orkestra/engine/value"
)

// Box is a box while it is compiled: what it is compiled against, and what is noted on the way. It is used by one goroutine.
type Box struct {
	*v1alpha1.OperatorBox
	// Env is what it is compiled against.
	Env Env
	// Scope is what its templates may read, but for what a loop gives.
	Scope *expr.Scope
	// Secrets has the schemas of children and of objects of cross with the content of Secrets, which ContentScope adds for the content of
	// children alone.
	Secrets *expr.Scope
	// ReadsStatus says whether any template or condition reads the resource's own status.
	ReadsStatus bool
	// ValuesRead are the names of the values that are read.
	ValuesRead map[string]bool
	// ObservedKinds are the kinds that are read without being owned.
	ObservedKinds []schema.GroupVersionKind
	// OutsideReads are what is read of them, one by one.
	OutsideReads []OutsideRead
	// Patches are the objects of others that are patched, as they are written.
	Patches []OutsideRead
	// Notes are things to know that are no mistakes.
	Notes []string
	// TokensOf are the ServiceAccounts, in the namespaces of the resources, of which tokens are asked for.
	TokensOf []string
	// ReachesNamespaces says whether a template may lead into another namespace than the resource's.
	ReachesNamespaces bool

	errs field.ErrorList
}

// Fail adds mistakes to what is wrong with the box.
func (b *Box) Fail(errs ...*field.Error) { b.errs = append(b.errs, errs...) }

// Wrong says whether there is a mistake in a field, or below it.
func (b *Box) Wrong(at string) bool {
	return slices.ContainsFunc(b.errs, func(known *field.Error) bool {
		rest, below := strings.CutPrefix(known.Field, at)
		return below && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// failOnce adds mistakes, but for those that are known.
func (b *Box) failOnce(errs field.ErrorList) {
	for _, e := range errs {
		if !slices.ContainsFunc(b.errs, func(known *field.Error) bool { return known.Error() == e.Error() }) {
			b.Fail(e)
		}
	}
}

// Mistakes gives what is wrong with the box, sorted, each once.
func (b *Box) Mistakes() field.ErrorList {
	// Groups are maps: without an order of their own, two compilations of one box would list its mistakes differently.
	slices.SortStableFunc(b.errs, func(a, b *field.Error) int { return strings.Compare(a.Error(), b.Error()) })
	// What stands before each declaration, such as common labels, is compiled for each of them.
	b.errs = slices.CompactFunc(b.errs, func(a, b *field.Error) bool { return a.Error() == b.Error() })
	return b.errs
}

// Template compiles one string as Text does; an empty one is nil.
func (b *Box) Template(scope *expr.Scope, s string, at *field.Path) *expr.Template {
	if s == "" {
		return nil
	}
	return b.Text(scope, s, at)
}

// Text compiles a string that may be empty, for a place of a text; nil where it can't be compiled.
func (b *Box) Text(scope *expr.Scope, s string, at *field.Path) *expr.Template {
	t, err := scope.Compile(s)
	if err != nil {
		b.Fail(field.Invalid(at, s, err.Error()))
		return nil
	}
	if why := mistyped(scope, &b.Spec, t, value.TypeString); why != "" {
		b.Fail(field.Invalid(at, s, why))
	}
	return t
}

// Tree compiles a JSON object; an empty one is nil. A mistake that is known already is not reported again: some fields are compiled a
// second time, for those that take defaults from them.
func (b *Box) Tree(scope *expr.Scope, v map[string]any, at *field.Path) *expr.Value {
	if len(v) == 0 {
		return nil
	}
	return b.tree(scope, v, at)
}

func (b *Box) tree(scope *expr.Scope, v any, at *field.Path) *expr.Value {
	compiled, errs := scope.CompileValue(v, at)
	b.failOnce(errs)
	return compiled
}

// JSON decodes a JSON field; a nil one is absent. ok is false where it can't be decoded.
func (b *Box) JSON(in *apiextensionsv1.JSON, at *field.Path) (decoded any, ok bool) {
	if in == nil || len(in.Raw) == 0 {
		return nil, true
	}
	decoded, err := value.Decode(in.Raw)
	if err != nil {
		b.Fail(field.Invalid(at, string(in.Raw), err.Error()))
	}
	return decoded, err == nil
}

// OneOf checks an enumeration, for boxes that did not pass through an API server.
func (b *Box) OneOf(given string, valid []string, at *field.Path) {
	if !slices.Contains(valid, given) {
		b.Fail(field.Invalid(at, given, fmt.Sprintf("wanted one of %s%s", strings.Join(valid, ", "), suggest.DidYouMean(given, valid))))
	}
}

// Installed says whether the API server serves a kind: a newer one may have more kinds than this version of Orkestra knows.
func (b *Box) Installed(gvk schema.GroupVersionKind) bool {
	if b.Env.Mapper == nil {
		return false
	}
	_, err := b.Env.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	return !meta.IsNoMatchError(err) // while the API server can't be asked, nothing is said
}

// Resource gives the plural under which a kind is served; it is guessed where no API server can be asked.
func (b *Box) Resource(gvk schema.GroupVersionKind) string {
	if b.Env.Mapper != nil {
		if m, err := b.Env.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version); err == nil {
			return m.Resource.Resource
		}
	}
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return plural.Resource
}
