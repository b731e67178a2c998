package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// unconfirmedWrites are children that there may be, and that the cache does not show: a request may have been carried out though its
// answer was lost. The cache shows them when their event comes, which may be late, and then nobody asks any more if the owner is gone by
// then. The zero value has none; it is safe for concurrent use.
type unconfirmedWrites struct {
	mu  sync.Mutex
	all map[types.UID]map[target]bool // by owner; guarded by mu
}

// record takes in how the writing of a child ended, and whether the cache shows it now. A success confirms it if it does: one that found
// the child as it should be has written nothing, and so has told the cache nothing. A refusal says nothing of an earlier try.
func (u *unconfirmedWrites) record(owner types.UID, t target, err error, shown bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case err == nil && shown:
		u.dropLocked(owner, t)
	case err == nil, MayHaveBeenDone(err):
		if u.all == nil {
			u.all = map[types.UID]map[target]bool{}
		}
		if u.all[owner] == nil {
			u.all[owner] = map[target]bool{}
		}
		u.all[owner][t] = true
	}
}

func (u *unconfirmedWrites) dropLocked(owner types.UID, t target) {
	delete(u.all[owner], t)
	if len(u.all[owner]) == 0 {
		delete(u.all, owner)
	}
}

// of gives the unconfirmed children of an owner, sorted.
func (u *unconfirmedWrites) of(owner types.UID) []target {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.SortedFunc(maps.Keys(u.all[owner]), func(a, b target) int {
		return cmp.Or(cmp.Compare(a.kind.String(), b.kind.String()), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
}

// MayHaveBeenDone says whether a request may have been carried out although it failed: no answer came, it could not be read, or
// the API server itself does not know.
func MayHaveBeenDone(err error) bool {
	var refused *RefusedError
	if errors.As(err, &refused) || meta.IsNoMatchError(err) {
		return false
	}
	var answer apierrors.APIStatus
	return !errors.As(err, &answer) || answer.Status().Code >= http.StatusInternalServerError
}

// ResolveUnconfirmed asks the API server for the children of an owner of which it is not known whether they were made, so that the cache shows
// those that were. It must be called before an owner is let go: what is not known then is never deleted. It sends nothing where
// nothing is unconfirmed.
func (w *Writer) ResolveUnconfirmed(ctx context.Context, owner types.UID) error {
	for _, t := range w.unconfirmed.of(owner) {
		// The whole object: its event may bring the same version, and then nobody reads again what metadata alone did not show.
		live, err := w.client.get(ctx, t)
		switch {
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		case err != nil:
			return fmt.Errorf("reading %s %q, of which it is not known whether it was made: %w", t.kind.Kind, t.name, err)
		case live.GetLabels()[v1alpha1.LabelOwnerUID] == string(owner):
			w.cache.Wrote(t.kind, live)
		}
		w.unconfirmed.record(owner, t, nil, true)
	}
	return nil
}
