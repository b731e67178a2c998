package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/orkspace/orkestra/engine/apply/taken"
	"github.com/orkspace/orkestra/engine/drift"
)

// Withdrawn says what taking back a patch came to.
type Withdrawn struct {
	// Left are the fields that stay as the patch has set them, sorted.
	Left []string
	// Why they stay, and who manages them now.
	Why string
}

// Withdraw takes back what a field manager has set of an object: what nobody else manages goes, and what it has taken is given back to who had it.
// What the API server would refuse to be without, or put a default into, stays, and no more than that. Whatever stays, the manager manages nothing of
// the object afterwards: else it would stand in the way of others for good. An object that is gone, and one of which the manager manages nothing, is
// no error.
func (p Patcher) Withdraw(ctx context.Context, manager string, of *unstructured.Unstructured, former *taken.Fields) (Withdrawn, error) {
	live, err := p.client.get(ctx, targetOf(of))
	switch {
	case IsGone(err, of), meta.IsNoMatchError(err), isUnserved(err):
		return Withdrawn{}, nil
	case err != nil:
		return Withdrawn{}, fmt.Errorf("reading %s %q: %w", of.GetKind(), of.GetName(), err)
	case taken.Applied(live, manager) == nil:
		return Withdrawn{}, nil
	}
	w := &withdrawal{client: *p.client, manager: manager, live: live, held: former.Held(live, manager)}
	w.client.dryRun = []string{metav1.DryRunAll}
	ours, others := taken.Managed(live, manager)
	ours.Leaves().Iterate(func(path fieldpath.Path) { w.own = append(w.own, path.Copy()) })
	if err = w.ask(ctx); err == nil {
		err = w.carryOut(ctx, p)
	}
	switch {
	case apierrors.IsConflict(err) && NewMarker(p.client).isGone(ctx, live):
		return Withdrawn{}, nil
	case err != nil:
		return Withdrawn{}, fmt.Errorf("taking back the patch of %s %q: %w", live.GetKind(), live.GetName(), err)
	}
	return w.outcome(others), nil
}

// withdrawal is what becomes of the fields that a manager has set.
type withdrawal struct {
	client  Client // of dry runs
	manager string
	live    *unstructured.Unstructured
	own     []fieldpath.Path // what the manager manages, in the order of managed fields
	held    []taken.Field    // given back
	kept    []fieldpath.Path // stays
	why     []string
	// accepted is what is applied so that no more than kept stays; nil: nothing that changes anything was accepted.
	accepted *unstructured.Unstructured
	// stuck says that the manager still manages what stays: the API server refuses every change of the object.
	stuck bool
}

// ask finds out by dry runs what stays, and what is applied for it. Former values that are refused whatever else stays are not given back: what was
// taken stays then, too.
func (w *withdrawal) ask(ctx context.Context) error {
	rest, lost := taken.Without(slices.Clone(w.own), w.held), []fieldpath.Path(nil)
	if len(w.held) > 0 {
		why, err := w.refused(ctx, rest)
		if err != nil {
			return err
		}
		if why != "" {
			lost = slices.DeleteFunc(slices.Clone(w.own), fieldpath.NewSet(rest...).Has)
			w.held, w.why = nil, []string{why}
		}
	}
	kept, why, err := taken.Least(rest, func(kept []fieldpath.Path) (string, error) { return w.refused(ctx, slices.Concat(lost, kept)) })
	w.kept, w.why = slices.Concat(lost, kept), append(w.why, why...)
	return err
}

// refused asks what the object would be if only some fields stayed, and says why it can't be; empty: it can, and is what is applied so far.
func (w *withdrawal) refused(ctx context.Context, kept []fieldpath.Path) (why string, err error) {
	obj, err := givingBack(nothing(w.live), w.live, w.held)
	if err != nil {
		return "", err
	}
	for _, path := range kept {
		taken.Stay(obj, w.live, path)
		obj.SetResourceVersion(w.live.GetResourceVersion()) // the values are of that version
	}
	answer, _, err := w.client.applyAs(ctx, w.manager, obj, len(w.held) > 0)
	switch {
	case unasked(err):
	case refuses(err):
		return refusal(err), nil
	case err != nil:
		return "", err
	case w.filled(answer):
		return "otherwise the API server would put in values of its own", nil
	}
	w.accepted = obj
	return "", nil
}

// filled says whether the API server has put something in the place of a field: it is there, and nobody manages it. What somebody manages has been set
// between the reading of the object and the answer.
func (w *withdrawal) filled(answer *unstructured.Unstructured) bool {
	ours, others := taken.Managed(answer, w.manager)
	managed := ours.Union(others)
	return slices.ContainsFunc(w.own, func(path fieldpath.Path) bool {
		v, found := drift.ValueAt(answer.Object, path)
		return found && v != nil && !managed.Has(path)
	})
}

// carryOut applies what was accepted, and lets go of what the manager manages after that. A process that ends between the two goes on where it was:
// the manager still has what stays. Where the API server refuses what could not be asked of before, or refuses the object as it is, all stays.
func (w *withdrawal) carryOut(ctx context.Context, p Patcher) error {
	answer, err := w.live, error(nil)
	if w.accepted != nil {
		answer, _, err = p.client.applyAs(ctx, w.manager, w.accepted, len(w.held) > 0)
	}
	if refuses(err) {
		w.leave(err)
		answer, err = w.live, nil
	}
	if err != nil || taken.Applied(answer, w.manager) == nil {
		return err
	}
	if err = p.giveBack(ctx, w.manager, answer, w.held, false); refuses(err) {
		w.leave(err)
		w.stuck, err = true, nil
	}
	return err
}

// leave keeps everything as it is.
func (w *withdrawal) leave(why error) {
	w.held, w.kept, w.why = nil, w.own, []string{refusal(why)}
}

// outcome says what stays, but for what others manage as well: that is theirs.
func (w *withdrawal) outcome(others *fieldpath.Set) Withdrawn {
	var left []string
	for _, path := range w.kept {
		if !others.Has(path) {
			left = append(left, drift.ManagedPath(path))
		}
	}
	if len(left) == 0 {
		return Withdrawn{}
	}
	slices.Sort(left)
	why := strings.Join(w.why, ", and ") + "; no field manager has them any more, so anybody may set or remove them"
	if w.stuck {
		why = fmt.Sprintf("%s; every change of the object is refused, so the field manager %q still has them", strings.Join(w.why, ", and "), w.manager)
	}
	return Withdrawn{Left: left, Why: why}
}

// refuses says whether the API server has refused an object for what it is.
func refuses(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) && !unasked(err)
}

func refusal(err error) string {
	return "otherwise the API server would refuse the object: " + err.Error()
}
