package watch

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/metadata"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/orkspace/orkestra/engine/packed"
)

// annotated is a kind of which the heads are watched, and the objects read.
type annotated struct {
	Gomega
	t      *testing.T
	whole  *dynamicfake.FakeDynamicClient
	heads  metadata.Interface
	events *record
	*Resources

	troubled atomic.Int32
}

func newAnnotated(t *testing.T, objects ...*unstructured.Unstructured) *annotated {
	t.Helper()
	scheme := metadatafake.NewTestScheme()
	NewWithT(t).Expect(metav1.AddMetaToScheme(scheme)).To(Succeed())
	a := &annotated{Gomega: NewWithT(t), t: t, whole: newClient(), heads: metadatafake.NewSimpleMetadataClient(scheme), events: &record{}}
	for _, obj := range objects {
		a.put(obj)
	}
	events := a.events.events()
	events.Troubled = func() { a.troubled.Add(1) }
	config := Config{Client: a.whole, Metadata: a.heads, Log: logr.Discard()}
	a.Resources = NewResources(config, cups, nil, Selection{Annotations: served}, events)
	return a
}

// start starts, and waits until all that is there has been read.
func (a *annotated) start() {
	a.t.Helper()
	a.Start(a.t.Context())
	a.Expect(a.WaitForSync(a.t.Context())).To(Succeed())
	synctest.Wait() // the fake tells nothing of what comes between a list and its watch
	a.whole.ClearActions()
}

// cup is an object with a value of the annotation.
func cup(name, version, serve string) *unstructured.Unstructured {
	obj := object(cupKind, "ns", name, version)
	obj.SetAnnotations(map[string]string{serveAnnotation: serve, "more": "text"})
	return obj
}

func (a *annotated) metadata() metadatafake.MetadataClient {
	return a.heads.Resource(cups).Namespace("ns").(metadatafake.MetadataClient)
}

// put creates an object, or changes it, first whole and then its head.
func (a *annotated) put(obj *unstructured.Unstructured) {
	a.t.Helper()
	err := a.whole.Tracker().Update(cups, obj, "ns")
	if apierrors.IsNotFound(err) {
		err = a.whole.Tracker().Create(cups, obj, "ns")
	}
	a.Expect(err).NotTo(HaveOccurred())
	a.tell(obj)
}

// tell shows the head of an object to the watch.
func (a *annotated) tell(obj *unstructured.Unstructured) {
	a.t.Helper()
	head := metadataOf(obj)
	head.APIVersion, head.Kind = obj.GetAPIVersion(), obj.GetKind()
	_, err := a.metadata().UpdateFake(head, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = a.metadata().CreateFake(head, metav1.CreateOptions{})
	}
	a.Expect(err).NotTo(HaveOccurred())
}

func (a *annotated) remove(name string) {
	a.t.Helper()
	a.Expect(a.whole.Tracker().Delete(cups, "ns", name)).To(Succeed())
	a.Expect(a.metadata().Delete(a.t.Context(), name, metav1.DeleteOptions{})).To(Succeed())
}

func TestOfObjectsThatAnnotationsDoNotSelectNothingIsReadOrKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAnnotated(t, cup("a", "1", "yes"), cup("b", "2", "no"))
		a.start()
		defer a.Stop()
		a.Expect(a.events.take()).To(Equal([]string{"initial ns/a#1"}))
		a.put(cup("b", "3", "no"))
		a.put(cup("c", "4", "no"))
		a.Expect(a.events.take()).To(BeEmpty())
		a.Expect(a.whole.Actions()).To(BeEmpty(), "no request")
		a.Expect(a.Len()).To(Equal(1))
		a.Expect(a.wholes.all).To(HaveLen(1))
		a.Expect(a.informers[""].shared.GetStore().ListKeys()).To(Equal([]string{"ns/a"}))

		a.put(cup("b", "5", "yes"))
		a.Expect(a.events.take()).To(Equal([]string{"add ns/b#5"}))
		got, found := a.Get(key("ns", "b"))
		a.Expect(found).To(BeTrue())
		a.Expect(got.GetAnnotations()).To(HaveKey("more"), "it is whole")
		head := a.informers[""].get("ns/b").Unpack()
		a.Expect(head.GetAnnotations()).To(BeEmpty(), "its head has what is needed alone")
		a.put(cup("b", "6", "yes"))
		a.Expect(a.events.take()).To(Equal([]string{"update ns/b#6"}))
		a.Expect(requests(a.whole, "get")).To(Equal(2), "one for each version")
		a.put(cup("b", "7", "no"))
		a.Expect(a.events.take()).To(Equal([]string{"delete ns/b#7"}))
		a.remove("a")
		a.Expect(a.events.take()).To(Equal([]string{"delete ns/a#1"}))
		a.Expect(a.Len()).To(BeZero())
		a.Expect(requests(a.whole, "get")).To(Equal(2), "and none for what goes")
	})
}

