package controllers

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// compile gives the plan of a box; the one that runs, where nothing changed.
func (r *OperatorBoxReconciler) compile(ctx context.Context, box *v1alpha1.OperatorBox, crd *pipeline.CRD) (*pipeline.Plan, field.ErrorList) {
	running := r.Engine.Plan(box.Name)
	if running != nil && !running.CleanupOnly && !box.Spec.Suspend && running.UID == box.UID && running.Generation == box.Generation &&
		running.CRD.Same(*crd) {
		return running, nil
	}
	env := r.Compiler.Env(ctx, box.Name, *crd)
	env.DependsOn = r.dependsOn(ctx, box)
	return pipeline.Compile(box, env)
}

// markAll queues every box, those first that others depend on.
func (r *OperatorBoxReconciler) markAll(ctx context.Context) error {
	var list v1alpha1.OperatorBoxList
	if err := r.Client.List(ctx, &list); err != nil {
		return fmt.Errorf("listing boxes: %w", err)
	}
	for _, name := range inOrder(list.Items) {
		r.Boxes.Mark(name, true)
	}
	r.strays(ctx, list.Items)
	return nil
}
