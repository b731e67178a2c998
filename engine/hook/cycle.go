package hook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Cycle is what a hook reads of the cycle in which it is called, and what it says there: what does not depend on the type of the resource.
type Cycle struct {
	// Args are those of the box, rendered for the resource.
	Args Args
	// Children are the children that the resource has.
	Children Children
	// Cross and External are what templates read under these names. They are shared: read only.
	Cross, External map[string]any
	// Log has the keys of the resource. What comes from Secrets must not be logged.
	Log logr.Logger
	// Now is the time of the cycle.
	Now time.Time

	reader  Reader
	scheme  *runtime.Scheme
	outcome *Outcome
}

// Apply declares a child: it is made, put back when others change it, and deleted when a later call does not declare it any more. What is
// declared is what the object holds; fields of other managers stay. Typed objects need no apiVersion and kind, if their types are registered.
// The kind must be one of spec.reconciler.hooks.resources. Without a namespace, that of the resource is meant; into another one the object may
// go where that namespace lets the resource in (docs/how-to/tenants.md). An object without a name, a second one with the same id, and more than
// MaxChildren are errors.
func (c *Cycle) Apply(obj client.Object, options ...ApplyOption) error {
	declared, err := c.declared(obj)
	if err != nil {
		return c.outcome.mistake(err)
	}
	child := Child{Object: declared}
	for _, o := range options {
		o(&child)
	}
	child.ID = cmp.Or(child.ID, path.Join(declared.GetKind(), declared.GetNamespace(), declared.GetName()))
	switch {
	case len(child.ID) > maxID:
		return c.outcome.mistake(fmt.Errorf("child %q: an id has at most %d characters", child.ID[:maxID], maxID))
	case c.outcome.ids[child.ID]:
		return c.outcome.mistake(fmt.Errorf("child %q is declared twice", child.ID))
	case len(c.outcome.Children) >= MaxChildren:
		return c.outcome.mistake(fmt.Errorf("child %q: a resource may have at most %d children", child.ID, MaxChildren))
	}
	c.outcome.ids[child.ID] = true
	c.outcome.Children = append(c.outcome.Children, child)
	return nil
}

// Get reads an object from the caches of the manager, into a typed object or an *unstructured.Unstructured with apiVersion and kind. Its kind
// must be one of spec.reconciler.hooks.resources. What was read is an input: a change of it has the resource reconciled again. An object
// that is not there is an error for which apierrors.IsNotFound holds. Secrets are read by Secret.
func (c *Cycle) Get(ctx context.Context, key client.ObjectKey, into client.Object) error {
	gvk, err := c.kindOf(into)
	if err != nil {
		return &mistakeError{err}
	}
	found, err := c.reader.Get(ctx, gvk, key)
	if err != nil {
		return err
	}
	return fill(found, into)
}

// List reads objects of a kind from the caches of the manager, as Get does: those that the options select by namespace and labels.
func (c *Cycle) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	gvk, err := c.kindOf(into)
	if err != nil {
		return &mistakeError{err}
	}
	gvk.Kind = itemKind(gvk.Kind)
	selected := (&client.ListOptions{}).ApplyOptions(options)
	if selected.FieldSelector != nil && !selected.FieldSelector.Empty() {
		return &mistakeError{errors.New("objects of the caches are selected by namespace and labels, not by fields")}
	}
	found, err := c.reader.List(ctx, gvk, selected)
	if err != nil {
		return err
	}
	return fillList(found, into)
}

// Secret reads a key of a Secret in the namespace of the resource. The value must not be shown: where it stands in what the hook says later
// (errors, waits, conditions, events), it is masked, and a status field that holds it is refused. So it is with what Children gives of a
// Secret. Values of fewer than four characters are not looked for, and none is once it was encoded or changed.
func (c *Cycle) Secret(ctx context.Context, name, key string) (string, error) {
	v, err := c.reader.Secret(ctx, name, key)
	if err == nil && v != "" {
		c.outcome.Secrets = append(c.outcome.Secrets, v)
	}
	return v, err
}

