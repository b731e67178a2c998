package bench_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/controllers"
)

// outage is how long the API server is away.
const outage = 20 * time.Second

// trouble is one way to lose the API server.
type trouble struct {
	row    string
	happen func() error
}

// measureOutage ends the API server while resources are being made, and starts it again; then it cuts all watches of the manager, without a word
// and with 410 Gone. The manager is in this process and leads without a lease: one with a lease ends when it can't renew it, and somebody has to
// start it again. It begins anew for each of these: client-go lists again after pauses that double with each time within two minutes, up to one
// minute.
func measureOutage(b *testing.B, t *sheet) {
	b.Helper()
	watches := &cutter{}
	w := newWorld(b, func(config *rest.Config, _ *controllers.Options) { config.Wrap(watches.wrap) })
	w.applyKinds(b, "Applied")
	_, err := w.cluster.KubectlApply(b.Context(), fmt.Sprintf(sideBox, time.Minute, "b"))
	must(b, err)
	_, err = w.made(b, "Applied", "before", t.burst)
	must(b, err)
	cutting := func(last string) func() error {
		return func() error {
			ended := watches.cut(last)
			if ended == 0 {
				return errors.New("the manager has no watch that could be cut")
			}
			t.Note("Watches of the manager that were cut at once: %d.", ended)
			return nil
		}
	}
	troubles := []trouble{
		{"time", func() error {
			if err := w.cluster.StopAPIServer(b.Context()); err != nil {
				return err
			}
			time.Sleep(outage)
			return w.cluster.StartAPIServer(b.Context())
		}},
		{"cut", cutting("")}, {"gone", cutting(expired)},
	}
	made := t.burst
	for turn := range t.turns {
		for _, one := range troubles {
			took, err := w.recovered(b, fmt.Sprint(one.row, turn), t.samples, one.happen)
			must(b, err)
			t.Add("outage."+one.row, ours, took.Seconds())
			made += t.samples + 2
			children := &corev1.ConfigMapList{}
			must(b, w.kube.List(b.Context(), children, client.InNamespace("default"), client.HasLabels{"orkestra.orkspace.io/owner-uid"}))
			t.Add("outage.lost", ours, float64(max(3*made-len(children.Items), len(children.Items)-3*made)))
		}
	}
}

// recovered starts the manager anew, makes resources, has something happen at once, and gives the time from its end until these and a new one are
// Ready.
func (w *world) recovered(b *testing.B, name string, resources int, happen func() error) (time.Duration, error) {
	b.Helper()
	w.stopManager()
	w.startManager(b)
	if _, err := w.made(b, "Applied", "before-"+name, 1); err != nil {
		return 0, err
	}
	names := namesOf("Applied", "during-"+name, resources)
	if err := each(names, func(name string) error { return w.kube.Create(b.Context(), noiseOf("Applied", name)) }); err != nil {
		return 0, err
	}
	if err := happen(); err != nil {
		return 0, err
	}
	began := time.Now()
	if _, err := w.made(b, "Applied", "after-"+name, 1); err != nil {
		return 0, err
	}
	err := w.allReady(b, "Applied", names)
	return time.Since(began), err
}

// allReady waits until resources are Ready.
func (p *plane) allReady(b *testing.B, kind string, names []string) error {
	b.Helper()
	follower, err := p.follow(b.Context(), noiseKind(kind))
	if err != nil {
		return err
	}
	defer func() { follower.stop() }()
	missing := map[string]bool{}
	for _, name := range names {
		missing[name] = true
	}
	return follower.until(fmt.Sprintf("%d resources of kind %s Ready", len(names), kind), func(_ watch.Event, now *unstructured.Unstructured) bool {
		if isReady(now) {
			delete(missing, now.GetName())
		}
		return len(missing) == 0
	}, 3*patience)
}
