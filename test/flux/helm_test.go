package flux

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/orkspace/orkestra/test/gitserver"
	base "github.com/orkspace/orkestra/test/plane"
)

// released is the tag at which the documented HelmRelease finds the chart.
const released = "v0.1.0"

// helmWorld has, beside the repository of a fleet, that of the product, from which Flux takes the chart.
type helmWorld struct {
	*world

	product *gitserver.Repository
	binary  string // of the manager
}

func newHelmWorld(t *testing.T) *helmWorld {
	t.Helper()
	w := &helmWorld{world: bareWorld(t, "source-controller", "kustomize-controller", "helm-controller"), product: gitserver.New(t)}
	w.steps.Objects = "objects"
	w.binary = base.Build(t, root, "orkestra", "./cmd/orkestra")
	return w
}

// publish makes a tag of the product's repository that has a chart.
func (w *helmWorld) publish(t *testing.T, tag, chart string) {
	t.Helper()
	w.product.Replace(t, "charts/orkestra", chart)
	w.product.Commit(t, "Release "+tag)
	w.product.Tag(t, tag)
}

// release puts the documented HelmRelease into the fleet, with the chart of the test's repository, and with edits.
func (w *helmWorld) release(t *testing.T, edits ...string) {
	t.Helper()
	w.git.Put(t, "orkestra/orkestra.yaml", "helm/orkestra.yaml", append(edits, "https://github.com/orkspace/orkestra", w.product.URL)...)
}

// fleet commits all at once, the HelmRelease, and what needs it: a CRD, the rights over it, its box and its resource. It gives the commit.
func (w *helmWorld) fleet(t *testing.T) string {
	t.Helper()
	for _, file := range []string{"shop.yaml", "shop-box.yaml", "shop-crd.yaml", "shop-role.yaml"} {
		w.git.Put(t, "shop/"+file, file)
	}
	commit := w.git.Commit(t, "Orkestra, and an operator")
	text, err := os.ReadFile("testdata/helm/sync.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w.Apply(t, fmt.Sprintf(string(text), w.git.URL))
	return commit
}

// settled waits until a commit is applied and healthy, and gives how many objects that are, with those of the chart.
func (w *helmWorld) settled(t *testing.T, commit string) (objects int) {
	t.Helper()
	objects = w.applied(t, commit, "orkestra", "shop")
	r, _, _ := w.reconciled(t, "helmrelease", "orkestra")
	return objects + len(r.Status.Inventory.Entries)
}

// differences has Flux reconcile all once more, and gives how much it, or the manager, has written for it.
func (w *helmWorld) differences(t *testing.T) string {
	t.Helper()
	w.audit.Writes(t, ofAnybody)
	w.again(t, "helmrelease", "orkestra")
	w.again(t, "kustomization", "orkestra")
	w.again(t, "kustomization", "shop")
	found := w.audit.Writes(t, ofAnybody)
	for what, count := range found {
		t.Errorf("Flux and the cluster differ: %d × %s", count, what)
	}
	return fmt.Sprint(len(found))
}

// ofAnybody says that Flux has written something that is none of its own objects, or Orkestra anything. Counters in the status of a box and of its
// CRDHealth follow within seconds whatever was written before.
func ofAnybody(event *auditv1.Event) bool {
	of := event.ObjectRef
	counter := of.Subresource == "status" && of.APIGroup == "orkestra.orkspace.io"
	flux := strings.HasPrefix(event.UserAgent, "kustomize-controller/") || strings.HasPrefix(event.UserAgent, "helm-controller/")
	return flux && !strings.HasSuffix(of.APIGroup, "toolkit.fluxcd.io") || strings.HasPrefix(event.UserAgent, "orkestra/") && !counter
}

// children are the versions of what the box has made.
func (w *helmWorld) children(t *testing.T) string {
	t.Helper()
	w.Kubectl(t, "wait", "--for=condition=Available", "--timeout=3m", "-n", "apps", "deployment/web")
	return w.Kubectl(t, "get", "-n", "apps", "deployment/web", "configmap/web", "-o",
		`jsonpath={range .items[*]}{.kind} {.metadata.uid} {.metadata.generation} {.metadata.resourceVersion}{"\n"}{end}`)
}

// TestHelm goes through the life of a HelmRelease of the chart.
func TestHelm(t *testing.T) {
	w := newHelmWorld(t)
	w.publish(t, released, root+"/charts/orkestra")
	w.release(t)
	commit, began := w.fleet(t), time.Now()
	w.manage(t, w.binary)
	objects := w.settled(t, commit)
	w.steps.Add("the chart, a CRD, its box and its resource in one commit, until all are healthy", time.Since(began), objects, w.differences(t))
	t.Log(w.children(t))
	w.steps.Write(t, root+"/.reports/flux-helm.md")
}
