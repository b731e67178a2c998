package rollback

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
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

	list string // on the resource: the hashes of snapshots without a signature
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
	return &Store{Client: w, Cache: w, Namespace: "orkestra-system", Keys: &Keys{namespace: "orkestra-system", key: testKey}, Ours: func(o *unstructured.Unstructured) bool {
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

func (w *world) save(g *WithT, s *Store, generation int64) {
	resource := w.at(generation)
	g.Expect(s.Save(context.Background(), resource, take(resource))).To(Succeed())
}

// forge makes an object as somebody else can who has no key: newer, with all hashes right.
func (w *world) forge(g *WithT, generation, number int64) *unstructured.Unstructured {
	resource := w.at(generation)
	obj, err := take(resource).encode(Key("another key"), resource, "orkestra-system", number)
	g.Expect(err).NotTo(HaveOccurred())
	w.objects[obj.GetName()] = stored(w.t, obj)
	return w.objects[obj.GetName()]
}

// former makes a snapshot as versions without a key did, and lists it on the resource.
func (w *world) former(g *WithT, generation, number int64) *unstructured.Unstructured {
	resource := w.at(generation)
	obj, err := take(resource).encode(testKey, resource, "shop", number)
	g.Expect(err).NotTo(HaveOccurred())
	_, content, err := decode(stored(w.t, obj), hashSize)
	g.Expect(err).NotTo(HaveOccurred())
	obj.SetName(nameOf("web", hashOf(content), unsignedHashSize))
	obj.SetAnnotations(nil)
	obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Website", Name: "web", UID: "1234", Controller: new(true)}})
	w.objects[obj.GetName()] = stored(w.t, obj)
	w.list = strings.Trim(hashOf(content)+","+w.list, ",")
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
	err := s.Save(context.Background(), w.at(3), take(w.at(3)))
	g.Expect(err).To(MatchError(MatchRegexp(`^writing ControllerRevision "web-[0-9a-f]{32}" in namespace "orkestra-system": etcdserver: request is too large$`)))
	g.Expect(s.Newest(w.at(3)).Err).NotTo(HaveOccurred())
	g.Expect(s.Newest(w.at(3)).Snapshot.Generation).To(Equal(int64(2)), "the newest stays, and is believed still")
	g.Expect(w.objects).To(HaveLen(2), "nothing is deleted for what could not be written")
}

func TestAllAreInTheNamespaceOfTheManager(t *testing.T) {
	g := NewWithT(t)
	s, w := newStore(t)
	w.save(g, s, 1)
	g.Expect(s.Newest(w.at(1)).Object.GetNamespace()).To(Equal("orkestra-system"))
	cluster := w.at(1)
	cluster.SetNamespace("")
	cluster.SetUID("5678")
	g.Expect(s.Save(context.Background(), cluster, take(cluster))).To(Succeed())
	g.Expect(s.Newest(cluster).Object.GetNamespace()).To(Equal("orkestra-system"))
	g.Expect(Taken(maps.Values(w.objects), "orkestra-system")).To(ConsistOf(
		Of{Key: types.NamespacedName{Namespace: "shop", Name: "web"}, UID: "1234"}, Of{Key: types.NamespacedName{Name: "web"}, UID: "5678"}))
}

func TestWhatSomebodyWithoutTheKeyWrites(t *testing.T) {
	g := NewWithT(t)
	s, w := newStore(t)
	w.save(g, s, 1)
	forged := w.forge(g, 7, 9)
	g.Expect(s.Newest(w.at(1)).Object).To(Equal(forged))
	g.Expect(s.Newest(w.at(1)).Err).To(MatchError("its signature is not that of the key in Secret orkestra-system/orkestra-snapshot-key: it was forged, or the key is a new one: restore the key, or mend the spec"))
	g.Expect(s.Has(w.at(1), 7, "shops-0123456789")).To(BeFalse())
	g.Expect(s.Has(w.at(1), 1, "shops-0123456789")).To(BeFalse(), "so it is taken again where it succeeds again")

	w.save(g, s, 2)
	g.Expect(w.objects).NotTo(HaveKey(forged.GetName()), "it would be newer than all that follow")
	g.Expect(generations(s.Of(w.at(2)))).To(Equal([]int64{2, 1}))
}

func TestWhatAManagerInAnotherNamespaceLeft(t *testing.T) {
	g := NewWithT(t)
	s, w := newStore(t)
	w.save(g, s, 1)
	left := s.Newest(w.at(1)).Object
	s.Namespace = "platform"
	const refused = `it is in namespace "orkestra-system", and this manager keeps them in "platform": copy it there with the key, or mend the spec`
	g.Expect(s.Newest(w.at(1)).Err).To(MatchError(refused))
	_, err := s.Named(w.at(1), left.GetName(), "")
	g.Expect(err).To(MatchError(ContainSubstring(refused)))
	g.Expect(s.Carry(context.Background(), w.at(1), "")).To(Succeed())

	w.save(g, s, 2)
	g.Expect(s.Newest(w.at(2)).Err).NotTo(HaveOccurred(), "what can be trusted counts")
	g.Expect(s.Forget(context.Background(), "1234")).To(Succeed())
	g.Expect(slices.Collect(maps.Values(w.objects))).To(ConsistOf(left), "the other manager's")
}

func TestASignatureIsOfOneResource(t *testing.T) {
	g := NewWithT(t)
	s, w := newStore(t)
	w.save(g, s, 1)
	copied := s.Newest(w.at(1)).Object.DeepCopy()
	copied.SetLabels(map[string]string{v1alpha1.LabelSnapshot: "true", v1alpha1.LabelOwnerUID: "5678"})
	copied.SetName("copied")
	w.objects["copied"] = copied
	other := w.at(1)
	other.SetUID("5678")
	g.Expect(s.Newest(other).Err).To(MatchError("it is the snapshot of another resource"))
	g.Expect(unstructured.SetNestedField(copied.Object, "5678", "data", "metadata", "uid")).To(Succeed())
	_, content, err := decode(copied, hashSize)
	g.Expect(err).To(HaveOccurred())
	g.Expect(content).To(BeNil())
	data, err := contentOf("5678", 1, copied.Object["data"].(map[string]any))
	g.Expect(err).NotTo(HaveOccurred())
	copied.SetName(nameOf("web", hashOf(data), hashSize))
	g.Expect(s.Newest(other).Err).To(MatchError(ContainSubstring("its signature is not that of the key")), "with its name and hashes made right")
}

func TestWithoutTheKey(t *testing.T) {
	g := NewWithT(t)
	s, w := newStore(t)
	w.save(g, s, 1)
	s.Keys = &Keys{namespace: "orkestra-system"}
	g.Expect(s.Newest(w.at(1)).Err).To(MatchError("the key in Secret orkestra-system/orkestra-snapshot-key could not be read"))
	_, err := s.Named(w.at(1), s.Newest(w.at(1)).Object.GetName(), "")
	g.Expect(err).To(HaveOccurred())
	s.Keys = nil
	g.Expect(s.Newest(w.at(1)).Err).To(HaveOccurred())
	g.Expect(s.Save(context.Background(), w.at(2), take(w.at(2)))).NotTo(Succeed())
}

func TestForget(t *testing.T) {
	g := NewWithT(t)
	s, w := newStore(t)
	w.save(g, s, 1)
	w.save(g, s, 2)
	former := w.former(g, 1, 1)
	g.Expect(s.Keeps("1234")).To(BeTrue())
	g.Expect(s.Keeps("5678")).To(BeFalse())
	g.Expect(s.Forget(context.Background(), "5678")).To(Succeed())
	g.Expect(w.objects).To(HaveLen(3))
	g.Expect(s.Forget(context.Background(), "1234")).To(Succeed())
	g.Expect(w.objects).To(HaveLen(1))
	g.Expect(w.objects).To(HaveKey(former.GetName()), "the garbage collector's")
	g.Expect(s.Keeps("1234")).To(BeFalse())
}

func TestCarry(t *testing.T) {
	g := NewWithT(t)
	s, w := newStore(t)
	w.former(g, 1, 1)
	former := w.former(g, 2, 2)
	unlisted := w.former(g, 7, 9)
	w.list = w.list[strings.Index(w.list, ",")+1:]
	somebodys := w.former(g, 8, 10)
	somebodys.SetAnnotations(map[string]string{"forged": "yes"})
	g.Expect(s.Newest(w.at(2)).Snapshot.Generation).To(Equal(int64(2)), "it counts until it is carried")
	hash := s.Newest(w.at(2)).Snapshot.Hash()

	w.refuses = errors.New("the process ends here")
	g.Expect(s.Carry(context.Background(), w.at(2), "")).NotTo(Succeed())
	g.Expect(s.Newest(w.at(2)).Snapshot.Hash()).To(Equal(hash))
	w.refuses = nil
	g.Expect(s.Carry(context.Background(), w.at(2), "")).To(Succeed())
	w.list = ""
	g.Expect(s.Newest(w.at(2)).Snapshot.Hash()).To(Equal(hash))
	g.Expect(s.Newest(w.at(2)).Object.GetNamespace()).To(Equal("orkestra-system"))
	g.Expect(w.objects).To(HaveLen(3))
	g.Expect(w.objects).NotTo(HaveKey(unlisted.GetName()))
	g.Expect(w.objects).To(HaveKey(somebodys.GetName()), "what is not Orkestra's is not Orkestra's to delete")
	for _, named := range []string{hash, ""} {
		found, err := s.Named(w.at(2), former.GetName(), named)
		g.Expect(err).NotTo(HaveOccurred(), "by the name that a mark has kept")
		g.Expect(found.Generation).To(Equal(int64(2)))
	}
	created := w.created
	g.Expect(s.Carry(context.Background(), w.at(2), "")).To(Succeed())
	g.Expect(w.created).To(Equal(created), "once")
	g.Expect(w.objects).To(HaveLen(3))
}

func TestWhatAMarkHasBelievedIsCarried(t *testing.T) {
	g := NewWithT(t)
	s, w := newStore(t)
	former := w.former(g, 1, 1)
	hash := w.list
	w.list = "another"
	g.Expect(s.Carry(context.Background(), w.at(1), hash)).To(Succeed())
	found, err := s.Named(w.at(1), former.GetName(), hash)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found.Generation).To(Equal(int64(1)))
}

func TestWhatAMarkNames(t *testing.T) {
	s, w := newStore(t)
	w.save(NewWithT(t), s, 1)
	kept := s.Newest(w.at(1))
	name, hash := kept.Object.GetName(), kept.Snapshot.Hash()
	for what, tc := range map[string]struct{ name, hash, why string }{
		"by its whole hash":                    {name: name, hash: hash},
		"by its name, as former versions did":  {name: name},
		"whose content has the same name only": {name: name, hash: hash[:32] + "00", why: "somebody has replaced it"},
		"that is gone":                         {name: "web-0123456789", hash: hash, why: `ControllerRevision "web-0123456789" is gone`},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
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
