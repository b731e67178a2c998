package serve

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/center"
	"github.com/orkspace/orkestra/engine/web/person"
)

// The names of Orkestra's own kinds in the API.
const (
	resourceBoxes   = "operatorboxes"
	resourceHealths = "crdhealths"
)

// What people do who look.
const (
	verbGet  = "get"
	verbList = "list"
)

// The longest names of namespaces and objects. What is longer names nothing, and is not asked about.
const (
	maxNamespace = 63
	maxName      = 253
)

// reader reads for one person. It refuses what the API server would refuse, in its words. It implements inspect.Objects.
type reader struct {
	source *Source
	who    person.Person
	asked  int // for how many namespaces a search has asked
}

// allowed gives the API server's refusal; nil: the person has the right.
func (r *reader) allowed(ctx context.Context, want person.Right) error {
	of := schema.GroupResource{Group: want.Group, Resource: want.Resource}
	if len(want.Namespace) > maxNamespace || len(want.Name) > maxName {
		return apierrors.NewNotFound(of, want.Name)
	}
	may, err := r.source.Rights.May(ctx, r.who, want)
	if err != nil {
		return apierrors.NewServiceUnavailable(err.Error())
	}
	if may {
		return nil
	}
	scope := "at the cluster scope"
	if want.Namespace != "" {
		scope = fmt.Sprintf("in the namespace %q", want.Namespace)
	}
	return apierrors.NewForbidden(of, want.Name, fmt.Errorf("user %q cannot %s resource %q in API group %q %s", r.who.Name, want.Verb, want.Resource, want.Group, scope))
}

// errNotWatched is the error of reading what no informer of the manager has.
var errNotWatched = errors.New("the manager does not watch it here, or its informer is not full yet")

// Get implements inspect.Objects.
func (r *reader) Get(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	of, namespaced, err := r.source.resourceOf(kind)
	if err != nil {
		return nil, err
	}
	if !namespaced {
		namespace = ""
	}
	if err := r.allowed(ctx, person.Right{Verb: verbGet, Group: of.Group, Resource: of.Resource, Namespace: namespace, Name: name}); err != nil {
		return nil, fmt.Errorf("reading %s %q: %w", kind.Kind, name, err)
	}
	obj, known := r.source.Caches.Object(kind, namespace, name)
	if obj == nil && !known {
		return nil, fmt.Errorf("reading %s %q: %w", kind.Kind, name, errNotWatched)
	}
	return obj, nil
}

// List implements inspect.Objects: of the children of a resource where their label is asked for, else of what boxes read.
func (r *reader) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, selector labels.Selector) ([]*unstructured.Unstructured, error) {
	of, _, err := r.source.resourceOf(kind)
	if err != nil {
		return nil, err
	}
	if err := r.allowed(ctx, person.Right{Verb: verbList, Group: of.Group, Resource: of.Resource, Namespace: namespace}); err != nil {
		return nil, fmt.Errorf("listing objects of kind %s: %w", kind.Kind, err)
	}
	owner, ofOwner := selector.RequiresExactMatch(v1alpha1.LabelOwnerUID)
	if !ofOwner {
		objects, known := r.source.Caches.Objects(kind, namespace, selector)
		if !known {
			return nil, fmt.Errorf("listing objects of kind %s: %w", kind.Kind, errNotWatched)
		}
		return objects, nil
	}
	children, known := r.source.Caches.Children(kind, types.UID(owner))
	if !known {
		return nil, fmt.Errorf("listing objects of kind %s: %w", kind.Kind, errNotWatched)
	}
	out := children[:0:0]
	for _, child := range children {
		if namespace == "" || child.GetNamespace() == namespace {
			out = append(out, child)
		}
	}
	return out, nil
}

// own reads Orkestra's own kinds for the person.
type own struct{ *reader }

// Get implements client.Reader.
func (o own) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	resource := resourceHealths
	if _, isBox := obj.(*v1alpha1.OperatorBox); isBox {
		resource = resourceBoxes
	}
	if err := o.allowed(ctx, person.Right{Verb: verbGet, Group: v1alpha1.GroupVersion.Group, Resource: resource, Name: key.Name}); err != nil {
		return err
	}
	return o.source.Own.Get(ctx, key, obj, opts...) //nolint:wrapcheck // as a cache says it
}

