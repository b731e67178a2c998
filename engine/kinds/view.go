package kinds

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/engine/kinds/shape"
)

// secretKind is the kind whose data templates never see.
var secretKind = schema.GroupKind{Kind: "Secret"}

// counters are the status fields that Kubernetes leaves out at 0, by kind. View fills them in, so that a condition such as
// readyReplicas equals 0 does not have to ask first whether the field exists.
var counters = map[schema.GroupKind][]string{
	{Group: appsv1.GroupName, Kind: kindDeployment}: {
		"availableReplicas", "readyReplicas", nameReplicas, "unavailableReplicas", "updatedReplicas",
	},
	{Group: appsv1.GroupName, Kind: "ReplicaSet"}: {"availableReplicas", "fullyLabeledReplicas", "readyReplicas", nameReplicas},
	{Group: appsv1.GroupName, Kind: kindStatefulSet}: {
		"availableReplicas", "currentReplicas", "readyReplicas", nameReplicas, "updatedReplicas",
	},
	{Group: appsv1.GroupName, Kind: "DaemonSet"}: {
		"currentNumberScheduled", "desiredNumberScheduled", "numberAvailable", "numberMisscheduled", "numberReady",
		"numberUnavailable", "updatedNumberScheduled",
	},
	{Kind: "ReplicationController"}:                         {"availableReplicas", "fullyLabeledReplicas", "readyReplicas", nameReplicas},
	{Group: "batch", Kind: "Job"}:                           {"active", "failed", "succeeded"},
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}: {"currentReplicas", "desiredReplicas"},
	{Group: "policy", Kind: "PodDisruptionBudget"}:          {"currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"},
}

// View is what templates and conditions see of a live child: the object, with the counters that Kubernetes leaves out at 0
// present, and without a Secret's data. The object is cache memory that others read: it is never changed, and the view,
// which shares what it can with it, must not be changed either. The view of nil is nil.
func View(obj *unstructured.Unstructured) map[string]any {
	if obj == nil {
		return nil
	}
	gk := obj.GroupVersionKind().GroupKind()
	if gk == secretKind {
		return viewSecret(obj.Object)
	}
	missing := missingCounters(obj.Object, counters[gk])
	if len(missing) == 0 {
		return obj.Object
	}
	status, ok := obj.Object[nameStatus].(map[string]any)
	if !ok {
		status = nil
	}
	counted := make(map[string]any, len(status)+len(missing))
	maps.Copy(counted, status)
	for _, name := range missing {
		counted[name] = int64(0)
	}
	view := maps.Clone(obj.Object)
	view[nameStatus] = counted
	return view
}

// ViewWithSecrets is View with what a Secret holds, for templates whose result nobody reads but the API server. The same goes for
// the object.
func ViewWithSecrets(obj *unstructured.Unstructured) map[string]any {
	if obj != nil && obj.GroupVersionKind().GroupKind() == secretKind {
		return obj.Object
	}
	return View(obj)
}

func missingCounters(object map[string]any, names []string) []string {
	status := shape.Object(object[nameStatus])
	var missing []string
	for _, name := range names {
		if status[name] == nil {
			missing = append(missing, name)
		}
	}
	return missing
}

// viewSecret gives a Secret without its data, and without the annotation in which kubectl apply keeps a copy of it.
func viewSecret(object map[string]any) map[string]any {
	view := maps.Clone(object)
	delete(view, "data")
	delete(view, "stringData")
	metadata := shape.Object(object[nameMetadata])
	annotations := shape.Object(metadata["annotations"])
	if _, ok := annotations[corev1.LastAppliedConfigAnnotation]; !ok {
		return view
	}
	metadata, annotations = maps.Clone(metadata), maps.Clone(annotations)
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	metadata["annotations"] = annotations
	view[nameMetadata] = metadata
	return view
}
