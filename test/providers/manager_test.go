package providers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	controllerlog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/test/fixtures"
	"github.com/orkspace/orkestra/test/localcluster"
)

const (
	ownNamespace = "orkestra-system"
	root         = "../.."
)

// plane is what the tests with a manager share: a control plane and the binary, made when the first of them asks.
type plane struct {
	made    sync.Once
	err     error
	cluster *localcluster.Cluster
	kube    client.Client // reads past every cache
	binary  string
	folder  string
}

var shared plane

func TestMain(m *testing.M) {
	controllerlog.SetLogger(logr.Discard())
	code := m.Run()
	if err := shared.end(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// newPlane gives what the tests share.
func newPlane(t *testing.T) *plane {
	t.Helper()
	shared.made.Do(func() { shared.err = shared.begin(t.Context()) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return &shared
}

func (p *plane) begin(ctx context.Context) error {
	var err error
	if p.folder, err = os.MkdirTemp("", "orkestra-providers"); err != nil {
		return err
	}
	p.binary = filepath.Join(p.folder, "orkestra-providers")
	build := exec.CommandContext(ctx, "go", "build", "-o", p.binary, "./cmd/orkestra-providers")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building the manager: %w\n%s", err, out)
	}
	// The control plane outlives the test that asks first.
	if p.cluster, err = localcluster.Start(context.WithoutCancel(ctx), localcluster.Options{}); err != nil {
		return err
	}
	if p.kube, err = client.New(p.cluster.Config(), client.Options{Scheme: fixtures.Scheme()}); err != nil {
		return err
	}
	if _, err := p.cluster.Kubectl(ctx, "apply", "--server-side", "-f", filepath.Join(root, "config", "crd", "bases")); err != nil {
		return err
	}
	return p.kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ownNamespace}})
}

func (p *plane) end() error {
	var err error
	if p.cluster != nil {
		err = p.cluster.Stop()
	}
	if p.folder != "" {
		err = errors.Join(err, os.RemoveAll(p.folder))
	}
	return err
}

// manager is `orkestra-providers manager` as a process of its own. It may be killed and started again.
type manager struct {
	binary string
	args   []string
	log    log

	mu     sync.Mutex
	cmd    *exec.Cmd // guarded by mu; nil: none runs
	starts int       // guarded by mu
}

// log is what all processes of a manager have said.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// manager starts one that reaches servers on loopback, and ends it with the test.
func (p *plane) manager(t *testing.T, args ...string) *manager {
	t.Helper()
	m := &manager{binary: p.binary, args: append([]string{"manager", "--kubeconfig", p.cluster.Kubeconfig(), "--namespace", ownNamespace, "--leader-elect=false",
		"--metrics-bind-address", "0", "--health-probe-bind-address", "0", "--shutdown-timeout", "10s", "--log-format", "text", "--external-allow", "127.0.0.1"}, args...)}
	if err := m.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.end(syscall.SIGTERM)
		text := m.log.String()
		if t.Failed() {
			t.Logf("the manager says:\n%s", text[max(0, len(text)-20000):])
		}
		if strings.Contains(text, "panic") {
			t.Errorf("the manager panics:\n%s", text)
		}
	})
	return m
}

func (m *manager) start() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	cmd := exec.Command(m.binary, m.args...)
	// What the Pod of a manager may have is there, and of no use.
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+rootKey, "AWS_SECRET_ACCESS_KEY="+rootSecret, "AWS_REGION="+region)
	cmd.Stdout, cmd.Stderr = &m.log, &m.log
	if err := cmd.Start(); err != nil {
		return err
	}
	m.cmd, m.starts = cmd, m.starts+1
	return nil
}

// end ends the process by a signal, and waits for it.
func (m *manager) end(signal os.Signal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cmd == nil {
		return
	}
	_ = m.cmd.Process.Signal(signal)
	_ = m.cmd.Wait() // its log says why it failed
	m.cmd = nil
}

// die kills the process as kill -9 does, and starts another one.
func (m *manager) die() error {
	m.end(syscall.SIGKILL)
	return m.start()
}

// eventually is for what the manager brings about, which may start dozens of times meanwhile.
func eventually(t *testing.T, f func(g gomega.Gomega)) {
	t.Helper()
	gomega.NewWithT(t).Eventually(f).WithContext(t.Context()).WithTimeout(6 * patience).WithPolling(patience / 600).Should(gomega.Succeed())
}
