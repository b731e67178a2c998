package when

import "github.com/orkspace/orkestra/api/v1alpha1"

// example is a field and a value that an operator may well compare, in YAML.
type example struct{ field, value string }

// examples has one for each operator; a test compiles them.
var examples = map[v1alpha1.Operator]example{
	v1alpha1.OperatorEquals:      {"spec.tier", "production"},
	v1alpha1.OperatorNotEquals:   {"spec.tier", "production"},
	v1alpha1.OperatorGt:          {"spec.replicas", "1"},
	v1alpha1.OperatorGte:         {"spec.memory", "512Mi"},
	v1alpha1.OperatorLt:          {"spec.replicas", "10"},
	v1alpha1.OperatorLte:         {"spec.timeout", "5m"},
	v1alpha1.OperatorBetween:     {"spec.replicas", "[1, 10]"},
	v1alpha1.OperatorNotBetween:  {"spec.port", "[1, 1023]"},
	v1alpha1.OperatorIn:          {"spec.tier", "[staging, production]"},
	v1alpha1.OperatorNotIn:       {"metadata.namespace", "[default, kube-system]"},
	v1alpha1.OperatorContains:    {"spec.features", "cache"},
	v1alpha1.OperatorNotContains: {"spec.features", "legacy"},
	v1alpha1.OperatorPrefix:      {"spec.image", "registry.example.com/"},
	v1alpha1.OperatorSuffix:      {"spec.host", ".example.com"},
	v1alpha1.OperatorRegex:       {"spec.version", `"^v[0-9]+$"`},
	v1alpha1.OperatorExists:      {"spec.tls", "true"},
	v1alpha1.OperatorNotExists:   {"spec.tls", "true"},
	v1alpha1.OperatorTypeOf:      {"spec.ports", "array"},
	v1alpha1.OperatorOlderThan:   {"metadata.creationTimestamp", "24h"},
	v1alpha1.OperatorYoungerThan: {"metadata.creationTimestamp", "10m"},
}
