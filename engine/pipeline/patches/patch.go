package patches

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/check"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// patch is an instance of a declaration that sets fields of an object that others own.
type patch struct{ children.Instance }

// render evaluates the templates of a patch: the fields that it sets, in an object that names their target. Whether the resource may reach
// that, and whether what is patched grants rights, is asked here, as of a child.
func (in patch) render(ctx context.Context, c *children.Cycle) (*unstructured.Unstructured, error) {
	data := in.Data(c)
	namespaced, err := in.Namespaced(c)
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
	if object.Namespace, err = in.ObjectNamespace(ctx, c, data); err != nil {
		return nil, err
	}
	if err = in.MayReachNamespace(ctx, c, object.Namespace); err != nil {
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
	return obj, in.mayPatch(c, obj, !namespaced)
}

// targetIsTheirs refuses the name of a cluster-scoped object by which who writes resources in one namespace could lead a patch to one that
// belongs to another.
func (in patch) targetIsTheirs(c *children.Cycle, name string, namespaced, shown bool) error {
	if namespaced || c.Home() == "" || in.NamesItself() {
		return nil
	}
	if !in.ReadsNamespace() {
		return stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("target.name: %s", declare.SharedTarget(in.GVK.Kind)))
	}
	if err := check.TellsNamespace(in.GVK, name, in.FixedName(), c.Home(), c.Stored.GetName(), shown); err != nil {
		return stage.NewPermanent(v1alpha1.ReasonInvalidChild, fmt.Errorf("target.%w", err))
	}
	return nil
}

// mayPatch asks whether an object grants rights: what a patch makes of one, or one that is about to be patched.
func (in patch) mayPatch(c *children.Cycle, obj *unstructured.Unstructured, clusterScoped bool) error {
	leave := check.Leave{Account: !c.Account.IsManager(), Flag: in.MayGrant}
	if why := check.GrantsRights(obj, clusterScoped, leave); why != "" {
		return stage.NewPermanent(v1alpha1.ReasonInvalidChild, errors.New(why))
	}
	return nil
}

// Seen is how one patch stands, as far as that is seen without setting it.
type Seen struct {
	// Target has what is set, and names the object.
	Target *unstructured.Unstructured
	// Stands says that the object has what the patch sets, and that the patch has set it.
	Stands bool
	// Waits says in words what the patch waits for; empty: for nothing. Absent says that it is the object itself, which is not there.
	Waits  string
	Absent bool
}

// See evaluates a patch of a resource, and looks at its target. It writes nothing. The error says what can't be evaluated, or may not be patched.
func See(ctx context.Context, c *children.Cycle, in children.Instance, comparer *drift.Comparer) (Seen, error) {
	at, err := patch{Instance: in}.find(ctx, c)
	if err != nil {
		return Seen{}, err
	}
	seen := Seen{Target: at.obj, Waits: at.why, Absent: at.live == nil && at.waits == v1alpha1.ReasonWaitingForTarget}
	if at.waits == "" {
		set := apply.Patch{Manager: v1alpha1.PatchManager(c.Stored.GetUID(), in.ID), Object: at.obj}
		seen.Stands = set.Stands(comparer, at.live)
	}
	return seen, nil
}
