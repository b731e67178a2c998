package kinds

import (
	"reflect"

	policyv1 "k8s.io/api/policy/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds/shape"
)

const (
	nameMaxUnavailable = "maxUnavailable"
	nameMinAvailable   = "minAvailable"
)

func policyKinds() []Kind {
	return []Kind{{
		Key: keyPDBs, Singular: "pdb", Rank: rankBudget,
		GVK:          policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
		fields:       reflect.TypeFor[v1alpha1.PDBFields](),
		spec:         reflect.TypeFor[policyv1.PodDisruptionBudgetSpec](),
		fromWorkload: source{fields: nameSelector, needs: needsSelector(nameSelector)},
		check:        checkBudget,
		build:        buildBudget,
	}}
}

func checkBudget(c *shape.Checker) {
	c.Exclusive(nameMinAvailable, nameMaxUnavailable)
	c.Reference(nameWorkload, nameSelector)
	if c.HasAny(nameMinAvailable, nameMaxUnavailable) || c.Overlaid(nameMinAvailable) != nil || c.Overlaid(nameMaxUnavailable) != nil {
		return
	}
	c.Missing(nameMinAvailable, "minAvailable or maxUnavailable: without one, the budget allows everything")
}

func buildBudget(d Declared, short map[string]any) (map[string]any, error) {
	spec := pick(short, nameMinAvailable, nameMaxUnavailable, nameSelector)
	if err := d.defaultSelector(spec, nameSelector); err != nil {
		return nil, err
	}
	return map[string]any{nameSpec: spec}, nil
}
