package center

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/engine/web/answers"
	"github.com/orkspace/orkestra/engine/web/api"
)

const (
	// maxListed is how many events of a namespace are looked at, maxShown how many of a resource are shown.
	maxListed, maxShown = 1000, 50
	// maxResources is of how many resources they are kept.
	maxResources = 200
	// listLife is how long a list is shown before it is asked for again, and listTimeout how long one may take.
	listLife, listTimeout = 10 * time.Second, 10 * time.Second
)

// EventNamespace is where the events about an object of a namespace are; about one that is in none, in that namespace.
func EventNamespace(namespace string) string { return cmp.Or(namespace, corev1.NamespaceDefault) }

// Events are those about the resources that somebody looked at lately: one list for each in ten seconds. Of a list, what is shown is kept.
type Events struct {
	reader client.Reader
	kept   *answers.Kept[string, found] // by what somebody sees
}

type found struct {
	events []api.Event
	cut    bool
}

// NewEvents reads from the API server.
func NewEvents(reader client.Reader, clk clock.PassiveClock) *Events {
	return &Events{reader: reader, kept: answers.New[string, found](clk, maxResources, listTimeout)}
}

// Of gives the events about some objects of a namespace, with the warnings about Pods of workloads among them, the newest first, and a sentence where there may be more.
func (e *Events) Of(ctx context.Context, namespace string, about About) (events []api.Event, note string, err error) {
	namespace = EventNamespace(namespace)
	all, err := e.kept.Get(ctx, namespace+"/"+about.key(), func(ctx context.Context) (found, time.Duration, error) {
		listed, err := e.list(ctx, namespace, about)
		return listed, listLife, err // what fails is not asked for more often than what does not
	})
	if err != nil {
		return []api.Event{}, "", err
	}
	if all.cut {
		note = fmt.Sprintf("There are more than %d events in the namespace %s, and only these were looked through: some about this resource may be missing", maxListed, namespace)
	}
	return slices.Clone(all.events), note, nil
}

func (e *Events) list(ctx context.Context, namespace string, about About) (found, error) {
	var list corev1.EventList
	if err := e.reader.List(ctx, &list, client.InNamespace(namespace), client.Limit(maxListed)); err != nil {
		return found{}, fmt.Errorf("listing events in namespace %q: %w", namespace, err)
	}
	out := found{events: []api.Event{}, cut: list.Continue != ""}
	for i := range list.Items {
		if about.Has(&list.Items[i]) {
			out.events = append(out.events, EventOf(&list.Items[i]))
		}
	}
	slices.SortStableFunc(out.events, func(a, b api.Event) int { return b.Time.Compare(a.Time) })
	out.events = slices.Clone(out.events[:min(len(out.events), maxShown)])
	return out, nil
}

// EventOf reads both ways in which events tell their time and number: the older one, and that of a series.
func EventOf(e *corev1.Event) api.Event {
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
