package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Labels that Orkestra puts on resources, children, and what it keeps of boxes.
const (
	// LabelServedBy is the name of the box that serves an object of others, where something has to be noted on that. It is a label, because
	// some controllers copy annotations to what they make, and because the objects that carry it are found by it.
	LabelServedBy = GroupName + "/served-by"
	// LabelManaged is "true" on every resource and child that Orkestra manages.
	LabelManaged = GroupName + "/managed"
	// LabelOwner is the name of the resource that a child was made for, shortened to a valid label value. It has no prefix, because
	// people type it: `kubectl get deployments -l orkestra-owner=shop`.
	LabelOwner = "orkestra-owner"
	// LabelOwnerUID is the UID of the resource that a child was made for. Children are found by it.
	LabelOwnerUID = GroupName + "/owner-uid"
	// LabelBox is the name of the box that made a child.
	LabelBox = GroupName + "/box"
	// LabelManagedBy is the recommended Kubernetes label that names the tool behind an object.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// LabelAppName is the recommended Kubernetes label that names the workload; selectors use it.
	LabelAppName = "app.kubernetes.io/name"
	// LabelAppInstance is the recommended Kubernetes label that names the resource; selectors use it.
	LabelAppInstance = "app.kubernetes.io/instance"
	// LabelRevisionOf is the name of the box whose spec a ControllerRevision holds.
	LabelRevisionOf = GroupName + "/revision-of"
	// LabelSnapshot is "true" on a ControllerRevision that holds the last good spec of a resource. It has LabelOwnerUID too.
	LabelSnapshot = GroupName + "/snapshot"
	// LabelPolicy is the name of an admission policy that the manager may rely on, on the policy and its binding: "marks".
	LabelPolicy = GroupName + "/policy"
	// ManagedByValue is the value of LabelManagedBy on every child.
	ManagedByValue = "orkestra"
)

// Annotations that Orkestra writes.
const (
	// AnnotationManagedBy names the box that manages a resource.
	AnnotationManagedBy = GroupName + "/managed-by"
	// AnnotationManagedSince is the time (RFC 3339) at which a box first managed a resource. It never changes.
	AnnotationManagedSince = GroupName + "/managed-since"
	// AnnotationActiveSince is the time (RFC 3339) at which onCreate was complete for a resource. It never changes.
	AnnotationActiveSince = GroupName + "/active-since"
	// AnnotationDone holds, as JSON, the hash with which each Job of a resource completed, by declaration id.
	AnnotationDone = GroupName + "/done"
	// AnnotationCalled holds, as JSON, the generation for which each external call that changes something was made, by its name.
	AnnotationCalled = GroupName + "/called"
	// AnnotationOrphan is "true" on a deleted resource whose children are to stay (kubectl delete --cascade=orphan).
	AnnotationOrphan = GroupName + "/orphan"
	// AnnotationFinalizers lists, separated by commas, the finalizers of its box that Orkestra put on a resource besides its own.
	AnnotationFinalizers = GroupName + "/finalizers"
	// AnnotationNamespaces lists, separated by commas, the other namespaces that templates have led to and in which a resource may have
	// children.
	AnnotationNamespaces = GroupName + "/namespaces"
	// AnnotationHookGeneration is the generation of a resource at which a cycle with its hook has last succeeded.
	AnnotationHookGeneration = GroupName + "/hook-generation"
	// AnnotationHookConditions lists, separated by commas, the types of the conditions that the hook of its box has set on a resource.
	AnnotationHookConditions = GroupName + "/hook-conditions"
	// AnnotationPatches lists, as JSON, the objects of others that a resource patches, each with the id of the patch, and what a forced one has taken.
	AnnotationPatches = GroupName + "/patches"
	// AnnotationProviders lists, as JSON, what a resource has made by providers, each with the token that the service keeps as well.
	AnnotationProviders = GroupName + "/providers"
	// AnnotationDeclaration is the id of the declaration that a child stands for.
	AnnotationDeclaration = GroupName + "/declaration"
	// AnnotationApplied is the hash of the rendered object that was last applied to a child.
	AnnotationApplied = GroupName + "/applied"
	// AnnotationDeletionPolicy is "Orphan" on a child that is kept when its declaration goes.
	AnnotationDeletionPolicy = GroupName + "/deletion-policy"
	// AnnotationInitial lists, as JSON, the fields of a child that are left alone since it was made: "/spec/replicas". A field that
	// is no longer left alone, and is about to be applied again, has a minus in front.
	AnnotationInitial = GroupName + "/initial"
	// AnnotationRun is the hash that a Job runs with; when it has completed, AnnotationDone of the resource holds it.
	AnnotationRun = GroupName + "/run"
	// AnnotationRerunOn on a Job is the hash of the values for which it runs.
	AnnotationRerunOn = GroupName + "/rerun-on"
	// AnnotationRolledBack holds, as JSON, what a resource was rolled back from and to, while it is.
	AnnotationRolledBack = GroupName + "/rolled-back"
	// AnnotationSignature on a snapshot is the HMAC-SHA256, in base64, of all that it holds, by the key of the installation.
	AnnotationSignature = GroupName + "/signature"
	// AnnotationSnapshots lists, separated by commas, the SHA-256 hashes of the snapshots of a resource that have no signature, the newest
	// first. Versions before signatures wrote it; it is taken off when those snapshots are signed.
	AnnotationSnapshots = GroupName + "/snapshots"
	// AnnotationInstalledBy on a CRD names the box that made it. A CRD that a box adopted has none, and is never deleted with it.
	AnnotationInstalledBy = GroupName + "/installed-by"
	// AnnotationDrain, on the Lease of the leader, asks it to let go of everything before Orkestra is uninstalled.
	AnnotationDrain = GroupName + "/drain"
	// AnnotationWebAddress, on the Lease of the leader, is where other replicas reach the Control Center that it serves, as host:port.
	AnnotationWebAddress = GroupName + "/web-address"
	// AnnotationWebCertificate, on the Lease of the leader, is the SHA-256, in hexadecimal digits, of the certificate that it shows there.
	AnnotationWebCertificate = GroupName + "/web-certificate"
	// AnnotationLifeTime is how many seconds a Job that is made once stays when it has completed.
	AnnotationLifeTime = GroupName + "/life-time"
	// AnnotationLastAction holds, as JSON, what somebody did last to a resource or a box by the page of the manager: action, person, time. The
	// manager writes it with what it does in the name of that person.
	AnnotationLastAction = GroupName + "/last-action"
)

