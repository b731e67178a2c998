package v1alpha1

// Condition types. Ready, Reconciling and Stalled follow kstatus on resources, boxes and CRDHealth alike.
const (
	// ConditionReady summarizes the others: what the spec asks for is done. Of a resource, status.ready and status.readyWhen of its box
	// say what else must hold.
	ConditionReady = "Ready"
	// ConditionReconciling is True while children are not yet current or a gate waits.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True for errors that a retry can't mend.
	ConditionStalled = "Stalled"
	// ConditionCompiled (box) says whether the spec compiles to a plan, and names every mistake.
	ConditionCompiled = "Compiled"
	// ConditionCRDEstablished (box) says whether the API server serves the CRD.
	ConditionCRDEstablished = "CRDEstablished"
	// ConditionPermissionsGranted (box) says whether there is the account as which the box acts, and whether it may do what the box needs.
	ConditionPermissionsGranted = "PermissionsGranted"
	// ConditionStatusWritable (box) says whether results can be written to the resources' status.
	ConditionStatusWritable = "StatusWritable"
	// ConditionPoliciesInstalled (box) says whether the admission policies are in force that the manager was told to rely on. A manager that
	// relies on none does not show it. Boxes go on without them.
	ConditionPoliciesInstalled = "PoliciesInstalled"
	// ConditionAdmissionEnforced (box) says whether the API server enforces the rules of spec.admission. Only boxes that ask for it show it.
	ConditionAdmissionEnforced = "AdmissionEnforced"
	// ConditionRolledBack (resource) is True while its children are those of an earlier spec. Only boxes with rollback show it.
	ConditionRolledBack = "RolledBack"
	// ConditionStarted (CRDHealth) is True while the box's workers run.
	ConditionStarted = "Started"
	// ConditionHealthy (CRDHealth) is True in state Healthy.
	ConditionHealthy = "Healthy"
)

// Reasons of Ready.
const (
	// ReasonReconcileSucceeded goes with Ready=True.
	ReasonReconcileSucceeded = "ReconcileSucceeded"
	// ReasonReconcileError goes with Ready=False after any failure.
	ReasonReconcileError = "ReconcileError"
)

// Reasons of Ready and Reconciling of a resource that was let go, besides ReasonDrained. Ready is Unknown.
const (
	ReasonBoxDeleted  = "BoxDeleted"  // its box was deleted
	ReasonNotSelected = "NotSelected" // its box does not select it any more; of a box, Reconciling: it holds objects that it does not select any more
)

// Reasons of Reconciling.
const (
	ReasonWaitingForDependency = "WaitingForDependency" // a box in dependsOn is not there yet
	ReasonWaitingForCross      = "WaitingForCross"      // a required cross target is absent
	ReasonWaitingForProvider   = "WaitingForProvider"   // what a provider makes is not there yet, or its service asks to wait
	ReasonWaitingForTarget     = "WaitingForTarget"     // the object that a patch is for is absent
	ReasonWaitingForRelease    = "WaitingForRelease"    // another box still holds an object of others
	ReasonWaitingForHook       = "WaitingForHook"       // a hook waits for something
	ReasonHookFailed           = "HookFailed"           // a hook says that trying again does not help
	ReasonNamespaceWithdrawn   = "NamespaceWithdrawn"   // a namespace no longer lets the resource in; what is there stays as it is
	ReasonWaitingForGate       = "WaitingForGate"       // a wait gate is false
	ReasonChildrenNotCurrent   = "ChildrenNotCurrent"   // a child has not settled
	ReasonRollingOut           = "RollingOut"           // items of a loop wait for their turn to be changed
	ReasonChildTerminating     = "ChildTerminating"     // a child of the same name is being deleted
	ReasonRetrying             = "Retrying"             // the last attempt failed and will be repeated
	ReasonFighting             = "Fighting"             // somebody else keeps changing a child
	ReasonDeleting             = "Deleting"             // clean-up runs
	ReasonPaused               = "Paused"               // the paused annotation is set
	ReasonSettled              = "Settled"              // nothing is left to do
)

