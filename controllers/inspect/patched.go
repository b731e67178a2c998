package inspect

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/overview"
	"github.com/orkspace/orkestra/engine/pipeline/patches"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// patched adds what is noted on a resource that it patches, and that no declaration of a patch leads to. Where it is not known what is declared, it
// says of all that is noted whether it stands. It reads each of these objects.
func patched(ctx context.Context, i *Inspector, r *Resource, known bool) {
	for _, t := range patches.Targets(r.object) {
		kind, namespace, name := t.Object.GroupVersionKind(), t.Object.GetNamespace(), t.Object.GetName()
		if known && r.declares(t) {
			continue
		}
		d := Declaration{
			Declaration: t.ID, APIVersion: t.Object.GetAPIVersion(), Kind: kind.Kind, Name: name, State: overview.StateMissing, Patch: true, patch: t.ID,
		}
		if namespace != "" && namespace != r.Namespace {
			d.Name = namespace + "/" + name
		}
		live, err := i.Objects.Get(ctx, kind, namespace, name)
		switch {
		case err != nil:
			d.State, d.Reason = overview.StateUnknown, oneLine(err.Error())
		case live == nil:
			d.Reason = "it does not exist"
		case slices.ContainsFunc(live.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Manager == t.Manager }):
			d.State = overview.StateReady
		default:
			d.Reason = "noted, and not set"
		}
		if known && d.State == overview.StateReady {
			d.State, d.Reason = overview.StateUndeclared, "it stands, and is to be taken back"
		} else if known && d.State == overview.StateMissing {
			continue // nothing of it is left
		}
		r.Declarations = append(r.Declarations, d)
	}
}

// declares says whether a row stands for what is noted, also one of a patch whose object is not known now: what is set by that one stays.
func (r *Resource) declares(t patches.Target) bool {
	return slices.ContainsFunc(r.Declarations, func(d Declaration) bool {
		if !d.Patch || d.patch != t.ID && !strings.HasPrefix(t.ID, d.patch+declare.KeyMark) {
			return false
		}
		return d.Name == "" && (d.State != overview.StateOff || d.kept) || d.Kind == t.Object.GetKind() && (d.Name == t.Object.GetName() || d.Name == t.Object.GetNamespace()+"/"+t.Object.GetName())
	})
}

// refused gives the patch that the last reconcile could not set the reason which that has said: it knows who stands in the way.
func (r *Resource) refused() {
	if r.Ready {
		return
	}
	for n := range r.Declarations {
		d := &r.Declarations[n]
		why, said := strings.CutPrefix(r.Message, stage.StepPatches+": "+d.Declaration+": ")
		if d.Patch && said && d.State == overview.StateMissing {
			d.State, d.Reason = overview.StateFailed, why
		}
	}
}
