package metrics

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestWatches(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewPedanticRegistry()
	r, err := New(registry)
	g.Expect(err).NotTo(HaveOccurred())
	being := func(quiet time.Duration, objects, bytes int64) func() (time.Duration, int64, int64) {
		return func() (time.Duration, int64, int64) { return quiet, objects, bytes }
	}
	first := r.Watch("deployments.apps", being(time.Second, 2, 100))
	second := r.Watch("deployments.apps", being(3*time.Second, 1, 50))
	r.Watch("secrets", being(0, 0, 0))
	expect := func(age, objects, bytes string) {
		t.Helper()
		var text strings.Builder
		for _, of := range []struct{ name, deployments string }{
			{"orkestra_watch_age_seconds", age}, {"orkestra_cache_objects", objects}, {"orkestra_cache_bytes", bytes},
		} {
			text.WriteString("# HELP " + of.name + " " + newDescriptions()[of.name].Help + "\n# TYPE " + of.name + " gauge\n")
			if of.deployments != "" {
				text.WriteString(of.name + `{kind="deployments.apps"} ` + of.deployments + "\n")
			}
			text.WriteString(of.name + `{kind="secrets"} 0` + "\n")
		}
		g.Expect(testutil.GatherAndCompare(registry, strings.NewReader(text.String()),
			"orkestra_watch_age_seconds", "orkestra_cache_objects", "orkestra_cache_bytes")).To(Succeed())
	}
	expect("3", "3", "150")
	second()
	expect("1", "2", "100")
	first()
	first()
	expect("", "", "")
	r.Forget("website")
	expect("", "", "")
	var nobody *Recorder
	nobody.Watch("secrets", being(0, 0, 0))()
}
