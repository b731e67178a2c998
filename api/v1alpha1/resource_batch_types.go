package v1alpha1

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// RunFields are the short fields of kinds that run pods to completion: Jobs and CronJobs.
//
// +kubebuilder:object:generate=false
type RunFields struct {
	// Image of the container.
	// Default: required, unless `spec` brings the containers.
	// Example: image: registry.example.com/tools:1
	Image string `json:"image,omitempty"`
	// ContainerName is what the container is called.
	// Default: `main`.
	// Example: containerName: server
	ContainerName string `json:"containerName,omitempty"`
	// Command replaces the image's entry point.
	// Default: the image's.
	// Example: command: [empty-bucket, "{{ .metadata.name }}"]
	Command []string `json:"command,omitempty"`
	// Args are the arguments.
	// Default: the image's.
	// Example: args: [seed]
	Args []string `json:"args,omitempty"`
	// Env are environment variables.
	// Example: env: [{name: HOST, value: "{{ .spec.host }}"}]
	Env []corev1.EnvVar `json:"env,omitempty"`
	// EnvFrom are variables from all keys of ConfigMaps or Secrets.
	// Example: envFrom: [{secretRef: {name: cloud}}]
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
	// BackoffLimit is how often a failed pod is made again before the Job has failed.
	// Default: 3.
	// Example: backoffLimit: 0
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
	// TTLSecondsAfterFinished removes the Job this long after it finished.
	// Example: ttlSecondsAfterFinished: 300
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// ActiveDeadlineSeconds: the Job fails after this time.
	// Example: activeDeadlineSeconds: 600
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// Parallelism is the number of pods at the same time.
	// Default: 1, Kubernetes' own.
	// Example: parallelism: 2
	Parallelism *int32 `json:"parallelism,omitempty"`
	// Completions is the number of pods that must succeed.
	// Default: 1, Kubernetes' own.
	// Example: completions: 4
	Completions *int32 `json:"completions,omitempty"`
	// ServiceAccountName is the account of the pod.
	// Default: the namespace's `default`.
	// Example: serviceAccountName: cleaner
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// Resources are requests and limits.
	// Example: resources: {limits: {memory: 128Mi}}
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// Volumes of the pod.
	// Example: volumes: [{name: data, persistentVolumeClaim: {claimName: "{{ .metadata.name }}-data"}}]
	Volumes []corev1.Volume `json:"volumes,omitempty"`
	// VolumeMounts say where the container sees them.
	// Example: volumeMounts: [{name: data, mountPath: /data}]
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
}

// JobFields are the short fields of `jobs`.
//
// Makes `batch/v1` Jobs. The container is called `main`, or by `containerName`; `restartPolicy` is Never. `ttlSecondsAfterFinished` does not stand in
// `onDelete`: what is made there goes when the clean-up is over.
//
// +kubebuilder:object:generate=false
type JobFields struct {
	RunFields `json:",inline"`
	// FailurePolicy is what a failed Job does to the deletion: Block or Continue. In `onDelete` only.
	// Default: Block.
	// Example: failurePolicy: Continue
	FailurePolicy JobFailurePolicy `json:"failurePolicy,omitempty"`
	// RerunOn are the values for which the Job runs: when it has completed, it runs again when one of them changes, and not for any other
	// change. In `onReconcile`, or in `onCreate` with `reconcile: true`.
	// Default: it runs once; with `replace`, for each change.
	// Example: rerunOn: ["{{ .spec.image }}"]
	RerunOn []apiextensionsv1.JSON `json:"rerunOn,omitempty"`
}

// JobFailurePolicy says what a failed clean-up Job does to the deletion of its resource.
type JobFailurePolicy string

// The failure policies of a clean-up Job.
const (
	JobFailureBlock    JobFailurePolicy = "Block"
	JobFailureContinue JobFailurePolicy = "Continue"
)

// CronJobFields are the short fields of `cronjobs`.
//
// Makes `batch/v1` CronJobs. The container of their Jobs is called `main`, or by `containerName`; `restartPolicy` is Never.
//
// +kubebuilder:object:generate=false
type CronJobFields struct {
	RunFields `json:",inline"`
	// Schedule says when, in the form of cron: minute, hour, day, month, weekday.
	// Default: required, unless `spec` has it.
	// Example: schedule: "30 2 * * *"
	Schedule string `json:"schedule,omitempty"`
	// TimeZone of the schedule, such as Europe/Berlin.
	// Default: that of the cluster's controllers, mostly UTC.
	// Example: timeZone: Europe/Berlin
	TimeZone *string `json:"timeZone,omitempty"`
	// Suspend: no further Jobs start.
	// Default: false, Kubernetes' own.
	// Example: suspend: true
	Suspend *bool `json:"suspend,omitempty"`
	// ConcurrencyPolicy says what happens while the last Job still runs: Allow, Forbid or Replace.
	// Default: Allow, Kubernetes' own.
	// Example: concurrencyPolicy: Forbid
	ConcurrencyPolicy batchv1.ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`
	// SuccessfulJobsHistoryLimit is the number of Jobs that are kept after success.
	// Default: 3, Kubernetes' own.
	// Example: successfulJobsHistoryLimit: 1
	SuccessfulJobsHistoryLimit *int32 `json:"successfulJobsHistoryLimit,omitempty"`
	// FailedJobsHistoryLimit is the number of Jobs that are kept after failure.
	// Default: 1, Kubernetes' own.
	// Example: failedJobsHistoryLimit: 5
	FailedJobsHistoryLimit *int32 `json:"failedJobsHistoryLimit,omitempty"`
	// StartingDeadlineSeconds is how late a Job may still start; one that is later is left out.
	// Example: startingDeadlineSeconds: 300
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`
}
