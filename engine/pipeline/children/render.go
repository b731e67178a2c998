package children

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/functions"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/check"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// errQuietFail stands for what a template says that fails by itself.
var errQuietFail = errors.New("the template fails; its message is not shown, because it reads a Secret")

// Render evaluates every template of the declaration and builds the object. Its errors hold nothing that a Secret holds.
func (d Instance) Render(ctx context.Context, c *Cycle) (*unstructured.Unstructured, error) {
	obj, err := d.build(ctx, c)
	if _, said := errors.AsType[*functions.FailError](err); said && d.UsesSecrets {
		return nil, stage.NewPermanent(v1alpha1.ReasonTemplateError, errQuietFail)
	}
	return obj, err
}

// build is render with errors as they are.
func (d Instance) build(ctx context.Context, c *Cycle) (*unstructured.Unstructured, error) {
	data := d.allData(c)
	in := kinds.Declared{Instance: c.Owner.Label, WithTTL: true}
	var err error
	if in.Name, err = d.objectName(ctx, c, data); err != nil {
		return nil, err
	}
	if in.Namespace, err = d.objectNamespace(ctx, c, data); err != nil {
		return nil, err
	}
	if in.Labels, err = stage.Texts(ctx, "labels", d.Labels, data); err != nil {
		return nil, err
	}
	if in.Annotations, err = stage.Texts(ctx, "annotations", d.Annotations, data); err != nil {
		return nil, err
	}
	if in.Short, err = stage.Tree(ctx, "", d.Short, data); err != nil {
		return nil, err
	}
	if in.Spec, err = stage.Tree(ctx, "spec", d.Spec, data); err != nil {
		return nil, err
	}
	if err = d.defaults(ctx, c, &in); err != nil {
		return nil, err
	}
	obj, err := d.Kind.Build(in)
	if err != nil {
		return nil, stage.NewPermanent(v1alpha1.ReasonTemplateError, d.Unfit(err))
	}
	if d.Phase == declare.OnDelete && d.IsJob() {
		rememberLifeTime(obj, takeLifeTime(obj))
	}
	if err := d.convertCustom(c, obj); err != nil {
		return nil, err
	}
	namespaced, err := d.namespaced(c)
	if err != nil {
		return nil, err
	}
	if why := check.GrantsRights(obj, !namespaced); why != "" && !d.MayGrant {
		return nil, stage.NewPermanent(v1alpha1.ReasonInvalidChild, errors.New(why)) // which could not be told when the box was compiled
	}
	return obj, nil
}

// defaults looks up the workload and the Service that the kind's defaults are taken from.
func (d Instance) defaults(ctx context.Context, c *Cycle, in *kinds.Declared) error {
	if d.Workload() != nil {
		name, short, err := d.face(ctx, c, d.Workload())
		if err != nil {
			return err
		}
		w := d.Workload().Kind.WorkloadOf(name, short)
		in.Workload = &w
	}
	if d.Service() == nil {
		return nil
	}
	name, short, err := d.face(ctx, c, d.Service())
	if err != nil {
		return err
	}
	var workload *kinds.Workload
	if d.Service().Workload() != nil {
		wName, wShort, err := d.face(ctx, c, d.Service().Workload())
		if err != nil {
			return err
		}
		w := d.Service().Workload().Kind.WorkloadOf(wName, wShort)
		workload = &w
	}
	s := kinds.ServiceOf(name, short, workload)
	in.Service = &s
	return nil
}

// face is what the instance sees of another declaration: its object's name and its ports. Of one that goes over the same
// items it is the object of this item. Ports may come from a Secret, as in the content of the other object.
func (d Instance) face(ctx context.Context, c *Cycle, of *declare.Declaration) (name string, short map[string]any, err error) {
	other := InstanceOf(of)
	if of.Loop != nil {
		other.item = d.item // the compiler has seen that both go over the same items
	}
	data := other.allData(c)
	if name, err = other.objectName(ctx, c, data); err != nil {
		return "", nil, err
	}
	short, err = stage.Tree(ctx, of.ID, of.Ports, data)
	return name, short, err
}

func (d Instance) objectName(ctx context.Context, c *Cycle, data expr.Data) (string, error) {
	if d.Name == nil {
		return c.Stored.GetName(), nil
	}
	name, err := stage.Text(ctx, "name", d.Name, data)
	if err == nil && name == "" {
		err = stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("name: the template %q yields an empty name", d.Name))
	}
	if err == nil {
		if err = check.RenderedName(name, d.MayShow(d.Name.Paths())); err != nil {
			err = stage.NewPermanent(v1alpha1.ReasonInvalidChild, err)
		}
	}
	return name, err
}

// objectNamespace is where the object goes. A template may not lead a namespaced resource's author into another namespace
// (design: security.md); one that the box names literally is the box author's decision.
func (d Instance) objectNamespace(ctx context.Context, c *Cycle, data expr.Data) (string, error) {
	namespaced, err := d.namespaced(c)
	if err != nil {
		return "", err
	}
	own := c.Stored.GetNamespace()
	if !namespaced {
		// The compiler can't tell this of a kind that was not installed then.
		if own != "" && !d.ReadsNamespace() {
			return "", stage.NewPermanent(v1alpha1.ReasonTemplateError, errors.New(d.SharedName()))
		}
		return "", nil
	}
	if d.Namespace == nil {
		if own == "" {
			return "", stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("namespace: a cluster-scoped resource has none; say in which one the %s goes", d.GVK.Kind))
		}
		return own, nil
	}
	ns, err := stage.Text(ctx, "namespace", d.Namespace, data)
	if err != nil {
		return "", err
	}
	show := d.MayShow(d.Namespace.Paths())
	if err := check.RenderedNamespace(ns, show); err != nil {
		return "", stage.NewPermanent(v1alpha1.ReasonInvalidChild, err)
	}
	if _, literal := d.Namespace.Literal(); literal {
		return ns, nil
	}
	return ns, c.MayReach(ctx, "namespace", ns, show)
}

func (d Instance) namespaced(c *Cycle) (bool, error) {
	if !d.Kind.GVK.Empty() {
		return !d.Kind.ClusterScoped, nil
	}
	return c.Ports.Kinds.Namespaced(d.GVK)
}

// Child says how a rendered object is to be written.
func (d Instance) Child(obj *unstructured.Unstructured) apply.Child {
	return apply.Child{
		Object: obj, ID: d.ID, Once: d.Once, Adopt: d.Adopt, Orphan: d.Orphan, OwnerReference: d.OwnerReference, Replace: d.Replace,
	}
}
