package pipeline

import (
	"crypto/rand"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apivalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/status"
	"github.com/orkspace/orkestra/engine/when"
)

// The defaults of a box's runtime, for boxes that did not pass through an API server.
const (
	defaultWorkers          = 3
	defaultResync           = time.Minute
	defaultFailureThreshold = 5
)

// Env is what a box is compiled against.
type Env struct {
	// CRD is the CRD in the version that the box works in.
	CRD CRD
	// Mapper resolves the kinds of manifests. nil: scopes and plurals are guessed, as for kinds that are not installed.
	Mapper meta.RESTMapper
	// AllKinds says that the mapper knows all kinds of an API server: others are not installed.
	AllKinds bool
	// Random is where the values of declarations with `once: true` come from. Default: the system's source.
	Random io.Reader
	// Now is the time at which certificates begin that such declarations make. Default: the system's clock.
	Now func() time.Time
	// BoxSchema gives the schema of the CRD that another box serves; nil where that is not known. Paths through cross are
	// checked against it. nil: nothing is known of other boxes.
	BoxSchema func(box string) *apiextensionsv1.JSONSchemaProps
	// DependsOn names the boxes that another box depends on. nil: rings of dependencies can't be seen.
	DependsOn func(box string) []string
	// Former are the places of the kept revisions of the box: there may be children of them.
	Former Places
	// AllowGrantingKinds lets boxes make kinds that grant rights.
	AllowGrantingKinds bool
	// ExternalOnly says that the operator names the only hosts that may be called, so that a URL's host may come from a resource.
	ExternalOnly bool
}

// compiler collects what a box compiles to, and every mistake.
type compiler struct {
	box   *v1alpha1.OperatorBox
	env   Env
	plan  *Plan
	scope *expr.Scope
	whole *expr.Scope // children and cross with what Secrets hold
	errs  field.ErrorList

	asksNamespaces                           bool       // a template may lead into another namespace
	gate                                     *when.Gate // the box's own
	createGroup, reconcileGroup, deleteGroup []*declaration
	rollbackGroup                            []*declaration
	workloads, services                      []*declaration
}

// Compile checks a box and freezes it. It says everything that is wrong, each with its field path; the plan is nil then.
func Compile(box *v1alpha1.OperatorBox, env Env) (*Plan, field.ErrorList) {
	env, box = withDefaults(env), canonical(box)
	c := &compiler{box: box, env: env, scope: boxScope(box, env)}
	c.plan = &Plan{
		Box: box.Name, UID: box.UID, Generation: box.Generation, Revision: Revision(box), RevisionHash: specHash(box), CRD: env.CRD,
		Runtime: runtimeOf(box.Spec.RuntimeSpec), byID: map[string]*declaration{},
		cleanupOnly: map[string]*declaration{}, rollbackOnly: map[string]*declaration{},
		places: PlacesOf(&box.Spec).With(env.Former),
	}
	c.plan.boxData = map[string]any{"name": box.Name, "revision": c.plan.Revision}
	c.unsupported()
	c.served()
	c.selection()
	c.finalizers()
	c.commonMarks()
	c.groups()
	c.status()
	c.rollback()
	c.stages()
	c.rules()
	if len(c.errs) > 0 {
		// Groups are maps: without an order of their own, two compilations would speak differently of one box.
		slices.SortStableFunc(c.errs, func(a, b *field.Error) int { return strings.Compare(a.Error(), b.Error()) })
		// What stands before each declaration, such as common labels, is compiled for each of them.
		c.errs = slices.CompactFunc(c.errs, func(a, b *field.Error) bool { return a.Error() == b.Error() })
		return nil, c.errs
	}
	return c.plan, nil
}

