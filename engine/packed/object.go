// Package packed keeps objects in few bytes. A decoded object takes several times what its JSON does, mostly for maps of few fields; a
// packed one takes less than its JSON. It is unpacked by those who read it, and its metadata can be read without that.
package packed

import (
	"slices"
	"sync/atomic"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/orkspace/orkestra/engine/value"
)

// Object is an object that does not change. Its methods may be called at the same time, also on nil, which is no object.
type Object struct {
	words *Words
	body  string
	size  int64

	// recent is what was packed, or last unpacked, for as long as somebody else holds it or no garbage is collected: an event is mostly
	// followed by the reconciles that read it. So nothing says how many unpacked objects are kept, and nobody has to drop them.
	recent atomic.Pointer[weak.Pointer[unstructured.Unstructured]]

	whole *unstructured.Unstructured // what has a value that JSON has not, and can't be packed
}

var _ metav1.ObjectMetaAccessor = (*Object)(nil)

// Whole gives an object that is not packed. It takes it over.
func Whole(obj *unstructured.Unstructured) *Object {
	if obj == nil {
		return nil
	}
	return &Object{whole: obj}
}

// Pack packs an object, which must not change any more. One with a value that JSON has not is kept as it is.
func (w *Words) Pack(obj *unstructured.Unstructured) *Object {
	if obj == nil {
		return nil
	}
	body, ok := w.encode(obj.Object)
	if !ok {
		return Whole(obj)
	}
	o := &Object{words: w, body: body, size: value.Size(obj.Object)}
	o.remember(&unstructured.Unstructured{Object: obj.Object}) // obj may be one of a list, all of which it would keep
	return o
}

// Unpack gives the object. It is shared memory, and must not be changed.
func (o *Object) Unpack() *unstructured.Unstructured {
	switch {
	case o == nil:
		return nil
	case o.whole != nil:
		return o.whole
	}
	if obj := o.remembered(); obj != nil {
		return obj
	}
	content, _ := o.decoder().value(0)
	fields, _ := content.(map[string]any)
	obj := &unstructured.Unstructured{Object: fields}
	o.remember(obj)
	return obj
}

func (o *Object) remember(obj *unstructured.Unstructured) {
	recent := weak.Make(obj)
	o.recent.Store(&recent)
}

// remembered is what was packed, or last unpacked; nil: nobody holds it any more.
func (o *Object) remembered() *unstructured.Unstructured {
	if recent := o.recent.Load(); recent != nil {
		return recent.Value()
	}
	return nil
}

func (o *Object) decoder() decoder { return decoder{body: o.body, words: o.words.known()} }

// Size is how many bytes the object takes as JSON.
func (o *Object) Size() int64 {
	switch {
	case o == nil:
		return 0
	case o.whole != nil:
		return value.Size(o.whole.Object)
	default:
		return o.size
	}
}

// Namespace is empty for an object that is in none.
func (o *Object) Namespace() string { return o.text("namespace") }

// Name is the name of the object.
func (o *Object) Name() string { return o.text("name") }

// UID is the UID of the object.
func (o *Object) UID() types.UID { return types.UID(o.text("uid")) }

// Version is the resourceVersion of the object.
func (o *Object) Version() string { return o.text("resourceVersion") }

// Label gives a label's value, or nothing.
func (o *Object) Label(name string) string { return o.text("labels", name) }

// Labels are all labels of the object.
func (o *Object) Labels() labels.Set {
	if o == nil {
		return nil
	}
	if o.whole != nil {
		return o.whole.GetLabels()
	}
	d := o.decoder()
	at, found := d.at(metadata, "labels")
	if !found {
		return nil
	}
	return d.texts(at)
}

// Head gives UID, resourceVersion and namespace, to be compared and let go: they are part of the object, and what keeps them keeps all of it.
func (o *Object) Head() (uid types.UID, version, namespace string) {
	switch {
	case o == nil:
		return "", "", ""
	case o.whole != nil:
		return o.whole.GetUID(), o.whole.GetResourceVersion(), o.whole.GetNamespace()
	}
	d := o.decoder()
	at, found := d.at(metadata)
	if !found {
		return "", "", ""
	}
	look := func(name string) string {
		place, found := d.field(at, name)
		if !found {
			return ""
		}
		text, _ := d.view(place)
		return text
	}
	return types.UID(look("uid")), look("resourceVersion"), look("namespace")
}

// ManagedBy says whether a manager is among those of the object's fields.
func (o *Object) ManagedBy(manager string) bool {
	switch {
	case o == nil:
		return false
	case o.whole != nil:
		return slices.ContainsFunc(o.whole.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Manager == manager })
	}
	d := o.decoder()
	at, found := d.at(metadata, "managedFields")
	if !found {
		return false
	}
	kind, count, at := d.head(at)
	if kind != list {
		return false
	}
	for range count {
		if place, found := d.field(at, "manager"); found {
			if is, _ := d.is(place, manager); is {
				return true
			}
		}
		at = d.skip(at)
	}
	return false
}

// Key is the key under which a store holds the object.
func (o *Object) Key() string { return cache.NewObjectName(o.Namespace(), o.Name()).String() }

const metadata = "metadata"

// text gives a text of the metadata; empty: there is none.
func (o *Object) text(path ...string) string {
	if o == nil {
		return ""
	}
	path = append([]string{metadata}, path...)
	if o.whole != nil {
		text, _, _ := unstructured.NestedString(o.whole.Object, path...)
		return text
	}
	d := o.decoder()
	at, found := d.at(path...)
	if !found {
		return ""
	}
	text, _ := d.text(at)
	return text
}

// GetObjectMeta implements metav1.ObjectMetaAccessor with what informers read: what an object is told from others by. They ask half a dozen times
// about one that was packed a moment ago.
func (o *Object) GetObjectMeta() metav1.Object {
	if o != nil {
		if obj := o.remembered(); obj != nil {
			return obj
		}
	}
	return &metav1.ObjectMeta{Namespace: o.Namespace(), Name: o.Name(), UID: o.UID(), ResourceVersion: o.Version()}
}
