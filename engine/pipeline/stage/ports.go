package stage

import (
	"context"
	"iter"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/apply/taken"
	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/hook/protocol"
	"github.com/orkspace/orkestra/engine/provision"
)

// Inventory reads the children of resources from the watch cache. What it gives is shared memory: read only.
type Inventory interface {
	// Kinds are all kinds that the box watches, in a fixed order.
	Kinds() []schema.GroupVersionKind
	// Owned gives the children of one kind of a resource, sorted by namespace and name: what Plan.MayHaveMade.
	Owned(kind schema.GroupVersionKind, resource *unstructured.Unstructured) []*unstructured.Unstructured
}

// Applier writes children.
type Applier interface {
	// Apply makes or corrects a child; it sends nothing where nothing differs.
	Apply(ctx context.Context, owner apply.Owner, child apply.Child) (apply.Outcome, error)
	// Keep makes sure that a living child that is made once says whose it is, and changes nothing else of it. Of the child
	// that is given, only how it is to be owned is read.
	Keep(ctx context.Context, owner apply.Owner, child apply.Child, live *unstructured.Unstructured) (apply.Outcome, error)
	// Expire lets a Job that is made once, and that has completed, go this many seconds after it finished.
	Expire(ctx context.Context, job *unstructured.Unstructured, seconds int64) (apply.Outcome, error)
	// Delete deletes a child, unless it changed since it was read.
	Delete(ctx context.Context, child *unstructured.Unstructured) error
	// Orphan takes labels and owner references off a child and leaves it.
	Orphan(ctx context.Context, owner apply.Owner, child *unstructured.Unstructured) error
}

// Patcher sets fields of objects that others own, and takes them back.
type Patcher interface {
	// Patch sets what a patch says of an object that lives; it sends nothing where nothing differs.
	Patch(ctx context.Context, patch apply.Patch, live *unstructured.Unstructured) (apply.Outcome, error)
	// Withdraw takes back what a field manager has set of an object, which is given by its kind and name, and gives back what it has taken. One
	// that is gone is no error.
	Withdraw(ctx context.Context, manager string, target *unstructured.Unstructured, former *taken.Fields) (apply.Withdrawn, error)
}

// Marker writes the metadata of resources: finalizers, label and annotations.
type Marker interface {
	// Mark puts marks on a resource; the answer is the resource as it is then.
	Mark(ctx context.Context, resource *unstructured.Unstructured, marks apply.Marks) (*unstructured.Unstructured, error)
	// Finish removes finalizers from a deleted resource.
	Finish(ctx context.Context, resource *unstructured.Unstructured, finalizers []string) error
	// Gone asks the API server, past every cache, whether a resource no longer exists.
	Gone(ctx context.Context, resource *unstructured.Unstructured) (bool, error)
}

// Kinds resolves a kind to how the API server serves it.
type Kinds interface {
	// Namespaced says whether objects of that kind live in namespaces; an error where the kind is not installed.
	Namespaced(kind schema.GroupVersionKind) (bool, error)
	// Schema gives the schema of a custom kind; nil where it is not known.
	Schema(kind schema.GroupVersionKind) *apiextensionsv1.JSONSchemaProps
}

