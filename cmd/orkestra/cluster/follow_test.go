package cluster

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	shared "github.com/orkspace/orkestra/test/fixtures"
)

// followed is a cluster whose ConfigMaps are followed, and what was told of them.
type followed struct {
	client.WithWatch

	mu      sync.Mutex
	watches []watch.Interface // guarded by mu
	lists   int               // guarded by mu
	told    chan string
}

func newFollowed(refuse func(verb string, time int) error, objects ...client.Object) *followed {
	f := &followed{told: make(chan string, 100)}
	f.WithWatch = interceptor.NewClient(shared.Watched(Scheme(), objects...), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			f.mu.Lock()
			f.lists++
			err := refuse("list", f.lists)
			f.mu.Unlock()
			if err != nil {
				return err
			}
			return c.List(ctx, list, opts...)
		},
		Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if err := refuse("watch", len(f.watches)+1); err != nil {
				return nil, err
			}
			w, err := c.Watch(ctx, list, opts...)
			f.watches = append(f.watches, w)
			return w, err
		},
	})
	return f
}

// see notes what is told, and ends at an object of the name "end".
func (f *followed) see(obj *unstructured.Unstructured, gone bool) (bool, error) {
	text, _, _ := unstructured.NestedString(obj.Object, "data", "is")
	if gone {
		text = "gone"
	}
	f.told <- obj.GetName() + " " + text
	return obj.GetName() == "end", nil
}

func (f *followed) run(ctx context.Context, synced func() (bool, error)) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- Follow{Client: f, Kind: configMaps, Synced: synced}.Run(ctx, f.see) }()
	return ended
}

func said(name, is string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID(name)}, Data: map[string]string{"is": is}}
}

func nothing(string, int) error { return nil }

// What is there is told first, then that it was all, then what changes.
func TestObjectsAreFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, f := NewWithT(t), newFollowed(nothing, said("one", "first"))
		ended := f.run(t.Context(), func() (bool, error) { f.told <- "synced"; return false, nil })
		synctest.Wait()
		g.Expect(<-f.told).To(Equal("one first"))
		g.Expect(<-f.told).To(Equal("synced"))
		g.Expect(f.Update(t.Context(), said("one", "changed"))).To(Succeed())
		g.Expect(<-f.told).To(Equal("one changed"))
		g.Expect(f.Delete(t.Context(), said("one", ""))).To(Succeed())
		g.Expect(<-f.told).To(Equal("one gone"))
		g.Expect(f.Create(t.Context(), said("end", ""))).To(Succeed())
		g.Expect(<-ended).To(Succeed(), "what is done ends")
	})
}

// A watch that ends is made again. What has changed in between is told, and nothing else.
func TestWhatChangesBetweenTwoWatchesIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		f := newFollowed(func(verb string, time int) error {
			if verb == "list" && time == 2 {
				return apierrors.NewInternalError(errors.New("for a moment")) // no reason to end
			}
			return nil
		}, said("stays", "as it is"), said("changes", "before"), said("goes", ""))
		ended := f.run(t.Context(), nil)
		synctest.Wait()
		for range 3 {
			<-f.told
		}
		f.watches[0].Stop()
		g.Expect(f.Update(t.Context(), said("changes", "after"))).To(Succeed())
		g.Expect(f.Delete(t.Context(), said("goes", ""))).To(Succeed())
		g.Expect([]string{<-f.told, <-f.told}).To(ConsistOf("changes after", "goes gone"))
		synctest.Wait()
		g.Expect(f.told).To(BeEmpty())
		g.Expect(f.Create(t.Context(), said("end", ""))).To(Succeed())
		g.Expect(<-ended).To(Succeed())
	})
}

// What does not go by itself ends it, at once.
func TestMissingRightsEndAFollowing(t *testing.T) {
	for _, verb := range []string{"list", "watch"} {
		synctest.Test(t, func(t *testing.T) {
			f := newFollowed(func(asked string, _ int) error {
				if asked == verb {
					return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no right"))
				}
				return nil
			})
			NewWithT(t).Expect(<-f.run(t.Context(), nil)).To(MatchError(ContainSubstring(verb + "ing objects of kind ConfigMap")))
		})
	}
}

func TestSeveralFollowingsEndTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, f := NewWithT(t), newFollowed(nothing)
		follows := []Follow{{Client: f, Kind: configMaps}, {Client: f, Kind: corev1.SchemeGroupVersion.WithKind("Secret")}}
		ended := make(chan error, 1)
		go func() { ended <- Together(t.Context(), follows, f.see) }()
		synctest.Wait()
		g.Expect(f.Create(t.Context(), said("end", ""))).To(Succeed())
		g.Expect(<-ended).To(Succeed())

		ctx, cancel := context.WithCancel(t.Context())
		go func() { ended <- Together(ctx, follows[1:], f.see) }()
		synctest.Wait()
		cancel()
		g.Expect(<-ended).To(MatchError(context.Canceled))

		broken := errors.New("broken")
		g.Expect(Together(t.Context(), follows, func(*unstructured.Unstructured, bool) (bool, error) { return false, broken })).To(MatchError(broken))
	})
}
