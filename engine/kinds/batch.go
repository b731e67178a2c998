package kinds

import (
	"fmt"
	"reflect"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds/shape"
	"github.com/orkspace/orkestra/engine/value"
)

// defaultBackoffLimit is the number of retries of a Job that does not name one.
const defaultBackoffLimit = 3

// Fields of Jobs and CronJobs.
const (
	nameBackoffLimit  = "backoffLimit"
	nameFailurePolicy = "failurePolicy"
	// RerunOn are the values for which a Job runs; they are no part of the object.
	RerunOn         = "rerunOn"
	nameJobTemplate = "jobTemplate"
	nameSchedule    = "schedule"
	nameTTL         = "ttlSecondsAfterFinished"
)

// failurePolicies are the values of failurePolicy.
var failurePolicies = []v1alpha1.JobFailurePolicy{v1alpha1.JobFailureBlock, v1alpha1.JobFailureContinue}

func batchKinds() []Kind {
	return []Kind{
		{
			Key: keyJobs, Singular: "job", Rank: rankJob,
			GVK:    batchv1.SchemeGroupVersion.WithKind("Job"),
			fields: reflect.TypeFor[v1alpha1.JobFields](),
			spec:   reflect.TypeFor[batchv1.JobSpec](),
			check:  checkJob,
			build:  buildJob,
		},
		{
			Key: keyCronJobs, Singular: "cronjob", Rank: rankJob,
			GVK:    batchv1.SchemeGroupVersion.WithKind("CronJob"),
			fields: reflect.TypeFor[v1alpha1.CronJobFields](),
			spec:   reflect.TypeFor[batchv1.CronJobSpec](),
			check:  checkCronJob,
			build:  buildCronJob,
		},
	}
}

// FailurePolicyOf reads the failurePolicy of a Job from its short fields; Block is the default. It says what Orkestra does when a Job of
// onDelete fails, and is no part of the object. Errors are *shape.FieldError.
func FailurePolicyOf(short map[string]any) (v1alpha1.JobFailurePolicy, error) {
	options, err := shape.Of(reflect.TypeFor[v1alpha1.JobFields]()).Fields(pick(short, nameFailurePolicy), "")
	if err != nil {
		return "", err
	}
	failurePolicy := v1alpha1.JobFailureBlock
	if text, ok := options[nameFailurePolicy].(string); ok && text != "" {
		failurePolicy = v1alpha1.JobFailurePolicy(text)
	}
	if !slices.Contains(failurePolicies, failurePolicy) {
		return "", badFailurePolicy(string(failurePolicy))
	}
	return failurePolicy, nil
}

func badFailurePolicy(text string) *shape.FieldError {
	return &shape.FieldError{
		Path: nameFailurePolicy, Got: value.TypeName(text), Value: shape.Excerpt(text),
		Want: fmt.Sprintf("%s or %s", v1alpha1.JobFailureBlock, v1alpha1.JobFailureContinue),
	}
}

// restartsOfJobs are the restart policies that the API server takes for a Job. Always is not one: its pods would never end.
var restartsOfJobs = []string{string(corev1.RestartPolicyNever), string(corev1.RestartPolicyOnFailure)}

func checkJob(c *shape.Checker) {
	checkPod(c, inTemplate...)
	checkRestarts(c, inTemplate, restartsOfJobs...)
	text, ok := c.Short[nameFailurePolicy].(string)
	if ok && text != "" && !c.Templated(text) && !slices.Contains(failurePolicies, v1alpha1.JobFailurePolicy(text)) {
		c.Found = append(c.Found, field.NotSupported(c.At.Child(nameFailurePolicy), v1alpha1.JobFailurePolicy(text), failurePolicies))
	}
}

// buildJob writes the time to live like any other field. Until Orkestra has noted that the Job completed, engine/pipeline/children takes it
// off again: a Job that is gone before that would run once more.
func buildJob(d Declared, short map[string]any) (map[string]any, error) {
	spec, err := runSpec(d, short, inTemplate...)
	if err != nil {
		return nil, err
	}
	if ttl, ok := short[nameTTL]; ok {
		spec[nameTTL] = ttl
	}
	return map[string]any{nameSpec: spec}, nil
}

// runSpec makes the spec of a Job, but for its time to live. at is the pod template's place in the overlay.
func runSpec(d Declared, short map[string]any, at ...string) (map[string]any, error) {
	// A Job's pods have no name label: a Job often has the name of the workload, whose Service must not select them.
	template, err := podTemplate(short, d.Spec, map[string]any{v1alpha1.LabelAppInstance: d.Instance}, at...)
	if err != nil {
		return nil, err
	}
	pod, ok := template[nameSpec].(map[string]any)
	if ok {
		pod["restartPolicy"] = string(corev1.RestartPolicyNever)
	}
	spec := pick(short, nameBackoffLimit, "activeDeadlineSeconds", "parallelism", "completions")
	if spec[nameBackoffLimit] == nil {
		spec[nameBackoffLimit] = int64(defaultBackoffLimit)
	}
	spec["template"] = template
	return spec, nil
}

// inJobTemplate is where the pod template of a CronJob is in its spec.
var inJobTemplate = []string{nameJobTemplate, nameSpec, "template"}

func checkCronJob(c *shape.Checker) {
	checkPod(c, inJobTemplate...)
	checkRestarts(c, inJobTemplate, restartsOfJobs...)
	c.Require(nameSchedule, "a schedule, such as \"30 2 * * *\"", nameSchedule)
}

func buildCronJob(d Declared, short map[string]any) (map[string]any, error) {
	job, err := runSpec(d, short, inJobTemplate...)
	if err != nil {
		return nil, err
	}
	// Orkestra does not watch the Jobs of a CronJob, so Kubernetes may delete them at any time.
	if ttl, ok := short[nameTTL]; ok {
		job[nameTTL] = ttl
	}
	spec := pick(short, nameSchedule, "timeZone", "suspend", "concurrencyPolicy", "successfulJobsHistoryLimit",
		"failedJobsHistoryLimit", "startingDeadlineSeconds")
	spec[nameJobTemplate] = map[string]any{nameSpec: job}
	return map[string]any{nameSpec: spec}, nil
}
