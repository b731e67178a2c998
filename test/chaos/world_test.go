package chaos_test

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// managerNamespace is where managers keep what is their own.
const managerNamespace = "orkestra-system"

// world is what a seed has to itself: an API group, two namespaces, boxes and their users.
type world struct {
	id, group, near, far string
	recovers             bool // boxes depend on each other, and roll back

	proxy *proxy
	users []*user
}

func newWorld(seed uint64, resources int) *world {
	id := fmt.Sprintf("c%d", seed)
	w := &world{id: id, group: id + ".chaos.test", near: id, far: id + "-far", recovers: seed%2 == 0}
	for _, k := range kinds {
		w.users = append(w.users, newUser(w, k, seed, resources))
	}
	return w
}

// build makes namespaces, CRDs and boxes.
func (w *world) build(ctx context.Context) error {
	for _, name := range []string{w.near, w.far} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{v1alpha1.AnnotationAllowFrom: "*"}}}
		if err := w.insist(ctx, creator(ns)); err != nil {
			return err
		}
	}
	for _, u := range w.users {
		if !u.installed {
			if err := w.insist(ctx, creator(u.crd(w))); err != nil {
				return err
			}
		}
		if err := w.insist(ctx, creator(u.boxObject(w))); err != nil {
			return fmt.Errorf("creating the box of %s: %w", u.name, err)
		}
	}
	return nil
}

func creator(obj client.Object) func(context.Context) error {
	return func(ctx context.Context) error {
		obj.SetResourceVersion("")
		err := kube.Create(ctx, obj)
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	}
}

// empty has all users delete all of their resources.
func (w *world) empty(ctx context.Context) error {
	var group errgroup.Group
	for _, u := range w.users {
		group.Go(func() error {
			for _, r := range u.all {
				if r.exists {
					r.exists = false
					if err := u.remove(ctx, r); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// dropBoxes deletes the boxes, and waits for them to be gone.
func (w *world) dropBoxes(ctx context.Context) error {
	for _, u := range w.users {
		if err := w.insist(ctx, ignoreAbsence(func(ctx context.Context) error { return kube.Delete(ctx, u.boxObject(w)) })); err != nil {
			return err
		}
	}
	for _, u := range w.users {
		err := w.insist(ctx, func(ctx context.Context) error {
			box := u.boxObject(w)
			err := kube.Get(ctx, client.ObjectKeyFromObject(box), box)
			if apierrors.IsNotFound(err) {
				return nil
			}
			if err == nil {
				err = fmt.Errorf("OperatorBox %q is not gone: %v", box.GetName(), box.Object["status"])
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// remove takes away what is left, also after a failure: finalizers that nobody serves any more among it.
func (w *world) remove(ctx context.Context) error {
	for _, u := range w.users {
		if err := w.strip(ctx, u); err != nil {
			return err
		}
		if err := w.insist(ctx, ignoreAbsence(func(ctx context.Context) error { return kube.Delete(ctx, u.crd(w)) })); err != nil {
			return err
		}
	}
	for _, name := range []string{w.near, w.far} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := w.insist(ctx, ignoreAbsence(func(ctx context.Context) error { return kube.Delete(ctx, ns) })); err != nil {
			return err
		}
	}
	return nil
}

// strip takes the finalizers off a box and its resources, and deletes them.
func (w *world) strip(ctx context.Context, u *user) error {
	return w.insist(ctx, func(ctx context.Context) error {
		list := u.list(w)
		if err := kube.List(ctx, list); err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
			return err
		}
		box := u.boxObject(w)
		if err := kube.Get(ctx, client.ObjectKeyFromObject(box), box); err == nil {
			list.Items = append(list.Items, *box)
		}
		for i := range list.Items {
			obj := &list.Items[i]
			if err := client.IgnoreNotFound(u.patcher(obj, fields{"metadata": fields{"finalizers": nil}}, nil)(ctx)); err != nil {
				return err
			}
			if err := client.IgnoreNotFound(kube.Delete(ctx, obj)); err != nil {
				return err
			}
		}
		return nil
	})
}
