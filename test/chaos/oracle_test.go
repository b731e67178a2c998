package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/test/fixtures"
)

// compare says in what the cluster differs from what the specs say; nil: in nothing.
func (w *world) compare(ctx context.Context) error {
	var errs []error
	owners := map[string]string{} // UIDs of resources that exist
	want := map[string]expected{}
	waves := map[string]int{}
	for _, u := range w.users {
		list := u.list(w)
		if err := kube.List(ctx, list); err != nil {
			return fmt.Errorf("listing %s: %w", u.plural(), err)
		}
		found := map[string]*unstructured.Unstructured{}
		for i := range list.Items {
			found[list.Items[i].GetName()] = &list.Items[i]
			owners[string(list.Items[i].GetUID())] = list.Items[i].GetName()
		}
		for _, r := range u.all {
			obj := found[r.name]
			delete(found, r.name)
			if err := u.compare(r, obj); err != nil {
				errs = append(errs, fmt.Errorf("%s %q: %w", u.kind.kind, r.name, err))
			}
			if r.exists {
				for _, e := range u.children(w, r) {
					want[e.key()] = e
					waves[e.key()] = u.wave
				}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(found)) {
			errs = append(errs, fmt.Errorf("%s %q exists, and nobody asked for it", u.kind.kind, name))
		}
	}
	errs = append(errs, w.compareChildren(ctx, want, waves, owners))
	return errors.Join(errs...)
}

// compare says in what a resource differs from what its user wants.
func (u *user) compare(r *wanted, obj *unstructured.Unstructured) error {
	switch {
	case !r.exists && obj == nil:
		return nil
	case !r.exists:
		return fmt.Errorf("still exists: finalizers %v, deleted %v, status %v", obj.GetFinalizers(), obj.GetDeletionTimestamp(), obj.Object["status"])
	case obj == nil:
		return errors.New("is missing")
	case obj.GetDeletionTimestamp() != nil:
		return fmt.Errorf("terminates: finalizers %v, status %v", obj.GetFinalizers(), obj.Object["status"])
	case !reflect.DeepEqual(obj.Object["spec"], any(deepCopyJSON(r.spec))):
		return fmt.Errorf("has a spec that its user did not write: wanted %v, found %v", r.spec, obj.Object["spec"])
	case obj.GetGeneration() != r.generation:
		return fmt.Errorf("has generation %d, its user wrote %d", obj.GetGeneration(), r.generation)
	}
	for _, entry := range obj.GetManagedFields() {
		if strings.HasPrefix(entry.Manager, "orkestra") && strings.Contains(entry.FieldsV1.GetRawString(), `"f:spec"`) {
			return fmt.Errorf("has fields of its spec that %s owns: %s", entry.Manager, entry.FieldsV1.GetRawString())
		}
	}
	observed, _, _ := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
	if observed != obj.GetGeneration() || conditionOf(obj, v1alpha1.ConditionReady) != metav1.ConditionTrue ||
		conditionOf(obj, v1alpha1.ConditionReconciling) != metav1.ConditionFalse {
		return fmt.Errorf("is not settled at generation %d: %v", obj.GetGeneration(), obj.Object["status"])
	}
	if reason := reasonOf(obj, v1alpha1.ConditionRolledBack); reason != "" && reason != v1alpha1.ReasonSettled {
		return fmt.Errorf("is Ready, and yet RolledBack for %s: %v", reason, obj.Object["status"])
	}
	return nil
}

// deepCopyJSON gives a spec as the API server gives it: with whole numbers as int64.
func deepCopyJSON(spec map[string]any) map[string]any {
	out := maps.Clone(spec)
	for key, value := range out {
		switch v := value.(type) {
		case int:
			out[key] = int64(v)
		case map[string]any:
			out[key] = deepCopyJSON(v)
		}
	}
	return out
}

// compareChildren says in what the children differ, and what there is too much.
func (w *world) compareChildren(ctx context.Context, want map[string]expected, waves map[string]int, owners map[string]string) error {
	var errs []error
	for _, gvk := range childKinds {
		list, err := w.owned(ctx, gvk)
		if err != nil {
			return err
		}
		for i := range list {
			obj := &list[i]
			e := expected{gvk: gvk, namespace: obj.GetNamespace(), name: obj.GetName()}
			is, ok := want[e.key()]
			delete(want, e.key())
			owner, known := owners[obj.GetLabels()[v1alpha1.LabelOwnerUID]]
			switch {
			case !known:
				errs = append(errs, fmt.Errorf("%s has an owner that does not exist: made %s, labels %v, owners %+v",
					e.key(), obj.GetCreationTimestamp(), obj.GetLabels(), obj.GetOwnerReferences()))
			case !ok:
				errs = append(errs, fmt.Errorf("%s of %q exists, and no spec says so", e.key(), owner))
			case obj.GetDeletionTimestamp() != nil:
				errs = append(errs, fmt.Errorf("%s terminates", e.key()))
			default:
				if path := differs(obj.Object, is.fields, ""); path != "" {
					errs = append(errs, fmt.Errorf("%s of %q differs at %s", e.key(), owner, path))
				}
				if wave := waves[e.key()]; wave > 0 && !is.kept && !is.job && obj.GetLabels()["wave"] != fmt.Sprint(wave) {
					errs = append(errs, fmt.Errorf("%s of %q has the labels of an older box: wanted wave %d, found %v", e.key(), owner, wave, obj.GetLabels()))
				}
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		errs = append(errs, fmt.Errorf("%s is missing", key))
	}
	return errors.Join(errs...)
}

// owned are the objects of a kind in the world that carry the label of an owner.
func (w *world) owned(ctx context.Context, gvk schema.GroupVersionKind) ([]unstructured.Unstructured, error) {
	var out []unstructured.Unstructured
	for _, namespace := range []string{w.near, w.far} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := kube.List(ctx, list, client.InNamespace(namespace), client.HasLabels{v1alpha1.LabelOwnerUID}); err != nil {
			return nil, fmt.Errorf("listing %s: %w", gvk.Kind, err)
		}
		out = append(out, list.Items...)
	}
	return out, nil
}

// differs gives the path and the values of the first field that is not as wanted; empty: there is none. Lists have to have the same
// length, maps may have more.
func differs(found, want any, path string) string {
	switch w := want.(type) {
	case map[string]any:
		f, _ := found.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(w)) {
			if d := differs(f[key], w[key], path+"."+key); d != "" {
				return d
			}
		}
		return ""
	case []any:
		f, _ := found.([]any)
		if len(f) != len(w) {
			return fmt.Sprintf("%s: wanted %v, found %v", path, want, found)
		}
		for i := range w {
			if d := differs(f[i], w[i], fmt.Sprintf("%s[%d]", path, i)); d != "" {
				return d
			}
		}
		return ""
	default:
		if fmt.Sprint(found) != fmt.Sprint(want) {
			return fmt.Sprintf("%s: wanted %v, found %v", path, want, found)
		}
		return ""
	}
}

func conditionOf(obj *unstructured.Unstructured, kind string) metav1.ConditionStatus {
	return fixtures.Condition(obj, kind).Status
}

func reasonOf(obj *unstructured.Unstructured, kind string) string {
	return fixtures.Condition(obj, kind).Reason
}

// compareHealth says in what the CRDHealth objects differ from what there is; nil: in nothing.
func (w *world) compareHealth(ctx context.Context) error {
	var errs []error
	for _, u := range w.users {
		health := &v1alpha1.CRDHealth{}
		if err := kube.Get(ctx, client.ObjectKey{Name: u.boxName(w)}, health); err != nil {
			return err
		}
		n := int32(0)
		for _, r := range u.all {
			if r.exists {
				n++
			}
		}
		wanted := v1alpha1.ResourceCounts{Total: n, Ready: n}
		if health.Status.State != v1alpha1.HealthHealthy || health.Status.Resources != wanted || len(health.Status.Failing) > 0 {
			errs = append(errs, fmt.Errorf("CRDHealth %q: wanted Healthy with %+v, found %+v", health.Name, wanted, health.Status))
		}
	}
	return errors.Join(errs...)
}
