package chaos_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// wanted is a resource as its user wants it.
type wanted struct {
	name       string
	exists     bool // false: it is to be gone
	pending    bool // it is to exist, and has not been created yet
	paused     bool
	spec       map[string]any
	labels     map[string]string
	generation int64 // after the user's last write
	writes     int   // specs so far
}

// user works with the resources of one kind. All that it does follows from the seed.
type user struct {
	*kind

	w    *world
	rng  *rand.Rand
	all  []*wanted
	wave int   // of the box's common labels
	last error // why something could not be created yet
	did  map[string]int
}

func newUser(w *world, k *kind, seed uint64, resources int) *user {
	u := &user{kind: k, w: w, rng: rand.New(rand.NewPCG(seed, uint64(k.name[0]))), did: map[string]int{}}
	for i := range resources {
		r := &wanted{name: fmt.Sprintf("%s%03d", k.name[:1], i), labels: map[string]string{}}
		if !k.namespaced {
			r.name = w.id + "-" + r.name
		}
		u.all = append(u.all, r)
	}
	return u
}

// work creates all resources and then does as many things to them as acts says, with time for the manager to react between two of them.
func (u *user) work(ctx context.Context, acts int, crdAt int) error {
	for _, r := range u.all {
		u.renew(r)
		if err := u.retry(ctx); err != nil {
			return err
		}
	}
	for i := range acts {
		if i == crdAt {
			if err := u.replaceCRD(ctx); err != nil {
				return fmt.Errorf("replacing the CRD of %s: %w", u.name, err)
			}
		}
		if err := u.act(ctx); err != nil {
			return err
		}
		if err := u.retry(ctx); err != nil {
			return err
		}
		u.w.breathe(ctx, u.rng.IntN(8))
	}
	return u.finish(ctx)
}

