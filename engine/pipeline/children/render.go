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

// errQuietFail replaces the message of a template that calls fail.
var errQuietFail = errors.New("the template fails; its message is not shown, because it reads a Secret")

// Render evaluates every template of the declaration and builds the object. Its errors hold nothing that a Secret holds.
func (in Instance) Render(ctx context.Context, c *Cycle) (*unstructured.Unstructured, error) {
	obj, err := in.build(ctx, c)
	if _, ownWords := errors.AsType[*functions.FailError](err); ownWords && in.UsesSecrets {
		return nil, stage.NewPermanent(v1alpha1.ReasonTemplateError, errQuietFail)
	}
	return obj, err
}

// build is Render with errors as they are.
func (in Instance) build(ctx context.Context, c *Cycle) (*unstructured.Unstructured, error) {
	data := in.allData(c)
	object := kinds.Declared{Instance: c.Owner.Label}
	var err error
	if object.Name, err = in.objectName(ctx, c, data); err != nil {
		return nil, err
	}
	if object.Namespace, err = in.objectNamespace(ctx, c, data); err != nil {
		return nil, err
	}
	if object.Labels, err = stage.Texts(ctx, "labels", in.Labels, data); err != nil {
		return nil, err
	}
	if object.Annotations, err = stage.Texts(ctx, "annotations", in.Annotations, data); err != nil {
		return nil, err
	}
	if object.Short, err = stage.Tree(ctx, "", in.Short, data); err != nil {
		return nil, err
	}
	if object.Spec, err = stage.Tree(ctx, "spec", in.Spec, data); err != nil {
		return nil, err
	}
	if err = in.defaults(ctx, c, &object); err != nil {
		return nil, err
	}
	obj, err := in.Kind.Build(object)
	if err != nil {
		return nil, stage.NewPermanent(v1alpha1.ReasonTemplateError, in.Unfit(err))
	}
	if in.Phase == declare.OnDelete && in.IsJob() {
		rememberLifeTime(obj, takeLifeTime(obj))
	}
	if err := in.convertCustom(c, obj); err != nil {
		return nil, err
	}
	namespaced, err := in.namespaced(c)
	if err != nil {
		return nil, err
	}
	if why := check.GrantsRights(obj, !namespaced); why != "" && !in.MayGrant {
		return nil, stage.NewPermanent(v1alpha1.ReasonInvalidChild, errors.New(why)) // which could not be told when the box was compiled
	}
	return obj, nil
}

// defaults looks up the workload and the Service that the kind's defaults are taken from.
func (in Instance) defaults(ctx context.Context, c *Cycle, object *kinds.Declared) error {
	if in.Workload() != nil {
		name, short, err := in.referenced(ctx, c, in.Workload())
		if err != nil {
			return err
		}
		w := in.Workload().Kind.WorkloadOf(name, short)
		object.Workload = &w
	}
	if in.Service() == nil {
		return nil
	}
	name, short, err := in.referenced(ctx, c, in.Service())
	if err != nil {
		return err
	}
	var workload *kinds.Workload
	if in.Service().Workload() != nil {
		wName, wShort, err := in.referenced(ctx, c, in.Service().Workload())
		if err != nil {
			return err
		}
		w := in.Service().Workload().Kind.WorkloadOf(wName, wShort)
		workload = &w
	}
	s := kinds.ServiceOf(name, short, workload)
	object.Service = &s
	return nil
}

// referenced gives what defaults need of another declaration: its object's name and its ports. If that goes over the same items, it is
// the object of this item. Ports may come from a Secret, as in the content of the other object.
func (in Instance) referenced(ctx context.Context, c *Cycle, of *declare.Declaration) (name string, short map[string]any, err error) {
	other := InstanceOf(of)
	if of.Loop != nil {
		other.item = in.item // the compiler has seen that both go over the same items
	}
	data := other.allData(c)
	if name, err = other.objectName(ctx, c, data); err != nil {
		return "", nil, err
	}
	short, err = stage.Tree(ctx, of.ID, of.Ports, data)
	return name, short, err
}

func (in Instance) objectName(ctx context.Context, c *Cycle, data expr.Data) (string, error) {
	if in.Name == nil {
		return c.Stored.GetName(), nil
	}
	name, err := stage.Text(ctx, "name", in.Name, data)
	if err == nil && name == "" {
		err = stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("name: the template %q yields an empty name", in.Name))
	}
	if err == nil {
		if err = check.RenderedName(name, in.MayShow(in.Name.Paths())); err != nil {
			err = stage.NewPermanent(v1alpha1.ReasonInvalidChild, err)
		}
	}
	return name, err
}

// objectNamespace is where the object goes. A template may not lead a namespaced resource's author into a namespace that does not allow it
// (see MayReach); one that the box names literally is the box author's decision.
func (in Instance) objectNamespace(ctx context.Context, c *Cycle, data expr.Data) (string, error) {
	namespaced, err := in.namespaced(c)
	if err != nil {
		return "", err
	}
	own := c.Stored.GetNamespace()
	if !namespaced {
		// The compiler can't tell this of a kind that was not installed then.
		if own != "" && !in.ReadsNamespace() {
			return "", stage.NewPermanent(v1alpha1.ReasonTemplateError, errors.New(in.SharedName()))
		}
		return "", nil
	}
	if in.Namespace == nil {
		if own == "" {
			return "", stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("namespace: a cluster-scoped resource has none; say in which one the %s goes", in.GVK.Kind))
		}
		return own, nil
	}
	ns, err := stage.Text(ctx, "namespace", in.Namespace, data)
	if err != nil {
		return "", err
	}
	show := in.MayShow(in.Namespace.Paths())
	if err := check.RenderedNamespace(ns, show); err != nil {
		return "", stage.NewPermanent(v1alpha1.ReasonInvalidChild, err)
	}
	if _, literal := in.Namespace.Literal(); literal {
		return ns, nil
	}
	return ns, c.MayReach(ctx, "namespace", ns, show)
}

func (in Instance) namespaced(c *Cycle) (bool, error) {
	if !in.Kind.GVK.Empty() {
		return !in.Kind.ClusterScoped, nil
	}
	return c.Ports.Kinds.Namespaced(in.GVK)
}

// Child says how a rendered object is to be written.
func (in Instance) Child(obj *unstructured.Unstructured) apply.Child {
	return apply.Child{
		Object: obj, ID: in.ID, Once: in.Once, Adopt: in.Adopt, Orphan: in.Orphan, OwnerReference: in.OwnerReference, Replace: in.Replace,
	}
}
