package pipeline

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/value"
)

const fieldReplicas = "replicas"

// replicasField is what an autoscaler sets of its target.
var replicasField = drift.FieldPath{"spec", fieldReplicas}

// listIndex finds the index of a list in a path.
var listIndex = regexp.MustCompile(`\[\s*[0-9]`)

// initialFields compiles the fields of a declaration that are set when the object is made, and then left alone.
func (c *compiler) initialFields(d *declaration, in []v1alpha1.ShortString, at *field.Path) {
	at = at.Child("initialFields")
	if d.once && len(in) > 0 {
		c.Fail(field.Forbidden(at, whyOnce(d)))
		return
	}
	for i, text := range in {
		path, err := value.ParsePath(string(text))
		if err == nil {
			err = mayBeInitial(d.gvk, string(text), path)
		}
		if err != nil {
			c.Fail(field.Invalid(at.Index(i), text, err.Error()))
			continue
		}
		if other := slices.IndexFunc(d.initial, func(o drift.FieldPath) bool { return overlap(o, path) }); other >= 0 {
			c.Fail(field.Invalid(at.Index(i), text, fmt.Sprintf("%s is in this list, and one of the two is part of the other", d.initial[other])))
			continue
		}
		d.initial = append(d.initial, drift.FieldPath(path))
	}
}

// whyOnce says why initial fields mean nothing to a declaration that acts once.
func whyOnce(d *declaration) string {
	const once = "this object is made once, and all its fields are left alone afterwards; "
	switch d.phase {
	case stage.StepDeletion:
		return once + "remove initialFields"
	case stage.StepOnCreate:
		return once + "move it to onReconcile, or set reconcile: true, or remove initialFields"
	default:
		return once + "remove once (or reconcile: false), or remove initialFields"
	}
}

// mayBeInitial says what is wrong with an initial field: it is no field of the object, or must be the declaration's.
func mayBeInitial(gvk schema.GroupVersionKind, text string, path expr.Path) error {
	if listIndex.MatchString(text) {
		return errors.New("fields in lists can't be named: an index is another entry when somebody adds one")
	}
	switch path[0] {
	case "apiVersion", "kind", fieldStatus:
		return fmt.Errorf("%s can't be left to others; wanted a field such as spec.replicas", path[0])
	case "stringData":
		return errors.New("the API server keeps it in data: name that")
	case "metadata":
		marks := map[string][]string{"labels": apply.OwnershipLabels, "annotations": apply.OwnershipAnnotations}
		if len(path) != 3 || marks[path[1]] == nil {
			return errors.New("of metadata only labels and annotations can be named, one by one: metadata.annotations['example.com/note']")
		}
		if slices.Contains(marks[path[1]], path[2]) {
			return errors.New("this is Orkestra's own; remove it")
		}
		return nil
	default:
		return kinds.CheckField(gvk, path)
	}
}

// overlap says whether one path leads to a part of the other.
func overlap(a drift.FieldPath, b expr.Path) bool {
	n := min(len(a), len(b))
	return slices.Equal([]string(a[:n]), []string(b[:n]))
}

// initialOf gives the initial fields of an object: those that its declaration names, and the replicas of what an autoscaler of
// this box scales.
func (r *Run) initialOf(ctx context.Context, in instance, obj *unstructured.Unstructured) []drift.FieldPath {
	if in.once {
		return nil // nothing of it is ever applied again
	}
	initial := in.initial
	if len(r.Plan.scalers) == 0 || !r.scaled(ctx, obj) ||
		slices.ContainsFunc(initial, func(p drift.FieldPath) bool { return overlap(p, expr.Path(replicasField)) }) {
		return initial
	}
	return append(slices.Clone(initial), replicasField)
}

// scaled says whether an autoscaler of this box scales an object. Which ones do is found out once in a cycle, before the first
// workload is written; autoscalers come later.
func (r *Run) scaled(ctx context.Context, obj *unstructured.Unstructured) bool {
	if r.scaleTargets == nil {
		r.scaleTargets = map[childKey]bool{}
		for _, d := range r.Plan.scalers {
			for _, scaler := range r.scalersOf(ctx, d) {
				r.scaleTargets[scaleTarget(scaler)] = true
			}
		}
	}
	key := keyOf(obj)
	key.kind.Version = ""
	return r.scaleTargets[key]
}

// scaleTarget is the object that an autoscaler scales, whatever its version.
func scaleTarget(scaler *unstructured.Unstructured) childKey {
	// What has no target scales nothing.
	ref, _, _ := unstructured.NestedStringMap(scaler.Object, "spec", "scaleTargetRef")
	kind := schema.FromAPIVersionAndKind(ref["apiVersion"], ref["kind"])
	kind.Version = ""
	return childKey{kind: kind, namespace: scaler.GetNamespace(), name: ref["name"]}
}

// scalersOf gives the autoscalers of a declaration that are there when this cycle is over, as far as can be told before it: those
// that it makes, and living ones that stay. An error is for the autoscaler's own turn to report; nothing is deleted then.
func (r *Run) scalersOf(ctx context.Context, d *declaration) []*unstructured.Unstructured {
	whole := d.whole()
	if d.phase == stage.StepOnCreate && d.once && r.Marks.Active {
		return r.alive(whole)
	}
	if !d.gateReadsItem {
		if open, stays := r.scales(ctx, whole); !open {
			return stays
		}
	}
	instances, err := d.instances(ctx, r)
	if err != nil {
		return r.alive(whole)
	}
	var out []*unstructured.Unstructured
	for _, in := range instances {
		if d.gateReadsItem {
			if open, stays := r.scales(ctx, in); !open {
				out = append(out, stays...)
				continue
			}
		}
		living := r.alive(in)
		if in.once && len(living) > 0 {
			out = append(out, living...) // it does not follow its declaration
			continue
		}
		obj, err := in.render(ctx, r)
		if err != nil {
			out = append(out, living...)
			continue
		}
		out = append(out, obj)
	}
	return out
}

// scales asks the gate of an autoscaler. stays are the living ones that a false gate leaves.
func (r *Run) scales(ctx context.Context, in instance) (open bool, stays []*unstructured.Unstructured) {
	res, err := r.ask(ctx, in)
	if err == nil && (res.Open || !in.keepsWhen(res)) {
		return res.Open, nil
	}
	return false, r.alive(in)
}

// alive gives the children of an instance that are not being deleted.
func (r *Run) alive(in instance) []*unstructured.Unstructured {
	return slices.DeleteFunc(r.children.find(in), func(c *unstructured.Unstructured) bool { return c.GetDeletionTimestamp() != nil })
}
