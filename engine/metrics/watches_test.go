package metrics

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestWatchAges(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewPedanticRegistry()
	r, err := New(registry)
	g.Expect(err).NotTo(HaveOccurred())
	const name = "orkestra_watch_age_seconds"
	after := func(d time.Duration) func() time.Duration { return func() time.Duration { return d } }
	first := r.Watch("deployments.apps", after(time.Second))
	second := r.Watch("deployments.apps", after(3*time.Second))
	r.Watch("secrets", after(0))
	expect := func(lines string) {
		t.Helper()
		text := "# HELP " + name + " Time since the watch of a kind last told anything, bookmarks included; of several watches, the one that is quiet for longest\n" +
			"# TYPE " + name + " gauge\n" + lines
		g.Expect(testutil.GatherAndCompare(registry, strings.NewReader(text), name)).To(Succeed())
	}
	expect(name + `{kind="deployments.apps"} 3
` + name + `{kind="secrets"} 0
`)
	second()
	expect(name + `{kind="deployments.apps"} 1
` + name + `{kind="secrets"} 0
`)
	first()
	first()
	expect(name + `{kind="secrets"} 0
`)
	r.Forget("website")
	expect(name + `{kind="secrets"} 0
`)
	var nobody *Recorder
	nobody.Watch("secrets", after(0))()
}
