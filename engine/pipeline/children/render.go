package children

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/functions"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/check"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/pipeline/whole"
)

// Render evaluates every template of the declaration and builds the object. Its errors hold nothing that a Secret holds.
func (in Instance) Render(ctx context.Context, c *Cycle) (*unstructured.Unstructured, error) {
	obj, err := in.build(ctx, c)
	if _, ownWords := errors.AsType[*functions.FailError](err); ownWords && in.UsesSecrets {
		return nil, stage.NewPermanent(v1alpha1.ReasonTemplateError, whole.ErrQuietFail)
	}
	return obj, err
}

// build is Render with errors as they are.
func (in Instance) build(ctx context.Context, c *Cycle) (*unstructured.Unstructured, error) {
	in, err := Known(ctx, c, in)
	if err != nil {
		return nil, err
	}
	data := in.AllData(c)
	object := kinds.Declared{Instance: c.Owner.Label}
	if object.Name, err = in.objectName(ctx, c, data); err != nil {
		return nil, err
	}
	if object.Namespace, err = in.ObjectNamespace(ctx, c, data); err != nil {
		return nil, err
	}
	if err = in.MayReachNamespace(ctx, c, object.Namespace); err != nil {
		return nil, err
	}
	if object.Labels, err = texts(ctx, "labels", in.Labels, data); err != nil {
		return nil, err
	}
	if object.Annotations, err = texts(ctx, "annotations", in.Annotations, data); err != nil {
		return nil, err
	}
	if in.whole != nil {
		object.Short = in.whole.Short
	} else if object.Short, err = stage.Tree(ctx, "", in.Short, data); err != nil {
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
		return nil, in.whole.Unfit(in.Declaration, err)
	}
	if err := check.RenderedMarks(obj); err != nil {
		return nil, stage.NewPermanent(v1alpha1.ReasonInvalidChild, err)
	}
	if in.Rerun {
		values := &unstructured.Unstructured{Object: map[string]any{kinds.RerunOn: object.Short[kinds.RerunOn]}}
		annotate(obj, v1alpha1.AnnotationRerunOn, drift.Hash(values))
	}
	if in.Phase == declare.OnDelete && in.IsJob() {
		rememberLifeTime(obj, takeLifeTime(obj))
	}
	if err := whole.FitSchema(in.Declaration, obj, c.Ports.Kinds.Schema); err != nil {
		return nil, err
	}
	namespaced, err := in.Namespaced(c)
	if err != nil {
		return nil, err
	}
	leave := check.Leave{Account: !c.Account.IsManager(), Flag: in.MayGrant}
	if why := check.GrantsRights(obj, !namespaced, leave); why != "" {
		return nil, stage.NewPermanent(v1alpha1.ReasonInvalidChild, errors.New(why)) // which could not be told when the box was compiled
	}
	return obj, nil
}

// texts evaluates texts of which later ones win.
func texts(ctx context.Context, what string, all []*expr.Value, data expr.Data) (map[string]string, error) {
	out := map[string]string{}
	for _, v := range all {
		more, err := stage.Texts(ctx, what, v, data)
		if err != nil {
			return nil, err
		}
		maps.Copy(out, more)
	}
	return out, nil
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
	data := other.AllData(c)
	if name, err = other.objectName(ctx, c, data); err != nil {
		return "", nil, err
	}
	short, err = stage.Tree(ctx, of.ID, of.Ports, data)
	return name, short, err
}

