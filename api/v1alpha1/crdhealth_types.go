package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CRDHealth is what Orkestra knows of the health of one CRD's operator. The controller makes and keeps one for each
// box, of the same name. One that a person makes tracks a CRD that another operator runs.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,path=crdhealths,singular=crdhealth,shortName=crdh,categories=orkestra
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="CRD",type=string,JSONPath=`.spec.crd.name`
// +kubebuilder:printcolumn:name="Resources",type=integer,JSONPath=`.status.resources.total`
// +kubebuilder:printcolumn:name="Settled",type=integer,JSONPath=`.status.resources.ready`
// +kubebuilder:printcolumn:name="Failing",type=integer,JSONPath=`.status.resources.failing`
// +kubebuilder:printcolumn:name="Failures",type=integer,JSONPath=`.status.consecutiveFailures`
// +kubebuilder:printcolumn:name="Last Reconcile",type=date,JSONPath=`.status.lastReconcile`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Workers",type=integer,priority=1,JSONPath=`.status.workers`
// +kubebuilder:printcolumn:name="Queue",type=integer,priority=1,JSONPath=`.status.queueDepth`
// +kubebuilder:printcolumn:name="Revision",type=string,priority=1,JSONPath=`.status.revision`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type CRDHealth struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says whose health this is.
	// +required
	Spec CRDHealthSpec `json:"spec"`

	// Status is the health.
	// An object that has not been reconciled yet observes generation -1, so that tools which wait do not take it for one that is done.
	// +kubebuilder:default={"observedGeneration":-1,"successCount":0,"failureCount":0,"consecutiveFailures":0,"workers":0,"queueDepth":0}
	// +optional
	Status CRDHealthStatus `json:"status,omitempty"`
}

// CRDHealthList is a list of CRDHealth objects.
//
// +kubebuilder:object:root=true
type CRDHealthList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CRDHealth `json:"items"`
}

// CRDHealthSpec says whose health an object holds.
//
// +kubebuilder:validation:XValidation:rule="!has(self.operatorBoxRef) || !has(self.healthyWhen) || size(self.healthyWhen) == 0",message="healthyWhen goes without operatorBoxRef: the health of a box follows from its reconciles"
type CRDHealthSpec struct {
	// OperatorBoxRef names the box. Absent: the CRD is run by another operator.
	// +optional
	OperatorBoxRef *OperatorBoxReference `json:"operatorBoxRef,omitempty"`

	// CRD names the CRD.
	// +required
	CRD CRDName `json:"crd"`

	// HealthyWhen lists conditions that every resource must meet. Only without operatorBoxRef. Default: Ready=True.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	HealthyWhen []Condition `json:"healthyWhen,omitempty"`
}

// OperatorBoxReference names a box.
type OperatorBoxReference struct {
	// Name of the box.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name"`
}

// CRDName names a CRD.
type CRDName struct {
	// Name is <plural>.<group>.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
}

// HealthState is the state of a box as a whole.
//
// +kubebuilder:validation:Enum=Pending;Starting;Healthy;Degraded;Suspended;Stopped
type HealthState string

// The states of a box.
const (
	// HealthPending: the box waits for its CRD, a valid spec, or a right.
	HealthPending HealthState = "Pending"
	// HealthStarting: caches are filling.
	HealthStarting HealthState = "Starting"
	// HealthHealthy: reconciles succeed, or there is nothing to reconcile.
	HealthHealthy HealthState = "Healthy"
	// HealthDegraded: failureThreshold reconciles in a row failed.
	HealthDegraded HealthState = "Degraded"
	// HealthSuspended: spec.suspend is true.
	HealthSuspended HealthState = "Suspended"
	// HealthStopped: the CRD is gone, or another box runs it.
	HealthStopped HealthState = "Stopped"
)

