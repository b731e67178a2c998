package inspect

import (
	"context"
	"fmt"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/admission"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// Judged is how the resources of a box stand to those of its validation rules that the API server could enforce.
type Judged struct {
	// Total is the number of resources that the box selects.
	Total int
	// Breaking names those that the API server would refuse, as namespace/name, sorted.
	Breaking []string
}

// Judge counts the resources of a box by its validation rules, as the manager does before it has the API server enforce them: those of a
// namespace, or of all where it is empty. It does so for a box that does not ask for admission, too. nil: no rule can be enforced there.
func (i *Inspector) Judge(ctx context.Context, box *v1alpha1.OperatorBox, namespace string) (*Judged, error) {
	if box.Spec.Validation == nil || len(box.Spec.Validation.Rules) == 0 {
		return nil, nil //nolint:nilnil // no rule is a legal answer
	}
	plan, err := i.asEnforced(ctx, box)
	if err != nil {
		return nil, err
	}
	compiled := admission.Compile(plan.Admission, true)
	if compiled.Policies().Deny == nil {
		return nil, nil //nolint:nilnil // no rule is a legal answer
	}
	if !plan.CRD.Namespaced {
		namespace = ""
	}
	all, err := i.List(ctx, plan.CRD.Kind, namespace)
	if err != nil {
		return nil, err
	}
	judged := &Judged{}
	for _, live := range all {
		if live.GetDeletionTimestamp() != nil || !plan.Selection.Selects(live) {
			continue
		}
		judged.Total++
		if plan.Breaks(ctx, compiled, live) {
			judged.Breaking = append(judged.Breaking, Named(live.GetNamespace(), live.GetName()))
		}
	}
	return judged, nil
}

// Named is a name with its namespace, where it has one.
func Named(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// asEnforced compiles the spec of a box as if it asked for its rules to be enforced.
func (i *Inspector) asEnforced(ctx context.Context, box *v1alpha1.OperatorBox) (*pipeline.Plan, error) {
	picked, err := crdOf(ctx, i.Compiler, box)
	if err != nil {
		return nil, err
	}
	enforced := box.DeepCopy()
	if enforced.Spec.Admission == nil {
		enforced.Spec.Admission = &v1alpha1.AdmissionSpec{}
	}
	enforced.Spec.Admission.Validation = true
	plan, errs := pipeline.Compile(enforced, i.Compiler.Env(ctx, enforced, picked))
	if len(errs) > 0 {
		return nil, fmt.Errorf("the box does not compile: %w", errs.ToAggregate())
	}
	return plan, nil
}
