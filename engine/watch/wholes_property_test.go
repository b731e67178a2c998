package watch

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/orkspace/orkestra/engine/packed"
	"github.com/orkspace/orkestra/engine/value"
)

const serveAnnotation = "example.com/serve"

func served(annotations map[string]string) bool { return annotations[serveAnnotation] == "yes" }

// keyQueue keeps what is queued, in the order of its coming; what is due later is due at once.
type keyQueue struct {
	workqueue.TypedDelayingInterface[string]

	keys []string
}

func (q *keyQueue) Add(key string) {
	if !slices.Contains(q.keys, key) {
		q.keys = append(q.keys, key)
	}
}
func (q *keyQueue) AddAfter(key string, _ time.Duration) { q.Add(key) }

// apiServer is the truth, and what the watch and the reads of a test have of it.
type apiServer struct {
	random  *rand.Rand
	objects map[string]*unstructured.Unstructured
	past    map[string][]*unstructured.Unstructured // all states that there were; nil: there was none
	version int
	events  []apiwatch.Event // not delivered yet
	told    map[string]*unstructured.Unstructured
	filter  heads
	reads   []*readInFlight
	wholes  *wholes
	queue   *keyQueue

	shown map[string]*unstructured.Unstructured // by the events that were told
	known map[types.UID]bool                    // the watch has told that it is there and selected
	ended map[types.UID]bool                    // told, and not shown since
	wrong []string
}

type readInFlight struct {
	key    string
	head   *packed.Object
	served bool // the API server has looked, and the answer is on its way
	obj    *unstructured.Unstructured
	err    error
}

func newAPIServer(seed uint64) *apiServer {
	s := &apiServer{
		random: rand.New(rand.NewPCG(seed, 1)), objects: map[string]*unstructured.Unstructured{}, past: map[string][]*unstructured.Unstructured{},
		version: 9, told: map[string]*unstructured.Unstructured{}, filter: heads{selects: served}, queue: &keyQueue{}, shown: map[string]*unstructured.Unstructured{}, ended: map[types.UID]bool{}, known: map[types.UID]bool{},
	}
	s.wholes = newWholes(Config{Log: logr.Discard()}, cups, Selection{Annotations: served}, ResourceEvents{
		Add: func(obj *unstructured.Unstructured, _ bool) {
			s.check(s.shown[keyOf(obj)] == nil, "added although it is shown", obj)
			s.check(served(obj.GetAnnotations()), "added although it is not selected", obj)
			s.shown[keyOf(obj)] = obj
			delete(s.ended, obj.GetUID())
		},
		Update: func(obj *unstructured.Unstructured) {
			old := s.shown[keyOf(obj)]
			if old == nil {
				s.check(false, "updated although it is not shown", obj)
				return
			}
			s.check(served(obj.GetAnnotations()), "updated although it is not selected any more", obj)
			s.check(old.GetUID() == obj.GetUID() && newer(obj.GetResourceVersion(), old.GetResourceVersion()), "went backwards", obj)
			s.shown[keyOf(obj)] = obj
		},
		Delete: s.unshown,
		Missed: s.unshown,
	})
	s.wholes.queue = s.queue
	return s
}

func (s *apiServer) unshown(obj *unstructured.Unstructured) {
	last := s.shown[keyOf(obj)]
	s.check(last == nil || last.GetUID() == obj.GetUID(), "ended although another is shown", obj)
	s.check(!s.ended[obj.GetUID()], "ended twice", obj)
	s.ended[obj.GetUID()] = true
	delete(s.shown, keyOf(obj))
}

func (s *apiServer) check(ok bool, what string, obj *unstructured.Unstructured) {
	if !ok {
		s.wrong = append(s.wrong, fmt.Sprintf("%s#%s %s", keyOf(obj), obj.GetResourceVersion(), what))
	}
}

// write changes something.
func (s *apiServer) write() {
	key := "ns/" + string(rune('a'+s.random.IntN(3)))
	obj := s.objects[key]
	s.version++
	kind := apiwatch.Modified
	switch {
	case obj == nil:
		kind = apiwatch.Added
		_, name, _ := cache.SplitMetaNamespaceKey(key)
		obj = object(cupKind, "ns", name, "")
		obj.SetUID(types.UID(fmt.Sprintf("uid-%d", s.version)))
	case s.random.IntN(4) == 0:
		kind = apiwatch.Deleted
		obj = obj.DeepCopy()
	default:
		obj = obj.DeepCopy()
	}
	obj.SetResourceVersion(strconv.Itoa(s.version))
	obj.SetAnnotations(map[string]string{serveAnnotation: []string{"yes", "yes", "no"}[s.random.IntN(3)]})
	s.objects[key] = obj
	if kind == apiwatch.Deleted {
		delete(s.objects, key)
	}
	s.past[key] = append(s.past[key], s.objects[key])
	s.events = append(s.events, apiwatch.Event{Type: kind, Object: metadataOf(obj)})
}

func metadataOf(obj *unstructured.Unstructured) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(), Annotations: obj.GetAnnotations(),
		Labels: obj.GetLabels(), Finalizers: obj.GetFinalizers(),
	}}
}

// deliver delivers the next event of the watch, as an informer does.
func (s *apiServer) deliver() {
	if len(s.events) == 0 {
		return
	}
	event, passes := s.filter.pass(s.events[0])
	s.events = s.events[1:]
	if !passes {
		return
	}
	head := event.Object.(*unstructured.Unstructured)
	key := keyOf(head)
	if s.told[key] != nil || event.Type != apiwatch.Deleted {
		s.known[head.GetUID()] = true
	}
	if event.Type == apiwatch.Deleted {
		delete(s.told, key)
		s.wholes.handler().OnDelete(head)
		return
	}
	s.tell(key, head)
}

