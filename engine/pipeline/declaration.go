package pipeline

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/functions"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/check"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/when"
)

// declaration is one entry of a resource group, compiled.
type declaration struct {
	id       string
	explicit bool // the id was given, so that templates may use it
	where    string
	phase    string // the stage that it belongs to
	order    int
	kind     kinds.Kind
	gvk      schema.GroupVersionKind
	written  map[string]any // the short fields as written: which of them are set decides where defaults come from
	overlay  map[string]any // the spec as written

	forEach             *forEach // nil: the declaration stands for one object
	gateReadsItem       bool
	name, namespace     *expr.Template
	labels, annotations map[string]*expr.Template
	short, spec         *expr.Value
	gate                *when.Gate
	readyWhen           *readyGate // nil: kstatus says when the object is current

	once           bool
	optional       bool
	adopt          bool
	orphan         bool
	ownerReference bool
	mayGrant       bool          // the operator lets boxes make what grants rights
	keepWhenFalse  map[bool]bool // by "the gate is a false choice"
	failurePolicy  v1alpha1.JobFailurePolicy
	replace        bool // the child is made again where it can't be changed; a Job when what is declared of it changes
	initial        []drift.FieldPath

	usesChildren bool
	outside      []compile.Outside // what it reads from outside, also by what it takes from other declarations
	usesSecrets  bool              // a template may read what a Secret holds
	quoted       bool              // messages may quote what the object, or the API server, says of it
	needs        []string          // what the declaration waits for where it is not there: ids of declarations, and sources
	reads        []*declaration    // of its own group, or an earlier or later one: those whose children it reads
	workload     *declaration      // the box's only workload, where a default needs it
	service      *declaration      // the box's only Service, where a default needs it
	ports        *expr.Value       // the port fields alone, which others take defaults from
}

// rank is the declaration's place in its group.
func (d *declaration) rank() int {
	if d.kind.GVK.Empty() {
		return kinds.RankOf(d.gvk)
	}
	return d.kind.Rank
}

// errQuietFail stands for what a template says that fails by itself.
var errQuietFail = errors.New("the template fails; its message is not shown, because it reads a Secret")

// render evaluates every template of the declaration and builds the object. Its errors hold nothing that a Secret holds.
func (d instance) render(ctx context.Context, r *Run) (*unstructured.Unstructured, error) {
	obj, err := d.build(ctx, r)
	if _, said := errors.AsType[*functions.FailError](err); said && d.usesSecrets {
		return nil, stage.NewPermanent(v1alpha1.ReasonTemplateError, errQuietFail)
	}
	return obj, err
}

// build is render with errors as they are.
func (d instance) build(ctx context.Context, r *Run) (*unstructured.Unstructured, error) {
	data := d.allData(r)
	in := kinds.Declared{Instance: r.Owner.Label, WithTTL: true}
	var err error
	if in.Name, err = d.objectName(ctx, r, data); err != nil {
		return nil, err
	}
	if in.Namespace, err = d.objectNamespace(ctx, r, data); err != nil {
		return nil, err
	}
	if in.Labels, err = stage.Texts(ctx, "labels", d.labels, data); err != nil {
		return nil, err
	}
	if in.Annotations, err = stage.Texts(ctx, "annotations", d.annotations, data); err != nil {
		return nil, err
	}
	if in.Short, err = stage.Tree(ctx, "", d.short, data); err != nil {
		return nil, err
	}
	if in.Spec, err = stage.Tree(ctx, "spec", d.spec, data); err != nil {
		return nil, err
	}
	if err = d.defaults(ctx, r, &in); err != nil {
		return nil, err
	}
	obj, err := d.kind.Build(in)
	if err != nil {
		return nil, stage.NewPermanent(v1alpha1.ReasonTemplateError, d.unfit(err))
	}
	if d.phase == stage.StepDeletion && d.isJob() {
		rememberLifeTime(obj, takeLifeTime(obj))
	}
	if err := d.convertCustom(r, obj); err != nil {
		return nil, err
	}
	namespaced, err := d.namespaced(r)
	if err != nil {
		return nil, err
	}
	return obj, d.checkGrants(obj, namespaced)
}