// List implements client.Reader. Somebody who may not list all gets those that they may get, by their names.
func (o own) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := o.source.Own.List(ctx, list, opts...); err != nil {
		return err //nolint:wrapcheck // as a cache says it
	}
	switch all := list.(type) {
	case *v1alpha1.OperatorBoxList:
		return filter(ctx, o.reader, resourceBoxes, &all.Items, func(b *v1alpha1.OperatorBox) string { return b.Name })
	case *v1alpha1.CRDHealthList:
		return filter(ctx, o.reader, resourceHealths, &all.Items, func(h *v1alpha1.CRDHealth) string { return h.Name })
	default:
		return fmt.Errorf("listing %T: %w", list, errNotWatched)
	}
}

// filter keeps those that the person may read. Where there is none, the refusal of the whole list says what is missing.
func filter[T any](ctx context.Context, r *reader, resource string, items *[]T, name func(*T) string) error {
	refused := r.allowed(ctx, person.Right{Verb: verbList, Group: v1alpha1.GroupVersion.Group, Resource: resource})
	if refused == nil {
		return nil
	}
	if !apierrors.IsForbidden(refused) {
		return refused
	}
	seen := (*items)[:0:0]
	for i := range *items {
		err := r.allowed(ctx, person.Right{Verb: verbGet, Group: v1alpha1.GroupVersion.Group, Resource: resource, Name: name(&(*items)[i])})
		switch {
		case err == nil:
			seen = append(seen, (*items)[i])
		case !apierrors.IsForbidden(err):
			return err
		}
	}
	if len(seen) == 0 {
		return refused
	}
	*items = seen
	return nil
}

// rows gives those of a box's resources that the person may list, by their namespaces.
func (r *reader) rows(ctx context.Context, box *v1alpha1.OperatorBox) (center.Rows, error) {
	kind, err := center.KindOf(box)
	if err != nil {
		return center.Rows{}, err
	}
	of, namespaced, err := r.source.resourceOf(kind)
	if err != nil {
		return center.Rows{}, err
	}
	table, notes, err := r.source.tables.of(box)
	if err != nil {
		return center.Rows{}, err
	}
	all := center.Rows{Table: table, Notes: notes}
	refused := r.allowed(ctx, person.Right{Verb: verbList, Group: of.Group, Resource: of.Resource})
	if refused == nil {
		return all, nil
	}
	if !namespaced || !apierrors.IsForbidden(refused) {
		return center.Rows{}, refused
	}
	lists := map[string]bool{}
	for _, namespace := range table.Namespaces() {
		err := r.allowed(ctx, person.Right{Verb: verbList, Group: of.Group, Resource: of.Resource, Namespace: namespace})
		if err != nil && !apierrors.IsForbidden(err) {
			return center.Rows{}, err
		}
		if err == nil {
			lists[namespace] = true
		}
	}
	if len(lists) == 0 {
		return center.Rows{}, refused
	}
	all.May = func(namespace string) bool { return lists[namespace] }
	all.Notes = append(append([]string{}, notes...), fmt.Sprintf("Resources in namespaces in which you may not list %s are not shown", of.String()))
	return all, nil
}

// seesBox says whether the person may read a box.
func (r *reader) seesBox(ctx context.Context, name string) bool {
	all := person.Right{Verb: verbList, Group: v1alpha1.GroupVersion.Group, Resource: resourceBoxes}
	return r.allowed(ctx, all) == nil || r.allowed(ctx, person.Right{Verb: verbGet, Group: all.Group, Resource: all.Resource, Name: name}) == nil
}

// seesRow says whether the person may list the resources of a box in a namespace.
func (r *reader) seesRow(ctx context.Context, name, namespace string) bool {
	box := r.source.Caches.Box(name)
	if box == nil {
		return false
	}
	of := box.Plan().CRD.Resource
	return r.allowed(ctx, person.Right{Verb: verbList, Group: of.Group, Resource: of.Resource, Namespace: namespace}) == nil
}
