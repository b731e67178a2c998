package pipeline

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/pipeline/check"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/hooks"
	"github.com/orkspace/orkestra/engine/pipeline/items"
	"github.com/orkspace/orkestra/engine/pipeline/outcome"
	"github.com/orkspace/orkestra/engine/pipeline/outside"
	"github.com/orkspace/orkestra/engine/pipeline/patches"
	"github.com/orkspace/orkestra/engine/pipeline/providers"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/pipeline/values"
)

// Env is what a box is compiled against.
type Env = compile.Env

// Elder is an older box over the same kind of others.
type Elder = compile.Elder

// compiler collects what a box compiles to, and every mistake.
type compiler struct {
	*compile.Box

	code            *hooks.Code
	cross, external stage.Stage[*stage.Cycle] // what is read from outside; nil: nothing is
	plan            *Plan
	declared        *declare.Set
}

// Compile checks a box and freezes it. It says everything that is wrong, each with its field path; the plan is nil then.
func Compile(box *v1alpha1.OperatorBox, env Env) (*Plan, field.ErrorList) {
	return compileWith(box, env, nil)
}

// compileWith is Compile with code that stands for that of the box; nil: its own.
func compileWith(box *v1alpha1.OperatorBox, env Env, code *hooks.Code) (*Plan, field.ErrorList) {
	env, box = withDefaults(env), boxspec.Canonical(box)
	env.CRD = ofOthers(env.CRD, &box.Spec)
	if constructed(&box.Spec) {
		env.CRD.HasStatus = false // it is the reconciler's
	}
	c := &compiler{Box: &compile.Box{OperatorBox: box, Env: env, Scope: boxScope(box, env), Secrets: secretScope(box, env)}}
	revision, hash := boxspec.Identity(box)
	c.plan = &Plan{
		Plan: stage.Plan{
			Box: box.Name, UID: box.UID, Generation: box.Generation, Revision: revision, RevisionHash: hash, CRD: env.CRD,
			Account: identity.Of(box), MayGrant: env.AllowGrantingKinds, Runtime: stage.CompileRuntime(c.Box), Places: boxspec.PlacesOf(&box.Spec).With(env.FormerPlaces),
		},
	}
	values.Compile(c.Box)
	c.plan.HasValues = len(box.Spec.Values) > 0
	c.plan.BoxData = map[string]any{"name": box.Name, "revision": c.plan.Revision}
	c.constructor()
	c.served()
	c.selection()
	c.finalizers()
	c.othersKind()
	c.commonMarks()
	c.declarations()
	c.code = cmp.Or(code, hooks.Compile(c.Box, c.declared))
	if c.code.MayClean() {
		c.declared.CleansUp()
	}
	c.othersChildren()
	c.plan.outcome = outcome.Compile(c.Box)
	c.plan.Status, c.plan.Conditions = c.plan.outcome.Writer, c.plan.outcome.Conditions()
	c.code.CheckBy(c.plan.outcome.CheckCode)
	c.rollback()
	c.cross, c.external, c.plan.sources = outside.Compile(c.Box)
	c.plan.CrossBoxes = outside.Boxes(c.Spec.Cross)
	var unchecked string
	if c.plan.providers, unchecked = providers.Compile(c.Box, c.declared); unchecked != "" {
		c.plan.Notes = append(c.plan.Notes, unchecked)
	}
	c.stages()
	c.admission()
	for _, name := range values.Unread(c.Box) {
		c.plan.Notes = append(c.plan.Notes, fmt.Sprintf("spec.values: nothing reads %s", name))
	}
	c.plan.marks = marksObjects(c.plan, &c.Spec)
	c.plan.Notes = append(c.plan.Notes, c.Notes...)
	(&rights{Box: c.Box, plan: c.plan}).derive()
	if errs := c.Mistakes(); len(errs) > 0 {
		return nil, errs
	}
	c.plan.ReadsStatus, c.plan.ObservedKinds = c.ReadsStatus, c.ObservedKinds
	return c.plan, nil
}

// boxScope is what the templates of a box may read, but for what a forEach adds.
func boxScope(box *v1alpha1.OperatorBox, env Env) *expr.Scope {
	return expr.NewScope(env.CRD.Schema).WithNames(compile.RootChildren, declare.ChildSchemas(box, false)).WithNames(compile.RootCross, outside.CrossSchemas(box, env, false)).
		WithNames(compile.RootExternal, outside.CallSchemas(box)).WithNames(compile.RootProviders, compile.ProvidedSchemas(box, env.Providers, false))
}

// secretScope is what the content of children may read besides: children and objects of cross with what Secrets hold.
func secretScope(box *v1alpha1.OperatorBox, env Env) *expr.Scope {
	return expr.NewScope(nil).WithNames(compile.RootChildren, declare.ChildSchemas(box, true)).WithNames(compile.RootCross, outside.CrossSchemas(box, env, true)).
		WithNames(compile.RootProviders, compile.ProvidedSchemas(box, env.Providers, true))
}

