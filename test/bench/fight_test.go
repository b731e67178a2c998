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
	const (
		lasts = 15 * time.Second
		every = time.Second / 43
	)
	w := newWorld(b)
	must(b, w.kube.Create(b.Context(), website("web")))
	eventually(b, func() error { return w.ready(b.Context(), "web") })
	before := w.corrections.Load()
	tick := time.NewTicker(every)
	defer tick.Stop()
	child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}}
	named, writes := false, 0
	for began := time.Now(); time.Since(began) < lasts; writes++ {
		<-tick.C
		patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"data":{"host":"theirs-%d"}}`, writes))
		must(b, w.kube.Patch(b.Context(), child, patch, client.FieldOwner("rival")))
		if writes%43 == 0 {
			named = named || w.reconciling(b, "web", `manager "rival" keeps changing data.host`)
		}
	}
	ended := time.Now()
	eventually(b, func() error {
		if err := w.kube.Get(b.Context(), client.ObjectKeyFromObject(child), child); err != nil {
			return err
		}
		if child.Data["host"] != "web.example.com" || w.reconciling(b, "web", "") {
			return fmt.Errorf("not settled: %v", child.Data)
		}
		return nil
	})
	settled := time.Since(ended)
	t.Note("Fight: somebody else wrote %d times.", writes)
	t.Add("fight.corrections", ours, float64(w.corrections.Load()-before))
	unnamed := 1.0
	if named {
		unnamed = 0
	}
	t.Add("fight.unnamed", ours, unnamed)
	t.Add("fight.settled", ours, settled.Seconds())
}
