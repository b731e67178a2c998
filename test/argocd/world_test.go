package argocd

import (
	"errors"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/orkspace/orkestra/test/auditlog"
	"github.com/orkspace/orkestra/test/gitserver"
	"github.com/orkspace/orkestra/test/localcluster"
	base "github.com/orkspace/orkestra/test/plane"
)

const root = "../.."

// world is a cluster with Orkestra, Argo CD and a Git repository.
type world struct {
	*base.Plane

	git      *gitserver.Repository
	audit    *auditlog.Log
	orkestra string // the binary
	argocd   string // the binary
	redis    string // where what Argo CD's parts share is
	steps    base.Steps
	syncs    int // how often all was applied once more
}

func newWorld(t *testing.T) *world {
	t.Helper()
	audit := filepath.Join(t.TempDir(), "audit.log")
	w := &world{
		Plane: base.Bare(t, localcluster.Options{AuditLog: audit}), git: gitserver.New(t), audit: auditlog.New(audit), redis: base.FreeAddress(t),
		orkestra: base.Build(t, root, "orkestra", "./cmd/orkestra"), argocd: base.Build(t, "controllers", "argocd", "."),
	}
	w.Kubectl(t, "apply", "--server-side", "-f", root+"/config/crd/bases", "-f", root+"/config/default/namespace.yaml")
	for _, namespace := range []string{"argocd", "apps", "elsewhere"} {
		w.Kubectl(t, "create", "namespace", namespace)
	}
	base.Start(t, w.orkestra, "manager", "--kubeconfig", w.Cluster.Kubeconfig(), "--metrics-bind-address", "0", "--health-probe-bind-address", "0",
		"--log-format", "text", "--shutdown-timeout", "10s")
	w.configure(t)
	w.start(t)
	return w
}

// configure gives Argo CD its kinds, its settings, and the chart's health rule as docs/how-to/argocd.md says.
func (w *world) configure(t *testing.T) {
	t.Helper()
	w.Kubectl(t, "apply", "--server-side", "-k", moduleFolder(t, "github.com/argoproj/argo-cd/v3")+"/manifests/crds")
	w.Established(t, "crd/applications.argoproj.io", "crd/appprojects.argoproj.io")
	w.Kubectl(t, "apply", "-f", "testdata/argocd.yaml")
	rule := output(t, exec.CommandContext(t.Context(), root+"/bin/helm", "template", "orkestra", root+"/charts/orkestra", "--namespace", "orkestra-system",
		"--set", "argocd.healthRule=true", "--set", "argocd.kinds={fleet.example.com_Shop,fleet.example.com_Note}", "--show-only", "templates/argocd.yaml"))
	w.Apply(t, rule)
	data := w.Kubectl(t, "get", "configmap", "orkestra-argocd-health", "--namespace", "orkestra-system", "--output", "jsonpath={.data}")
	w.Kubectl(t, "patch", "configmap", "argocd-cm", "--namespace", "argocd", "--type", "merge", "--patch", `{"data": `+data+`}`)
}

// start starts the parts of Argo CD as processes of this machine.
func (w *world) start(t *testing.T) {
	t.Helper()
	for name, value := range map[string]string{
		"KUBECONFIG": w.Cluster.Kubeconfig(), "ARGOCD_FAKE_IN_CLUSTER": "true", "ARGOCD_GPG_ENABLED": "false",
		"ARGOCD_ASK_PASS_SOCK": filepath.Join(t.TempDir(), "ask.sock"), "TMPDIR": t.TempDir(),
	} {
		t.Setenv(name, value)
	}
	repo := base.FreeAddress(t)
	base.Start(t, w.argocd, "redis", w.redis)
	listening(t, w.redis)
	base.Start(t, w.argocd, "repo-server", "--disable-tls", "--redis", w.redis, "--address", "127.0.0.1", "--port", port(t, repo),
		"--metrics-address", "127.0.0.1", "--metrics-port", port(t, base.FreeAddress(t)), "--logformat", "text")
	listening(t, repo)
	base.Start(t, w.argocd, "application-controller", "--namespace", "argocd", "--repo-server", repo, "--repo-server-plaintext", "--redis", w.redis,
		"--metrics-port", port(t, base.FreeAddress(t)), "--logformat", "text")
}

func port(t *testing.T, address string) string {
	t.Helper()
	_, p, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// listening waits until a program accepts connections.
func listening(t *testing.T, address string) {
	t.Helper()
	base.Eventually(t, address+" accepts connections", func() error {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			err = conn.Close()
		}
		return err
	})
}

// moduleFolder is where Go keeps a module.
func moduleFolder(t *testing.T, module string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module)
	command.Dir = "controllers"
	return output(t, command)
}

// output is what a command prints, without the space around it.
func output(t *testing.T, command *exec.Cmd) string {
	t.Helper()
	out, err := command.Output()
	if err != nil {
		var said string
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			said = string(exit.Stderr)
		}
		t.Fatalf("%s: %v\n%s", command, err, said)
	}
	return strings.TrimSpace(string(out))
}
