package bench_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// measureFight has somebody else rewrite one owned field for a while.
func measureFight(b *testing.B, t *sheet) {
	b.Helper()
	w := newWorld(b)
	for turn := range t.turns {
		w.fight(b, t, fmt.Sprint("web", turn))
	}
}

// fight has somebody else rewrite a field of the child of one resource, and waits until it is settled.
func (w *world) fight(b *testing.B, t *sheet, name string) {
	b.Helper()
	const (
		lasts = 15 * time.Second
		every = time.Second / 43
	)
	must(b, w.kube.Create(b.Context(), website(name)))
	eventually(b, func() error { return w.ready(b.Context(), name) })
	before := w.corrections.Load()
	tick := time.NewTicker(every)
	defer tick.Stop()
	child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	unnamed, writes := 1.0, 0
	for began := time.Now(); time.Since(began) < lasts; writes++ {
		<-tick.C
		patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"data":{"host":"theirs-%d"}}`, writes))
		must(b, w.kube.Patch(b.Context(), child, patch, client.FieldOwner("rival")))
		if writes%43 == 0 && w.reconciling(b, name, `manager "rival" keeps changing data.host`) {
			unnamed = 0
		}
	}
	ended := time.Now()
	eventually(b, func() error {
		if err := w.kube.Get(b.Context(), client.ObjectKeyFromObject(child), child); err != nil {
			return err
		}
		if child.Data["host"] != name+".example.com" || w.reconciling(b, name, "") {
			return fmt.Errorf("not settled: %v", child.Data)
		}
		return nil
	})
	t.Add("fight.settled", ours, time.Since(ended).Seconds())
	t.Add("fight.corrections", ours, float64(w.corrections.Load()-before))
	t.Add("fight.unnamed", ours, unnamed)
	t.Note("Fight: somebody else wrote %d times.", writes)
}
