package flux

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/orkspace/orkestra/test/auditlog"
	"github.com/orkspace/orkestra/test/gitserver"
	"github.com/orkspace/orkestra/test/localcluster"
	base "github.com/orkspace/orkestra/test/plane"
)

const root = "../.."

// world is a cluster with Orkestra, Flux and a Git repository.
type world struct {
	*base.Plane

	git   *gitserver.Repository
	audit *auditlog.Log
	steps base.Steps
}

func newWorld(t *testing.T) *world {
	t.Helper()
	audit := filepath.Join(t.TempDir(), "audit.log")
	p := base.Bare(t, localcluster.Options{AuditLog: audit})
	w := &world{Plane: p, git: gitserver.New(t), audit: auditlog.New(audit)}
	w.Kubectl(t, "apply", "--server-side", "-f", root+"/config/crd/bases", "-f", root+"/config/default/namespace.yaml")
	w.Kubectl(t, "create", "namespace", "flux-system")
	w.Kubectl(t, "create", "namespace", "apps")
	base.Start(t, base.Build(t, root, "orkestra", "./cmd/orkestra"), "manager", "--kubeconfig", w.Cluster.Kubeconfig(), "--metrics-bind-address", "0",
		"--health-probe-bind-address", "0", "--log-format", "text", "--shutdown-timeout", "10s")
	w.flux(t)
	return w
}

// flux starts Flux's controllers as processes of this machine.
func (w *world) flux(t *testing.T) {
	t.Helper()
	t.Setenv("KUBECONFIG", w.Cluster.Kubeconfig())
	t.Setenv("RUNTIME_NAMESPACE", "flux-system")
	storage := base.FreeAddress(t)
	for name, more := range map[string][]string{
		"source-controller":    {"--storage-path=" + t.TempDir(), "--storage-addr=" + storage, "--storage-adv-addr=" + storage},
		"kustomize-controller": {"--requeue-dependency=2s"},
	} {
		module := "github.com/fluxcd/" + name
		w.Kubectl(t, "apply", "--server-side", "-f", folderOf(t, module)+"/config/crd/bases")
		base.Start(t, base.Build(t, "controllers", name, module), append(more, "--events-addr=", "--metrics-addr=127.0.0.1:0", "--health-addr="+base.FreeAddress(t),
			"--enable-leader-election=false", "--watch-all-namespaces=true")...)
	}
	base.Eventually(t, "the source controller serves", func() error {
		conn, err := net.DialTimeout("tcp", storage, time.Second)
		if err == nil {
			err = conn.Close()
		}
		return err
	})
}

// folderOf is where Go keeps a module.
func folderOf(t *testing.T, module string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module)
	command.Dir = "controllers"
	out, err := command.Output()
	if err != nil {
		t.Fatalf("looking for %s: %v", module, err)
	}
	return strings.TrimSpace(string(out))
}

// kustomization is what is read of one.
type kustomization struct {
	Status struct {
		LastAppliedRevision    string             `json:"lastAppliedRevision"`
		LastAttemptedRevision  string             `json:"lastAttemptedRevision"`
		LastHandledReconcileAt string             `json:"lastHandledReconcileAt"`
		Conditions             []metav1.Condition `json:"conditions"`
		Inventory              struct {
			Entries []struct {
				ID string `json:"id"`
			} `json:"entries"`
		} `json:"inventory"`
	} `json:"status"`
}

func (w *world) kustomization(t *testing.T, name string) (k kustomization, ready metav1.ConditionStatus, said string) {
	t.Helper()
	if err := json.Unmarshal([]byte(w.Kubectl(t, "get", "kustomization", name, "-n", "flux-system", "-o", "json")), &k); err != nil {
		t.Fatal(err)
	}
	for _, c := range k.Status.Conditions {
		if c.Type == "Ready" {
			return k, c.Status, c.Reason + ": " + c.Message
		}
	}
	return k, "", ""
}

// fetch has Flux look at Git now, as a webhook of the Git server would.
func (w *world) fetch(t *testing.T) {
	t.Helper()
	w.now(t, "gitrepository", "fleet")
}

func (w *world) now(t *testing.T, kind, name string) (at string) {
	t.Helper()
	at = time.Now().Format(time.RFC3339Nano)
	w.Kubectl(t, "annotate", "--overwrite", kind, name, "-n", "flux-system", "reconcile.fluxcd.io/requestedAt="+at)
	return at
}

// applied waits until a commit is applied and healthy, and gives how many objects that are.
func (w *world) applied(t *testing.T, commit string, names ...string) (objects int) {
	t.Helper()
	for _, name := range names {
		base.Eventually(t, name+" is applied and healthy", func() error {
			k, ready, said := w.kustomization(t, name)
			if ready != "True" || !strings.HasSuffix(k.Status.LastAppliedRevision, commit) {
				return fmt.Errorf("applied %s, Ready %s, %s; wanted %s", k.Status.LastAppliedRevision, ready, said, commit)
			}
			return nil
		})
		k, _, _ := w.kustomization(t, name)
		objects += len(k.Status.Inventory.Entries)
	}
	return objects
}

// fails waits until a commit was attempted and found unhealthy, and says what Flux says of it.
func (w *world) fails(t *testing.T, commit, name, wanted string) {
	t.Helper()
	base.Eventually(t, name+" fails", func() error {
		k, ready, said := w.kustomization(t, name)
		if ready != "False" || !strings.HasSuffix(k.Status.LastAttemptedRevision, commit) || !strings.Contains(said, wanted) {
			return fmt.Errorf("attempted %s, Ready %s, %s; wanted %q of %s", k.Status.LastAttemptedRevision, ready, said, wanted, commit)
		}
		return nil
	})
}

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

// exists says that children are there.
func (w *world) exists(t *testing.T, names ...string) {
	t.Helper()
	w.Kubectl(t, append([]string{"get", "-n", "apps", "-o", "name"}, names...)...)
}

// differences has Flux apply all once more, and gives what it, or Orkestra, has written for it: nothing, where they agree.
func (w *world) differences(t *testing.T, names []string) string {
	t.Helper()
	// What is under way beside, such as counters of the health, is written later: only what Flux finds counts, and what Orkestra answers to it.
	w.audit.Writes(t, ofFlux)
	for _, name := range names {
		at := w.now(t, "kustomization", name)
		base.Eventually(t, name+" is applied once more", func() error {
			if k, ready, said := w.kustomization(t, name); k.Status.LastHandledReconcileAt != at || ready != "True" {
				return fmt.Errorf("handled %s, Ready %s, %s", k.Status.LastHandledReconcileAt, ready, said)
			}
			return nil
		})
	}
	found := w.audit.Writes(t, ofFlux)
	for what, count := range found {
		t.Errorf("Flux and the cluster differ: %d × %s", count, what)
	}
	return fmt.Sprint(len(found))
}

// ofFlux says that Flux has written something that is none of its own objects.
func ofFlux(event *auditv1.Event) bool {
	return strings.HasPrefix(event.UserAgent, "kustomize-controller") && !strings.HasSuffix(event.ObjectRef.APIGroup, "toolkit.fluxcd.io")
}