func (in Instance) objectName(ctx context.Context, c *Cycle, data expr.Data) (string, error) {
	namespaced, err := in.Namespaced(c)
	if err != nil {
		return "", err
	}
	shared := !namespaced && c.Home() != ""
	own := ""
	if in.Name == nil {
		if own, err = in.whole.Name(c.Stored.GetName()); err != nil {
			return "", err //nolint:wrapcheck // it says where
		}
	}
	if in.Name == nil && own == "" && shared {
		return check.ClusterName(in.GVK, c.Home(), c.Stored.GetName()), nil
	}
	if in.Name == nil && own == "" {
		return c.Stored.GetName(), nil
	}
	name := own
	if in.Name != nil {
		name, err = stage.Text(ctx, "name", in.Name, data)
	}
	if err == nil && name == "" {
		err = stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("name: the template %q yields an empty name", in.Name))
	}
	if err == nil {
		if err = check.RenderedName(name, in.ShowsName()); err != nil {
			err = stage.NewPermanent(v1alpha1.ReasonInvalidChild, err)
		}
	}
	if err != nil || !shared || c.Living.at(childKey{kind: in.GVK, name: name}) != nil {
		return name, err // what lives keeps its name
	}
	if in.Name != nil && !in.ReadsNamespace() { // which the compiler could not tell of a kind that was not installed then
		return "", stage.NewPermanent(v1alpha1.ReasonTemplateError, errors.New(check.SharedName(in.GVK.Kind)))
	}
	if err = check.TellsNamespace(in.GVK, name, in.FixedName(), c.Home(), c.Stored.GetName(), in.ShowsName()); err != nil {
		err = stage.NewPermanent(v1alpha1.ReasonInvalidChild, err)
	}
	return name, err
}

// FixedName is what of the name is the same for all resources.
func (in Instance) FixedName() check.Fixed {
	if in.Name == nil {
		return check.Fixed{} // a template that gives the whole object gives any name
	}
	const path = "\x00" // which no name holds
	text, simple := in.Name.Filled(path)
	fixed := check.Fixed{NamespaceAlone: in.ReadsNamespace() && len(in.Name.Paths()) == 1}
	if first := strings.Index(text, path); simple && first >= 0 {
		fixed.Before, fixed.After = text[:first], text[strings.LastIndex(text, path)+1:]
	}
	return fixed
}

// ObjectNamespace is where the object goes; empty for a cluster-scoped one.
func (in Instance) ObjectNamespace(ctx context.Context, c *Cycle, data expr.Data) (string, error) {
	namespaced, err := in.Namespaced(c)
	if err != nil {
		return "", err
	}
	if in.whole != nil && (in.Namespace == nil || !namespaced) {
		if err := in.whole.GoesInto(c.Home(), namespaced, in.MayShowAt("manifest")); err != nil {
			return "", err //nolint:wrapcheck // it says where
		}
	}
	if !namespaced {
		return "", nil
	}
	if in.Namespace == nil {
		own := cmp.Or(in.whole.Namespace(), c.Home())
		if own == "" {
			return "", stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("namespace: a cluster-scoped resource has none; say in which one the %s goes", in.GVK.Kind))
		}
		if err := check.RenderedNamespace(own, true); err != nil {
			return "", stage.NewPermanent(v1alpha1.ReasonInvalidChild, err)
		}
		return own, nil
	}
	ns, err := stage.Text(ctx, "namespace", in.Namespace, data)
	if err != nil {
		return "", err
	}
	if err := check.RenderedNamespace(ns, in.MayShow(in.Namespace.Paths())); err != nil {
		return "", stage.NewPermanent(v1alpha1.ReasonInvalidChild, err)
	}
	return ns, nil
}

// MayReachNamespace asks whether the object may go into a namespace.
func (in Instance) MayReachNamespace(ctx context.Context, c *Cycle, namespace string) error {
	if in.Namespace == nil {
		return c.MayReach(ctx, in.whole.Way(namespace))
	}
	_, literal := in.Namespace.Literal()
	return c.MayReach(ctx, stage.Way{What: "namespace", Namespace: namespace, Literal: literal, Show: in.MayShow(in.Namespace.Paths())})
}

// Namespaced says whether objects of the kind stand in namespaces.
func (in Instance) Namespaced(c *Cycle) (bool, error) {
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
