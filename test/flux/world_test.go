package flux

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
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

// newWorld starts Orkestra with the rights of an administrator, beside the controllers that apply what is in Git.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := bareWorld(t, "source-controller", "kustomize-controller")
	w.Kubectl(t, "apply", "--server-side", "-f", root+"/config/crd/bases", "-f", root+"/config/default/namespace.yaml")
	base.Start(t, base.Build(t, root, "orkestra", "./cmd/orkestra"), "manager", "--kubeconfig", w.Cluster.Kubeconfig(), "--metrics-bind-address", "0",
		"--health-probe-bind-address", "0", "--log-format", "text", "--shutdown-timeout", "10s")
	return w
}

// bareWorld starts some of Flux's controllers, and has nothing of Orkestra yet.
func bareWorld(t *testing.T, controllers ...string) *world {
	t.Helper()
	audit := filepath.Join(t.TempDir(), "audit.log")
	p := base.Bare(t, localcluster.Options{AuditLog: audit})
	w := &world{Plane: p, git: gitserver.New(t), audit: auditlog.New(audit)}
	w.Kubectl(t, "create", "namespace", "flux-system")
	w.Kubectl(t, "create", "namespace", "apps")
	w.flux(t, controllers)
	return w
}

// flux starts Flux's controllers as processes of this machine.
func (w *world) flux(t *testing.T, controllers []string) {
	t.Helper()
	t.Setenv("KUBECONFIG", w.Cluster.Kubeconfig())
	t.Setenv("RUNTIME_NAMESPACE", "flux-system")
	storage := base.FreeAddress(t)
	flags := map[string][]string{
		"source-controller":    {"--storage-path=" + t.TempDir(), "--storage-addr=" + storage, "--storage-adv-addr=" + storage},
		"kustomize-controller": {"--requeue-dependency=2s"},
		"helm-controller":      {"--requeue-dependency=2s"},
	}
	for _, name := range controllers {
		module := "github.com/fluxcd/" + name
		w.Kubectl(t, "apply", "--server-side", "-f", folderOf(t, module)+"/config/crd/bases")
		base.Start(t, base.Build(t, "controllers", name, module), append(flags[name], "--events-addr=", "--metrics-addr=127.0.0.1:0", "--health-addr="+base.FreeAddress(t),
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

// folderOf is where Go keeps a module, which it fetches where it is not there yet.
func folderOf(t *testing.T, module string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
	command.Dir = "controllers"
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	var found struct {
		Dir   string `json:"Dir"`
		Error string `json:"Error"`
	}
	if err == nil {
		err = json.Unmarshal(out, &found)
	}
	if err != nil || found.Dir == "" {
		t.Fatalf("fetching %s: %v: go says %s%s; wanted the folder that it is in", module, err, found.Error, stderr.String())
	}
	return found.Dir
}

// reconciled is what is read of a Kustomization, or of a HelmRelease.
type reconciled struct {
	Metadata struct {
		Generation int64 `json:"generation"`
	} `json:"metadata"`
	Status struct {
		LastAppliedRevision     string             `json:"lastAppliedRevision"`
		LastAttemptedRevision   string             `json:"lastAttemptedRevision"`
		LastAttemptedGeneration int64              `json:"lastAttemptedGeneration"`
		LastHandledReconcileAt  string             `json:"lastHandledReconcileAt"`
		Conditions              []metav1.Condition `json:"conditions"`
		Inventory               struct {
			Entries []struct {
				ID string `json:"id"`
			} `json:"entries"`
		} `json:"inventory"`
	} `json:"status"`
}

func (w *world) kustomization(t *testing.T, name string) (k reconciled, ready metav1.ConditionStatus, said string) {
	t.Helper()
	return w.reconciled(t, "kustomization", name)
}

func (w *world) reconciled(t *testing.T, kind, name string) (r reconciled, ready metav1.ConditionStatus, said string) {
	t.Helper()
	if err := json.Unmarshal([]byte(w.Kubectl(t, "get", kind, name, "-n", "flux-system", "-o", "json")), &r); err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Status.Conditions {
		if c.Type == "Ready" {
			return r, c.Status, c.Reason + ": " + c.Message
		}
	}
	return r, "", ""
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
		w.again(t, "kustomization", name)
	}
	found := w.audit.Writes(t, ofFlux)
	for what, count := range found {
		t.Errorf("Flux and the cluster differ: %d × %s", count, what)
	}
	return fmt.Sprint(len(found))
}

// again has Flux reconcile an object of its own once more, and waits until it has.
func (w *world) again(t *testing.T, kind, name string) {
	t.Helper()
	at := w.now(t, kind, name)
	base.Eventually(t, kind+" "+name+" is reconciled once more", func() error {
		if r, ready, said := w.reconciled(t, kind, name); r.Status.LastHandledReconcileAt != at || ready != "True" {
			return fmt.Errorf("handled %s, Ready %s, %s", r.Status.LastHandledReconcileAt, ready, said)
		}
		return nil
	})
}

// ofFlux says that Flux has written something that is none of its own objects.
func ofFlux(event *auditv1.Event) bool {
	return strings.HasPrefix(event.UserAgent, "kustomize-controller") && !strings.HasSuffix(event.ObjectRef.APIGroup, "toolkit.fluxcd.io")
}