// CRDHealthStatus is the health of a box.
type CRDHealthStatus struct {
	// ObservedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// State of the box as a whole.
	// +optional
	State HealthState `json:"state,omitempty"`
	// StartedAt is when the box began to run. A restart of the manager does not change it.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// ClaimedAt is when the box claimed its CRD. It is absent while another box holds that.
	// +optional
	ClaimedAt *metav1.Time `json:"claimedAt,omitempty"`
	// ConsecutiveFailures counts failed reconciles in a row over the whole box. A success of any resource sets it to 0.
	ConsecutiveFailures int64 `json:"consecutiveFailures"`
	// FailureThreshold is the number at which the box is Degraded.
	// +optional
	FailureThreshold int32 `json:"failureThreshold,omitempty"`
	// SuccessCount counts successful reconciles since the object was made.
	SuccessCount int64 `json:"successCount"`
	// FailureCount counts failed reconciles since the object was made.
	FailureCount int64 `json:"failureCount"`
	// LastReconcile is the time of the last reconcile that evaluated the pipeline.
	// +optional
	LastReconcile *metav1.Time `json:"lastReconcile,omitempty"`
	// LastSuccess is the time of the last success.
	// +optional
	LastSuccess *metav1.Time `json:"lastSuccess,omitempty"`
	// LastFailure is the last failure.
	// +optional
	LastFailure *Failure `json:"lastFailure,omitempty"`
	// Failing lists the ten worst of the failing resources: those with the most failed reconciles in a row, then those that have failed
	// the longest.
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	// +optional
	Failing []FailingResource `json:"failing,omitempty"`
	// Overdue lists ten of the resources whose reconciles are past their deadline and do not end, sorted by namespace and name. Each keeps a
	// worker of the box, and nothing else is written of it, until it does or the manager is restarted.
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	// +optional
	Overdue []ResourceReference `json:"overdue,omitempty"`
	// Resources counts the resources of the CRD by how they fare.
	// +optional
	Resources ResourceCounts `json:"resources"`
	// Workers is the number of workers.
	Workers int32 `json:"workers"`
	// QueueDepth is the number of resources that wait for a worker.
	QueueDepth int32 `json:"queueDepth"`
	// Revision names the plan that runs.
	// +optional
	Revision string `json:"revision,omitempty"`
	// LastKnownGood is the newest plan under which a reconcile has succeeded while the box was healthy. Absent: there is none.
	// +optional
	LastKnownGood *KnownGood `json:"lastKnownGood,omitempty"`
	// Rollback says whether resources are rolled back.
	// +optional
	Rollback *RollbackStatus `json:"rollback,omitempty"`
	// Dependencies says which dependencies are met.
	// +listType=atomic
	// +optional
	Dependencies []DependencyStatus `json:"dependencies,omitempty"`
	// Autoscale says which limits of the box are replaced now, and why. Absent: those of its spec hold.
	// +optional
	Autoscale *AutoscaleStatus `json:"autoscale,omitempty"`
	// Conditions: Ready, Reconciling, Stalled, Started, Healthy.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ResourceReference names a resource of the box's CRD.
type ResourceReference struct {
	// Namespace; empty for cluster-scoped resources.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the resource.
	Name string `json:"name"`
}

// Failure is one failed reconcile.
type Failure struct {
	// Time of the failure.
	Time metav1.Time `json:"time"`
	// Resource that failed.
	Resource ResourceReference `json:"resource"`
	// Step of the pipeline that failed.
	// +optional
	Step string `json:"step,omitempty"`
	// Message is the error, at most 256 characters.
	Message string `json:"message"`
}

// FailingResource is a resource that counts as failing: its reconciles fail, a child of it has failed, or it is rolled back.
type FailingResource struct {
	ResourceReference `json:",inline"`
	// ConsecutiveFailures counts the failed reconciles of this resource in a row; 0 where they succeed, and it fails otherwise.
	ConsecutiveFailures int64 `json:"consecutiveFailures"`
	// Reason of its condition Stalled where that is True, such as TemplateError or ChildFailed, else that of Ready: ReconcileError is an error that may
	// pass by itself.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Step of the pipeline that failed.
	// +optional
	Step string `json:"step,omitempty"`
	// Message is the error, or says what has failed; at most 256 characters.
	Message string `json:"message"`
	// Since is when it first failed.
	Since metav1.Time `json:"since"`
}

// KnownGood is a plan that has worked.
type KnownGood struct {
	// Revision names the plan.
	Revision string `json:"revision"`
	// Time at which it was last seen healthy.
	Time metav1.Time `json:"time"`
}

// RollbackStatus says whether resources of a box are rolled back.
type RollbackStatus struct {
	// Active says that at least one resource is rolled back.
	Active bool `json:"active"`
	// Count of resources that are rolled back.
	Count int32 `json:"count"`
	// Since is when it began.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// Reason for it.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// AutoscaleStatus says which limits of a box autoscale has replaced, and why.
type AutoscaleStatus struct {
	// Active says that limits are replaced.
	Active bool `json:"active"`
	// Since is when they were replaced. Absent where none are.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// Reason says what was measured when they were replaced, or why the conditions can't be evaluated; at most 256 characters.
	Reason string `json:"reason"`
	// Workers that the box has in place of spec.workers. Absent: spec.workers holds.
	// +optional
	Workers *int32 `json:"workers,omitempty"`
	// QueueDepth that the box has in place of spec.queue.maxDepth. Absent: spec.queue.maxDepth holds.
	// +optional
	QueueDepth *int32 `json:"queueDepth,omitempty"`
	// Resync that the box has in place of spec.resync. Absent: spec.resync holds.
	// +optional
	Resync *metav1.Duration `json:"resync,omitempty"`
}

// DependencyStatus says whether a dependency is met.
type DependencyStatus struct {
	// Name of the other box.
	Name string `json:"name"`
	// Condition that it must have reached.
	Condition string `json:"condition"`
	// Met says whether it has.
	Met bool `json:"met"`
}
