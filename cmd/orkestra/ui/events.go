package ui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/engine/web/api"
)

const (
	// eventsLife is how long the events of a namespace are shown before they are asked for again.
	eventsLife = 10 * time.Second
	// maxListed is how many events of a namespace are looked at, maxShown how many of a resource are shown.
	maxListed, maxShown = 1000, 50
	// maxNamespaces is of how many namespaces they are kept.
	maxNamespaces = 20
)

// events keeps those of the namespaces that somebody looked at.
type events struct {
	client client.Client

	mu  sync.Mutex
	all map[string]*remembered[[]corev1.Event] // by namespace; guarded by mu
}

func newEvents(c client.Client) *events {
	return &events{client: c, all: map[string]*remembered[[]corev1.Event]{}}
}

// of gives the events about some objects, the newest first.
func (e *events) of(ctx context.Context, namespace string, objects map[types.UID]bool) ([]api.Event, error) {
	namespace = cmp.Or(namespace, corev1.NamespaceDefault) // of what is in none
	all, err := e.namespace(namespace).get(func() ([]corev1.Event, error) {
		var list corev1.EventList
		if err := e.client.List(ctx, &list, client.InNamespace(namespace), client.Limit(maxListed)); err != nil {
			return nil, fmt.Errorf("listing events in namespace %q: %w", namespace, err)
		}
		return list.Items, nil
	})
	if err != nil {
		return []api.Event{}, err
	}
	out := []api.Event{}
	for i := range all {
		if objects[all[i].InvolvedObject.UID] {
			out = append(out, eventOf(&all[i]))
		}
	}
	slices.SortStableFunc(out, func(a, b api.Event) int { return b.Time.Compare(a.Time) })
	return out[:min(len(out), maxShown)], nil
}

func (e *events) namespace(name string) *remembered[[]corev1.Event] {
	e.mu.Lock()
	defer e.mu.Unlock()
	one := e.all[name]
	if one == nil {
		if len(e.all) >= maxNamespaces {
			clear(e.all) // the next look asks once more
		}
		one = newRemembered[[]corev1.Event](eventsLife)
		e.all[name] = one
	}
	return one
}

// eventOf reads both ways in which events tell their time and number: the older one, and that of a series.
func eventOf(e *corev1.Event) api.Event {
	at, count := e.LastTimestamp.Time, max(e.Count, 1)
	if at.IsZero() {
		at = e.EventTime.Time
	}
	if s := e.Series; s != nil {
		at, count = s.LastObservedTime.Time, max(s.Count, 1)
	}
	if at.IsZero() {
		at = e.CreationTimestamp.Time
	}
	return api.Event{
		Time: at, Count: count, Type: e.Type, Reason: e.Reason, Message: e.Message, Object: e.InvolvedObject.Kind + "/" + e.InvolvedObject.Name,
	}
}

// remembered keeps an answer for some time, so that many pages ask once.
type remembered[T any] struct {
	life time.Duration

	mu    sync.Mutex
	at    time.Time // guarded by mu
	value T         // guarded by mu
	err   error     // guarded by mu
}

func newRemembered[T any](life time.Duration) *remembered[T] { return &remembered[T]{life: life} }

// get gives the answer, asking where it is not there or too old. Who asks at the same time waits for the same answer.
func (r *remembered[T]) get(ask func() (T, error)) (T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at.IsZero() || time.Since(r.at) > r.life {
		r.value, r.err = ask()
		r.at = time.Now()
	}
	return r.value, r.err
}
