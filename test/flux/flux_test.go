package flux

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	base "github.com/orkspace/orkestra/test/plane"
)

// TestFlux goes through the life of two operators in Git.
func TestFlux(t *testing.T) {
	w := newWorld(t)
	all := []string{"operators", "notes", "shop"}

	// A box that makes the kind, and its resource, which is applied before there is that kind; a CRD, its box and its resource in one folder.
	w.git.Put(t, "operators/note.yaml", "note-box.yaml")
	w.git.Put(t, "notes/first.yaml", "note.yaml")
	for _, file := range []string{"shop.yaml", "shop-box.yaml", "shop-crd.yaml"} {
		w.git.Put(t, "shop/"+file, file)
	}
	commit := w.git.Commit(t, "Two operators and their resources")
	began := time.Now()
	text, err := os.ReadFile("testdata/sync.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w.Apply(t, fmt.Sprintf(string(text), w.git.URL))
	objects := w.applied(t, commit, all...)
	w.exists(t, "deployment/web", "configmap/web", "configmap/first")
	w.steps.Add("boxes, CRDs and resources in one commit, until all are healthy", time.Since(began), objects, w.differences(t, all))

	// A change of the box reaches the children.
	w.git.Put(t, "shop/shop-box.yaml", "shop-box.yaml", "Hello", "Good morning")
	commit, began = w.git.Commit(t, "Greet otherwise"), time.Now()
	w.fetch(t)
	objects = w.applied(t, commit, all...)
	took := time.Since(began)
	if greeting := w.Kubectl(t, "get", "configmap/web", "-n", "apps", "-o", "jsonpath={.data.greeting}"); greeting != "Good morning" {
		t.Errorf("the box is healthy, and the child has %q", greeting)
	}
	w.steps.Add("a box is changed, until its children are", took, objects, w.differences(t, all))

	// A box that can't run is said to be the cause, and what it has made stays.
	before := w.Kubectl(t, "get", "deployment/web", "-n", "apps", "-o", "jsonpath={.metadata.uid} {.metadata.generation}")
	w.git.Put(t, "shop/shop-box.yaml", "shop-box.yaml", ".spec.image", ".spec.imgae")
	commit, began = w.git.Commit(t, "Break the box"), time.Now()
	w.fetch(t)
	w.fails(t, commit, "shop", "OperatorBox/shop status: 'Failed'")
	w.steps.Add("a box is broken, until Flux names it", time.Since(began), 1, "–")
	if after := w.Kubectl(t, "get", "deployment/web", "-n", "apps", "-o", "jsonpath={.metadata.uid} {.metadata.generation}"); after != before {
		t.Errorf("a box that can't run has touched a child: %s, then %s", before, after)
	}
	commit, began = w.git.Revert(t), time.Now()
	w.fetch(t)
	objects = w.applied(t, commit, all...)
	w.steps.Add("the commit is reverted, until all are healthy", time.Since(began), objects, w.differences(t, all))

	// So is a resource.
	w.git.Put(t, "shop/shop.yaml", "shop.yaml", "replicas: 2", "replicas: 50")
	commit, began = w.git.Commit(t, "Ask for too many"), time.Now()
	w.fetch(t)
	w.fails(t, commit, "shop", "Shop/apps/web status: 'Failed'")
	w.steps.Add("a resource is broken, until Flux names it", time.Since(began), 1, "–")
	commit, began = w.git.Revert(t), time.Now()
	w.fetch(t)
	objects = w.applied(t, commit, all...)
	w.steps.Add("the commit is reverted, until all are healthy", time.Since(began), objects, w.differences(t, all))

	// What leaves Git goes, in whatever order Flux deletes it, and nothing is stranded.
	for _, file := range []string{"shop.yaml", "shop-box.yaml", "shop-crd.yaml"} {
		w.git.Remove(t, "shop/"+file)
	}
	w.git.Put(t, "shop/kustomization.yaml", "empty.yaml")
	commit, began = w.git.Commit(t, "Without the shop"), time.Now()
	w.fetch(t)
	w.applied(t, commit, "shop")
	base.Eventually(t, "the shop is gone", func() error {
		left := w.Kubectl(t, "get", "--ignore-not-found", "-n", "apps", "-o", "name", "deployment/web", "configmap/web", "operatorbox/shop", "crd/shops.fleet.example.com", "crdhealth/shop")
		if left != "" {
			return errors.New(strings.ReplaceAll(left, "\n", ", ") + " is left")
		}
		return nil
	})
	w.steps.Add("CRD, box and resource are removed at once, until all is gone", time.Since(began), 0, w.differences(t, all))
	w.exists(t, "configmap/first")
	w.steps.Write(t, root+"/.reports/flux.md")
}