func TestAnAnswerThatIsAheadOfTheWatchSavesRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAnnotated(t, cup("a", "1", "yes"))
		a.start()
		defer a.Stop()
		a.events.take()
		a.Expect(a.whole.Tracker().Update(cups, cup("a", "4", "yes"), "ns")).To(Succeed())
		for _, version := range []string{"2", "3", "4"} {
			a.tell(cup("a", version, "yes"))
			synctest.Wait()
		}
		a.Expect(a.events.take()).To(Equal([]string{"update ns/a#4"}))
		a.Expect(requests(a.whole, "get")).To(Equal(1))
		a.Expect(a.Seen(key("ns", "a"), "4")).To(BeTrue())
		a.Expect(a.Seen(key("ns", "a"), "5")).To(BeFalse())
	})
}

func TestWhatAReadTellsBeforeTheWatchDoes(t *testing.T) {
	for name, tc := range map[string]struct {
		live *unstructured.Unstructured // nil: gone
		want []string
	}{
		"it is gone":                    {nil, []string{"delete ns/a#5"}},
		"it was made again":             {named("second", cup("a", "9", "yes")), []string{"delete ns/a#5"}},
		"it is not selected any more":   {cup("a", "9", "no"), []string{"delete ns/a#9"}},
		"it has changed once more":      {cup("a", "9", "yes"), []string{"update ns/a#9"}},
		"a former state, from a former": {cup("a", "1", "yes"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAnnotated(t, cup("a", "1", "yes"))
				a.start()
				defer a.Stop()
				a.events.take()
				if tc.live == nil {
					a.Expect(a.whole.Tracker().Delete(cups, "ns", "a")).To(Succeed())
				} else {
					a.Expect(a.whole.Tracker().Update(cups, tc.live, "ns")).To(Succeed())
				}
				a.tell(cup("a", "5", "yes"))
				a.Expect(a.events.take()).To(BeComparableTo(tc.want))
			})
		})
	}
}

// An object that is there is not lost where a read says for a while that it is not: it is read again.
func TestAnObjectThatIsThereAfterAllIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAnnotated(t, cup("a", "1", "yes"))
		var missing atomic.Bool
		answer(a.whole, "get", func() error {
			if missing.Load() {
				return apierrors.NewNotFound(cups.GroupResource(), "a")
			}
			return nil
		})
		a.start()
		defer a.Stop()
		a.events.take()
		missing.Store(true)
		a.put(cup("a", "2", "yes"))
		a.Expect(a.events.take()).To(Equal([]string{"delete ns/a#2"}))
		missing.Store(false)
		time.Sleep(time.Minute)
		a.Expect(a.events.take()).To(Equal([]string{"add ns/a#2"}))
	})
}

func TestAnObjectThatCanNotBeReadIsNamedAndDoesNotHoldTheOthersBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var objects []*unstructured.Unstructured
		for i := range 20 {
			objects = append(objects, cup(fmt.Sprintf("bad-%02d", i), strconv.Itoa(i+1), "yes"))
		}
		a := newAnnotated(t, append(objects, cup("good", "50", "yes"))...)
		var broken atomic.Bool
		broken.Store(true)
		var port atomic.Int32
		a.whole.PrependReactor("get", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
			fails := broken.Load() && action.(clienttesting.GetAction).GetName() != "good"
			return fails, nil, apierrors.NewInternalError(fmt.Errorf("conversion webhook: port %d", port.Add(1)))
		})
		a.start()
		defer a.Stop()
		a.Expect(a.events.take()).To(Equal([]string{"initial ns/good#50"}))
		a.Expect(a.Failing()).To(BeEmpty(), "it may pass")
		_, lives := a.Key("uid-of-bad-00")
		a.Expect(lives).To(BeTrue(), "it is there, though it can't be read")
		a.Expect(a.Keys()).To(Equal([]types.NamespacedName{key("ns", "good")}))
		a.Expect(a.Unread()).To(HaveLen(20))

		time.Sleep(time.Minute)
		a.Expect(a.Failing()).To(MatchRegexp(`^cups.test.example.com "ns/bad-\d\d" is selected and can't be read, which is tried again: Internal error occurred: conversion webhook: port \d+$`))
		synctest.Wait()
		a.Expect(a.troubled.Load()).To(BeEquivalentTo(1), "told once, whatever the words are")
		a.whole.ClearActions()
		time.Sleep(time.Hour)
		synctest.Wait()
		a.Expect(requests(a.whole, "get")).To(BeNumerically("~", 20*60, 20*25), "each about once a minute")

		broken.Store(false)
		a.put(cup("bad-00", "60", "yes"))
		a.Expect(a.events.take()).To(Equal([]string{"initial ns/bad-00#60"}), "a new version is read at once")
		time.Sleep(2 * time.Minute)
		a.Expect(a.events.take()).To(HaveLen(19))
		a.Expect(a.Failing()).To(BeEmpty())
		a.Expect(a.Unread()).To(BeEmpty())
	})
}

