package children

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/check"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// Patch is an instance of a declaration that sets fields of an object that others own.
type Patch struct{ Instance }

// Render evaluates the templates of a patch: the fields that it sets, in an object that names their target. Whether the resource may reach
// that, and whether what is patched grants rights, is asked here, as of a child.
func (in Patch) Render(ctx context.Context, c *Cycle) (*unstructured.Unstructured, error) {
	data := in.data(c)
	namespaced, err := in.namespaced(c)
	if err != nil {
		return nil, err
	}
	object := kinds.Declared{}
	if object.Name, err = stage.Text(ctx, "target.name", in.Name, data); err != nil {
		return nil, err
	}
	shown := in.MayShow(in.Name.Paths())
	if object.Name == "" {
		return nil, stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("target.name: the template %q yields an empty name", in.Name))
	}
	if err := check.RenderedName(object.Name, shown); err != nil {
		return nil, stage.NewPermanent(v1alpha1.ReasonInvalidChild, fmt.Errorf("target.%w", err))
	}
	if err := in.targetIsTheirs(c, object.Name, namespaced, shown); err != nil {
		return nil, err
	}
	if object.Namespace, err = in.objectNamespace(ctx, c, data); err != nil {
		return nil, err
	}
	if err = in.mayReach(ctx, c, object.Namespace); err != nil {
		return nil, err
	}
	if object.Short, err = stage.Tree(ctx, "", in.Short, data); err != nil {
		return nil, err
	}
	object.Short["target"] = map[string]any{"apiVersion": in.GVK.GroupVersion().String(), "kind": in.GVK.Kind, "name": object.Name}
	obj, err := in.Kind.Build(object)
	if err != nil {
		return nil, stage.NewPermanent(v1alpha1.ReasonTemplateError, in.Unfit(err))
	}
	if err := check.RenderedMarks(obj); err != nil {
		return nil, stage.NewPermanent(v1alpha1.ReasonInvalidChild, err)
	}
	return obj, in.MayPatch(c, obj, !namespaced)
}

// targetIsTheirs refuses the name of a cluster-scoped object by which who writes resources in one namespace could lead a patch to one that
// belongs to another.
func (in Patch) targetIsTheirs(c *Cycle, name string, namespaced, shown bool) error {
	if namespaced || c.Home() == "" || in.NamesItself() {
		return nil
	}
	if !in.ReadsNamespace() {
		return stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("target.name: %s", declare.SharedTarget(in.GVK.Kind)))
	}
	if err := check.TellsNamespace(in.GVK, name, in.fixedName(), c.Home(), c.Stored.GetName(), shown); err != nil {
		return stage.NewPermanent(v1alpha1.ReasonInvalidChild, fmt.Errorf("target.%w", err))
	}
	return nil
}

// MayPatch asks whether an object grants rights: what a patch makes of one, or one that is about to be patched.
func (in Patch) MayPatch(c *Cycle, obj *unstructured.Unstructured, clusterScoped bool) error {
	leave := check.Leave{Account: !c.Account.IsManager(), Flag: in.MayGrant}
	if why := check.GrantsRights(obj, clusterScoped, leave); why != "" {
		return stage.NewPermanent(v1alpha1.ReasonInvalidChild, errors.New(why))
	}
	return nil
}

// Lacks says whether an error means that a child, an object of cross, or a field of one, is not there yet: what reads it waits. reason is that of
// the wait, and what names it.
func Lacks(err error) (reason, what string, lacks bool) {
	absent, ok := errors.AsType[*roots.AbsentError](err)
	switch {
	case !ok:
		return "", "", false
	case absent.Below(compile.RootChildren):
		return v1alpha1.ReasonWaitingForGate, absent.Place(), true
	case absent.Below(compile.RootCross):
		return v1alpha1.ReasonWaitingForCross, absent.Place(), true
	default:
		return "", "", false
	}
}
