package controllers

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"

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
	env := r.env(ctx, box.Name, *crd)
	env.DependsOn = r.dependsOn(ctx, box)
	return pipeline.Compile(box, env)
}

func (r *OperatorBoxReconciler) env(ctx context.Context, box string, crd pipeline.CRD) pipeline.Env {
	former, err := r.Revisions.Places(ctx, box)
	if err != nil {
		// What people asked for does not wait for a right to the history of it.
		ctrl.LoggerFrom(ctx).Error(err, "Where a former version of a box has made children can't be found out")
	}
	return pipeline.Env{
		Former: former,
		CRD:    crd, Mapper: r.Mapper, AllKinds: true, AllowGrantingKinds: r.AllowGrantingKinds, ExternalOnly: r.ExternalOnly,
		BoxSchema: func(name string) *apiextensionsv1.JSONSchemaProps { return r.schemaOf(ctx, name) },
	}
}

// schemaOf gives the schema of the CRD that another box serves; nil where it can't be had. A box whose paths could not be
// checked finds at run time what is wrong with them.
func (r *OperatorBoxReconciler) schemaOf(ctx context.Context, name string) *apiextensionsv1.JSONSchemaProps {
	other := &v1alpha1.OperatorBox{}
	if err := r.Client.Get(ctx, types.NamespacedName{Name: name}, other); err != nil {
		return nil
	}
	crd, err := r.readCRD(ctx, name, boxCRD(other))
	if err != nil {
		return nil
	}
	picked, ok := ownVersion(other, crd)
	if !ok {
		return nil
	}
	return picked.Schema
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
