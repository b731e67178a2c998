package watch

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/orkspace/orkestra/engine/packed"
)

// noReleases leaves out the Secrets in which Helm keeps its releases: they are many and large, and no credentials.
const noReleases = "type!=helm.sh/release.v1"

// Observed are the informers of kinds that boxes read without owning them, over all namespaces. Boxes share them as they
// share those of children. What they hand out is shared memory and must not be changed; of its managed fields it
// has those of patches, and it has not the annotation of kubectl apply. All methods may be called at the same time.
type Observed struct {
	*pool[*store]

	notify func(kind schema.GroupVersionKind, old, obj *unstructured.Unstructured)
}

// store is the informer of an observed kind.
type store struct{ source *informer }

func (s *store) informer() *informer { return s.source }

// NewObserved makes Observed that watch nothing yet. notify is called for each object that appears (old is nil), changes, or
// goes (obj is nil), and also for those that are there when an informer starts. It must only queue, and must not call Release.
func NewObserved(config Config, notify func(kind schema.GroupVersionKind, old, obj *unstructured.Unstructured)) *Observed {
	o := &Observed{notify: notify}
	o.pool = newPool(config, o.newKind)
	return o
}

func (o *Observed) newKind(gvk schema.GroupVersionKind, resource schema.GroupVersionResource) *store {
	options := informerOptions{
		name:     gvk.String(),
		resource: resource,
		kind:     gvk,
		indexers: cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
		trim:     trimObserved,
		handler: handler{
			add:    func(obj *packed.Object, _ bool) { o.notify(gvk, nil, obj.Unpack()) },
			update: func(old, obj *packed.Object) { o.notify(gvk, old.Unpack(), obj.Unpack()) },
			remove: func(obj *packed.Object) { o.notify(gvk, obj.Unpack(), nil) },
		},
	}
	if !o.config.Writable && gvk.GroupKind() == corev1.SchemeGroupVersion.WithKind("Secret").GroupKind() {
		options.fields = noReleases
	}
	return &store{source: newInformer(o.config, options)}
}

// Get gives the object with a name; the namespace is empty for cluster-scoped kinds. It is nil where there is none, and where
// nobody has acquired the kind.
func (o *Observed) Get(gvk schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	k, ok := o.kind(gvk)
	if !ok {
		return nil
	}
	return k.source.get(cache.NewObjectName(namespace, name).String()).Unpack()
}

// Select gives the objects of a namespace, or of all if it is empty, that have the labels, by namespace and name.
func (o *Observed) Select(gvk schema.GroupVersionKind, namespace string, selector labels.Selector) []*unstructured.Unstructured {
	k, ok := o.kind(gvk)
	if !ok {
		return nil
	}
	var objects []*unstructured.Unstructured
	for _, obj := range k.in(namespace) {
		if selector.Matches(obj.Labels()) {
			objects = append(objects, obj.Unpack())
		}
	}
	slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return objects
}

// in gives the objects of a namespace, or all of them.
func (s *store) in(namespace string) []*packed.Object {
	if namespace != "" {
		return s.source.byIndex(cache.NamespaceIndex, namespace)
	}
	return objectsOf(s.source.shared.GetIndexer().List())
}
