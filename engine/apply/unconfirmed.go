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

// unconfirmedWrites are children that may exist although the cache does not show them: a request may have been carried out and its answer
// lost. If the owner is deleted before the watch event comes, such a child would be missed, and stay for ever. So they are remembered here
// and read before the owner is released. The zero value has none; it is safe for concurrent use.
type unconfirmedWrites struct {
	mu  sync.Mutex
	all map[types.UID]map[target]bool // by owner; guarded by mu
}

// record takes in how the writing of a child ended, and whether the cache shows the child now. A success without the child in the cache
// does not confirm it: where nothing differed, nothing was written, and the cache was told nothing. A refusal leaves the entry of an
// earlier try as it is, which may still have succeeded.
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
// those that were. It must be called before the finalizer of an owner is removed: a child that is not known then is never deleted. It
// sends nothing where nothing is unconfirmed.
func (w *Writer) ResolveUnconfirmed(ctx context.Context, owner types.UID) error {
	for _, t := range w.unconfirmed.of(owner) {
		// The whole object is read, not its metadata: the cache ignores a later event with the same resourceVersion, so what is missing now
		// would stay missing.
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
