package protocol

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/engine/hook"
)

// CompositeRequest is the body of the POST that the sync and finalize hooks of a CompositeController get.
type CompositeRequest struct {
	// Controller is a CompositeController that says of the box what one would say.
	Controller CompositeController `json:"controller"`
	// Parent is the resource.
	Parent map[string]any `json:"parent"`
	// Children that the hook has made: by kind, and below that by name, or by namespace/name where they are not in the namespace of the parent. There is
	// an entry for each kind.
	Children Objects `json:"children"`
	// Related is what the box reads by cross, and the Secrets that it lists, in the form of the children.
	Related Objects `json:"related"`
	// Finalizing says that the parent is being deleted: the request is for the finalize hook.
	Finalizing bool `json:"finalizing"`
}

// CompositeController stands for the object of Metacontroller.
type CompositeController struct {
	// APIVersion is metacontroller.k8s.io/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is CompositeController.
	Kind string `json:"kind"`
	// Metadata has name, uid and generation of the box.
	Metadata map[string]any `json:"metadata"`
	// Spec has the parent's resource and those of the children.
	Spec CompositeSpec `json:"spec"`
}

// CompositeSpec is the spec of a CompositeController, as far as a box has it.
type CompositeSpec struct {
	// ParentResource is the kind of the parents.
	ParentResource ResourceRule `json:"parentResource"`
	// ChildResources are the kinds of the children.
	ChildResources []ResourceRule `json:"childResources"`
	// ResyncPeriodSeconds is the resyncAfter of the webhook.
	ResyncPeriodSeconds int64 `json:"resyncPeriodSeconds,omitempty"`
}

// ResourceRule names a kind as the API server serves it.
type ResourceRule struct {
	// APIVersion is the group and version.
	APIVersion string `json:"apiVersion"`
	// Resource is the plural.
	Resource string `json:"resource"`
}

// CompositeResponse is what such a hook answers with, with the status 200.
type CompositeResponse struct {
	// Status replaces that of the parent. Null leaves it as it is.
	Status map[string]any `json:"status,omitempty"`
	// Children that there should be. Those that the hook has made before and that are not here are deleted.
	Children []map[string]any `json:"children,omitempty"`
	// ResyncAfterSeconds has the hook called again after that time, if nothing changes before. Less than a second counts as a second; 0
	// asks for nothing.
	ResyncAfterSeconds float64 `json:"resyncAfterSeconds,omitempty"`
	// Finalized says that the parent may go. Only the finalize hook says it.
	Finalized bool `json:"finalized,omitempty"`
	// Parent is not part of the protocol. A hook that sends it back must send the one that it was asked about.
	Parent map[string]any `json:"parent,omitempty"`

	unknown []string // fields of an answer without children, which may have been meant to be these
}

// finalizing is what is waited for until the hook says that the parent may go.
const finalizing = "the finalize hook has not said finalized: true yet"

// Fields of a status that are Orkestra's.
const (
	statusConditions = "conditions"
	statusObserved   = "observedGeneration"
)

// fieldChildren is where an answer says its children.
const fieldChildren = "children"

// compositeFields are those that Metacontroller reads of an answer, be it without a meaning here.
var compositeFields = []string{fieldChildren, "status", "resyncAfterSeconds", "finalized", "labels", "annotations", "parent"}

// ReadComposite reads an answer to the request for a parent. As in Metacontroller, fields that are unknown are left out.
func ReadComposite(body any, uid string) (*CompositeResponse, error) {
	r := &CompositeResponse{}
	if err := decode(body, r, loose); err != nil {
		return nil, err
	}
	if r.Children == nil { // most answers have some, and need not be decoded twice
		all := map[string]any{}
		if err := decode(body, &all, loose); err != nil {
			return nil, err
		}
		r.unknown = unknownIn(all)
	}
	if r.Parent != nil {
		found, _, _ := unstructured.NestedString(r.Parent, "metadata", "uid") // another type is another uid
		if found != uid {
			return nil, fmt.Errorf("the answer is for another parent: its metadata.uid is %q, and %q was asked about", clip(found), uid)
		}
	}
	return r, nil
}

// unknownIn gives the fields of an answer that Metacontroller does not know; none where the answer says its children, be it that there are none.
func unknownIn(answer map[string]any) []string {
	if _, said := answer[fieldChildren]; said {
		return nil
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(answer)), func(name string) bool { return slices.Contains(compositeFields, name) })
}

