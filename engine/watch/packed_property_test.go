package watch

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// shelf is an API server that has objects of one kind, and one watch of them.
type shelf struct {
	dynamic.NamespaceableResourceInterface

	mu      sync.Mutex
	objects map[string]*unstructured.Unstructured
	version int
	oldest  int // from which a watch may go on
	stream  *apiwatch.RaceFreeFakeWatcher
	lists   int
}

// shelves are the clients of a shelf.
type shelves struct{ *shelf }

func (s shelves) Resource(schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return s.shelf
}
func (shelves) IsWatchListSemanticsUnSupported() bool { return true }

func (s *shelf) Namespace(string) dynamic.ResourceInterface { return s }

func (s *shelf) List(_ context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := &unstructured.UnstructuredList{Object: map[string]any{"metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version)}}}
	if options.FieldSelector == noObject {
		return list, nil
	}
	s.lists++
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		list.Items = append(list.Items, *s.objects[key].DeepCopy())
	}
	return list, nil
}

func (s *shelf) Watch(_ context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if from, err := strconv.Atoi(options.ResourceVersion); err != nil || from < s.oldest {
		return nil, apierrors.NewResourceExpired("too old")
	}
	s.stream = apiwatch.NewRaceFreeFake()
	return s.stream, nil
}

// write makes, changes or deletes one object. What is told of it is a copy.
func (s *shelf) write(random *rand.Rand, told bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	namespace, name := string(rune('a'+random.IntN(2))), string(rune('v'+random.IntN(5)))
	former, there := s.objects[namespace+"/"+name]
	obj := &unstructured.Unstructured{Object: someFields(random, 4)}
	obj.SetGroupVersionKind(cupKind)
	obj.Object["metadata"] = map[string]any{"namespace": namespace, "name": name, "uid": fmt.Sprint("uid-", s.version), "resourceVersion": strconv.Itoa(s.version),
		"labels": map[string]any{"app": someText(random)}, "annotations": map[string]any{someText(random) + "x": someText(random)}, "generation": int64(random.IntN(9))}
	event := apiwatch.Event{Type: apiwatch.Added, Object: obj}
	switch {
	case there && random.IntN(3) == 0:
		obj = former.DeepCopy()
		obj.SetResourceVersion(strconv.Itoa(s.version))
		event = apiwatch.Event{Type: apiwatch.Deleted, Object: obj}
		delete(s.objects, namespace+"/"+name)
	case there:
		obj.SetUID(former.GetUID())
		event.Type = apiwatch.Modified
		fallthrough
	default:
		s.objects[namespace+"/"+name] = obj
	}
	if told {
		s.stream.Action(event.Type, obj.DeepCopy())
	}
}

// cut ends the watch. What is written until the next one is told by a list alone.
func (s *shelf) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	s.oldest = s.version
	s.stream.Stop()
}

var theTexts = []string{"", "a", "app", "name", "metadata", "managedFields", `"quoted" \ and {braces}`, "\u00e4\u2028\U0001f375", "a\x00b", "v1", "Cup"}

func someText(random *rand.Rand) string { return theTexts[random.IntN(len(theTexts))] }

func someFields(random *rand.Rand, depth int) map[string]any {
	fields := map[string]any{}
	for range random.IntN(6) {
		fields[someText(random)+strconv.Itoa(random.IntN(3))] = someValue(random, depth-1)
	}
	return fields
}

func someValue(random *rand.Rand, depth int) any {
	switch random.IntN(9 + min(depth, 1)*4) {
	case 0:
		return nil
	case 1:
		return random.IntN(2) == 0
	case 2:
		return []int64{0, -1, math.MaxInt64, math.MinInt64, 1 << 53}[random.IntN(5)]
	case 3:
		return []float64{0.1, 3, -1e300, math.SmallestNonzeroFloat64}[random.IntN(4)]
	case 4:
		return map[string]any{}
	case 5:
		return []any{}
	case 9, 10:
		list := make([]any, random.IntN(4))
		for i := range list {
			list[i] = someValue(random, depth-1)
		}
		return list
	case 11, 12:
		return someFields(random, depth)
	default:
		return someText(random)
	}
}

