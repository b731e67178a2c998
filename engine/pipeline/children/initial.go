package children

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
)

const fieldReplicas = "replicas"

// replicasField is what an autoscaler sets of its target.
var replicasField = drift.FieldPath{"spec", fieldReplicas}

// scalers are the autoscalers of the box, as far as they concern a cycle.
type scalers struct {
	cycle   *Cycle
	targets map[childKey]bool // the objects that they scale; nil until it is asked
}

// initialOf gives the initial fields of an object: those that its declaration names, and the replicas of what an autoscaler of
// this box scales.
func (s *scalers) initialOf(ctx context.Context, in Instance, obj *unstructured.Unstructured) []drift.FieldPath {
	if in.Once {
		return nil // nothing of it is ever applied again
	}
	initial := in.Initial
	if len(s.cycle.Declared.Scalers) == 0 || !s.scaled(ctx, obj) ||
		slices.ContainsFunc(initial, func(p drift.FieldPath) bool { return declare.Overlap(p, replicasField) }) {
		return initial
	}
	return append(slices.Clone(initial), replicasField)
}

// scaled says whether an autoscaler of this box scales an object. Which ones do is found out once in a cycle, before the first
// workload is written; autoscalers come later.
func (s *scalers) scaled(ctx context.Context, obj *unstructured.Unstructured) bool {
	if s.targets == nil {
		s.targets = map[childKey]bool{}
		for _, d := range s.cycle.Declared.Scalers {
			for _, scaler := range s.of(ctx, d) {
				if scaler.GroupVersionKind().GroupKind() == kinds.Scaler { // it may be one of several kinds
					s.targets[scaleTarget(scaler)] = true
				}
			}
		}
	}
	key := keyOf(obj)
	key.kind.Version = ""
	return s.targets[key]
}

// scaleTarget is the object that an autoscaler scales, whatever its version.
func scaleTarget(scaler *unstructured.Unstructured) childKey {
	// What has no target scales nothing.
	ref, _, _ := unstructured.NestedStringMap(scaler.Object, "spec", "scaleTargetRef")
	kind := schema.FromAPIVersionAndKind(ref["apiVersion"], ref["kind"])
	kind.Version = ""
	return childKey{kind: kind, namespace: keyOf(scaler).namespace, name: ref["name"]}
}

// of gives the autoscalers of a declaration that are there when this cycle is over, as far as can be told before it: those
// that it makes, and living ones that stay. An error is for the autoscaler's own turn to report; nothing is deleted then.
func (s *scalers) of(ctx context.Context, d *declare.Declaration) []*unstructured.Unstructured {
	unexpanded := InstanceOf(d)
	if d.Phase == declare.OnCreate && d.Once && s.cycle.Marks.Active {
		return s.alive(unexpanded)
	}
	if !d.GateReadsItem {
		if open, stays := s.scales(ctx, unexpanded); !open {
			return stays
		}
	}
	instances, err := s.cycle.Instances(ctx, d)
	if err != nil {
		return s.alive(unexpanded)
	}
	var out []*unstructured.Unstructured
	for _, in := range instances {
		if d.GateReadsItem {
			if open, stays := s.scales(ctx, in); !open {
				out = append(out, stays...)
				continue
			}
		}
		living := s.alive(in)
		if in.Once && len(living) > 0 {
			out = append(out, living...) // it does not follow its declaration
			continue
		}
		obj, err := in.Render(ctx, s.cycle)
		if err != nil {
			out = append(out, living...)
			continue
		}
		out = append(out, obj)
	}
	return out
}

// scales asks the gate of an autoscaler. stays are the living ones that a false gate leaves.
func (s *scalers) scales(ctx context.Context, in Instance) (open bool, stays []*unstructured.Unstructured) {
	res, err := in.Ask(ctx, s.cycle)
	if err == nil && (res.Open || !in.KeepsOn(res)) {
		return res.Open, nil
	}
	return false, s.alive(in)
}

// alive gives the children of an instance that are not being deleted.
func (s *scalers) alive(in Instance) []*unstructured.Unstructured {
	return slices.DeleteFunc(s.cycle.Living.Find(in), func(c *unstructured.Unstructured) bool { return c.GetDeletionTimestamp() != nil })
}
