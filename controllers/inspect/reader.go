package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/pipeline/overview"
	"github.com/orkspace/orkestra/engine/rollback"
)

// reader gives a plan what it reads for one resource, from the cluster. It is used by one goroutine.
type reader struct {
	*Inspector

	ctx      context.Context //nolint:containedctx // the ports of a plan take none where it reads caches
	plan     *pipeline.Plan
	resource *unstructured.Unstructured
	owned    map[schema.GroupVersionKind][]*unstructured.Unstructured
	// hidden has the kinds whose children could not all be read, and why.
	hidden map[schema.GroupVersionKind]overview.Hidden
	// notes say the same in sentences for the answer.
	notes []string
	// refused is the first error of reading an object that is not a child, such as one of cross.
	refused error
}

// newReader reads the children of a resource, by their labels.
func (i *Inspector) newReader(ctx context.Context, plan *pipeline.Plan, resource *unstructured.Unstructured) *reader {
	r := &reader{
		Inspector: i, ctx: ctx, plan: plan, resource: resource,
		owned: map[schema.GroupVersionKind][]*unstructured.Unstructured{}, hidden: map[schema.GroupVersionKind]overview.Hidden{},
	}
	selector := labels.SelectorFromSet(labels.Set{v1alpha1.LabelOwnerUID: string(resource.GetUID())})
	for _, kind := range plan.ChildKinds {
		all, refused, err := r.list(kind, selector)
		switch {
		case meta.IsNoMatchError(err): // there are none then
		case err != nil:
			r.hide(kind, refused, err)
		}
		for _, child := range all {
			if !rollback.Is(child) && plan.MayHaveMade(resource, child) {
				r.owned[kind] = append(r.owned[kind], child)
			}
		}
	}
	return r
}

// hide notes that children of a kind could not be read, in some namespaces or in all.
func (r *reader) hide(kind schema.GroupVersionKind, in []string, err error) {
	why, where := "you may not read objects of this kind", ""
	if !apierrors.IsForbidden(err) {
		why = "objects of this kind could not be read"
	}
	if len(in) > 0 {
		quoted := make([]string, 0, len(in))
		for _, namespace := range in {
			quoted = append(quoted, strconv.Quote(namespace))
		}
		where = " in namespace " + strings.Join(quoted, ", ")
	}
	r.hidden[kind] = overview.Hidden{Why: why + where, In: in}
	r.notes = append(r.notes, fmt.Sprintf("Children of kind %s%s are not known: %s", kind.Kind, where, Message(err)))
}

// list gives the objects of a kind that the labels select: those of all namespaces, or for somebody who may not read them all, those of
// the namespaces in which the resource has children. refused are those of these in which they could not be read; without any, an
// error is about all.
func (r *reader) list(kind schema.GroupVersionKind, selector labels.Selector) (all []*unstructured.Unstructured, refused []string, err error) {
	all, err = r.Objects.List(r.ctx, kind, "", selector)
	if !apierrors.IsForbidden(err) || r.resource.GetNamespace() == "" {
		return all, nil, err
	}
	if namespaced, scopeErr := r.Namespaced(kind); scopeErr != nil || !namespaced {
		return nil, nil, err
	}
	namespaces := append([]string{r.resource.GetNamespace()}, r.plan.Places.Literal...)
	namespaces = append(namespaces, strings.Split(r.resource.GetAnnotations()[v1alpha1.AnnotationNamespaces], ",")...)
	slices.Sort(namespaces)
	namespaces = slices.DeleteFunc(slices.Compact(namespaces), func(namespace string) bool { return namespace == "" })
	err = nil
	for _, namespace := range namespaces {
		found, listErr := r.Objects.List(r.ctx, kind, namespace, selector)
		if listErr != nil {
			refused, err = append(refused, namespace), cmp.Or(err, listErr)
		}
		all = append(all, found...)
	}
	if len(refused) == len(namespaces) {
		return nil, nil, err
	}
	return all, refused, err
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Kinds implements pipeline.Inventory.
func (r *reader) Kinds() []schema.GroupVersionKind { return r.plan.ChildKinds }

// Owned implements pipeline.Inventory.
func (r *reader) Owned(kind schema.GroupVersionKind, _ *unstructured.Unstructured) []*unstructured.Unstructured {
	return r.owned[kind]
}

// Namespaced implements pipeline.Kinds.
func (r *reader) Namespaced(kind schema.GroupVersionKind) (bool, error) {
	mapping, err := r.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return false, err
	}
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

// Schema implements pipeline.Kinds. No child is rendered, and patches of custom kinds are compared as they are written.
func (*reader) Schema(schema.GroupVersionKind) *apiextensionsv1.JSONSchemaProps { return nil }

// Observe implements pipeline.Observer.
func (r *reader) Observe(_ context.Context, kind schema.GroupVersionKind) error {
	_, err := r.Namespaced(kind)
	return err
}

// Get implements pipeline.Observer.
func (r *reader) Get(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	obj, err := r.Objects.Get(r.ctx, kind, namespace, name)
	r.failed(err)
	return obj
}

// Select implements pipeline.Observer.
func (r *reader) Select(kind schema.GroupVersionKind, namespace string, selector labels.Selector) []*unstructured.Unstructured {
	all, err := r.Objects.List(r.ctx, kind, namespace, selector)
	r.failed(err)
	slices.SortFunc(all, func(a, b *unstructured.Unstructured) int {
		return strings.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName())
	})
	return all
}

func (r *reader) failed(err error) {
	if r.refused == nil && err != nil {
		r.refused = errors.New(Message(err))
	}
}

// Box implements pipeline.Observer.
func (r *reader) Box(name string) schema.GroupVersionKind { return r.Plans.KindOf(r.ctx, name) }

// Dependency implements pipeline.Observer. An overview asks for none.
func (*reader) Dependency(string) pipeline.DependencyState { return pipeline.DependencyState{} }

// overview says how the declarations stand. Where an object that the box reads could not be read, it runs once more, and says of everything
// that was not found that it could not be read: whether it is there is not known.
func (r *reader) overview(run func(pipeline.Ports) *pipeline.Run) []overview.Status {
	ports := pipeline.Ports{Inventory: r, Kinds: r, Observer: r}
	all := r.plan.Overview(r.ctx, run(ports), r.hidden, r.comparer)
	if r.refused == nil {
		return all
	}
	ports.Unread = "could not be read: " + r.refused.Error()
	return r.plan.Overview(r.ctx, run(ports), r.hidden, r.comparer)
}

// Data is what the templates and conditions of a box may read for a resource: notes say what could not be read.
func (i *Inspector) Data(ctx context.Context, plan *pipeline.Plan, live *unstructured.Unstructured) (data expr.Data, notes []string) {
	r := i.newReader(ctx, plan, live)
	run := plan.NewRun(live, i.now, pipeline.Ports{Inventory: r, Kinds: r, Observer: r})
	if failed := pipeline.Read(ctx, plan, run); failed != nil {
		r.notes = append(r.notes, "What its box reads is not all known: "+oneLine(failed.Error()))
	}
	if r.refused != nil {
		r.notes = append(r.notes, "What its box reads could not all be read: "+r.refused.Error())
	}
	return run.Data(true), r.notes
}
