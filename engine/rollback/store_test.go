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

	list        string // on the resource
	refusesList error
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

// at is the resource at a generation, with the list that it has by now.
func (w *world) at(generation int64) *unstructured.Unstructured {
	resource := website("web")
	resource.SetGeneration(generation)
	annotations := resource.GetAnnotations()
	annotations[v1alpha1.AnnotationSnapshots] = w.list
	resource.SetAnnotations(annotations)
	return resource
}

func (w *world) noted(_ context.Context, list string) error {
	w.list = list
	return w.refusesList
}

func (w *world) save(g *WithT, s *Store, generation int64) {
	resource := w.at(generation)
	g.Expect(s.Save(context.Background(), resource, take(resource), w.noted)).To(Succeed())
}

// forge makes an object of what somebody else writes: newer, with all hashes right.
func (w *world) forge(g *WithT, generation, number int64) *unstructured.Unstructured {
	resource := w.at(generation)
	obj, _, err := take(resource).encode(resource, "shop", number)
	g.Expect(err).NotTo(HaveOccurred())
	w.objects[obj.GetName()] = stored(w.t, obj)
	return w.objects[obj.GetName()]
}

func generations(all []Entry) []int64 {
	var out []int64
	for _, e := range all {
		out = append(out, e.Snapshot.Generation)
	}
	return out
}

func TestTwoAreKept(t *testing.T) {
	g := NewWithT(t)
	s, w := newStore(t)
	g.Expect(s.Newest(w.at(1))).To(BeNil())
	for generation := int64(1); generation <= 4; generation++ {
		w.save(g, s, generation)
		g.Expect(s.Newest(w.at(4)).Snapshot.Generation).To(Equal(generation))
		g.Expect(s.Newest(w.at(4)).Err).NotTo(HaveOccurred())
		g.Expect(s.Has(w.at(4), generation, "shops-0123456789")).To(BeTrue())
	}
	g.Expect(s.Has(w.at(4), 3, "shops-0123456789")).To(BeFalse())
	g.Expect(generations(s.Of(w.at(4)))).To(Equal([]int64{4, 3}))
	g.Expect(w.objects).To(HaveLen(2))
	other := w.at(4)
	other.SetUID("5678")
	g.Expect(s.Of(other)).To(BeEmpty())

	w.save(g, s, 2) // a spec that came back under an older generation can't be, but a box revision can
	g.Expect(s.Newest(w.at(2)).Snapshot.Generation).To(Equal(int64(2)))
}

func TestSaveCanBeRepeated(t *testing.T) {
	g := NewWithT(t)
	s, w := newStore(t)
	w.behind = true
	w.save(g, s, 1)
	w.save(g, s, 1)
	g.Expect(w.created).To(Equal(2))
	g.Expect(w.objects).To(HaveLen(1), "what is there already is the same")
}

func TestSaveFails(t *testing.T) {
	g := NewWithT(t)
	s, w := newStore(t)
	w.save(g, s, 1)
	w.save(g, s, 2)
	w.refuses = errors.New("etcdserver: request is too large")
	err := s.Save(context.Background(), w.at(3), take(w.at(3)), w.noted)
	g.Expect(err).To(MatchError(MatchRegexp(`^writing ControllerRevision "web-[0-9a-f]{10}": etcdserver: request is too large$`)))
	g.Expect(s.Newest(w.at(3)).Err).NotTo(HaveOccurred())
	g.Expect(s.Newest(w.at(3)).Snapshot.Generation).To(Equal(int64(2)), "the newest stays, and is believed still")

	w.refuses, w.refusesList = nil, errors.New("the resource is gone")
	g.Expect(s.Save(context.Background(), w.at(3), take(w.at(3)), w.noted)).To(MatchError("the resource is gone"))
	g.Expect(w.objects).To(HaveLen(1), "nothing is written that is not listed")
}

func TestClusterScoped(t *testing.T) {
	g := NewWithT(t)
	s, w := newStore(t)
	resource := w.at(1)
	resource.SetNamespace("")
	g.Expect(s.Save(context.Background(), resource, take(resource), w.noted)).To(Succeed())
	g.Expect(s.Newest(w.at(1)).Object.GetNamespace()).To(Equal("orkestra-system"))
}

