// Package apply is the only writer of children, and of the metadata of resources. It decides what is ours, sends nothing
// where nothing differs, and never takes over what it does not own (design: architecture.md, "Drift").
//
// It knows nothing of boxes' specs, templates or gates: it is handed rendered objects.
package apply

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/value"
)

// Child is a rendered child and how it is to be written.
type Child struct {
	// Object as declared, without anything that says whose it is.
	Object *unstructured.Unstructured
	// ID of the declaration.
	ID string
	// Once makes the child and never changes it again.
	Once bool
	// Adopt takes over an existing object that nobody controls.
	Adopt bool
	// CleanUp says that the child is made because its owner is being deleted. Nothing is adopted then, and an error names what skips it.
	CleanUp bool
	// Orphan keeps the child when its declaration goes.
	Orphan bool
	// OwnerReference lets the garbage collector delete the child with its owner, where Kubernetes allows that.
	OwnerReference bool
	// Replace deletes the child where it differs in what can't be changed in place. It is made again when it is gone.
	Replace bool
	// Leftovers are values that the child must not have, and that server-side apply would leave.
	Leftovers []Leftover
	// Initial are the fields that have what Object says when the child is made, and are left alone from then on.
	Initial []drift.FieldPath
}

// Action is what was done to a child.
type Action string

// The actions.
const (
	// None: nothing differed, nothing was sent.
	None Action = "none"
	// Created: the child was made.
	Created Action = "created"
	// Changed: what is declared has changed.
	Changed Action = "changed"
	// Corrected: someone else had changed the child.
	Corrected Action = "corrected"
	// Adopted: an object that nobody controlled is ours now.
	Adopted Action = "adopted"
	// Replaced: the child was deleted, to be made again with what is declared now.
	Replaced Action = "replaced"
	// Terminating: the child is being deleted; nothing was sent.
	Terminating Action = "terminating"
)

// Outcome is what was done, and the child as it is then.
type Outcome struct {
	// Action that was taken.
	Action Action
	// Object as the cache or the API server has it. Shared memory: read only.
	Object *unstructured.Unstructured
	// Drift is what others had changed, sorted by path, when Action is Corrected.
	Drift []Correction
	// Contention says who keeps changing the child, so that it is corrected less often; empty: nobody does. A Writer leaves it empty;
	// engine/contention, which stands before the Writer, fills it in.
	Contention string
	// ReconcileAt is when to reconcile again because of Contention.
	ReconcileAt time.Time
}

// Writer writes children and the metadata of resources. It is safe for concurrent use.
type Writer struct {
	// Lives says whether a resource with a UID exists. A child whose owner exists is never taken for one of an owner that is gone. nil:
	// nothing is known of other resources, and only the labels and references of a child are looked at.
	Lives func(types.UID) bool

	Marker
	store

	comparer    *drift.Comparer
	normal      normalForms
	unconfirmed unconfirmedWrites
}

// NewWriter gives a writer.
func NewWriter(client *Client, cache Cache, comparer *drift.Comparer) *Writer {
	return &Writer{Marker: Marker{requests: client}, store: store{client: client, cache: cache}, comparer: comparer, normal: newNormalForms()}
}

// Apply makes or corrects a child. It sends nothing where nothing differs. Errors of the API server come back wrapped;
// what only people can mend is a *RefusedError. A child that has changed, or gone, since it was read is looked at once more.
func (w *Writer) Apply(ctx context.Context, owner Owner, child Child) (Outcome, error) {
	obj := owner.Claimed(child)
	// A mistake in initialFields is refused before anything is sent: half of a handover would be worse than none.
	err := checkInitial(w.comparer, child)
	if err != nil {
		return Outcome{}, err
	}
	out, err := w.write(ctx, owner, child, obj)
	if apierrors.IsConflict(err) {
		// Somebody was faster. That is no failure of what is declared, which a rollback would undo: it is decided anew by what is there now.
		obj = owner.Claimed(child)
		out, err = w.write(ctx, owner, child, obj)
	}
	if !w.client.isDry() {
		_, shown := w.cache.Get(obj.GroupVersionKind(), obj.GetNamespace(), obj.GetName())
		w.unconfirmed.record(owner.UID(), targetOf(obj), err, shown)
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("applying %s %q: %w", obj.GetKind(), obj.GetName(), err)
	}
	return out, nil
}

