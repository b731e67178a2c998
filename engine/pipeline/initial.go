package pipeline

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
)

const fieldReplicas = "replicas"

// replicasField is what an autoscaler sets of its target.
var replicasField = drift.FieldPath{"spec", fieldReplicas}

// initialOf gives the initial fields of an object: those that its declaration names, and the replicas of what an autoscaler of
// this box scales.
func (r *Run) initialOf(ctx context.Context, in instance, obj *unstructured.Unstructured) []drift.FieldPath {
	if in.Once {
		return nil // nothing of it is ever applied again
	}
	initial := in.Initial
	if len(r.Plan.declared.Scalers) == 0 || !r.scaled(ctx, obj) ||
		slices.ContainsFunc(initial, func(p drift.FieldPath) bool { return declare.Overlap(p, replicasField) }) {
		return initial
	}
	return append(slices.Clone(initial), replicasField)
}

// scaled says whether an autoscaler of this box scales an object. Which ones do is found out once in a cycle, before the first
// workload is written; autoscalers come later.
func (r *Run) scaled(ctx context.Context, obj *unstructured.Unstructured) bool {
	if r.scaleTargets == nil {
		r.scaleTargets = map[childKey]bool{}
		for _, d := range r.Plan.declared.Scalers {
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
func (r *Run) scalersOf(ctx context.Context, d *declare.Declaration) []*unstructured.Unstructured {
	whole := instanceOf(d)
	if d.Phase == declare.OnCreate && d.Once && r.Marks.Active {
		return r.alive(whole)
	}
	if !d.GateReadsItem {
		if open, stays := r.scales(ctx, whole); !open {
			return stays
		}
	}
	instances, err := r.instances(ctx, d)
	if err != nil {
		return r.alive(whole)
	}
	var out []*unstructured.Unstructured
	for _, in := range instances {
		if d.GateReadsItem {
			if open, stays := r.scales(ctx, in); !open {
				out = append(out, stays...)
				continue
			}
		}
		living := r.alive(in)
		if in.Once && len(living) > 0 {
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
	if err == nil && (res.Open || !in.KeepsOn(res)) {
		return res.Open, nil
	}
	return false, r.alive(in)
}

// alive gives the children of an instance that are not being deleted.
func (r *Run) alive(in instance) []*unstructured.Unstructured {
	return slices.DeleteFunc(r.children.find(in), func(c *unstructured.Unstructured) bool { return c.GetDeletionTimestamp() != nil })
}