// Annotations that people set and Orkestra honors.
const (
	// AnnotationPaused stops everything but deletion for a resource while it is "true".
	AnnotationPaused = GroupName + "/paused"
	// AnnotationReconcileAt has a resource reconciled at once, each time its value changes. By convention the value is the current
	// time; Orkestra does not read it.
	AnnotationReconcileAt = GroupName + "/reconcile-at"
	// AnnotationSkipCleanup, when "true", lets a resource go without running onDelete.
	AnnotationSkipCleanup = GroupName + "/skip-cleanup"
	// AnnotationAllowFrom on a namespace lists the namespaces whose resources may have children, and read, in it although only
	// a template names it: names separated by commas, or "*" for all namespaces.
	AnnotationAllowFrom = GroupName + "/allow-from"
	// AnnotationConfirmAccount on a box is the UID of an account that was made again under its name, and as which the box may act.
	AnnotationConfirmAccount = GroupName + "/confirm-account"
	// AnnotationCleanup, when "true" on a box that is deleted, removes the children of its resources first.
	AnnotationCleanup = GroupName + "/cleanup"
)

// Finalizer holds a resource, or a box, until Orkestra has let go of it.
const Finalizer = GroupName + "/cleanup"

// Field managers of server-side apply.
const (
	// FieldManager owns what the declarations of a box set.
	FieldManager = "orkestra"
	// FieldManagerInitial owns fields that are set at creation and then left alone.
	FieldManagerInitial = "orkestra-initial"
	// FieldManagerRepair restores the keys of list entries, such as the port of a Service, that somebody changed: an apply would add a
	// second entry. What it owns is handed to FieldManager at once.
	FieldManagerRepair = "orkestra-repair"
	// FieldManagerMarks owns the finalizers, labels and annotations by which Orkestra marks the resources of a box. It is not that of
	// declarations: a resource of one box may be a child of another.
	FieldManagerMarks = "orkestra-marks"
	// FieldManagerStatus owns what Orkestra writes to the status of a resource.
	FieldManagerStatus = "orkestra-status"
	// FieldManagerCenter owns what people do by the Control Center.
	FieldManagerCenter = "orkestra-center"
)

// IsFieldManager says whether a field manager is one of Orkestra's own.
func IsFieldManager(name string) bool {
	switch name {
	case FieldManager, FieldManagerInitial, FieldManagerRepair, FieldManagerMarks, FieldManagerStatus:
		return true
	default:
		return false
	}
}

// patchManager is how the field manager of a patch begins; a hash follows.
const (
	patchManager       = "orkestra-"
	patchManagerLength = 16
)

// PatchManager is the field manager of a patch: one for each resource, by its UID, and the id of the patch.
func PatchManager(uid types.UID, id string) string {
	sum := sha256.Sum256([]byte(string(uid) + "/" + id))
	return patchManager + hex.EncodeToString(sum[:])[:patchManagerLength]
}

// IsPatchManager says whether a field manager is that of a patch.
func IsPatchManager(name string) bool {
	hash, ok := strings.CutPrefix(name, patchManager)
	return ok && len(hash) == patchManagerLength && strings.Trim(hash, "0123456789abcdef") == ""
}

// True is the value of boolean labels and annotations.
const True = "true"
