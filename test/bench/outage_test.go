package bench_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// outage is how long the API server is away.
const outage = 20 * time.Second

// measureOutage ends the API server while resources are being made, and starts it again. The manager is in this process and leads without a
// lease: one with a lease ends when it can't renew it, and somebody has to start it again.
func measureOutage(b *testing.B, t *sheet) {
	b.Helper()
	w := newWorld(b)
	w.applyKinds(b, "Applied")
	_, err := w.cluster.KubectlApply(b.Context(), fmt.Sprintf(sideBox, time.Minute, "b"))
	must(b, err)
	_, err = w.made(b, "Applied", "before", t.burst)
	must(b, err)
	made := t.burst
	for turn := range t.turns {
		names := namesOf("Applied", fmt.Sprint("during", turn), t.samples)
		must(b, each(names, func(name string) error { return w.kube.Create(b.Context(), noiseOf("Applied", name)) }))
		must(b, w.cluster.StopAPIServer(b.Context()))
		time.Sleep(outage)
		must(b, w.cluster.StartAPIServer(b.Context()))
		began := time.Now()
		_, err := w.made(b, "Applied", fmt.Sprint("after", turn), 1)
		must(b, err)
		must(b, w.allReady(b, "Applied", names))
		t.Add("outage.time", ours, time.Since(began).Seconds())
		made += t.samples + 1
		children := &corev1.ConfigMapList{}
		must(b, w.kube.List(b.Context(), children, client.InNamespace("default"), client.HasLabels{"orkestra.orkspace.io/owner-uid"}))
		t.Add("outage.lost", ours, float64(max(3*made-len(children.Items), len(children.Items)-3*made)))
	}
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
