package observe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// withheld are the rights to read that the resources of a box have missed in their last cycles. The zero value is empty. It is safe for
// concurrent use.
type withheld struct {
	mu  sync.Mutex
	all map[types.NamespacedName][]access.Right // guarded by mu
}

// replace sets the rights that a resource has missed, and says whether they are others than before.
func (w *withheld) replace(key types.NamespacedName, refused []access.Right) (changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	refused = access.Sorted(refused)
	if slices.Equal(w.all[key], refused) {
		return false
	}
	if w.all == nil {
		w.all = map[types.NamespacedName][]access.Right{}
	}
	w.all[key] = refused
	if len(refused) == 0 {
		delete(w.all, key)
	}
	return true
}

// list gives all of them, sorted.
func (w *withheld) list() []access.Right {
	w.mu.Lock()
	defer w.mu.Unlock()
	return access.Sorted(slices.Concat(slices.Collect(maps.Values(w.all))...))
}

// Withheld are the rights to read that resources of the box have missed in their last cycles, sorted.
func (o *Observer) Withheld() []access.Right { return o.withheld.list() }

var _ stage.Access = (*Reading)(nil)

// Reads implements stage.Access. What a box reads comes from the manager's caches, so it is the box's account that is asked for; without one,
// the caches are the box's own.
func (r *Reading) Reads(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (until time.Time, err error) {
	missing, until, err := r.lacks(ctx, kind, namespace, name)
	r.refused = append(r.refused, missing...)
	return until, err
}

// MayRead says whether the account of the box may read something outside of a cycle: the error is that of Reading.Reads.
func (o *Observer) MayRead(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) error {
	_, _, err := o.lacks(ctx, kind, namespace, name)
	return err
}

// lacks gives the rights to read something that the account of the box lacks, with an error where there are any, and until when that holds.
func (o *Observer) lacks(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (missing []access.Right, until time.Time, err error) {
	rights := o.sources.Rights
	if rights.Account().IsManager() {
		return nil, time.Time{}, nil
	}
	mapping, err := o.sources.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("finding kind %s: %w", kind.Kind, err)
	}
	want := access.Right{Group: kind.Group, Resource: mapping.Resource.Resource, Namespace: namespace, Name: name}
	verbs := []string{"get"}
	if name == "" {
		verbs = []string{"list", "watch"}
	}
	for _, want.Verb = range verbs {
		allowed, end, err := rights.Reads(ctx, want)
		if err != nil {
			return nil, time.Time{}, err
		}
		if !allowed {
			missing = append(missing, want)
		}
		if until.IsZero() || end.Before(until) {
			until = end
		}
	}
	if len(missing) == 0 {
		return nil, until, nil
	}
	return missing, until, &stage.WithheldError{Account: rights.Account(), What: stage.Describe(kind, namespace, name)}
}
