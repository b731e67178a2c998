package bench_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patience is how long something may take that is measured.
const patience = time.Minute

// slowest is how long each of many resources may take besides, on a machine that has much else to do.
const slowest = 100 * time.Millisecond

// noiseGroup is the group that benchmarks make CRDs in.
const noiseGroup = "noise.example.com"

// noiseKind is a kind of that group.
func noiseKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: noiseGroup, Version: "v1", Kind: kind}
}

// noiseOf is one of a kind of that group.
func noiseOf(kind, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"host": name}}}
	obj.SetGroupVersionKind(noiseKind(kind))
	obj.SetNamespace("default")
	obj.SetName(name)
	return obj
}

// namesOf are those of n resources of a kind.
func namesOf(kind, turn string, n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("%s-%s-%d", strings.ToLower(kind), turn, i))
	}
	return all
}

// each does something with each name, through several connections.
func each(names []string, do func(name string) error) error {
	queue, failed := make(chan string, len(names)), make(chan error, len(names))
	for _, name := range names {
		queue <- name
	}
	close(queue)
	var working sync.WaitGroup
	for range connections {
		working.Go(func() {
			for name := range queue {
				if err := do(name); err != nil {
					failed <- err
				}
			}
		})
	}
	working.Wait()
	close(failed)
	return <-failed
}

// follower tells what becomes of objects of one kind, by a watch: who polls takes time from those who work.
type follower struct {
	open     func() (watch.Interface, error)
	list     func() (*unstructured.UnstructuredList, error)
	watching watch.Interface
	seen     map[string]*unstructured.Unstructured // by their names; what goes while no watch is open is found by them
}

// follow begins to watch objects of a kind in the namespace default. It begins with those that are there.
func (p *plane) follow(ctx context.Context, kind schema.GroupVersionKind, options ...client.ListOption) (*follower, error) {
	options = append([]client.ListOption{client.InNamespace("default")}, options...)
	newList := func() *unstructured.UnstructuredList {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		return list
	}
	f := &follower{
		open: func() (watch.Interface, error) { return p.watching.Watch(ctx, newList(), options...) },
		list: func() (*unstructured.UnstructuredList, error) {
			list := newList()
			err := p.watching.List(ctx, list, options...)
			return list, err
		},
		seen: map[string]*unstructured.Unstructured{},
	}
	var err error
	f.watching, err = f.open()
	return f, err
}

func (f *follower) stop() { f.watching.Stop() }

// until waits for an event, for as long as patience says unless told otherwise.
func (f *follower) until(what string, done func(event watch.Event, obj *unstructured.Unstructured) bool, limit ...time.Duration) error {
	most := slices.Max(append(limit, patience))
	late := time.NewTimer(most)
	defer late.Stop()
	for {
		select {
		case event, open := <-f.watching.ResultChan():
			if !open { // the API server cuts the watches of a CRD now and then
				ended, err := f.again(done)
				if err != nil || ended {
					return err
				}
				continue
			}
			if obj, ok := event.Object.(*unstructured.Unstructured); ok && f.tell(event, obj, done) {
				return nil
			}
		case <-late.C:
			return fmt.Errorf("%s: not within %s", what, most)
		}
	}
}

// tell passes an event on, and keeps in mind what there is.
func (f *follower) tell(event watch.Event, obj *unstructured.Unstructured, done func(event watch.Event, obj *unstructured.Unstructured) bool) bool {
	if event.Type == watch.Deleted {
		delete(f.seen, obj.GetName())
	} else {
		f.seen[obj.GetName()] = obj
	}
	return done(event, obj)
}

// again opens another watch, which begins with what there is, and tells what has gone meanwhile.
func (f *follower) again(done func(event watch.Event, obj *unstructured.Unstructured) bool) (ended bool, err error) {
	f.watching.Stop()
	if f.watching, err = f.open(); err != nil {
		return false, err
	}
	now, err := f.list()
	if err != nil {
		return false, err
	}
	left := map[string]bool{}
	for i := range now.Items {
		left[now.Items[i].GetName()] = true
	}
	for name, obj := range f.seen {
		if !left[name] && f.tell(watch.Event{Type: watch.Deleted, Object: obj}, obj, done) {
			return true, nil
		}
	}
	return false, nil
}

// TestFollower: what goes while no watch is open is told with the next one.
func TestFollower(t *testing.T) {
	watches, kept := []*watch.FakeWatcher{watch.NewFakeWithChanSize(2, false), watch.NewFake()}, noiseOf("Applied", "kept")
	opened := 0
	f := &follower{
		seen: map[string]*unstructured.Unstructured{},
		open: func() (watch.Interface, error) {
			opened++
			return watches[opened], nil
		},
		list: func() (*unstructured.UnstructuredList, error) {
			return &unstructured.UnstructuredList{Items: []unstructured.Unstructured{*kept}}, nil
		},
		watching: watches[0],
	}
	watches[0].Add(kept)
	watches[0].Add(noiseOf("Applied", "gone"))
	watches[0].Stop()
	gone := ""
	err := f.until("one is gone", func(event watch.Event, obj *unstructured.Unstructured) bool {
		if event.Type == watch.Deleted {
			gone += obj.GetName()
		}
		return gone != ""
	})
	if err != nil || gone != "gone" {
		t.Errorf("%q is gone (%v), wanted %q", gone, err, "gone")
	}
}

// made makes many resources at once, and gives the time until all are Ready.
func (p *plane) made(b *testing.B, kind, turn string, n int) (time.Duration, error) {
	b.Helper()
	follower, err := p.follow(b.Context(), noiseKind(kind))
	if err != nil {
		return 0, err
	}
	defer func() { follower.stop() }()
	names, missing := namesOf(kind, turn, n), map[string]bool{}
	for _, name := range names {
		missing[name] = true
	}
	began, created := time.Now(), make(chan error, 1)
	go func() {
		created <- each(names, func(name string) error { return p.kube.Create(b.Context(), noiseOf(kind, name)) })
	}()
	err = follower.until(fmt.Sprintf("%d resources of kind %s Ready", n, kind), func(_ watch.Event, obj *unstructured.Unstructured) bool {
		if isReady(obj) {
			delete(missing, obj.GetName())
		}
		return len(missing) == 0
	}, patience+time.Duration(n)*slowest)
	took := time.Since(began)
	return took, errors.Join(<-created, err)
}