// Observer reads objects that the box does not own, from watch caches. What it gives is shared memory: read only. A change of
// what was read, also its arrival, queues the resource that read it.
type Observer interface {
	// Observe returns when the objects of a kind are known. meta.IsNoMatchError holds for the error where the kind is not
	// installed; one that may not be read gives the API server's 403.
	Observe(ctx context.Context, kind schema.GroupVersionKind) error
	// Get gives an object, or nil. The namespace is empty for cluster-scoped kinds.
	Get(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured
	// Select gives the objects of a namespace, or of all if it is empty, by namespace and name.
	Select(kind schema.GroupVersionKind, namespace string, selector labels.Selector) []*unstructured.Unstructured
	// Box gives the kind that another box serves; an empty one while that does not run.
	Box(name string) schema.GroupVersionKind
	// Dependency says how a box fares, or a CRD that another operator runs.
	Dependency(name string) DependencyState
}

// Access says what the account of the box may read: what the Observer gives comes from caches that are the manager's.
type Access interface {
	// Reads says whether objects of a kind may be read in a namespace, and until when that holds: the one of a name, or without a name all of
	// them. The namespace is empty for cluster-scoped kinds, and for all namespaces. A refusal is a *WithheldError.
	Reads(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (until time.Time, err error)
}

// LoopGuard remembers how often cycles write children of the resource.
type LoopGuard interface {
	// Count counts the writes of one cycle. The message says of what there is too much, so that cycles are slowed down; empty: of nothing.
	Count(writes []Written, now time.Time, resync time.Duration) (message string)
}

// Caller calls HTTP services.
type Caller interface {
	// Call sends a request, or gives an answer that was kept. Failures of the call are *external.Error.
	Call(ctx context.Context, request *external.Request) (*external.Answer, error)
}

// StandIn answers in place of the webhook of a box, which is not called then, and not sent any Secret.
type StandIn interface {
	// Answer gives what the webhook would answer to a request. The error says why that is not known: the resource waits for it.
	Answer(request []byte) (body any, err error)
}

// Providers calls the drivers of providers for one resource.
type Providers interface {
	// Call makes a call. Failures of the service are a *provider.Error, or a *provision.HeldError.
	Call(ctx context.Context, call *provision.Call) (provision.Answer, error)
	// Memory is what was answered in former cycles of the resource.
	Memory() *provision.Memory
}

// Tokens gives tokens of ServiceAccounts.
type Tokens interface {
	// Token makes a short-lived token of a ServiceAccount for an audience.
	Token(ctx context.Context, namespace, name, audience string) (string, error)
}

// DryRun asks the API server what it would say to writes, and changes nothing.
type DryRun interface {
	Applier
	Marker
}

var _ DryRun = (*apply.DryRun)(nil)

// Reader reads what the inputs of a cycle are made of.
type Reader interface {
	Observer
	// Kinds are all kinds that the box watches, in a fixed order.
	Kinds() []schema.GroupVersionKind
	// Versions goes over the children of one kind of a resource, those that Inventory gives as Owned, in no order: the UID and the resourceVersion
	// of each, to be compared and let go.
	Versions(kind schema.GroupVersionKind, resource *unstructured.Unstructured) iter.Seq2[types.UID, string]
}

// Laps measures how long the parts of a cycle take, and traces them. The parts come one after the other.
type Laps interface {
	// Begin says that a step begins, and gives the context in which it is to run.
	Begin(ctx context.Context, step string) context.Context
	// Lap says that a step has ended, with an error or without. It is measured from when the one before it ended.
	Lap(step string, err error)
}

// Ports are all side effects of a run.
type Ports struct {
	Inventory Inventory
	Applier   Applier
	// LoopGuard counts what is written; nil: nobody does.
	LoopGuard LoopGuard
	Marker    Marker
	Patcher   Patcher
	// PatchOf says in words which patch of any resource of this process has a field manager; empty: it is none of these. nil: nobody knows.
	PatchOf  func(manager string) string
	Kinds    Kinds
	Observer Observer
	// Access says what the box may read of what the Observer gives; nil: all.
	Access Access
	// Unread ends the sentence that says why what the Observer does not give may be there all the same, such as "was not read"; empty: then
	// it does not exist.
	Unread string
	Caller Caller
	// Answers are what the webhook of the box has said of the resource; nil: nothing is kept.
	Answers *protocol.Memory
	// StandIn answers in place of the webhook of the box; nil: the Caller asks it.
	StandIn StandIn
	// Client is for code of the user's own; nil: there is none.
	Client client.Client
	// Providers makes what is not in the cluster; nil: nothing is made.
	Providers Providers
	// Given are outputs of what providers make, by the ids of their declarations, where nothing is called; with forEach, they are by the keys of the items.
	Given map[string]any
	// Tokens are sent to providers.
	Tokens Tokens
	// FormerFinalizers gives the finalizers that the kept revisions of the box name; nil: none are kept.
	FormerFinalizers apply.FormerFinalizers
	// DryRun is asked before anything is changed; nil: nobody is.
	DryRun DryRun
	// Laps measures the stages; nil: nobody does.
	Laps Laps
}

// Begin says that a step of the cycle begins, and gives the context in which it is to run.
func (p *Ports) Begin(ctx context.Context, step string) context.Context {
	if p.Laps == nil {
		return ctx
	}
	return p.Laps.Begin(ctx, step)
}

// Ended says that a step of the cycle has ended, with an error or without.
func (p *Ports) Ended(step string, err error) {
	if p.Laps != nil {
		p.Laps.Lap(step, err)
	}
}