func (s *apiServer) tell(key string, head *unstructured.Unstructured) {
	old := s.told[key]
	s.told[key] = head
	if old == nil || old.GetUID() != head.GetUID() {
		delete(s.ended, head.GetUID())
	}
	if old == nil {
		s.wholes.handler().OnAdd(head, false)
		return
	}
	s.wholes.handler().OnUpdate(old, head)
}

// relist breaks the watch: what was not delivered is lost, and all that is there and selected is told again.
func (s *apiServer) relist() {
	s.events = nil
	for _, key := range slices.Sorted(maps.Keys(s.told)) {
		if obj := s.objects[key]; obj == nil || !served(obj.GetAnnotations()) {
			head := s.told[key]
			delete(s.told, key)
			s.wholes.handler().OnDelete(cache.DeletedFinalStateUnknown{Key: key, Obj: head})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		if obj := s.objects[key]; served(obj.GetAnnotations()) {
			s.tell(key, headOf(metadataOf(obj)))
		}
	}
}

// begin begins the next read that may begin: one of each object at a time.
func (s *apiServer) begin() {
	for i, key := range s.queue.keys {
		if slices.ContainsFunc(s.reads, func(r *readInFlight) bool { return r.key == key }) {
			continue
		}
		s.queue.keys = slices.Delete(s.queue.keys, i, i+1)
		if head := s.wholes.unread(key); head != nil {
			s.reads = append(s.reads, &readInFlight{key: key, head: head})
		}
		return
	}
}

// serve has the API server look for a read that was sent. With faults, it may look at a former state, or fail.
func (s *apiServer) serve(faults bool) {
	for _, r := range s.reads {
		if r.served {
			continue
		}
		r.served, r.obj = true, s.objects[r.key]
		if past := s.past[r.key]; faults && s.random.IntN(4) == 0 {
			r.obj = past[s.random.IntN(len(past))]
		}
		if r.obj == nil {
			r.err = apierrors.NewNotFound(cups.GroupResource(), r.head.Name())
		}
		if faults && s.random.IntN(5) == 0 {
			r.obj, r.err = nil, apierrors.NewInternalError(errors.New("no"))
		}
		return
	}
}

// answer delivers an answer, in any order.
func (s *apiServer) answer() {
	for i, r := range s.reads {
		if r.served && s.random.IntN(2) == 0 {
			s.reads = slices.Delete(s.reads, i, i+1)
			s.wholes.answered(r.key, r.head, s.wholes.words.Pack(r.obj), r.err)
			return
		}
	}
}

// versions gives the versions of objects by their keys.
func versions(objects map[string]*unstructured.Unstructured) map[string]string {
	out := map[string]string{}
	for key, obj := range objects {
		out[key] = string(obj.GetUID()) + "#" + obj.GetResourceVersion()
	}
	return out
}

// Whatever comes in whatever order (events of the watch, lost ones, late and wrong answers, ends, recreations), what is shown of an object never
// gets older, each event fits to what was told before, and in the end all is shown that is there and selected.
func TestWhatIsShownOfSelectedObjectsNeverGoesBackwardsAndBecomesTheTruth(t *testing.T) {
	for seed := range uint64(3000) {
		s := newAPIServer(seed)
		for range 60 {
			switch s.random.IntN(12) {
			case 0, 1, 2:
				s.write()
			case 3, 4, 5:
				s.deliver()
			case 6:
				if s.random.IntN(3) == 0 {
					s.relist()
				}
			case 7, 8:
				s.begin()
			case 9:
				s.serve(true)
			default:
				s.answer()
			}
		}
		for len(s.events)+len(s.queue.keys)+len(s.reads) > 0 {
			s.deliver()
			s.begin()
			s.serve(false)
			s.answer()
		}
		wanted := maps.Clone(s.objects)
		maps.DeleteFunc(wanted, func(_ string, obj *unstructured.Unstructured) bool { return !served(obj.GetAnnotations()) })
		known := map[string]*unstructured.Unstructured{}
		for _, key := range s.wholes.keys() {
			known[key] = s.wholes.get(key).Unpack()
		}
		g := NewWithT(t)
		g.Expect(s.wrong).To(BeEmpty(), "seed %d", seed)
		g.Expect(versions(known)).To(Equal(versions(wanted)), "what is shown, seed %d", seed)
		g.Expect(versions(s.shown)).To(Equal(versions(wanted)), "what was told, seed %d", seed)
		var bytes int64
		for _, obj := range known {
			bytes += value.Size(obj.Object)
		}
		_, _, counted := s.wholes.held.more()
		g.Expect(counted).To(Equal(bytes), "what is held, seed %d", seed)
		for uid := range s.known {
			there := slices.ContainsFunc(slices.Collect(maps.Values(wanted)), func(obj *unstructured.Unstructured) bool { return obj.GetUID() == uid })
			g.Expect(s.ended[uid]).To(Equal(!there), "the end of all is told that a former process may have known: %s, seed %d", uid, seed)
		}
		g.Expect(s.wholes.byUID).To(HaveLen(len(s.told)), "nothing is kept of what is not selected, seed %d", seed)
		g.Expect(s.wholes.failing()).To(BeEmpty(), "seed %d", seed)
	}
}
