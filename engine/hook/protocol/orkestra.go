// Package protocol is what webhooks are sent, and what they answer: Orkestra's own protocol, and that of the hooks of a CompositeController
// of Metacontroller. The JSON schema and the OpenAPI file in docs/reference are made of these types.
//
// The package sends nothing, and knows nothing of boxes or of the engine.
package protocol

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/engine/hook"
)

// Version is the apiVersion of Orkestra's protocol, and the kinds are those of its two messages.
const (
	Version      = "hooks.orkestra.orkspace.io/v1"
	KindRequest  = "HookRequest"
	KindResponse = "HookResponse"
)

// Objects are objects by their kind, as Kind.apiVersion (Deployment.apps/v1), and below that by what they are known by.
type Objects map[string]map[string]map[string]any

// Request is the body of the POST that a webhook gets.
type Request struct {
	// APIVersion is hooks.orkestra.orkspace.io/v1.
	APIVersion string `json:"apiVersion"`
	// Kind is HookRequest.
	Kind string `json:"kind"`
	// UID of the resource. The answer repeats it.
	UID string `json:"uid"`
	// Phase is Create, Update, Reconcile or Delete.
	Phase string `json:"phase"`
	// Box that calls.
	Box Box `json:"box"`
	// Resource after normalize, mutation and validation; in the phase Delete, as it is stored.
	Resource map[string]any `json:"resource"`
	// Args of the box, rendered for the resource.
	Args map[string]any `json:"args,omitempty"`
	// Children that the resource has: by kind, and below that by id. They are those of this hook, and those of the box that have an id. There is an
	// entry for each kind of spec.reconciler.hooks.resources. Of a Secret, data is left out.
	Children Objects `json:"children"`
	// Cross is what templates read under this name.
	Cross map[string]any `json:"cross,omitempty"`
	// External is what templates read under this name.
	External map[string]any `json:"external,omitempty"`
	// Secrets that the box lists: by name, and below that by key. The values are plain text.
	Secrets map[string]map[string]string `json:"secrets,omitempty"`
}

// Box is the OperatorBox that calls a webhook.
type Box struct {
	// Name of the box.
	Name string `json:"name"`
	// Revision of its spec.
	Revision string `json:"revision"`
}

// Response is the body that a webhook answers with, with the status 200.
type Response struct {
	// APIVersion is hooks.orkestra.orkspace.io/v1.
	APIVersion string `json:"apiVersion"`
	// Kind is HookResponse.
	Kind string `json:"kind"`
	// UID is that of the request.
	UID string `json:"uid"`
	// Children that there should be. One that an earlier answer had, and that this one of the phase Reconcile does not have, is deleted. An answer of
	// that phase that does not wait has them, and says [] where there are to be none. In the phase Delete there are none.
	Children []Child `json:"children,omitzero"`
	// Status holds fields of the resource's status: each is written as a whole, and null removes it. Others stay as they are.
	Status map[string]any `json:"status,omitempty"`
	// Conditions of the resource's status. One that an earlier answer had, and that this one of the phase Reconcile does not have, is taken away,
	// unless it waits.
	Conditions []Condition `json:"conditions,omitempty"`
	// Events that are sent about the resource.
	Events []Event `json:"events,omitempty"`
	// Wait says what the resource waits for. What was made before and is not among the children stays then. In the phase Delete the resource is
	// held.
	Wait *Wait `json:"wait,omitempty"`
	// RequeueAfter has the webhook called again after that time, such as 30s, if nothing changes before. Less than a second counts as a
	// second.
	RequeueAfter string `json:"requeueAfter,omitempty"`
}

// Child is an object that there should be.
type Child struct {
	// ID tells it from the other children of the hook. Default: its kind, namespace and name.
	ID string `json:"id,omitempty"`
	// Object with apiVersion, kind, metadata.name, and the fields that are to be as they are here. Without a namespace, that of the resource is meant.
	Object map[string]any `json:"object"`
	// Once makes it once, and does not put it back.
	Once bool `json:"once,omitempty"`
	// Adopt takes over an object that is there and has no owner.
	Adopt bool `json:"adopt,omitempty"`
	// Orphan leaves it when it is declared no more, or when the resource is deleted.
	Orphan bool `json:"orphan,omitempty"`
	// Replace deletes it and makes it again where it can't be changed.
	Replace bool `json:"replace,omitempty"`
}

