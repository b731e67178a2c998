// Package settle says whether an object has settled, and in its own words why not. It reads the object and nothing else.
package settle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

const kindDeployment = "Deployment"

// complaint is a condition in which objects of a kind say what is wrong.
type complaint struct {
	kind      string // empty: any
	condition string
	status    corev1.ConditionStatus
}

// complaints go from the cause to what comes of it: a Deployment whose Pods are refused runs into its deadline because of that.
var complaints = []complaint{
	{kindDeployment, string(appsv1.DeploymentReplicaFailure), corev1.ConditionTrue},
	{"ReplicaSet", string(appsv1.ReplicaSetReplicaFailure), corev1.ConditionTrue},
	{kindDeployment, string(appsv1.DeploymentProgressing), corev1.ConditionFalse},
	{"Pod", string(corev1.PodScheduled), corev1.ConditionFalse},
	{"Job", string(batchv1.JobFailed), corev1.ConditionTrue},
	{"", string(status.ConditionStalled), corev1.ConditionTrue},
}

// Why says why a child has not settled, by kstatus, and in its own words where it has some; "" where it has settled.
func Why(d *declare.Declaration, child *unstructured.Unstructured) (stage.Weight, string) {
	res, err := status.Compute(child)
	switch {
	case err != nil:
		if !d.Quoted {
			return stage.ChildOnItsWay, "its status can't be read"
		}
		return stage.ChildOnItsWay, "its status can't be read: " + stage.OneLine(err.Error())
	case child.GetDeletionTimestamp() != nil:
		return stage.ChildOnItsWay, res.Message + HeldBy(child)
	case res.Status == status.CurrentStatus && (!IsJob(child) || JobState(child) != ""):
		// To kstatus, a Job is as it should be as soon as it has begun.
		return stage.ChildOnItsWay, ""
	}
	weight, why := stage.ChildOnItsWay, stage.OneLine(res.Message)
	if c, complains := explainingCondition(child, res); c != nil {
		why = cmp.Or(textOfCondition(c, d.Quoted), why)
		if complains {
			weight = stage.ChildTroubled
		}
	}
	if res.Status == status.FailedStatus {
		weight = stage.ChildFailed
	}
	return weight, cmp.Or(why, "its status is "+string(res.Status)) // a condition may say nothing but that it is there
}

// explainingCondition gives the condition in which a child says how it fares: one that complains, or the one that kstatus quotes. nil: there
// is none.
func explainingCondition(child *unstructured.Unstructured, res *status.Result) (c *status.BasicCondition, complains bool) {
	withStatus, err := status.GetObjectWithConditions(child.Object)
	if err != nil || Stale(child) {
		return nil, false
	}
	all := withStatus.Status.Conditions
	for _, wanted := range complaints {
		at := slices.IndexFunc(all, func(c status.BasicCondition) bool { return c.Type == wanted.condition && c.Status == wanted.status })
		if at >= 0 && (wanted.kind == "" || wanted.kind == child.GetKind()) {
			return &all[at], true
		}
	}
	at := slices.IndexFunc(all, func(c status.BasicCondition) bool { return c.Message != "" && c.Message == res.Message })
	if at < 0 {
		return nil, false
	}
	return &all[at], false
}

// textOfCondition are the words of a condition. Where its message may quote what is not for all to read, its reason and place stand for it.
func textOfCondition(c *status.BasicCondition, quoted bool) string {
	if !quoted {
		return strings.TrimSpace(fmt.Sprintf("%s (see its status.conditions[%s])", c.Reason, c.Type))
	}
	return stage.Steady(strings.Trim(c.Reason+": "+c.Message, ": "))
}

// HeldBy names the finalizers that hold an object which is being deleted. Those of the garbage collector go by themselves.
func HeldBy(obj *unstructured.Unstructured) string {
	var names []string
	for _, f := range obj.GetFinalizers() {
		if f != metav1.FinalizerDeleteDependents && f != metav1.FinalizerOrphanDependents {
			names = append(names, fmt.Sprintf("%q", f))
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return "; the finalizer " + names[0] + " holds it"
	default:
		return "; the finalizers " + strings.Join(names, ", ") + " hold it"
	}
}

// InTheWay picks of the children that have to be gone before anything else the one that a message names: one that somebody holds, if there is
// one.
func InTheWay(next []*unstructured.Unstructured) *unstructured.Unstructured {
	if at := slices.IndexFunc(next, func(child *unstructured.Unstructured) bool { return HeldBy(child) != "" }); at >= 0 {
		return next[at]
	}
	return next[0]
}

// Stale says whether the state of an object says nothing of what is declared now: it is being deleted, or its controller has not
// seen the last change.
func Stale(child *unstructured.Unstructured) bool {
	// A status of another shape tells nothing of generations.
	observed, found, err := unstructured.NestedInt64(child.Object, "status", "observedGeneration")
	return child.GetDeletionTimestamp() != nil || found && err == nil && observed != child.GetGeneration()
}

// IsJob says whether an object is a Job. Of a hook's declaration that is not known.
func IsJob(obj *unstructured.Unstructured) bool {
	return obj.GroupVersionKind().GroupKind() == batchv1.SchemeGroupVersion.WithKind("Job").GroupKind()
}

// JobState is the condition that ended a Job, or "".
func JobState(job *unstructured.Unstructured) batchv1.JobConditionType {
	// A missing or odd status is that of a Job that has not ended.
	conditions, _, _ := unstructured.NestedSlice(job.Object, "status", "conditions")
	for _, c := range conditions {
		m, ok := c.(map[string]any)
		if !ok || m["status"] != string(metav1.ConditionTrue) {
			continue
		}
		if t, _ := m["type"].(string); t == string(batchv1.JobComplete) || t == string(batchv1.JobFailed) {
			return batchv1.JobConditionType(t)
		}
	}
	return ""
}
