package kinds

import (
	policyv1 "k8s.io/api/policy/v1"
)

func policyKinds() []Kind {
	return []Kind{
		planned("pdbs", "pdb", rankBudget, policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget")),
	}
}