func TestTheNewestIsNamedWhereItCantBeTrusted(t *testing.T) {
	g := NewWithT(t)
	s, w := newStore(t)
	w.save(g, s, 1)
	w.save(g, s, 2)
	newest := s.Newest(w.at(2)).Object
	newest.SetAnnotations(map[string]string{"forged": "yes"})
	g.Expect(s.Newest(w.at(2)).Err).To(MatchError(`it was not written by the field manager "orkestra"`))
	g.Expect(s.Has(w.at(2), 1, "shops-0123456789")).To(BeTrue(), "of those that can be trusted")

	w.save(g, s, 3)
	w.save(g, s, 4)
	g.Expect(w.objects).To(HaveKey(newest.GetName()), "what is not Orkestra's is not Orkestra's to delete")
	g.Expect(w.objects).To(HaveLen(3))
}

func TestWhatIsNotListed(t *testing.T) {
	g := NewWithT(t)
	s, w := newStore(t)
	w.save(g, s, 1)
	taken := s.Newest(w.at(1)).Snapshot
	forged := w.forge(g, 7, 9)
	g.Expect(s.Newest(w.at(1)).Snapshot).To(Equal(taken), "the one that was taken, whatever is beside it")
	list := w.list
	w.list = "gone"
	g.Expect(s.Newest(w.at(1)).Object).To(Equal(forged))
	g.Expect(s.Newest(w.at(1)).Err).To(MatchError("its hash is not in the annotation orkestra.orkspace.io/snapshots of the resource, as if Orkestra had not taken it"))
	w.list = list
	g.Expect(s.Has(w.at(1), 7, "shops-0123456789")).To(BeFalse())
	g.Expect(s.Has(w.at(1), 1, "shops-0123456789")).To(BeTrue())

	w.save(g, s, 2)
	g.Expect(w.objects).NotTo(HaveKey(forged.GetName()), "it would be newer than all that follow")
	g.Expect(generations(s.Of(w.at(2)))).To(Equal([]int64{2, 1}))
	g.Expect(w.list).To(Equal(s.Newest(w.at(2)).Snapshot.Hash() + "," + taken.Hash()))
}

func TestWhatWasTakenBeforeThereWereLists(t *testing.T) {
	g := NewWithT(t)
	s, w := newStore(t)
	w.save(g, s, 1)
	w.save(g, s, 2)
	w.list = ""
	g.Expect(s.Newest(w.at(2)).Err).To(HaveOccurred())
	g.Expect(s.Has(w.at(2), 2, "shops-0123456789")).To(BeFalse(), "so it is taken again where it succeeds again")
	w.save(g, s, 2)
	g.Expect(s.Newest(w.at(2)).Err).NotTo(HaveOccurred())
	g.Expect(generations(s.Of(w.at(2)))).To(Equal([]int64{2}))
}

func TestWhatAMarkNames(t *testing.T) {
	s, w := newStore(t)
	w.save(NewWithT(t), s, 1)
	kept := s.Newest(w.at(1))
	name, hash := kept.Object.GetName(), kept.Snapshot.Hash()
	for what, tc := range map[string]struct{ name, hash, list, why string }{
		"by its whole hash":                    {name: name, hash: hash, list: w.list},
		"whatever the resource lists":          {name: name, hash: hash},
		"by its name, as former versions did":  {name: name},
		"whose content has the same name only": {name: name, hash: hash[:10] + "00", list: w.list, why: "somebody has replaced it"},
		"that is gone":                         {name: "web-0123456789", hash: hash, list: w.list, why: `ControllerRevision "web-0123456789" is gone`},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			w.list = tc.list
			found, err := s.Named(w.at(1), tc.name, tc.hash)
			if tc.why != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tc.why)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found.Spec).To(Equal(take(w.at(1)).Spec))
		})
	}
}

func TestObjectsThatAreNoSnapshotsAreIgnored(t *testing.T) {
	g := NewWithT(t)
	s, w := newStore(t)
	w.save(g, s, 1)
	obj := s.Newest(w.at(1)).Object
	g.Expect(Is(obj)).To(BeTrue())
	obj.SetDeletionTimestamp(&metav1.Time{})
	g.Expect(s.Newest(w.at(1))).NotTo(BeNil(), "a zero time is none")
	obj.SetLabels(map[string]string{v1alpha1.LabelOwnerUID: "1234"})
	g.Expect(Is(obj)).To(BeFalse())
	g.Expect(s.Newest(w.at(1))).To(BeNil())
	g.Expect(w.objects).To(HaveLen(1))
}