// Reasons of Stalled.
const (
	ReasonNotStalled       = "NotStalled"       // nothing stands in the way
	ReasonValidationFailed = "ValidationFailed" // a validation rule denies the resource
	ReasonTemplateError    = "TemplateError"    // a template can't be rendered for this resource
	ReasonConditionError   = "ConditionError"   // a condition can't be evaluated for this resource
	ReasonInvalidChild     = "InvalidChild"     // the API server refuses the rendered child
	ReasonWebhookFailed    = "WebhookFailed"    // the webhook of a box can't be called, or its answer can't be used
	ReasonAdmissionDenied  = "AdmissionDenied"  // admission refuses the rendered child
	ReasonNotOwned         = "NotOwned"         // a child of that name exists and is not ours
	ReasonConflict         = "Conflict"         // somebody else manages a field that a patch sets
	ReasonDuplicateChild   = "DuplicateChild"   // two declarations render the same object, or stand for the same resource of a provider
	ReasonForbidden        = "Forbidden"        // the manager lacks a right
	ReasonBudgetExceeded   = "BudgetExceeded"   // a limit on templates was reached
	ReasonCleanupFailed    = "CleanupFailed"    // a clean-up Job failed
	ReasonChildFailed      = "ChildFailed"      // a child has failed, and does not mend itself
	ReasonHeld             = "Held"             // rolled back and held
	ReasonProviderRefused  = "ProviderRefused"  // the service of a provider refuses what is declared
	ReasonProviderDenied   = "ProviderDenied"   // the service of a provider does not take the credentials
	ReasonExternalFailed   = "ExternalFailed"   // an external call fails in a way that a retry can't mend
)

// Reasons of the conditions that a box declares for its resources, where their values give none; besides Unknown.
const (
	ReasonMet    = "Met"    // the condition is True
	ReasonNotMet = "NotMet" // the condition is False
)

// Reasons of AdmissionEnforced, besides ReasonForbidden, ReasonSuspended and the reasons for which a box does not run.
const (
	ReasonEnforced             = "Enforced"             // the API server enforces what the box asks for
	ReasonNothingToEnforce     = "NothingToEnforce"     // no rule of the box can be said in a policy
	ReasonCountingResources    = "CountingResources"    // the rules are audited until the living resources have been judged
	ReasonResourcesBreakRules  = "ResourcesBreakRules"  // requireClean is set, and living resources break a rule
	ReasonAdmissionUnsupported = "AdmissionUnsupported" // the API server does not know the kind of policy
	ReasonPolicyNameTaken      = "PolicyNameTaken"      // a policy of that name exists and is not the box's
	ReasonPolicyRefused        = "PolicyRefused"        // the API server refuses the policy
)

// Reasons of RolledBack, besides ReasonRolledBack and ReasonSettled.
const (
	ReasonNoSnapshot      = "NoSnapshot"      // there is nothing to go back to
	ReasonSnapshotRefused = "SnapshotRefused" // the newest snapshot can't be trusted
	ReasonSnapshotFailed  = "SnapshotFailed"  // a snapshot could not be kept
	ReasonRollbackFailed  = "RollbackFailed"  // going back has failed, and is tried again
)

// Reasons of events.
const (
	ReasonReconciled     = "Reconciled"     // a resource is Ready
	ReasonRecovered      = "Recovered"      // a box or a resource that failed succeeds again
	ReasonRolledBack     = "RolledBack"     // the children of a resource are those of its last good spec again
	ReasonCleanupSkipped = "CleanupSkipped" // a clean-up object could not be made: its namespace is being deleted
	ReasonProviderMade   = "ProviderMade"   // a provider has made, or changed, a resource
	ReasonProviderGone   = "ProviderGone"   // a provider has deleted a resource
	ReasonProviderLost   = "ProviderLost"   // what a provider has made was gone, and was made again
	ReasonProviderMoved  = "ProviderMoved"  // what a provider has made is declared with another address, and stays
	ReasonProviderLeft   = "ProviderLeft"   // what a provider has made was left where it is
	ReasonPatchLeft      = "PatchLeft"      // what a patch has set can't be taken back, and stays
	ReasonHookEvent      = "HookEvent"      // a hook tells something, without a reason of its own
	ReasonOverdue        = "Overdue"        // a reconcile of a resource is past its deadline and does not end
	ReasonPutBack        = "PutBack"        // a child that others had changed is as it is declared again
	ReasonAccountPinned  = "AccountPinned"  // a box acts as an account from now on
	ReasonLeaderElection = "LeaderElection" // another manager leads (on the Lease)
	ReasonAutoscaled     = "Autoscaled"     // the conditions of a box hold, by which it has other limits
	ReasonAutoscaleEnded = "AutoscaleEnded" // a box has the limits of its spec again
	// A rule with action warn is broken.
	ReasonValidationWarning = "ValidationWarning"
	// The version that a box worked in is no longer served: it works in another one.
	ReasonCRDVersionChanged = "CRDVersionChanged"
	// The value of an annotation that people set is not understood, and ignored.
	ReasonAnnotationIgnored = "AnnotationIgnored"
)