// boxScope is what the templates of a box may read, but for what a forEach adds.
func boxScope(box *v1alpha1.OperatorBox, env Env) *expr.Scope {
	return expr.NewScope(env.CRD.Schema).WithNames(rootChildren, childSchemas(box, false)).WithNames(rootCross, crossSchemas(box, env, false)).
		WithNames(rootExternal, externalSchemas(box))
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

// CompileCleanup gives a plan that only lets go of deleted resources: for boxes that never compiled.
func CompileCleanup(box *v1alpha1.OperatorBox, env Env) (*Plan, error) {
	bare := &v1alpha1.OperatorBox{ObjectMeta: box.ObjectMeta}
	// Its finalizers may be the mistake. Those that resources carry are noted on them.
	bare.Spec.CRD = box.Spec.CRD
	env.Former = env.Former.With(PlacesOf(&box.Spec))
	plan, errs := Compile(bare, env)
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	plan.OnCreateIDs = nil
	return plan.ForCleanup(), nil
}

// ForCleanup gives the same plan for deletions only.
func (p *Plan) ForCleanup() *Plan {
	cleanup := *p
	cleanup.CleanupOnly = true
	return &cleanup
}

// ForGoingCRD gives the same plan for a CRD that is about to go.
func (p *Plan) ForGoingCRD() *Plan {
	going := *p
	going.CRD.Going = true
	return &going
}

func runtimeOf(s v1alpha1.RuntimeSpec) Runtime {
	r := Runtime{Workers: defaultWorkers, Resync: defaultResync, FailureThreshold: defaultFailureThreshold}
	if s.Workers != nil {
		r.Workers = int(*s.Workers)
	}
	if s.Resync != nil && s.Resync.Duration > 0 {
		r.Resync = s.Resync.Duration
	}
	if s.FailureThreshold != nil {
		r.FailureThreshold = *s.FailureThreshold
	}
	return r
}

func (c *compiler) fail(errs ...*field.Error) { c.errs = append(c.errs, errs...) }

// served refuses Orkestra's own kinds: a box that serves boxes would hold, mark and reconcile itself.
func (c *compiler) served() {
	if c.env.CRD.Kind.Group == v1alpha1.GroupName {
		c.fail(field.Invalid(field.NewPath("spec", "crd"), c.env.CRD.Name, "a box can't serve Orkestra's own kinds"))
	}
}

// selection compiles namespaces and selector.
func (c *compiler) selection() {
	at := field.NewPath("spec")
	sel := &c.plan.Selection
	for list, patterns := range map[string][]v1alpha1.ShortString{"include": c.box.Spec.Namespaces.Include, "exclude": c.box.Spec.Namespaces.Exclude} {
		for i, p := range patterns {
			where := at.Child("namespaces", list).Index(i)
			if _, err := path.Match(string(p), ""); err != nil {
				c.fail(field.Invalid(where, p, "not a glob pattern: use *, ? and [a-z]"))
			} else if !hasGlob(string(p)) && len(apivalidation.IsDNS1123Label(string(p))) > 0 {
				c.fail(field.Invalid(where, p, "not the name of a namespace, nor a pattern of one"))
			}
			if list == "include" {
				sel.include = append(sel.include, string(p))
			} else {
				sel.exclude = append(sel.exclude, string(p))
			}
		}
	}
	if len(sel.include)+len(sel.exclude) > 0 && c.env.CRD.Name != "" && !c.env.CRD.Namespaced {
		c.fail(field.Forbidden(at.Child("namespaces"), fmt.Sprintf("%s is cluster-scoped; select by labels", c.env.CRD.Name)))
	}
	if c.box.Spec.Selector == nil {
		return
	}
	s, err := metav1.LabelSelectorAsSelector(c.box.Spec.Selector)
	if err != nil {
		c.fail(field.Invalid(at.Child("selector"), c.box.Spec.Selector, err.Error()))
		return
	}
	sel.labels = s
}

func hasGlob(pattern string) bool { return strings.ContainsAny(pattern, `*?[\`) }

// finalizers checks the box's own finalizers and puts Orkestra's last: it holds the resource until all else is done.
func (c *compiler) finalizers() {
	at := field.NewPath("spec", "finalizers")
	for i, f := range c.box.Spec.Finalizers {
		for _, msg := range apivalidation.IsQualifiedName(string(f)) {
			c.fail(field.Invalid(at.Index(i), f, msg))
		}
		if !strings.Contains(string(f), "/") {
			c.fail(field.Invalid(at.Index(i), f, "a finalizer of a custom resource is domain/name"))
		}
		if f == v1alpha1.Finalizer {
			c.fail(field.Invalid(at.Index(i), f, "Orkestra adds its own finalizer"))
		}
		if !slices.Contains(c.plan.Finalizers, string(f)) {
			c.plan.Finalizers = append(c.plan.Finalizers, string(f))
		}
	}
	c.plan.Finalizers = append(c.plan.Finalizers, v1alpha1.Finalizer)
}

// status compiles status.fields and the writer of the resource's status.
func (c *compiler) status() {
	w, err := status.NewWriter(c.env.CRD.Schema, c.env.CRD.HasStatus)
	if err != nil {
		c.fail(field.Invalid(field.NewPath("spec", "crd"), c.env.CRD.Name, err.Error()))
		return
	}
	c.plan.Status = w
	c.plan.readyPolicy = v1alpha1.ReadyReconciled
	if s := c.box.Spec.Status; s != nil {
		if s.Ready != "" {
			c.plan.readyPolicy = s.Ready
		}
		c.statusFields(s.Fields)
		c.readyWhen(s.ReadyWhen, field.NewPath("spec", "status", "readyWhen"))
	}
}

// value decodes a JSON field; a nil one is absent.
func decodeJSON(j *apiextensionsv1.JSON) (any, error) {
	if j == nil || len(j.Raw) == 0 {
		return nil, nil
	}
	return decodeRaw(j.Raw)
}

// read notes what a template or condition reads.
func (c *compiler) read(paths []expr.Path) (usesChildren bool) {
	for _, p := range paths {
		if len(p) == 0 {
			continue
		}
		switch p[0] {
		case "children":
			usesChildren = true
		case rootStatus:
			c.plan.ReadsStatus = true
		default:
		}
	}
	return usesChildren
}
