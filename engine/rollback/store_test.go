package rollback

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// world is an API server and a cache that is always up to date.
type world struct {
	t       *testing.T
	objects map[string]*unstructured.Unstructured
	behind  bool  // the cache is not told
	refuses error // of creations
	created int
}

func (w *world) Create(_ context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	w.created++
	if w.refuses != nil {
		return nil, w.refuses
	}
	if w.objects[obj.GetName()] != nil {
		return nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "controllerrevisions"}, obj.GetName())
	}
	w.objects[obj.GetName()] = stored(w.t, obj)
	return w.objects[obj.GetName()], nil
}

func (w *world) Remove(_ context.Context, obj *unstructured.Unstructured) error {
	delete(w.objects, obj.GetName())
	return nil
}

func (w *world) Owned(_ schema.GroupVersionKind, owner types.UID) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, obj := range w.objects {
		if !w.behind && obj.GetLabels()[v1alpha1.LabelOwnerUID] == string(owner) {
			out = append(out, obj)
		}
	}
	return out
}

func (*world) Wrote(schema.GroupVersionKind, *unstructured.Unstructured) {}
func (*world) Gone(schema.GroupVersionKind, *unstructured.Unstructured)  {}

func newStore(t *testing.T) (*Store, *world) {
	t.Helper()
	w := &world{t: t, objects: map[string]*unstructured.Unstructured{}}
	return &Store{Client: w, Cache: w, Namespace: "orkestra-system", Ours: func(o *unstructured.Unstructured) bool {
		return o.GetAnnotations()["forged"] == ""
	}}, w
}

func at(generation int64) *unstructured.Unstructured {
	resource := website("web")
	resource.SetGeneration(generation)
	return resource
}

func save(g *WithT, s *Store, resource *unstructured.Unstructured) {
	g.Expect(s.Save(context.Background(), resource, take(resource))).To(Succeed())
}

func TestTwoAreKept(t *testing.T) {
	g := NewWithT(t)
	s, w := newStore(t)
	g.Expect(s.Newest("1234")).To(BeNil())
	for generation := int64(1); generation <= 4; generation++ {
		save(g, s, at(generation))
		g.Expect(s.Newest("1234").Snapshot.Generation).To(Equal(generation))
		g.Expect(s.Has("1234", generation, "shops-0123456789")).To(BeTrue())
	}
	g.Expect(s.Has("1234", 3, "shops-0123456789")).To(BeFalse())
	all := s.Of("1234")
	g.Expect(all).To(HaveLen(2))
	g.Expect([]int64{all[0].Snapshot.Generation, all[1].Snapshot.Generation}).To(Equal([]int64{4, 3}))
	g.Expect(w.objects).To(HaveLen(2))
	g.Expect(s.Of("5678")).To(BeEmpty())

	save(g, s, at(2)) // a spec that came back under an older generation can't be, but a box revision can
	g.Expect(s.Newest("1234").Snapshot.Generation).To(Equal(int64(2)))
}

func TestSaveCanBeRepeated(t *testing.T) {
	g := NewWithT(t)
	s, w := newStore(t)
	w.behind = true
	save(g, s, at(1))
	save(g, s, at(1))
	g.Expect(w.created).To(Equal(2))
	g.Expect(w.objects).To(HaveLen(1), "what is there already is the same")
}

func TestSaveFails(t *testing.T) {
	g := NewWithT(t)
	s, w := newStore(t)
	save(g, s, at(1))
	w.refuses = errors.New("etcdserver: request is too large")
	err := s.Save(context.Background(), at(2), take(at(2)))
	g.Expect(err).To(MatchError(MatchRegexp(`^writing ControllerRevision "web-[0-9a-f]{10}": etcdserver: request is too large$`)))
	g.Expect(s.Newest("1234").Snapshot.Generation).To(Equal(int64(1)), "the older ones stay")
}

func TestClusterScoped(t *testing.T) {
	g := NewWithT(t)
	s, _ := newStore(t)
	resource := at(1)
	resource.SetNamespace("")
	save(g, s, resource)
	g.Expect(s.Newest("1234").Object.GetNamespace()).To(Equal("orkestra-system"))
}

func TestTheNewestIsNamedWhereItCantBeTrusted(t *testing.T) {
	g := NewWithT(t)
	s, w := newStore(t)
	save(g, s, at(1))
	save(g, s, at(2))
	newest := s.Newest("1234").Object
	newest.SetAnnotations(map[string]string{"forged": "yes"})
	g.Expect(s.Newest("1234").Err).To(MatchError(`it was not written by the field manager "orkestra"`))
	g.Expect(s.Has("1234", 1, "shops-0123456789")).To(BeTrue(), "of those that can be trusted")

	save(g, s, at(3))
	save(g, s, at(4))
	g.Expect(w.objects).To(HaveKey(newest.GetName()), "what is not Orkestra's is not Orkestra's to delete")
	g.Expect(w.objects).To(HaveLen(3))
}

func TestWhatIsNoSnapshot(t *testing.T) {
	g := NewWithT(t)
	s, w := newStore(t)
	save(g, s, at(1))
	obj := s.Newest("1234").Object
	g.Expect(Is(obj)).To(BeTrue())
	obj.SetDeletionTimestamp(&metav1.Time{})
	g.Expect(s.Newest("1234")).NotTo(BeNil(), "a zero time is none")
	obj.SetLabels(map[string]string{v1alpha1.LabelOwnerUID: "1234"})
	g.Expect(Is(obj)).To(BeFalse())
	g.Expect(s.Newest("1234")).To(BeNil())
	g.Expect(w.objects).To(HaveLen(1))
}
