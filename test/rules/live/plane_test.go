package live

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/orkspace/orkestra/test/localcluster"
)

const (
	root = "../../.."
	// patience is for what a busy machine may take.
	patience = 3 * time.Minute
)

// plane is a cluster with a manager, which a Prometheus scrapes.
type plane struct {
	cluster    *localcluster.Cluster
	http       *http.Client // to the API server
	orkestra   string
	prometheus *prometheus
}

// newPlane starts all of it, and ends it with the test.
func newPlane(t *testing.T) *plane {
	t.Helper()
	p := &plane{orkestra: build(t, root, "orkestra", "./cmd/orkestra")}
	program := build(t, ".", "prometheus", "-tags", "remove_all_sd", "github.com/prometheus/prometheus/cmd/prometheus")
	var err error
	if p.cluster, err = localcluster.Start(t.Context(), localcluster.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	if p.http, err = rest.HTTPClientFor(p.cluster.Config()); err != nil {
		t.Fatal(err)
	}
	p.kubectl(t, "apply", "--server-side", "-f", root+"/config/crd/bases", "-f", root+"/config/default/namespace.yaml", "-f", root+"/config/rbac/metrics_reader_role.yaml")
	p.apply(t, reader)
	metrics := freeAddress(t)
	start(t, p.orkestra, "manager", "--kubeconfig", p.cluster.Kubeconfig(), "--namespace", "orkestra-system", "--metrics-bind-address", metrics,
		"--health-probe-bind-address", "0", "--external-allow", "127.0.0.1", "--shutdown-timeout", "10s", "--log-format", "text")
	p.prometheus = newPrometheus(t, program, metrics, p.kubectl(t, "create", "token", "prometheus", "--namespace", "default"))
	return p
}

// reader is the account with which Prometheus scrapes.
const reader = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: prometheus, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: prometheus}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: orkestra-metrics-reader}
subjects: [{kind: ServiceAccount, name: prometheus, namespace: default}]
`

func (p *plane) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := p.cluster.Kubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func (p *plane) apply(t *testing.T, yaml string) {
	t.Helper()
	if out, err := p.cluster.KubectlApply(t.Context(), yaml); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// merge patches an object as many do; it may be gone already.
func (p *plane) merge(ctx context.Context, path, patch string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPatch, p.cluster.Config().Host+path, strings.NewReader(patch))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/merge-patch+json")
	answer, err := p.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // nothing of it is read
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusNotFound {
		return fmt.Errorf("patching %s: %s", path, answer.Status)
	}
	return nil
}

// build gives a program that Go builds once, and keeps.
func build(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), name)
	command := exec.CommandContext(t.Context(), "go", append([]string{"build", "-o", binary}, args...)...)
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", name, err, out)
	}
	return binary
}

// said is what a process has said.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (s *said) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(text)
}

// start runs a program until the test ends.
func start(t *testing.T, program string, args ...string) {
	t.Helper()
	command, log := exec.Command(program, args...), &said{}
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait() // its log says why it failed
		if text := log.text.String(); t.Failed() {
			t.Logf("%s says:\n%s", filepath.Base(program), text[max(0, len(text)-5000):])
		}
	})
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }() // the next one listens there
	return listener.Addr().String()
}

// eventually waits until there is nothing to complain of.
func eventually(t *testing.T, what string, complain func() error) {
	t.Helper()
	deadline, poll := time.NewTimer(patience), time.NewTicker(200*time.Millisecond)
	defer deadline.Stop()
	defer poll.Stop()
	for {
		err := complain()
		if err == nil {
			return
		}
		select {
		case <-poll.C:
		case <-deadline.C:
			t.Fatalf("%s: %v", what, err)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
