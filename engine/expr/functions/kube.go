package functions

import (
	"cmp"

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/value"
)

const keyReplicas = "replicas"

// kubeFuncs take a Kubernetes object, last of all arguments, and give the zero value where there is no object.
func kubeFuncs() []row {
	const m = lenient | nils | light | counted
	return []row{
		{"readyReplicas", argObject, "The number of ready pods of a workload.", `readyReplicas .children.deployment`, "3",
			counter("readyReplicas", "numberReady"), m, ""},
		{"availableReplicas", argObject, "The number of available pods of a workload.", `availableReplicas .children.deployment`, "3",
			counter("availableReplicas", "numberAvailable"), m, ""},
		{"updatedReplicas", argObject, "The number of pods with the newest template.", `updatedReplicas .children.deployment`, "3",
			counter("updatedReplicas", "updatedNumberScheduled"), m, ""},
		{"desiredReplicas", argObject, "The number of pods that a workload wants.", `desiredReplicas .children.deployment`, "3", desired, m, ""},
		{"rolloutComplete", argObject, "Whether all pods of a workload are new and available.", `rolloutComplete .children.deployment`, "true",
			rolloutComplete, m, ""},
		{"jobSucceeded", argObject, "Whether a Job has completed.", `jobSucceeded .children.job`, "true", isTrue("Complete"), m, ""},
		{"jobFailed", argObject, "Whether a Job has failed.", `jobFailed .children.job`, "false", isTrue("Failed"), m, ""},
		{"jobActive", argObject, "Whether a Job has running pods.", `jobActive .children.job`, "false",
			func(o any) bool { return number(o, roots.Status, "active") > 0 }, m, ""},
		{"serviceLoadBalancerIP", argObject, "The first IP of a Service's load balancer.", `serviceLoadBalancerIP .children.service`, "203.0.113.7",
			loadBalancer("ip"), m, ""},
		{"serviceLoadBalancerHost", argObject, "The first host name of a Service's load balancer.", `serviceLoadBalancerHost .children.service`,
			"lb.example.com", loadBalancer("hostname"), m, ""},
		{"serviceClusterIP", argObject, "The cluster IP of a Service.", `serviceClusterIP .children.service`, "10.0.0.7",
			func(o any) string { return text(o, roots.Spec, "clusterIP") }, m, ""},
		{"ingressIP", argObject, "The first IP of an Ingress.", `ingressIP .children.ingress`, "", loadBalancer("ip"), m, ""},
		{"ingressHost", argObject, "The first host name of an Ingress's load balancer.", `ingressHost .children.ingress`, "", loadBalancer("hostname"), m, ""},
		{"pvcBound", argObject, "Whether a PersistentVolumeClaim is bound.", `pvcBound .children.pvc`, "false",
			func(o any) bool { return text(o, roots.Status, "phase") == "Bound" }, m, ""},
		{"hpaCurrentReplicas", argObject, "The number of pods that an autoscaler sees.", `hpaCurrentReplicas .children.hpa`, "0",
			counter("currentReplicas"), m, ""},
		{"condition", "TYPE OBJECT", "The status of a condition: True, False or Unknown, which it also is where there is no such condition.",
			`condition "Available" .children.deployment`, "True", func(kind string, o any) string { return cmp.Or(text(condition(kind, o), "status"), "Unknown") }, m, ""},
		{"hasCondition", "TYPE OBJECT", "Whether a condition is True.", `hasCondition "Available" .children.deployment`, "true",
			func(kind string, o any) bool { return isTrue(kind)(o) }, m, ""},
		{"conditionReason", "TYPE OBJECT", "The reason of a condition.", `conditionReason "Available" .children.deployment`, "MinimumReplicasAvailable",
			func(kind string, o any) string { return text(condition(kind, o), "reason") }, m, ""},
		{"conditionMessage", "TYPE OBJECT", "The message of a condition.", `conditionMessage "Available" .children.deployment`, "",
			func(kind string, o any) string { return text(condition(kind, o), "message") }, m, ""},
		{"isReady", argObject, "Whether the condition Ready or Available is True.", `isReady .children.deployment`, "true",
			func(o any) bool { return isTrue("Ready")(o) || isTrue("Available")(o) }, m, ""},
		{Get, "OBJECT KEY…", "What stands under the keys, each inside the one before it. Nothing (in text: no text) where it is absent. " +
			"With one key, the object may also come last.", `get .children.cronjob "status" "lastScheduleTime"`, "2026-03-25T10:00:00Z", get, m, ""},
		{"label", "KEY OBJECT", "A label.", `label "app" .children.deployment`, "front",
			func(key string, o any) string { return text(o, roots.Metadata, roots.Labels, key) }, m, ""},
		{"annotation", "KEY OBJECT", "An annotation.", `annotation "a.b/c" .children.deployment`, "d",
			func(key string, o any) string { return text(o, roots.Metadata, roots.Annotations, key) }, m, ""},
	}
}