// Condition of a resource's status. Ready, Reconciling and Stalled are Orkestra's.
type Condition struct {
	// Type of the condition.
	Type string `json:"type"`
	// Status is True, False or Unknown.
	Status string `json:"status"`
	// Reason is one word in CamelCase.
	Reason string `json:"reason,omitempty"`
	// Message for people.
	Message string `json:"message,omitempty"`
}

// Event is something that has happened.
type Event struct {
	// Reason is one word in CamelCase.
	Reason string `json:"reason,omitempty"`
	// Message for people.
	Message string `json:"message"`
	// Warning says that it is of the type Warning.
	Warning bool `json:"warning,omitempty"`
}

// Wait is what a resource waits for.
type Wait struct {
	// Reason is one word in CamelCase. Default: WaitingForHook.
	Reason string `json:"reason,omitempty"`
	// Message for people.
	Message string `json:"message"`
}

// Read reads an answer to the request of a resource. What the protocol does not have, and an answer for another resource, are errors.
func Read(body any, uid string) (*Response, error) {
	r := &Response{}
	if err := decode(body, r, strict); err != nil {
		return nil, err
	}
	switch {
	case r.APIVersion != Version || r.Kind != KindResponse:
		return nil, fmt.Errorf("the answer is %s, wanted %s: repeat the apiVersion of the request", said(r.APIVersion, r.Kind), said(Version, KindResponse))
	case r.UID != uid:
		return nil, fmt.Errorf("the answer is for another resource: its uid is %q, and %q was asked about: repeat the uid of the request", clip(r.UID), uid)
	default:
		return r, nil
	}
}

// Say says what an answer says.
func (r *Response) Say(c *hook.Cycle) error {
	for i := range r.Children {
		at := place(i)
		if err := r.Children[i].apply(c, at); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Status)) {
		if err := c.SetStatus(name, r.Status[name]); err != nil {
			return err //nolint:wrapcheck // it names the field
		}
	}
	for i, one := range r.Conditions {
		if err := c.SetCondition(one.condition()); err != nil {
			return fmt.Errorf("conditions[%d]: %w", i, err)
		}
	}
	for _, e := range r.Events {
		if e.Warning {
			c.Warn(e.Reason, e.Message)
		} else {
			c.Event(e.Reason, e.Message)
		}
	}
	if r.Wait != nil {
		c.Wait(r.Wait.Reason, r.Wait.Message)
	}
	return r.requeue(c)
}

func (r *Response) requeue(c *hook.Cycle) error {
	if r.RequeueAfter == "" {
		return nil
	}
	after, err := time.ParseDuration(r.RequeueAfter)
	if err != nil || after <= 0 {
		return fmt.Errorf("requeueAfter: %q is no duration above zero, such as 30s", clip(r.RequeueAfter))
	}
	c.RequeueAfter(after)
	return nil
}

// place is where a child stands in an answer, as messages name it.
func place(i int) string { return fmt.Sprintf("children[%d]", i) }

// placed notes of a child where it stands.
func placed(at string) hook.ApplyOption { return func(child *hook.Child) { child.At = at } }

func (child *Child) apply(c *hook.Cycle, at string) error {
	options := []hook.ApplyOption{hook.WithID(child.ID), placed(at)}
	for _, option := range []struct {
		set bool
		of  hook.ApplyOption
	}{{child.Once, hook.Once()}, {child.Adopt, hook.Adopt()}, {child.Orphan, hook.Orphan()}, {child.Replace, hook.Replace()}} {
		if option.set {
			options = append(options, option.of)
		}
	}
	obj, err := object(child.Object)
	if err != nil {
		return err
	}
	return c.Apply(obj, options...) //nolint:wrapcheck // it names the child
}

func (c Condition) condition() metav1.Condition {
	return metav1.Condition{Type: c.Type, Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message}
}

// object gives an object that has what tells it from others.
func object(in map[string]any) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{Object: in}
	for _, need := range []struct{ name, found string }{{"apiVersion", obj.GetAPIVersion()}, {"kind", obj.GetKind()}, {"metadata.name", obj.GetName()}} {
		if need.found == "" {
			return nil, fmt.Errorf("an object has no %s", need.name)
		}
	}
	return obj, nil
}
