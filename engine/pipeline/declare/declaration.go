// Package declare knows what a box declares: each entry of its resource groups, compiled, and what the entries have to do with each other.
// It knows neither a resource nor a cycle: what is made of a declaration is the business of those who import it.
//
// Compile goes over a box once. What it gives is immutable and safe for concurrent use.
package declare

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
)

// Phase is the group that a declaration stands in.
type Phase string

// The phases of a resource's life that have groups.
const (
	OnCreate    Phase = "onCreate"
	OnReconcile Phase = "onReconcile"
	OnDelete    Phase = "onDelete"
	OnRollback  Phase = "onRollback"
)

// Declaration is one entry of a resource group, compiled.
type Declaration struct {
	// ID tells the declaration from others; it does not depend on its place.
	ID string
	// Explicit says that the id was given, so that templates may use it.
	Explicit bool
	// Where it stands in the box.
	Where string
	// Phase is the group that it stands in.
	Phase Phase
	// Order is its place among those of onCreate and onReconcile.
	Order int
	// Kind is the key that it stands under; the empty kind for manifests.
	Kind kinds.Kind
	// Kinds are those that its objects may have: one, or those that are listed where one template gives the whole object.
	Kinds kinds.Set

	Content
	Gates
	Mode
	Reads
	// Loop makes one object for each item; nil: the declaration stands for one object.
	Loop *Loop
	// Patch is what a patch sets, as it is written; nil: the declaration makes a child.
	Patch map[string]any

	takes takes
}

// Content is what an object is made of.
type Content struct {
	// Whole says that one template gives the whole object: its kind, its name and its namespace are known when it is rendered.
	Whole bool
	// WholeOfSecret says that this template may read what a Secret holds, so that no name is taken from what it gives.
	WholeOfSecret bool
	// Name and Namespace; nil: those of the resource.
	Name, Namespace *expr.Template
	// Labels and Annotations: first those that all children have in common, then those of the declaration, which win.
	Labels, Annotations []*expr.Value
	// Short are the short fields, or the manifest; Spec is the overlay.
	Short, Spec *expr.Value
	// Ports are the port fields alone, from which others take defaults.
	Ports *expr.Value
}

// Mode says how an object is written, and what becomes of it.
type Mode struct {
	// Once says that the object is made once, and not corrected.
	Once bool
	// Optional says that nothing waits for the object.
	Optional bool
	// Adopt says that an existing object without an owner is taken over.
	Adopt bool
	// Orphan says that the object stays when its declaration goes.
	Orphan bool
	// OwnerReference says that the object names its owner, so that the garbage collector deletes it.
	OwnerReference bool
	// MayGrant says that the operator lets boxes make what grants rights.
	MayGrant bool
	// Force says that a patch takes fields that others hold.
	Force bool
	// Replace says that the child is made again where it can't be changed; a Job when what is declared of it changes.
	Replace bool
	// Rerun says that a Job which has completed runs again when the values of rerunOn change, and only then.
	Rerun bool
	// Rollout says how many items of a loop are changed at a time; nil: all are.
	Rollout *Rollout
	// FailurePolicy of a Job of onDelete.
	FailurePolicy v1alpha1.JobFailurePolicy
	// Initial are fields that are set when the object is made, and then left alone.
	Initial []drift.FieldPath
}

// Reads is what the declaration reads, and what may be said of it because of that.
type Reads struct {
	// UsesChildren says whether a template or the gate reads children.
	UsesChildren bool
	// UsesSecrets says whether a template may read what a Secret holds.
	UsesSecrets bool
	// Quoted says whether messages may quote what the object, or the API server, says of it.
	Quoted bool
	// Outside is what is read from outside, also by what it takes from other declarations.
	Outside []compile.Outside
	// Needs are the names of what the declaration waits for where it is not there: ids of declarations, and of sources.
	Needs []string
	// Children are the declarations of any group whose children are read.
	Children []*Declaration
}

// takes is where defaults come from.
type takes struct {
	written  map[string]any // the short fields as written: which of them are set decides where defaults come from
	overlay  map[string]any // the spec as written
	workload *Declaration   // the box's only workload, where a default needs it
	service  *Declaration   // the box's only Service, where a default needs it
}

// Workload is the declaration whose workload a default is taken from; nil: none is.
func (d *Declaration) Workload() *Declaration { return d.takes.workload }

// Service is the declaration whose Service a default is taken from; nil: none is.
func (d *Declaration) Service() *Declaration { return d.takes.service }

// Rank is the declaration's place in its group.
func (d *Declaration) Rank() int {
	if d.IsManifest() {
		return d.Kinds.Rank()
	}
	return d.Kind.Rank
}

// IsManifest says whether the object is written out as a manifest.
func (d *Declaration) IsManifest() bool { return d.Kind.GVK.Empty() }

// jobKind is the kind of what runs to its end.
var jobKind = schema.GroupKind{Group: "batch", Kind: "Job"}

// IsJob says whether the object is a Job. A Job is never one of several kinds.
func (d *Declaration) IsJob() bool { return d.Kinds.Has(jobKind) }

// IsSecret says whether the object may be a Secret, of whatever version.
func (d *Declaration) IsSecret() bool { return d.Kinds.Has(compile.SecretKind.GroupKind()) }

// Label names the declaration in messages: by its id, or by its place where the id holds a template.
func (d *Declaration) Label() string {
	if !strings.Contains(d.ID, "{{") {
		return d.ID
	}
	_, place, _ := strings.Cut(strings.TrimPrefix(d.Where, "spec."), ".")
	return place
}

// ReadsNamespace says whether the object's name holds the namespace of the resource.
func (d *Declaration) ReadsNamespace() bool {
	return d.Name != nil && slices.ContainsFunc(d.Name.Paths(), func(p expr.Path) bool { return p.String() == "metadata.namespace" })
}