// scribble changes all of a value that can be changed.
func scribble(v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, below := range v {
			scribble(below)
			v[key] = "scribbled"
		}
		v["scribbled"] = "too"
	case []any:
		for i, below := range v {
			scribble(below)
			v[i] = "scribbled"
		}
	}
}

// Whatever happens to objects, and to what was unpacked of them, readers get what the API server has. What they hold stays as it was, and what they
// change in their copies is seen by nobody else.
func TestReadersGetWhatTheAPIServerHas(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			g, random := NewWithT(t), rand.New(rand.NewPCG(seed, 1))
			s := &shelf{objects: map[string]*unstructured.Unstructured{}, version: 1}
			for range 6 {
				s.write(random, false)
			}
			last := map[string]string{} // the version that was told of an object
			var told sync.Mutex
			wrong := ""
			observed := NewObserved(Config{Client: shelves{s}, Mapper: mapper(), Log: logr.Discard(), Writable: seed%2 == 0}, func(_ schema.GroupVersionKind, old, obj *unstructured.Unstructured) {
				told.Lock()
				defer told.Unlock()
				if old != nil && last[keyOf(old)] != old.GetResourceVersion() && obj != nil {
					wrong = fmt.Sprintf("%s was told at version %q, and changed from %q", keyOf(old), last[keyOf(old)], old.GetResourceVersion())
				}
				if obj == nil {
					delete(last, keyOf(old))
					return
				}
				last[keyOf(obj)] = obj.GetResourceVersion()
			})
			ctx, cancel := context.WithCancel(t.Context())
			var group sync.WaitGroup
			group.Go(func() { g.Expect(observed.Run(ctx)).To(Succeed()) })
			defer group.Wait()
			defer cancel()
			g.Expect(observed.Acquire(t.Context(), "box", cupKind)).To(Succeed())

			held := map[*unstructured.Unstructured]map[string]any{} // what readers hold, and what it was
			for step := range 40 {
				synctest.Wait()
				switch random.IntN(8) {
				case 0:
					s.cut()
					for range random.IntN(6) {
						s.write(random, false)
					}
					time.Sleep(time.Minute) // a reflector waits before it lists again
				case 1:
					clear(held)
					runtime.GC()
				case 2:
					runtime.GC()
				default:
					s.write(random, true)
				}
				synctest.Wait()
				at := fmt.Sprintf("seed %d, step %d", seed, step)
				all := observed.Select(cupKind, "", labels.Everything())
				g.Expect(all).To(HaveLen(len(s.objects)), at)
				g.Expect(wrong).To(BeEmpty(), at)
				g.Expect(last).To(HaveLen(len(s.objects)), at)
				for _, obj := range all {
					want := s.objects[keyOf(obj)]
					g.Expect(want).NotTo(BeNil(), at)
					got := observed.Get(cupKind, obj.GetNamespace(), obj.GetName())
					if !reflect.DeepEqual(obj.Object, want.Object) || !reflect.DeepEqual(got.Object, want.Object) {
						t.Fatalf("%s: readers get\n%v and\n%v, and the API server has\n%v", at, obj.Object, got.Object, want.Object)
					}
					g.Expect(last).To(HaveKeyWithValue(keyOf(obj), want.GetResourceVersion()), at)
					alike := observed.Select(cupKind, obj.GetNamespace(), labels.SelectorFromSet(want.GetLabels()))
					g.Expect(names(alike)).To(ContainElement(names([]*unstructured.Unstructured{want})[0]), at)
					if random.IntN(3) == 0 {
						held[got] = want.DeepCopy().Object
					}
					scribble(got.DeepCopy().Object)
				}
			}
			for obj, was := range held {
				g.Expect(reflect.DeepEqual(obj.Object, was)).To(BeTrue(), "seed %d: %v is held, and was %v", seed, obj.Object, was)
			}
			g.Expect(s.lists).To(BeNumerically(">", 1), "seed %d: nothing was listed again", seed)
		})
	}
}