func text(o any, path ...string) string {
	v, _ := value.Walk(o, path, len(path))
	s, _ := v.(string) // The zero value where there is none.
	return s
}

func number(o any, path ...string) int64 {
	v, _ := value.Walk(o, path, len(path))
	n, _ := value.Whole(v) // The zero value where there is none.
	return n
}

// counter makes a function that reads a number of the status, under the first of the names that is there: DaemonSets have names of their
// own.
func counter(names ...string) func(o any) int64 {
	return func(o any) int64 {
		for _, name := range names {
			if n := number(o, roots.Status, name); n != 0 {
				return n
			}
		}
		return 0
	}
}

func desired(o any) int64 {
	if o == nil {
		return 0
	}
	if v, _ := value.Walk(o, value.Path{roots.Status, "desiredNumberScheduled"}, 2); v != nil {
		return number(o, roots.Status, "desiredNumberScheduled")
	}
	if v, _ := value.Walk(o, value.Path{roots.Spec, keyReplicas}, 2); v == nil {
		return 1
	}
	return number(o, roots.Spec, keyReplicas)
}

func rolloutComplete(o any) bool {
	if o == nil || number(o, roots.Status, "observedGeneration") < number(o, roots.Metadata, "generation") {
		return false
	}
	want := desired(o)
	updated := counter("updatedReplicas", "updatedNumberScheduled")(o)
	available := counter("availableReplicas", "numberAvailable")(o)
	// Pods of the old template still count in status.replicas.
	return updated >= want && available >= want && number(o, roots.Status, keyReplicas) <= max(updated, want)
}

func condition(kind string, o any) any {
	v, _ := value.Walk(o, value.Path{roots.Status, "conditions"}, 2)
	conditions, _ := v.([]any) // There may be none.
	for _, c := range conditions {
		if text(c, "type") == kind {
			return c
		}
	}
	return nil
}

func isTrue(kind string) func(o any) bool {
	return func(o any) bool { return text(condition(kind, o), "status") == "True" }
}

// loadBalancer makes a function that reads the first address of a load balancer.
func loadBalancer(field string) func(o any) string {
	return func(o any) string {
		v, _ := value.Walk(o, value.Path{roots.Status, "loadBalancer", "ingress"}, 3)
		entries, _ := v.([]any) // There may be none.
		for _, e := range entries {
			if found := text(e, field); found != "" {
				return found
			}
		}
		return ""
	}
}

// get reads one key after the other from an object.
func get(limits *budget.Budget, object any, keys ...any) (any, error) {
	if key, ok := object.(string); ok && len(keys) == 1 {
		if _, alsoKey := keys[0].(string); !alsoKey {
			object, keys = keys[0], []any{key}
		}
	}
	if len(keys) == 0 {
		return nil, badArgument("needs at least one key")
	}
	path, err := pathOf(limits, keys)
	if err != nil {
		return nil, err
	}
	v, _ := value.Walk(object, path, len(path))
	return v, nil
}
