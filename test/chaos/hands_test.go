package chaos_test

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// child draws one of the children that are corrected, or nil.
func (u *user) child(r *wanted, kept bool) *unstructured.Unstructured {
	all := slices.DeleteFunc(u.children(u.w, r), func(e expected) bool { return e.job || e.kept && (!kept || e.gvk != secrets) })
	if len(all) == 0 {
		return nil
	}
	e := all[u.rng.IntN(len(all))]
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(e.gvk)
	obj.SetNamespace(e.namespace)
	obj.SetName(e.name)
	return obj
}

// disturb edits a child by hand.
func (u *user) disturb(ctx context.Context, r *wanted) error {
	obj := u.child(r, false)
	if obj == nil {
		return nil
	}
	patch := fields{"data": fields{"image": "by hand", "value": "by hand", "color": "by hand"}}
	switch obj.GroupVersionKind() {
	case deployments:
		patch = fields{"spec": fields{"replicas": 0}, "metadata": fields{"annotations": fields{v1alpha1.AnnotationApplied: "by hand"}}}
	case services:
		patch = fields{"spec": fields{"selector": fields{"app.kubernetes.io/name": "by-hand"}}}
	case accounts:
		patch = fields{"automountServiceAccountToken": true}
	}
	return u.w.insist(ctx, ignoreAbsence(u.patcher(obj, patch, nil)))
}

// rob deletes a child.
func (u *user) rob(ctx context.Context, r *wanted) error {
	obj := u.child(r, true)
	if obj == nil {
		return nil
	}
	return u.w.insist(ctx, ignoreAbsence(func(ctx context.Context) error { return kube.Delete(ctx, obj) }))
}

// unlabel takes away the label by which a child is found, where its owner reference still says whose it is.
func (u *user) unlabel(ctx context.Context, r *wanted) error {
	obj := u.child(r, false)
	if obj == nil || obj.GetNamespace() != u.w.near {
		return nil
	}
	return u.w.insist(ctx, ignoreAbsence(u.patcher(obj, fields{"metadata": fields{"labels": fields{v1alpha1.LabelOwnerUID: nil}}}, nil)))
}

func ignoreAbsence(f func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error { return client.IgnoreNotFound(f(ctx)) }
}
