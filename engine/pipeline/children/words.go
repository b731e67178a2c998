package children

import (
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

// whyUnsettled says why a child has not settled, by kstatus, and in its own words where it has some; "" where it has settled.
func whyUnsettled(d *declare.Declaration, child *unstructured.Unstructured) (stage.Weight, string) {
	res, err := status.Compute(child)
	switch {
	case err != nil:
		if !d.Quoted {
			return stage.ChildOnItsWay, "its status can't be read"
		}
		return stage.ChildOnItsWay, "its status can't be read: " + stage.OneLine(err.Error())
	case child.GetDeletionTimestamp() != nil:
		return stage.ChildOnItsWay, res.Message + HeldBy(child)
	case res.Status == status.CurrentStatus && (!d.IsJob() || JobState(child) != ""):
		// To kstatus, a Job is as it should be as soon as it has begun.
		return stage.ChildOnItsWay, ""
	}
	weight, why := stage.ChildOnItsWay, stage.OneLine(res.Message)
	if c, complains := explainingCondition(child, res); c != nil {
		why = textOfCondition(c, d.Quoted)
		if complains {
			weight = stage.ChildTroubled
		}
	}
	if res.Status == status.FailedStatus {
		weight = stage.ChildFailed
	}
	return weight, why
}

// explainingCondition gives the condition in which a child says how it fares: one that complains, or the one that kstatus quotes. nil: there
// is none.
func explainingCondition(child *unstructured.Unstructured, res *status.Result) (c *status.BasicCondition, complains bool) {
	withStatus, err := status.GetObjectWithConditions(child.Object)
	if err != nil || stale(child) {
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
