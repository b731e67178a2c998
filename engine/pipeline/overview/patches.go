package overview

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// Unset begins the reason of a patch that nothing known here keeps from being set, and that is not.
const Unset = "nothing seen here keeps it from being set, and it is not"

// Patch is how a patch stands.
type Patch struct {
	// Target has what is set, and names the object.
	Target *unstructured.Unstructured
	// Stands says that the object has what the patch sets, and that the patch has set it.
	Stands bool
	// Waits says in words what the patch waits for; empty: for nothing. Absent says that it is the object itself, which is not there.
	Waits  string
	Absent bool
}

// patch adds a patch that may act.
func (o *overview) patch(ctx context.Context, in children.Instance) {
	s := Status{
		Declaration: in.Label(ctx, o.c), Group: string(in.Phase), Path: in.Where, Kind: in.GVK, State: StateMissing, Reason: Unset, Gate: Gate{Open: true, Known: true}, Patch: in.ID,
	}
	seen, err := o.see(ctx, in)
	_, lacks, waits := children.Lacks(ctx, o.c, err)
	switch {
	case meta.IsNoMatchError(err):
		s.State, s.Reason = StateWaiting, "kind "+in.GVK.Kind+" is not installed"
	case waits:
		s.State, s.Reason = StateWaiting, lacks
	case err != nil && !in.Quoted:
		s.State, s.Reason = StateError, stage.OneLine(stage.WithoutValues(err, "the object").Error())
	case err != nil:
		s.State, s.Reason = StateError, stage.OneLine(err.Error())
	case seen.Absent && o.c.Ports.Unread != "":
		s.State, s.Reason = StateUnknown, seen.Waits
	case seen.Absent && in.Optional:
		s.State, s.Reason = StateOff, seen.Waits
	case seen.Waits != "":
		s.State, s.Reason = StateWaiting, seen.Waits
	case seen.Stands:
		s.State, s.Reason = StateReady, ""
	}
	if err == nil && in.ShowsName() {
		s.Name = o.c.ChildName(seen.Target)
	}
	o.out = append(o.out, s)
}