// write picks the way in which a child is written: by whether the cache has it, whose it is, and whether it is made once.
func (w *Writer) write(ctx context.Context, owner Owner, child Child, obj *unstructured.Unstructured) (Outcome, error) {
	live, found := w.cache.Get(obj.GroupVersionKind(), obj.GetNamespace(), obj.GetName())
	switch {
	case found && live.GetDeletionTimestamp() != nil:
		return Outcome{Action: Terminating, Object: live}, nil
	case found && owner.owns(live):
		return w.correct(ctx, child, obj, live)
	case child.Once:
		return w.createOnce(ctx, owner, child, obj)
	default:
		return w.applyUncached(ctx, owner, child, obj)
	}
}

// correct brings a child of ours to what is declared.
func (w *Writer) correct(ctx context.Context, child Child, obj, live *unstructured.Unstructured) (Outcome, error) {
	if child.Once {
		return w.keep(ctx, obj, live, Corrected)
	}
	// Initial fields get their own manager first. The apply below leaves them out, and without another manager they would be removed.
	live, leaving, err := w.initial().handOver(ctx, child.Initial, live)
	if err != nil {
		return Outcome{}, err
	}
	rest := withoutInitial(obj, child.Initial)
	if err := child.leftovers(live); err != nil {
		return w.replaceOr(ctx, child, obj, rest, live, err)
	}
	out, err := w.follow(ctx, rest, live)
	if err != nil {
		return w.replaceOr(ctx, child, obj, rest, live, err)
	}
	return w.releaseInitial(ctx, child.Initial, leaving, out)
}

// follow applies what is declared, where something differs.
func (w *Writer) follow(ctx context.Context, obj, live *unstructured.Unstructured) (Outcome, error) {
	hash := value.Annotation(obj, v1alpha1.AnnotationApplied)
	action, drifted := Changed, []drift.Difference(nil)
	prepared := w.comparer.Prepare(obj)
	// The same hash means that we have applied just this, so a difference was made by others. With another hash the declaration has
	// changed, and an apply is needed even where no field differs: it releases those that are no longer declared.
	if value.Annotation(live, v1alpha1.AnnotationApplied) == hash {
		differences := w.normal.without(live, hash, w.comparer.Differences(prepared, live))
		if len(differences) == 0 {
			return Outcome{Action: None, Object: live}, nil
		}
		action, drifted = Corrected, differences
	}
	return w.force(ctx, prepared, obj, live, action, drifted)
}

// force applies over what exists. The UID makes sure that it can never bring a deleted child back.
func (w *Writer) force(
	ctx context.Context, prepared *drift.Prepared, obj, live *unstructured.Unstructured, action Action, drifted []drift.Difference,
) (Outcome, error) {
	obj.SetUID(live.GetUID())
	answer, _, err := w.client.apply(ctx, obj, true)
	if err != nil {
		answer, err = w.rekeyAndApply(ctx, obj, live, err)
	}
	if err != nil {
		w.refresh(ctx, live, err)
		return Outcome{}, err
	}
	left := w.learn(prepared, obj, answer)
	out := Outcome{Action: action, Object: answer}
	if len(drifted) > 0 {
		out.Drift = corrections(drifted, left, live.GetManagedFields())
	}
	return out, nil
}

// learn hands the answer to an apply to the cache, and remembers what the server made of our values: the differences that are left.
func (w *Writer) learn(prepared *drift.Prepared, obj, answer *unstructured.Unstructured) (left []drift.Difference) {
	w.cache.Wrote(obj.GroupVersionKind(), answer)
	left = w.comparer.Differences(prepared, answer)
	if !w.client.isDry() {
		w.normal.learn(obj, answer, left)
	}
	return left
}

