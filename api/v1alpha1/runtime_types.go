package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RuntimeSpec says how a box's sub-controller runs.
type RuntimeSpec struct {
	// Workers is the number of reconciles that may run at the same time for this box.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +kubebuilder:default=3
	// +optional
	Workers *int32 `json:"workers,omitempty"`

	// Resync is the time after which a resource is reconciled again although no event asked for it. It is also the longest pause
	// between two retries.
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-+]?(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="resync is a duration such as 30s, 10m or 1h30m, between 1s and 24h"
	// +optional
	Resync *metav1.Duration `json:"resync,omitempty"`

	// FailureThreshold is the number of failed reconciles in a row, over the whole box, that makes it Degraded.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +kubebuilder:default=5
	// +optional
	FailureThreshold *int32 `json:"failureThreshold,omitempty"`

	// Queue limits the queue.
	// +optional
	Queue QueueSpec `json:"queue,omitzero"`

	// DependsOn lists boxes that must have started, or be healthy, before new resources are reconciled.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	DependsOn []Dependency `json:"dependsOn,omitempty"`

	// Autoscale changes workers, queue depth and resync while its conditions hold.
	// +optional
	Autoscale *AutoscaleSpec `json:"autoscale,omitempty"`
}

// QueueSpec limits a box's queue.
type QueueSpec struct {
	// MaxDepth is the number of resources in the queue above which new ones wait outside, in the same order. None is lost. 0: no limit.
	// Resources that are being deleted, and failing ones whose spec was changed, enter nevertheless.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxDepth int32 `json:"maxDepth,omitempty"`
	// Fairness says who is next. Namespace: namespaces take turns, so that one with many resources that wait holds up no other. None, the
	// default: who came first.
	// +optional
	Fairness Fairness `json:"fairness,omitempty"`
}

// Fairness says who is next in a queue.
//
// +kubebuilder:validation:Enum=None;Namespace
type Fairness string

// The kinds of fairness.
const (
	// FairnessNone: who came first.
	FairnessNone Fairness = "None"
	// FairnessNamespace: namespaces take turns.
	FairnessNamespace Fairness = "Namespace"
)

// Dependency names another box and what it must have reached.
type Dependency struct {
	// Name is the other box's name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name"`

	// Condition is what the other box must have reached: Started or Healthy, in upper or lower case.
	// +kubebuilder:validation:Pattern=`^(?i)(started|healthy)$`
	// +kubebuilder:validation:MaxLength=7
	// +kubebuilder:default=Started
	// +optional
	Condition string `json:"condition,omitempty"`
}

// AutoscaleSpec changes a box's limits while conditions on its own measurements hold.
type AutoscaleSpec struct {
	// Interval is the time between two looks at the conditions, from 1s to 1h. The limits never change twice within it.
	// +kubebuilder:default="15s"
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-+]?(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$') && duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="interval is a duration such as 30s, 10m or 1h30m, between 1s and 1h"
	// +optional
	Interval *metav1.Duration `json:"interval,omitempty"`
	// Cooldown is how long the conditions must have been false, at every look, before the limits go back: up to 24h. 0s: they go back at the
	// first look at which the conditions are false.
	// +kubebuilder:default="2m"
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-+]?(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$') && duration(self) >= duration('0s') && duration(self) <= duration('24h')",message="cooldown is a duration such as 30s, 10m or 1h30m, between 0s and 24h"
	// +optional
	Cooldown *metav1.Duration `json:"cooldown,omitempty"`
	// Conditions read status.queueDepth, status.workers, status.workersBusyPercent, status.reconcileP95Ms,
	// status.errorPercent and status.resources of the box, each also as metrics.NAME, and time.dayOfWeek, time.hour and time.minute in UTC.
	// At least one must be given.
	// +required
	Conditions Gate `json:"conditions"`
	// Do holds the limits while the conditions hold. Those that are not given stay as they are. At least one must be given.
	// +required
	Do AutoscaleLimits `json:"do"`
}

// AutoscaleLimits are the limits that autoscale sets.
type AutoscaleLimits struct {
	// Workers replaces spec.workers.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +optional
	Workers *int32 `json:"workers,omitempty"`
	// QueueDepth replaces spec.queue.maxDepth. 0: no limit.
	// +kubebuilder:validation:Minimum=0
	// +optional
	QueueDepth *int32 `json:"queueDepth,omitempty"`
	// Resync replaces spec.resync, from 1s to 24h.
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-+]?(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="resync is a duration such as 30s, 10m or 1h30m, between 1s and 24h"
	// +optional
	Resync *metav1.Duration `json:"resync,omitempty"`
}