// SetStatus sets a field of the resource's status, such as "endpoint" or "database.users"; nil removes it. A field that a later call does
// not set stays as it is. It wins over spec.status.fields of the box. The value is anything that encodes as JSON and fits the schema of the CRD.
// observedGeneration and conditions are Orkestra's. All fields together have at most MaxStatus bytes.
func (c *Cycle) SetStatus(field string, value any) error {
	if field == "" {
		return c.outcome.mistake(errors.New("a status field needs a path, such as endpoint"))
	}
	plain, size, err := plainValue(value)
	if err != nil {
		return c.outcome.mistake(fmt.Errorf("status.%s: %w", field, err))
	}
	if c.outcome.statusSize += size; c.outcome.statusSize > MaxStatus {
		return c.outcome.mistake(fmt.Errorf("status.%s: a hook may set at most %d bytes of the status, and this field makes it %d", field, MaxStatus, c.outcome.statusSize))
	}
	c.outcome.Status = append(c.outcome.Status, StatusField{Path: field, Value: plain})
	return nil
}

// SetCondition sets a condition of the resource's status. Its type must not be one of Orkestra's: Ready, Reconciling, Stalled. One that a
// hook with OnReconcile has set, and that its later calls do not set any more, is taken away.
func (c *Cycle) SetCondition(condition metav1.Condition) error {
	switch {
	case Owned(condition.Type):
		return c.outcome.mistake(fmt.Errorf("condition %q is set by Orkestra; give yours another type", condition.Type))
	case condition.Type == "" || condition.Status == "":
		return c.outcome.mistake(errors.New("a condition needs a type and a status"))
	case len(c.outcome.Conditions) >= maxSaid:
		return c.outcome.mistake(fmt.Errorf("condition %q: a hook may set at most %d conditions in one call", condition.Type, maxSaid))
	}
	c.outcome.Conditions = append(c.outcome.Conditions, condition)
	return nil
}

// Wait says what the resource waits for. The reason is one word, such as Importing. What the hook has declared is written, and what it made
// before and has not declared this time stays.
func (c *Cycle) Wait(reason, message string) {
	if c.outcome.says("Wait", reason, len(c.outcome.Waits)) {
		c.outcome.Waits = append(c.outcome.Waits, Wait{Reason: reason, Message: message})
	}
}

// MinRequeue is the shortest time after which a hook can have its resource reconciled again. A whole cycle is run then, with whatever the box reads.
const MinRequeue = time.Second

// RequeueAfter has the resource reconciled again after a time, if nothing else does before. The shortest time counts, and one below MinRequeue
// counts as that; zero and below ask for nothing.
func (c *Cycle) RequeueAfter(d time.Duration) {
	if d <= 0 {
		return
	}
	if d = max(d, MinRequeue); c.outcome.RequeueAfter == 0 || d < c.outcome.RequeueAfter {
		c.outcome.RequeueAfter = d
	}
}

// Event sends an event about the resource when the cycle is over, also after an error: for something that has happened, and not in each cycle.
// The reason is one word, such as Imported.
func (c *Cycle) Event(reason, message string) {
	if c.outcome.says("Event", reason, len(c.outcome.Events)) {
		c.outcome.Events = append(c.outcome.Events, Event{Reason: reason, Message: message})
	}
}

// Warn is Event with the type Warning.
func (c *Cycle) Warn(reason, message string) {
	if c.outcome.says("Warn", reason, len(c.outcome.Events)) {
		c.outcome.Events = append(c.outcome.Events, Event{Reason: reason, Message: message, Warning: true})
	}
}

// Client gives a client that reads from the API server and writes to it, with the identity of the box. It is the way out: what is written by
// it is not a child, is not put back and not pruned, and what is read by it is no input. A hook that uses it is not pure.
func (c *Cycle) Client() client.Client { return c.reader.Client() }