// createOnce makes a child that is never changed again. A POST can't change what is there already.
func (w *Writer) createOnce(ctx context.Context, owner Owner, child Child, obj *unstructured.Unstructured) (Outcome, error) {
	answer, err := w.create(ctx, obj)
	if err == nil {
		return Outcome{Action: Created, Object: answer}, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return Outcome{}, err
	}
	// The cache holds children of ours alone, so the API server is asked whose the object is.
	live, err := w.client.metadata(ctx, targetOf(obj))
	switch {
	case err != nil:
		return Outcome{}, err
	case live.GetDeletionTimestamp() != nil:
		return Outcome{Action: Terminating, Object: live}, nil
	case owner.owns(live):
		return w.keep(ctx, obj, live, Corrected)
	case owner.lost(live, w.Lives), child.Adopt && free(live):
		return w.keep(ctx, obj, live, Adopted)
	default:
		return Outcome{}, notOwned(child, obj, live)
	}
}

// applyUncached writes a child that the cache does not have. Mostly it does not exist, so creating it is tried first: that is one request,
// and a conflict where it exists after all, because the cache is behind or someone has taken our label off. The conflict depends on the
// resourceVersion that createByApply sends; for kinds whose API server may ignore that, the object is read first.
func (w *Writer) applyUncached(ctx context.Context, owner Owner, child Child, obj *unstructured.Unstructured) (Outcome, error) {
	var conflict error
	if w.comparer.Knows(obj.GroupVersionKind()) {
		out, err := w.createByApply(ctx, child, obj)
		if !apierrors.IsConflict(err) {
			return out, err
		}
		conflict = err
		obj.SetResourceVersion("")
	}
	live, err := w.client.metadata(ctx, targetOf(obj))
	switch {
	case IsGone(err, obj) && conflict != nil:
		return Outcome{}, conflict // it was deleted meanwhile: Apply tries once more
	case IsGone(err, obj):
		return w.createByApply(ctx, child, obj)
	case err != nil:
		return Outcome{}, err
	case live.GetDeletionTimestamp() != nil:
		return Outcome{Action: Terminating, Object: live}, nil
	case owner.owns(live):
		return w.take(ctx, child, obj, live, Corrected, []drift.Difference{{Path: LabelsPath}})
	case owner.lost(live, w.Lives):
		return w.reclaim(ctx, child, obj, live)
	case child.Adopt && free(live):
		return w.take(ctx, child, obj, live, Adopted, nil)
	default:
		return Outcome{}, notOwned(child, obj, live)
	}
}

// noVersion is a resourceVersion that no object has: the first that etcd gives out is higher. An apply that names it creates an
// object, or fails with a conflict where one exists.
const noVersion = "1"

// createByApply creates a child by an apply without force that fails with a conflict where the object exists. An API server that ignores
// the version merges our fields into an object that may not be ours, and does not answer 201: the fields are then released again, and
// the child is refused.
func (w *Writer) createByApply(ctx context.Context, child Child, obj *unstructured.Unstructured) (Outcome, error) {
	obj.SetResourceVersion(noVersion)
	answer, created, err := w.client.apply(ctx, obj, false)
	if err != nil {
		return Outcome{}, err
	}
	if created {
		w.learn(w.comparer.Prepare(obj), obj, answer)
		return w.leaveInitial(ctx, child, obj, answer)
	}
	released, _, err := w.client.apply(ctx, nothing(answer), false)
	if err != nil {
		return Outcome{}, fmt.Errorf("taking back an apply to an object that is not ours: %w", err)
	}
	return Outcome{}, notOwned(child, obj, released)
}

// Delete deletes a child, unless it has changed since it was read.
func (w *Writer) Delete(ctx context.Context, child *unstructured.Unstructured) error {
	return w.delete(ctx, child, metav1.DeletePropagationBackground)
}

// nothing is the empty configuration of an object: a manager that applies it gives up every field that it owns.
func nothing(live *unstructured.Unstructured) *unstructured.Unstructured {
	empty := &unstructured.Unstructured{Object: map[string]any{}}
	empty.SetGroupVersionKind(live.GroupVersionKind())
	empty.SetNamespace(live.GetNamespace())
	empty.SetName(live.GetName())
	empty.SetUID(live.GetUID())
	return empty
}
