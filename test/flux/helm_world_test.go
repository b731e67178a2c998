package flux

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/orkspace/orkestra/test/gitserver"
	base "github.com/orkspace/orkestra/test/plane"
)

const (
	// released is the tag at which the documented HelmRelease finds the chart.
	released = "v0.1.0"
	// values are the last lines of the documented HelmRelease, behind which a test adds others.
	values = "rbac: {scope: manager}"
	// ofChart are kinds of the chart.
	ofChart = "serviceaccounts,clusterroles,clusterrolebindings,roles,rolebindings,services"
)

// helmWorld has, beside the repository of a fleet, that of the product, from which Flux takes the chart.
type helmWorld struct {
	*world

	product *gitserver.Repository
	binary  string // of the manager
	manager *base.Program
	webhook *base.Program
}

func newHelmWorld(t *testing.T) *helmWorld {
	t.Helper()
	w := &helmWorld{world: bareWorld(t, "source-controller", "kustomize-controller", "helm-controller"), product: gitserver.New(t)}
	w.steps.Objects = "objects"
	w.binary = base.Build(t, root, "orkestra", "./cmd/orkestra")
	return w
}

// publish makes a tag of the product's repository that has a chart, and gives its commit.
func (w *helmWorld) publish(t *testing.T, tag, chart string) (commit string) {
	t.Helper()
	w.product.Replace(t, "charts/orkestra", chart)
	commit = w.product.Commit(t, "Release "+tag)
	w.product.Tag(t, tag)
	return commit
}

// release puts the documented HelmRelease into the fleet, with the chart of the test's repository, and with edits.
func (w *helmWorld) release(t *testing.T, edits ...string) {
	t.Helper()
	w.git.Put(t, "orkestra/orkestra.yaml", "helm/orkestra.yaml", append(edits, "https://github.com/orkspace/orkestra", w.product.URL)...)
}

// commit commits what was put into the fleet, and has Flux look at it.
func (w *helmWorld) commit(t *testing.T, message string) string {
	t.Helper()
	commit := w.git.Commit(t, message)
	w.fetch(t)
	return commit
}

// install commits all at once: the HelmRelease, and what needs it, which is a CRD, the rights over it, its box and its resource. It has the manager run, waits
// until all are healthy, and gives how many objects that are.
func (w *helmWorld) install(t *testing.T, binary string) (objects int) {
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
	w.manager = w.run(t, binary, "orkestra")
	return w.settled(t, commit)
}

// rollout starts the manager anew, as the Deployment says now.
func (w *helmWorld) rollout(t *testing.T, binary string) {
	t.Helper()
	w.manager.Stop()
	w.manager = w.run(t, binary, "orkestra")
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
	return w.versions(t, "-n", "apps", "deployment/web", "configmap/web")
}

// stored is what tells objects of Orkestra's CRDs, and these, from others of the same names.
func (w *helmWorld) stored(t *testing.T) string {
	t.Helper()
	return w.field(t, "{.kind} {.metadata.name} {.metadata.uid}", "crd/operatorboxes.orkestra.orkspace.io", "crd/crdhealths.orkestra.orkspace.io", "crdhealth/shop") + "\n" +
		w.field(t, "{.kind} {.metadata.name} {.metadata.uid} {.metadata.generation}", "-n", "apps", "operatorbox/shop", "shop/web")
}

// others are the versions of the objects of the chart that no controller of Kubernetes writes to.
func (w *helmWorld) others(t *testing.T) string {
	t.Helper()
	return w.versions(t, "-A", "-l", "app.kubernetes.io/part-of=orkestra", ofChart+",crds")
}

func (w *helmWorld) versions(t *testing.T, names ...string) string {
	t.Helper()
	return w.field(t, "{.kind} {.metadata.name} {.metadata.uid} {.metadata.generation} {.metadata.resourceVersion}", names...)
}

// field gives fields of several objects, with a line for each.
func (w *helmWorld) field(t *testing.T, fields string, names ...string) string {
	t.Helper()
	return w.Kubectl(t, append([]string{"get", "-o", `jsonpath={range .items[*]}` + fields + `{"\n"}{end}`}, names...)...)
}

// same says that something is as it was before a step.
func same(t *testing.T, what, after, before, now string) {
	t.Helper()
	if now != before {
		t.Errorf("%s after %s:\n%s\nwanted what was before:\n%s", what, after, now, before)
	}
}

// gone waits until nothing of some objects is left.
func (w *helmWorld) gone(t *testing.T, names ...string) {
	t.Helper()
	base.Eventually(t, "all is gone", func() error {
		if left := w.Kubectl(t, append([]string{"get", "--ignore-not-found", "-o", "name"}, names...)...); left != "" {
			return errors.New(strings.ReplaceAll(left, "\n", ", ") + " is left")
		}
		return nil
	})
}