func withDefaults(env Env) Env {
	if env.Random == nil {
		env.Random = rand.Reader
	}
	if env.Now == nil {
		env.Now = clock.RealClock{}.Now
	}
	return env
}

// CompileCleanup gives a plan that only finishes deletions, for boxes that never compiled: their resources could not be deleted otherwise.
func CompileCleanup(box *v1alpha1.OperatorBox, env Env) (*Plan, error) {
	bare := &v1alpha1.OperatorBox{ObjectMeta: box.ObjectMeta}
	// Nothing else of the spec is taken over: any part of it may be the mistake. The finalizers of the box that a resource carries are
	// listed in an annotation of the resource.
	bare.Spec.CRD = box.Spec.CRD
	if box.Spec.CRD.Kind != "" { // nor are more objects of others watched than it selects
		bare.Spec.Namespaces = box.Spec.Namespaces
		bare.Spec.Selector, bare.Spec.AnnotationSelector = boxspec.ForCleanup(&box.Spec)
	}
	env.FormerPlaces = env.FormerPlaces.With(boxspec.PlacesOf(&box.Spec))
	plan, errs := compileWith(bare, env, hooks.Absent(&box.Spec, env.Code))
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	plan.OnCreateIDs = nil
	return plan.ForCleanup(), nil
}

// served refuses Orkestra's own kinds: a box that serves boxes would put its finalizer on itself, and reconcile itself.
func (c *compiler) served() {
	if c.Env.CRD.Kind.Group == v1alpha1.GroupName || strings.HasPrefix(c.Spec.CRD.APIVersion, v1alpha1.GroupName+"/") {
		c.Fail(field.Invalid(field.NewPath("spec", "crd"), cmp.Or(c.Env.CRD.Name, c.Spec.CRD.Kind), "a box can't serve Orkestra's own kinds"))
	}
}

// finalizers checks the box's own finalizers and puts Orkestra's last: it holds the resource until all else is done.
func (c *compiler) finalizers() {
	at := field.NewPath("spec", "finalizers")
	for i, f := range c.Spec.Finalizers {
		for _, msg := range apivalidation.IsQualifiedName(string(f)) {
			c.Fail(field.Invalid(at.Index(i), f, msg))
		}
		if !strings.Contains(string(f), "/") {
			c.Fail(field.Invalid(at.Index(i), f, "a finalizer of a custom resource is domain/name"))
		}
		if f == v1alpha1.Finalizer {
			c.Fail(field.Invalid(at.Index(i), f, "Orkestra adds its own finalizer"))
		}
		if !slices.Contains(c.plan.Finalizers, string(f)) {
			c.plan.Finalizers = append(c.plan.Finalizers, string(f))
		}
	}
	if !c.Env.CRD.OfOthers && c.plan.Constructor == nil {
		c.plan.Finalizers = append(c.plan.Finalizers, v1alpha1.Finalizer)
	}
}

// commonMarks checks the labels and annotations that all children have in common, also where a box declares no child yet.
func (c *compiler) commonMarks() {
	at := field.NewPath("spec")
	labels, annotations := at.Child("commonLabels"), at.Child("commonAnnotations")
	writtenLabels, writtenAnnotations := c.Texts(c.Scope, c.Spec.CommonLabels, labels).Written, c.Texts(c.Scope, c.Spec.CommonAnnotations, annotations).Written
	c.Fail(check.OwnLabels(writtenLabels, labels)...)
	c.Fail(check.OwnAnnotations(writtenAnnotations, annotations)...)
	c.Fail(check.Labels(writtenLabels, labels)...)
	c.Fail(check.Annotations(writtenAnnotations, annotations)...)
}

// declarations compiles what the box makes.
func (c *compiler) declarations() {
	c.declared = declare.Compile(c.Box)
	c.plan.declared = c.declared
	c.plan.OnCreateIDs = c.declared.OnceIDs()
	c.plan.ChildKinds = c.declared.Kinds()
	c.Fail(uniqueObjects(c.declared.Live, c.Wrong)...)
	c.Fail(uniqueObjects(c.declared.OnRollback, c.Wrong)...)
	c.Fail(patches.Rivals(c.declared)...)
	c.Fail(items.Mistakes(c.declared)...)
	if !c.Env.AllKinds {
		return
	}
	for _, kind := range c.plan.ChildKinds {
		if !c.Installed(kind) {
			c.plan.Notes = append(c.plan.Notes, fmt.Sprintf("%s has no kind %s on this API server yet: its children are made when it is installed", kind.GroupVersion(), kind.Kind))
		}
	}
}

// ScopeOf is what the templates and conditions of a box may read, but for what a loop gives, and for what Secrets hold.
func ScopeOf(box *v1alpha1.OperatorBox, env Env) *expr.Scope {
	env, box = withDefaults(env), boxspec.Canonical(box)
	env.CRD = ofOthers(env.CRD, &box.Spec)
	b := &compile.Box{OperatorBox: box, Env: env, Scope: boxScope(box, env), Secrets: secretScope(box, env)}
	values.Compile(b)
	return b.Scope.WithoutRandom("values are drawn where a child is made once")
}