// Check finds an answer that would delete all children and was not meant to: one that is none, or where a field that Metacontroller does not know
// stands in place of the children. Where the parent may go, its children go with it.
func (r *CompositeResponse) Check(q *CompositeRequest) error {
	switch {
	case len(r.unknown) > 0 && !r.Finalized:
		name, meant := clip(r.unknown[0]), ""
		if strings.HasPrefix(strings.ToLower(name), "child") || name == "attachments" { // the latter is how a DecoratorController calls them
			meant = fmt.Sprintf(", did you mean %q?", fieldChildren)
		}
		return fmt.Errorf("the answer has no children, for want of which all would be deleted, but %q, which the protocol does not have%s: say children: [] where there are to be none", name, meant)
	case !q.Finalizing && r.Children == nil && r.Status == nil:
		return errors.New("the answer has neither children nor status, so that it is none: for want of children all would be deleted")
	default:
		return nil
	}
}

// Say says what the answer to a request says. keeps are the fields of the status that are not the hook's, although it does not give them.
func (r *CompositeResponse) Say(c *hook.Cycle, q *CompositeRequest, keeps map[string]bool) error {
	for i, child := range r.Children {
		at := place(i)
		obj, err := object(child)
		if err == nil {
			err = c.Apply(obj, hook.WithID(CompositeID(obj)), placed(at))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	if err := r.status(c, q, keeps); err != nil {
		return err
	}
	if r.ResyncAfterSeconds < 0 || r.ResyncAfterSeconds > math.MaxInt32 {
		return fmt.Errorf("resyncAfterSeconds: %v is no number of seconds from 0 to %d", r.ResyncAfterSeconds, math.MaxInt32)
	}
	c.RequeueAfter(time.Duration(r.ResyncAfterSeconds * float64(time.Second)))
	if q.Finalizing && !r.Finalized {
		c.Wait("", finalizing)
	}
	return nil
}

// CompositeID is the id of a child: its kind, namespace and name, so that the same object has the same id in each answer.
func CompositeID(obj *unstructured.Unstructured) string {
	return path.Join(obj.GroupVersionKind().GroupKind().String(), obj.GetNamespace(), obj.GetName())
}

// status replaces the status of the parent, but for what is not the hook's.
func (r *CompositeResponse) status(c *hook.Cycle, q *CompositeRequest, keeps map[string]bool) error {
	if r.Status == nil {
		return nil
	}
	before, _ := q.Parent["status"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, given := r.Status[name]; !given && !keeps[name] && name != statusConditions && name != statusObserved {
			if err := c.SetStatus(name, nil); err != nil {
				return err //nolint:wrapcheck // it names the field
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Status)) {
		var err error
		switch name {
		case statusObserved: // Orkestra says it, and it means the same
		case statusConditions:
			err = compositeConditions(c, r.Status[name])
		default:
			err = c.SetStatus(name, r.Status[name])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// compositeConditions sets the conditions of a status. Those that Orkestra sets itself get another type, so that both are shown.
func compositeConditions(c *hook.Cycle, in any) error {
	list, isList := in.([]any)
	if !isList && in != nil {
		return errors.New("status.conditions: wanted a list")
	}
	for i, one := range list {
		var condition Condition
		if err := decode(one, &condition, loose); err != nil {
			return fmt.Errorf("status.conditions[%d]: %w", i, err)
		}
		if hook.Owned(condition.Type) {
			condition.Type = "Webhook" + condition.Type
		}
		if err := c.SetCondition(condition.condition()); err != nil {
			return fmt.Errorf("status.conditions[%d]: %w", i, err)
		}
	}
	return nil
}

// Add adds an object under its kind, and below that by name, or by namespace/name where it is not in the namespace of the parent.
func (o Objects) Add(obj map[string]any, home string) {
	u := &unstructured.Unstructured{Object: obj}
	name := u.GetName()
	if ns := u.GetNamespace(); ns != "" && ns != home {
		name = ns + "/" + name
	}
	o.Put(KindKey(u.GetAPIVersion(), u.GetKind()), name, obj)
}

// Put puts an object below a kind.
func (o Objects) Put(kind, key string, obj map[string]any) {
	if o[kind] == nil {
		o[kind] = map[string]map[string]any{}
	}
	if obj != nil {
		o[kind][key] = obj
	}
}

// KindKey is how a kind is written: Deployment.apps/v1, or Pod.v1.
func KindKey(apiVersion, kind string) string { return kind + "." + apiVersion }
