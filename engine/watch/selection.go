package watch

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
)

// Selection says which resources of a kind are known.
type Selection struct {
	// Labels are evaluated by the API server: it does not send what they do not select. nil: all are sent.
	Labels labels.Selector
	// Annotations says which objects are selected by their annotations. With it, the API server sends the metadata of what Labels select, and
	// those that Annotations selects are read whole. nil: all are selected, and sent whole.
	Annotations func(annotations map[string]string) bool
}

// Selected is the selection by labels and annotations, each of which may be nil.
func Selected(labels labels.Selector, annotations func(annotations map[string]string) bool) Selection {
	return Selection{Labels: labels, Annotations: annotations}
}

// labels is the label selector as a request has it; empty: all.
func (s Selection) labels() string {
	if s.Labels == nil {
		return ""
	}
	return s.Labels.String()
}

// selects says whether an object that was read whole is selected.
func (s Selection) selects(obj *unstructured.Unstructured) bool {
	return (s.Labels == nil || s.Labels.Matches(labels.Set(obj.GetLabels()))) && (s.Annotations == nil || s.Annotations(obj.GetAnnotations()))
}

// heads lists and watches the metadata of objects, of which it gives those that are selected by their annotations, reduced to what is read of
// them. What the API server does for labels it does for annotations: one that is not selected is not there, and one that is not selected any
// more is gone. So nothing is kept of what is not selected, and whoever reads it needs no case for annotations.
type heads struct {
	requests metadata.ResourceInterface
	selects  func(annotations map[string]string) bool
}

// List implements requester.
func (h heads) List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	all, err := h.requests.List(ctx, options)
	if err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{Object: map[string]any{}}
	list.SetResourceVersion(all.ResourceVersion)
	list.SetContinue(all.Continue)
	for i := range all.Items {
		if h.selects(all.Items[i].Annotations) {
			list.Items = append(list.Items, *headOf(&all.Items[i]))
		}
	}
	return list, nil
}

// Watch implements requester.
func (h heads) Watch(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
	return h.requests.Watch(ctx, options)
}

// pass gives the event that stands for one of the watch; false: there is none. One that was changed, and is not selected, may have been
// selected before: that it is gone is told in any case, which costs nothing where nobody knows it. To remember what was selected would be
// wrong where an event is lost between here and the store, and comes again.
func (h heads) pass(event apiwatch.Event) (apiwatch.Event, bool) {
	whole, ok := event.Object.(*metav1.PartialObjectMetadata)
	if !ok {
		return event, true // an error
	}
	head := headOf(whole)
	event.Object = head
	switch {
	case event.Type == apiwatch.Bookmark:
		head.SetAnnotations(whole.Annotations) // they say where the first objects end
	case h.selects(whole.Annotations):
	case event.Type == apiwatch.Added:
		return event, false
	case event.Type == apiwatch.Modified:
		event.Type = apiwatch.Deleted
	}
	return event, true
}

// headOf keeps of an object's metadata what it is told from others by, and what is read of one that is gone.
func headOf(m *metav1.PartialObjectMetadata) *unstructured.Unstructured {
	head := &unstructured.Unstructured{Object: map[string]any{}}
	head.SetNamespace(m.Namespace)
	head.SetName(m.Name)
	head.SetUID(m.UID)
	head.SetResourceVersion(m.ResourceVersion)
	head.SetDeletionTimestamp(m.DeletionTimestamp)
	head.SetFinalizers(m.Finalizers)
	head.SetLabels(m.Labels) // one of them says whose marks it carries
	return head
}
