package upgrade

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/test/history"
	"github.com/orkspace/orkestra/test/plane"
)

// TestUpgrade: no step writes to a child that has settled, loses a field of what is stored, or misses what happens meanwhile, and one that is
// interrupted goes on from there.
func TestUpgrade(t *testing.T) {
	g := NewWithT(t)
	former := history.Sources(t, root, history.First)
	old, now := plane.Build(t, former, "orkestra", "./cmd/orkestra"), plane.Build(t, root, "orkestra", "./cmd/orkestra")
	w := newWorld(t)

	w.definitions(t, former)
	manager := w.manager(t, old)
	w.samples(t, former)
	stored := w.settled(t)
	g.Expect(len(stored.children)).To(BeNumerically(">", 30), "the samples have made their children")
	unchanged := func(after string) {
		t.Helper()
		g.Expect(w.settled(t).since(stored)).To(BeEmpty(), after)
	}
	load := w.load(t)

	w.definitions(t, root)
	load.goesOn(t)
	unchanged("the CRDs of this release, beside the former manager")

	manager.Kill()
	manager = w.manager(t, now)
	load.goesOn(t)
	manager.Kill()
	unchanged("this release, killed while it began")

	manager = w.manager(t, now)
	load.goesOn(t)
	unchanged("this release")

	manager.Stop()
	manager = w.manager(t, old)
	load.goesOn(t)
	unchanged("a downgrade to the former manager")

	manager.Kill()
	w.manager(t, now)
	load.goesOn(t)
	load.end(t)
	unchanged("an upgrade from there")
}
