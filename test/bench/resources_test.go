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
	watching watch.Interface
}

// follow begins to watch objects of a kind in the namespace default. It begins with those that are there.
func (p *plane) follow(ctx context.Context, kind schema.GroupVersionKind, options ...client.ListOption) (*follower, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	f := &follower{open: func() (watch.Interface, error) {
		return p.watching.Watch(ctx, list, append([]client.ListOption{client.InNamespace("default")}, options...)...)
	}}
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
			if !open { // a CRD that is new has its watches cut once; the next one begins with what there is
				f.watching.Stop()
				var err error
				if f.watching, err = f.open(); err != nil {
					return err
				}
				continue
			}
			if obj, ok := event.Object.(*unstructured.Unstructured); ok && done(event, obj) {
				return nil
			}
		case <-late.C:
			return fmt.Errorf("%s: not within %s", what, most)
		}
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
