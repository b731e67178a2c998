package flux

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/orkspace/orkestra/test/history"
	base "github.com/orkspace/orkestra/test/plane"
)

// former is the tag of the chart of the first release.
const former = "v0.0.1"

// TestHelmUpgrade installs the chart of the first release, and its manager, and then goes on to this one, with an operator at work.
func TestHelmUpgrade(t *testing.T) {
	sources := history.Sources(t, root, history.First)
	w := newHelmWorld(t)
	w.publish(t, former, sources+"/charts/orkestra")
	present := w.publish(t, released, root+"/charts/orkestra")
	w.release(t, released, former)
	began := time.Now()
	objects := w.install(t, base.Build(t, sources, "orkestra", "./cmd/orkestra"))
	w.steps.Add("the first release, and an operator, in one commit, until all are healthy", time.Since(began), objects, w.differences(t))
	children, stored := w.children(t), w.stored(t)

	w.release(t)
	commit := w.commit(t, "Upgrade Orkestra")
	began = time.Now()
	// The Kustomization waits for the HelmRelease, which stays Ready until Flux has fetched the chart of the new tag.
	base.Eventually(t, "the chart of this release is installed", func() error {
		r, ready, said := w.reconciled(t, "helmrelease", "orkestra")
		if chart := "+" + present[:12]; ready != "True" || !strings.HasSuffix(r.Status.LastAttemptedRevision, chart) {
			return fmt.Errorf("tried %s, Ready %s, %s; wanted %s", r.Status.LastAttemptedRevision, ready, said, chart)
		}
		return nil
	})
	w.settled(t, commit)
	took := time.Since(began)
	same(t, "the children", "the upgrade of the chart, beside the former manager", children, w.children(t))
	w.rollout(t, w.binary)
	objects = w.settled(t, commit)
	w.steps.Add("an upgrade to this release", took, objects, w.differences(t))
	same(t, "the children", "the upgrade", children, w.children(t))
	same(t, "what is stored", "the upgrade", stored, w.stored(t))
	w.steps.Write(t, root+"/.reports/flux-helm-upgrade.md")
}