// ReconcilerSpec says which Go code takes part in a reconcile.
type ReconcilerSpec struct {
	// Default says that the declared pipeline runs. false: the constructor's reconciler takes its place.
	// +kubebuilder:default=true
	// +optional
	Default *bool `json:"default,omitempty"`
	// Hooks is code that runs beside the templates: a Go function that is compiled into the manager, or a webhook.
	// +optional
	Hooks *HookSpec `json:"hooks,omitempty"`
	// Constructor names Go code that makes the reconciler which takes the place of the pipeline. It is compiled into the manager, needs default:
	// false, and stands alone: fields that say what is done for a resource are refused beside it.
	// +optional
	Constructor *GoFunction `json:"constructor,omitempty"`
}

// HookSpec names a hook, and its place in the cycle: a Go function by location and function, or a webhook.
// +kubebuilder:validation:XValidation:rule="!has(self.webhook) || !has(self.location) && !has(self.function) && !has(self.alias)",message="a webhook stands for a Go function: give webhook, or location and function"
type HookSpec struct {
	GoFunction `json:",inline"`
	// Webhook is a service that is called as a hook, for code in any language. Default: the hook is the Go function.
	// +optional
	Webhook *HookWebhook `json:"webhook,omitempty"`
	// RunHooksFirst runs the hook before the templates, which then see its children in .children.hook and what it sets in .status. Default: it
	// runs behind them.
	// +optional
	RunHooksFirst bool `json:"runHooksFirst,omitempty"`
}

// GoFunction names a Go function that is compiled in.
type GoFunction struct {
	// Location is the Go import path of the package that has the function. It must be given.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Location string `json:"location,omitempty"`
	// Function is the name of the exported function. It must be given. The manager knows the function as location.function.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Function string `json:"function,omitempty"`
	// Alias is the name under which the registry that `orkestra generate registry` writes imports the package. Default: derived from the location.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Alias string `json:"alias,omitempty"`
	// Args is handed to the function. Leaves may be templates, but not those of a constructor, which is called once for all resources.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Args *apiextensionsv1.JSON `json:"args,omitempty"`
	// Resources lists the kinds that the code makes or reads. Rights and watches are derived from it. A hook can't make or read others, and the
	// client of a constructor reads no others.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Resources []HookResource `json:"resources,omitempty"`
}

// HookResource is a kind that Go code makes or reads.
type HookResource struct {
	// APIVersion is the kind's group and version. Default: the built-in kind of that name.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// Kind is the kind.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Kind string `json:"kind"`
}

// APITypes names the Go types of the resource.
type APITypes struct {
	// Location is the Go import path of the package that has the types. It must be given.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Location string `json:"location,omitempty"`
	// Object is the name of the Go type, such as Database. It must be given, and be the type that the function takes.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Object string `json:"object,omitempty"`
	// ObjectList is the name of the Go list type. It must be in the registry. Default: that of the object, with List behind it.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ObjectList string `json:"objectList,omitempty"`
	// Alias is the name under which the registry that `orkestra generate registry` writes imports the package. Default: derived from the location.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Alias string `json:"alias,omitempty"`
}

// RollbackSpec says when resources are rolled back, and by which templates.
type RollbackSpec struct {
	// Trigger says when. Default: the box degrades.
	// +optional
	Trigger *RollbackTrigger `json:"trigger,omitempty"`
	// OnRollback are the groups that run, with .previous. Default: the snapshot's children are applied.
	// +optional
	OnRollback ResourceGroup `json:"onRollback,omitempty"`
}

// RollbackTrigger says when a resource is rolled back.
type RollbackTrigger struct {
	// ConsecutiveFailures is the number of failed reconciles in a row after which the resource is rolled back. Default: failureThreshold.
	// +kubebuilder:validation:Minimum=1
	// +optional
	ConsecutiveFailures *int32 `json:"consecutiveFailures,omitempty"`
	// Within is the time in which the failures must happen. Default: any time.
	// +optional
	Within *metav1.Duration `json:"within,omitempty"`
}
