package check

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/engine/kinds"
)

// noParents are kinds of Kubernetes that no box serves, and why.
var noParents = map[schema.GroupKind]string{
	{Kind: "Secret"}:                              "templates would read what Secrets hold as if it were no secret",
	{Kind: "Event"}:                               "events come and go by the thousand, and Orkestra itself makes some",
	{Group: "events.k8s.io", Kind: "Event"}:       "events come and go by the thousand, and Orkestra itself makes some",
	{Group: "coordination.k8s.io", Kind: "Lease"}: "Leases change every few seconds, and one of them is Orkestra's own",
}

const podKind = "Pod"

// controls are the kinds whose objects a controller of Kubernetes takes for its own where they name an object of a kind as their controller: it
// would count them, or let them go.
var controls = map[string][]string{
	"Deployment.apps":       {"ReplicaSet"},
	"ReplicaSet.apps":       {podKind},
	"StatefulSet.apps":      {podKind, "ControllerRevision"},
	"DaemonSet.apps":        {podKind, "ControllerRevision"},
	"Job.batch":             {podKind},
	"CronJob.batch":         {"Job"},
	"ReplicationController": {podKind},
}

// NoParent says why no box serves objects of a kind that others own; empty: boxes may.
func NoParent(kind schema.GroupKind) string { return noParents[kind] }

// Controls says whether a controller of Kubernetes takes objects of a kind for its own where they name an object of a served kind as their owner.
func Controls(served schema.GroupKind, child string) bool {
	return slices.Contains(controls[served.String()], child)
}

// withoutGeneration are kinds of Kubernetes with a spec whose objects have no metadata.generation.
var withoutGeneration = map[schema.GroupKind]bool{
	{Kind: "Service"}: true, {Kind: "Namespace"}: true, {Kind: "Node"}: true, {Kind: podKind}: true, {Kind: "PersistentVolume"}: true,
	{Kind: "PersistentVolumeClaim"}: true, {Kind: "ResourceQuota"}: true, {Kind: "LimitRange"}: true,
	{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest"}: true, {Group: "storage.k8s.io", Kind: "VolumeAttachment"}: true,
}

// HasGeneration says whether objects of a kind have a spec, and a generation that counts its changes: that is what snapshots are of.
func HasGeneration(kind schema.GroupVersionKind) bool {
	known := kinds.Schema(kind)
	if known == nil {
		return true // a CRD defines it, and the API server counts for all of these
	}
	_, has := known.Properties["spec"]
	return has && !withoutGeneration[kind.GroupKind()]
}