// defaults looks up the workload and the Service that the kind's defaults are taken from.
func (d instance) defaults(ctx context.Context, r *Run, in *kinds.Declared) error {
	if d.workload != nil {
		name, short, err := d.face(ctx, r, d.workload)
		if err != nil {
			return err
		}
		w := d.workload.kind.WorkloadOf(name, short)
		in.Workload = &w
	}
	if d.service == nil {
		return nil
	}
	name, short, err := d.face(ctx, r, d.service)
	if err != nil {
		return err
	}
	var workload *kinds.Workload
	if d.service.workload != nil {
		wName, wShort, err := d.face(ctx, r, d.service.workload)
		if err != nil {
			return err
		}
		w := d.service.workload.kind.WorkloadOf(wName, wShort)
		workload = &w
	}
	s := kinds.ServiceOf(name, short, workload)
	in.Service = &s
	return nil
}

// face is what the instance sees of another declaration: its object's name and its ports. Of one that goes over the same
// items it is the object of this item. Ports may come from a Secret, as in the content of the other object.
func (d instance) face(ctx context.Context, r *Run, of *declaration) (name string, short map[string]any, err error) {
	other := of.whole()
	if of.forEach != nil {
		other.item = d.item // the compiler has seen that both go over the same items
	}
	data := other.allData(r)
	if name, err = other.objectName(ctx, r, data); err != nil {
		return "", nil, err
	}
	short, err = stage.Tree(ctx, of.id, of.ports, data)
	return name, short, err
}

func (d *declaration) objectName(ctx context.Context, r *Run, data expr.Data) (string, error) {
	if d.name == nil {
		return r.Stored.GetName(), nil
	}
	name, err := stage.Text(ctx, "name", d.name, data)
	if err == nil && name == "" {
		err = stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("name: the template %q yields an empty name", d.name))
	}
	if err == nil {
		if err = check.RenderedName(name, d.mayShow(d.name.Paths())); err != nil {
			err = stage.NewPermanent(v1alpha1.ReasonInvalidChild, err)
		}
	}
	return name, err
}

// objectNamespace is where the object goes. A template may not lead a namespaced resource's author into another namespace
// (design: security.md); one that the box names literally is the box author's decision.
func (d *declaration) objectNamespace(ctx context.Context, r *Run, data expr.Data) (string, error) {
	namespaced, err := d.namespaced(r)
	if err != nil {
		return "", err
	}
	own := r.Stored.GetNamespace()
	if !namespaced {
		// The compiler can't tell this of a kind that was not installed then.
		if own != "" && !readsNamespace(d) {
			return "", stage.NewPermanent(v1alpha1.ReasonTemplateError, errors.New(sharedName(d)))
		}
		return "", nil
	}
	if d.namespace == nil {
		if own == "" {
			return "", stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("namespace: a cluster-scoped resource has none; say in which one the %s goes", d.gvk.Kind))
		}
		return own, nil
	}
	ns, err := stage.Text(ctx, "namespace", d.namespace, data)
	if err != nil {
		return "", err
	}
	show := d.mayShow(d.namespace.Paths())
	if err := check.RenderedNamespace(ns, show); err != nil {
		return "", stage.NewPermanent(v1alpha1.ReasonInvalidChild, err)
	}
	if _, literal := d.namespace.Literal(); literal {
		return ns, nil
	}
	return ns, r.MayReach(ctx, "namespace", ns, show)
}

func (d *declaration) namespaced(r *Run) (bool, error) {
	if !d.kind.GVK.Empty() {
		return !d.kind.ClusterScoped, nil
	}
	return r.Ports.Kinds.Namespaced(d.gvk)
}

// child says how a rendered object is to be written.
func (d instance) child(obj *unstructured.Unstructured) apply.Child {
	return apply.Child{
		Object: obj, ID: d.id, Once: d.once, Adopt: d.adopt, Orphan: d.orphan, OwnerReference: d.ownerReference, Replace: d.replace,
	}
}