// Reasons of a box's and a CRDHealth's conditions.
const (
	ReasonRunning             = "Running"             // the sub-controller runs
	ReasonSuspended           = "Suspended"           // spec.suspend is true
	ReasonStarting            = "Starting"            // caches are filling
	ReasonStopped             = "Stopped"             // the sub-controller is stopped
	ReasonCompiled            = "Compiled"            // the spec compiles
	ReasonCompileFailed       = "CompileFailed"       // the spec has mistakes
	ReasonUnknownFunction     = "UnknownFunction"     // the spec names Go code that the manager does not have
	ReasonConstructorFailed   = "ConstructorFailed"   // the constructor that the spec names gives no reconciler
	ReasonCRDMissing          = "CRDMissing"          // the CRD does not exist
	ReasonCRDNotEstablished   = "CRDNotEstablished"   // the CRD exists, but is not served yet
	ReasonCRDVersionNotServed = "CRDVersionNotServed" // spec.crd.version is not served
	ReasonCRDClaimed          = "CRDClaimed"          // another box runs this CRD
	ReasonCRDNotOwned         = "CRDNotOwned"         // crd.definition names a CRD that others made
	ReasonCRDRefused          = "CRDRefused"          // the change of crd.definition would lose data, or was refused
	ReasonEstablished         = "Established"         // the CRD is served
	ReasonGranted             = "Granted"             // no right is missing
	ReasonAccountRequired     = "AccountRequired"     // the box names no account, and the manager demands one
	ReasonAccountNotAllowed   = "AccountNotAllowed"   // the box names an account in a namespace whose accounts boxes may not use, or the manager's own
	ReasonAccountMissing      = "AccountMissing"      // the account does not exist
	ReasonAccountChanged      = "AccountChanged"      // the account was deleted and made again, and nobody has confirmed the new one
	ReasonAccountUnknown      = "AccountUnknown"      // the accounts can't be read, or not yet
	ReasonNoStatusSubresource = "NoStatusSubresource" // the CRD's version has no status subresource
	ReasonStatusFieldsUnknown = "StatusFieldsUnknown" // the CRD's schema lacks conditions or observedGeneration
	ReasonWritable            = "Writable"            // results can be written
	ReasonInstalled           = "Installed"           // all policies that the manager relies on are in force
	ReasonPoliciesMissing     = "PoliciesMissing"     // a policy that the manager relies on is not there
	ReasonPoliciesChanged     = "PoliciesChanged"     // a policy that the manager relies on is not that of this version
	ReasonDegraded            = "Degraded"            // failureThreshold was reached
	ReasonStuck               = "Stuck"               // every worker is in a reconcile that does not end, or what ran of a box does not stop
	ReasonHealthy             = "Healthy"             // the box works
	ReasonNotSupported        = "NotSupported"        // a CRDHealth asks for what this version can't serve
	ReasonDeletionBlocked     = "DeletionBlocked"     // the box is deleted, and something holds it
	ReasonDraining            = "Draining"            // the manager is being drained, and something of the box is still held
	ReasonDrained             = "Drained"             // the manager is drained: it holds nothing of the box, or the resource, any more
)

// Reasons of the events that tell what somebody has asked for on the page of a manager, besides ReasonPaused.
const (
	ReasonReconcileRequested = "ReconcileRequested" // a resource is reconciled now
	ReasonReleased           = "Released"           // a resource that is rolled back is tried again
	ReasonResumed            = "Resumed"            // a resource that was paused goes on
	ReasonSuspendRequested   = "SuspendRequested"   // spec.suspend of a box was set
	ReasonResumeRequested    = "ResumeRequested"    // spec.suspend of a box was taken back
	ReasonWentBack           = "WentBack"           // a box has the spec of a former revision again
)