func TestWhileTheAPIServerIsAwayFewReadsAreTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var objects []*unstructured.Unstructured
		for i := range 100 {
			objects = append(objects, cup(fmt.Sprintf("o-%d", i), strconv.Itoa(i+1), "yes"))
		}
		a := newAnnotated(t, objects...)
		var away atomic.Bool
		away.Store(true)
		answer(a.whole, "get", func() error {
			if away.Load() {
				return apierrors.NewServiceUnavailable("no")
			}
			return nil
		})
		a.Start(t.Context())
		defer a.Stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		a.Expect(a.HasSynced()).To(BeFalse(), "nothing is known of them")
		a.Expect(a.Failing()).To(ContainSubstring("can't be read"))
		a.whole.ClearActions()
		time.Sleep(time.Minute)
		a.Expect(requests(a.whole, "get")).To(BeNumerically("<=", maxReads*60))
		away.Store(false)
		time.Sleep(3 * time.Second)
		a.Expect(a.WaitForSync(t.Context())).To(Succeed())
		a.Expect(a.Len()).To(Equal(100))
		a.Expect(a.Failing()).To(BeEmpty())
	})
}

func TestReadsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var objects []*unstructured.Unstructured
		for i := range 100 {
			objects = append(objects, cup(fmt.Sprintf("o-%d", i), strconv.Itoa(i+1), "yes"))
		}
		a := newAnnotated(t, objects...)
		slow := &slowReads{FakeDynamicClient: a.whole}
		a.wholes.config.Client = slow
		a.Start(t.Context())
		defer a.Stop()
		a.Expect(a.WaitForSync(t.Context())).To(Succeed())
		a.Expect(a.Len()).To(Equal(100))
		a.Expect(slow.most).To(Equal(maxReads))
	})
}

func TestWaitingForReadsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAnnotated(t, cup("a", "1", "yes"))
		answer(a.whole, "get", func() error { return apierrors.NewServiceUnavailable("no") })
		a.Start(t.Context())
		a.Start(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		a.Expect(a.WaitForSync(ctx)).To(MatchError(context.DeadlineExceeded))
		var waiting sync.WaitGroup
		waiting.Go(func() { a.Expect(a.WaitForSync(t.Context())).To(MatchError(ErrStopped)) })
		synctest.Wait()
		a.Stop()
		a.Stop()
		waiting.Wait()
		a.Start(t.Context())

		never := newAnnotated(t)
		never.Stop()
		never.Start(t.Context())
		a.Expect(never.WaitForSync(t.Context())).To(MatchError(ErrStopped))
	})
}

// A 404 that does not name the object is about its kind, or its namespace: the object may be there.
func TestOnlyAnAnswerThatNamesAnObjectSaysThatItIsGone(t *testing.T) {
	g := NewWithT(t)
	head := packed.Whole(headOf(metadataOf(cup("a", "1", "yes"))))
	g.Expect(saysGone(apierrors.NewNotFound(cups.GroupResource(), "a"), head)).To(BeTrue())
	g.Expect(saysGone(apierrors.NewNotFound(cups.GroupResource(), ""), head)).To(BeFalse())
	g.Expect(saysGone(apierrors.NewGenericServerResponse(404, "get", cups.GroupResource(), "", "404 page not found", 0, true), head)).To(BeFalse())
	g.Expect(saysGone(apierrors.NewInternalError(errors.New("no")), head)).To(BeFalse())
	g.Expect(saysGone(nil, head)).To(BeFalse())
}

// Where the store of heads is ahead of what was told, what is shown is not as new as that.
func TestAnEndThatWasNotToldYetIsNotSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAnnotated(t, cup("a", "1", "yes"), cup("b", "2", "yes"))
		a.start()
		defer a.Stop()
		store := a.informers[""].shared.GetIndexer()
		a.Expect(store.Delete(headOf(metadataOf(cup("a", "5", "yes"))))).To(Succeed())
		a.Expect(store.Update(headOf(metadataOf(cup("b", "6", "yes"))))).To(Succeed())
		a.Expect(a.Seen(key("ns", "a"), "1")).To(BeTrue())
		a.Expect(a.Seen(key("ns", "a"), "4")).To(BeFalse(), "its end was not told")
		a.Expect(a.Seen(key("ns", "b"), "6")).To(BeFalse(), "it was not read")
		a.Expect(a.Seen(key("ns", "none"), "6")).To(BeTrue())
	})
}

func TestBookmarksKeepWhereTheFirstObjectsEnd(t *testing.T) {
	g := NewWithT(t)
	mark := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	event, passes := heads{selects: served}.pass(apiwatch.Event{Type: apiwatch.Bookmark, Object: mark})
	g.Expect(passes).To(BeTrue())
	g.Expect(event.Type).To(Equal(apiwatch.Bookmark))
	obj := event.Object.(*unstructured.Unstructured)
	g.Expect(obj.GetResourceVersion()).To(Equal("7"))
	g.Expect(obj.GetAnnotations()).To(HaveKeyWithValue(metav1.InitialEventsAnnotationKey, "true"))
	failed := apiwatch.Event{Type: apiwatch.Error, Object: &metav1.Status{Code: 410}}
	event, passes = heads{selects: served}.pass(failed)
	g.Expect(passes).To(BeTrue())
	g.Expect(event).To(Equal(failed))
}