// finish lets all go on that is paused, and creates what could not be created so far.
func (u *user) finish(ctx context.Context) error {
	for _, r := range u.all {
		if r.exists && r.paused {
			if err := u.pause(ctx, r); err != nil {
				return err
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for slices.ContainsFunc(u.all, func(r *wanted) bool { return r.pending }) {
		if err := u.retry(ctx); err != nil {
			return err
		}
		if err := nap(ctx, moment); err != nil {
			return fmt.Errorf("%w: %w", err, u.last)
		}
	}
	return nil
}

// act does one thing to one resource.
func (u *user) act(ctx context.Context) error {
	r := u.all[u.rng.IntN(len(u.all))]
	what := u.rng.IntN(100)
	switch {
	case what < 2:
		u.did["box edit"]++
		u.wave++
		return u.w.insist(ctx, u.patcher(u.boxObject(u.w), fields{"spec": fields{"commonLabels": fields{"wave": fmt.Sprint(u.wave)}}}, nil))
	case r.pending:
		return nil
	case !r.exists:
		u.did["create again, later"]++
		u.renew(r)
		return nil
	case what < 35:
		u.did["spec change"]++
		return u.edit(ctx, r)
	case what < 50:
		u.did["child edited by hand"]++
		return u.disturb(ctx, r)
	case what < 60:
		u.did["child deleted by hand"]++
		return u.rob(ctx, r)
	case what < 65:
		u.did["label of ours taken off a child"]++
		return u.unlabel(ctx, r)
	case what < 75:
		u.did["delete"]++
		r.exists = false
		return u.remove(ctx, r)
	case what < 85:
		u.did["delete and create again"]++
		if err := u.remove(ctx, r); err != nil {
			return err
		}
		u.renew(r)
		return nil
	case what < 92:
		u.did["pause or resume"]++
		return u.pause(ctx, r)
	default:
		u.did["label change"]++
		return u.relabel(ctx, r)
	}
}

// renew has a resource made anew, once there is none.
func (u *user) renew(r *wanted) {
	r.writes++
	r.exists, r.pending, r.paused = true, true, false
	r.spec, r.labels = u.spec(u.w, u.rng, r.writes, nil), map[string]string{}
}

// retry creates what is to be created. One that still terminates is tried again later.
func (u *user) retry(ctx context.Context) error {
	for _, r := range u.all {
		if !r.pending {
			continue
		}
		obj := u.ref(u.w, r.name)
		obj.Object["spec"] = deepCopy(r.spec)
		err := kube.Create(ctx, obj)
		switch {
		case err == nil:
			r.pending, r.generation = false, obj.GetGeneration()
		case apierrors.IsAlreadyExists(err):
			// It terminates, or it was made although the answer was lost.
			there := u.ref(u.w, r.name)
			if err := kube.Get(ctx, client.ObjectKeyFromObject(there), there); err == nil && there.GetDeletionTimestamp() == nil {
				r.pending, r.generation = false, there.GetGeneration()
			}
		case apierrors.IsInvalid(err):
			return fmt.Errorf("creating %s %q: %w", u.name, r.name, err)
		}
		if r.pending && ctx.Err() == nil {
			there := u.ref(u.w, r.name)
			absent := kube.Get(ctx, client.ObjectKeyFromObject(there), there)
			if absent == nil {
				absent = errors.New("it exists")
			}
			u.last = fmt.Errorf("creating %s %q: %w; reading it: %w; finalizers %v, annotations %v, status %v",
				u.name, r.name, err, absent, there.GetFinalizers(), there.GetAnnotations(), there.Object["status"])
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

func (u *user) edit(ctx context.Context, r *wanted) error {
	r.writes++
	next := u.spec(u.w, u.rng, r.writes, r.spec)
	patch := fields{}
	for key := range r.spec {
		patch[key] = nil
	}
	maps.Copy(patch, next)
	for key, value := range patch {
		if old, ok := r.spec[key].(fields); ok && value != nil { // a merge patch would merge maps too
			merged := fields{}
			for k := range old {
				merged[k] = nil
			}
			maps.Copy(merged, value.(fields))
			patch[key] = merged
		}
	}
	r.spec = next
	return u.patch(ctx, r, fields{"spec": patch})
}

func (u *user) relabel(ctx context.Context, r *wanted) error {
	tier := []string{"gold", "silver"}[u.rng.IntN(2)]
	r.labels = map[string]string{"tier": tier}
	return u.patch(ctx, r, fields{"metadata": fields{"labels": fields{"tier": tier}}})
}

func (u *user) pause(ctx context.Context, r *wanted) error {
	r.paused = !r.paused
	var value any
	if r.paused {
		value = "true"
	}
	return u.patch(ctx, r, fields{"metadata": fields{"annotations": fields{v1alpha1.AnnotationPaused: value}}})
}

func (u *user) patch(ctx context.Context, r *wanted, patch fields) error {
	return u.w.insist(ctx, u.patcher(u.ref(u.w, r.name), patch, func(obj *unstructured.Unstructured) { r.generation = obj.GetGeneration() }))
}

// patcher merges something into an object.
func (u *user) patcher(obj *unstructured.Unstructured, patch fields, then func(*unstructured.Unstructured)) func(context.Context) error {
	return func(ctx context.Context) error {
		text, err := json.Marshal(patch)
		if err != nil {
			return err
		}
		if err := kube.Patch(ctx, obj, client.RawPatch(types.MergePatchType, text), client.FieldOwner("user")); err != nil {
			return err
		}
		if then != nil {
			then(obj)
		}
		return nil
	}
}

func (u *user) remove(ctx context.Context, r *wanted) error {
	return u.w.insist(ctx, func(ctx context.Context) error {
		return client.IgnoreNotFound(kube.Delete(ctx, u.ref(u.w, r.name)))
	})
}

// replaceCRD deletes the CRD, with all resources, and makes it again unless its box does.
func (u *user) replaceCRD(ctx context.Context) error {
	u.w.proxy.plan.count(crdDeleted)
	crd := u.crd(u.w)
	var old types.UID
	err := u.w.insist(ctx, func(ctx context.Context) error {
		if err := kube.Get(ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
			return err
		}
		old = crd.UID
		return kube.Delete(ctx, crd)
	})
	if err != nil {
		return err
	}
	for _, r := range u.all {
		if r.exists {
			u.renew(r)
		}
	}
	return u.w.insist(ctx, func(ctx context.Context) error {
		next := u.crd(u.w)
		err := kube.Get(ctx, client.ObjectKeyFromObject(next), next)
		switch {
		case err == nil && next.UID != old:
			return nil
		case err == nil:
			return errors.New("the CRD is still there")
		case apierrors.IsNotFound(err) && !u.installed:
			return kube.Create(ctx, u.crd(u.w))
		default:
			return err
		}
	})
}
