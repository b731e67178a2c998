package supervisor_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/orkspace/orkestra/test/cluster/internal/supervisor"
)

const (
	envBinary = "ORKESTRA_CLUSTER_BINARY"
	envParent = "TEST_PARENT_OF"
	patience  = time.Minute
)

// TestMain also is the parent that a test kills: it starts a cluster, passes on its output and never ends by itself.
func TestMain(m *testing.M) {
	binary := os.Getenv(envParent)
	if binary == "" {
		os.Exit(m.Run())
	}
	command := exec.Command(binary, "serve")
	if _, err := command.StdinPipe(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	command.Stdout = os.Stdout
	command.Stderr = os.Stderr
	fmt.Fprintln(os.Stderr, command.Run())
	os.Exit(1)
}

func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("starts clusters")
	}
	binary := build(t)
	t.Run("two at once, told to end", func(t *testing.T) {
		temp := tempDir(t)
		first, second := serve(t, exec.Command(binary, "serve")), serve(t, exec.Command(binary, "serve"))
		for _, s := range []*served{first, second} {
			run(t, s.ready.Kubectl, "--kubeconfig="+s.ready.Kubeconfig, "create", "namespace", "same")
		}
		_ = first.in.Close()
		_ = second.command.Process.Signal(syscall.SIGTERM)
		for _, s := range []*served{first, second} {
			if err := s.command.Wait(); err != nil {
				t.Error(err)
			}
		}
		nothingLeft(t, temp)
	})
	t.Run("the parent is killed", func(t *testing.T) {
		temp := tempDir(t)
		parent := exec.Command(os.Args[0])
		parent.Env = append(os.Environ(), envParent+"="+binary)
		s := serve(t, parent)
		kill(t, s.command)
		nothingLeft(t, temp)
	})
	t.Run("the supervisor is killed", func(t *testing.T) {
		temp := tempDir(t)
		s := serve(t, exec.Command(binary, "serve"))
		kill(t, s.command)
		eventually(t, func() string { return strings.Join(processes(temp), "\n") })
		if _, err := os.Stat(s.ready.Dir); err != nil {
			t.Fatalf("nobody was there to remove the folder: %v", err)
		}
		next := serve(t, exec.Command(binary, "serve"))
		if _, err := os.Stat(s.ready.Dir); !os.IsNotExist(err) {
			t.Errorf("the next cluster did not sweep the folder: %v", err)
		}
		_ = next.in.Close()
		nothingLeft(t, temp)
		_ = next.command.Wait()
	})
	t.Run("a component fails", func(t *testing.T) {
		temp := tempDir(t)
		command := exec.Command(binary, "serve", "--audit-log="+filepath.Join(os.DevNull, "audit.log"))
		if _, err := command.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		out, err := command.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "not a directory") {
			t.Errorf("got %v, %s, want the end of the API server's log", err, out)
		}
		nothingLeft(t, temp)
	})
	t.Run("commands", func(t *testing.T) { testCommands(t, binary) })
	t.Run("up and down", func(t *testing.T) { testUpDown(t, binary) })
}

func testCommands(t *testing.T, binary string) {
	temp := tempDir(t)
	s := serve(t, exec.Command(binary, "serve"))
	kubectl := func(args ...string) {
		t.Helper()
		run(t, s.ready.Kubectl, append([]string{"--kubeconfig=" + s.ready.Kubeconfig}, args...)...)
	}
	kubectl("create", "deployment", "web", "--image=web", "--replicas=3")
	for _, test := range []struct {
		line string
		ok   bool
	}{
		{"restart kube-apiserver", true},
		{"kill kube-apiserver", true},
		{"stop kube-apiserver", false},
		{"start kube-apiserver", true},
		{"start kube-apiserver", false},
		{"restart etcd", true},
		{"restart kube-controller-manager", true},
		{"restart kube-scheduler", true},
		{"restart garbage-collector", true},
		{"restart kwok", true},
		{"start unknown", false},
		{"unknown", false},
	} {
		if answer := s.ask(t, test.line); answer.OK != test.ok || (answer.Error == "") != test.ok {
			t.Errorf("%s: got %+v, want ok %t", test.line, answer, test.ok)
		}
	}
	kubectl("rollout", "status", "deployment/web", "--timeout=1m")
	kubectl("delete", "deployment", "web", "--cascade=foreground", "--timeout=1m")
	_ = s.in.Close()
	nothingLeft(t, temp)
	_ = s.command.Wait()
}

func testUpDown(t *testing.T, binary string) {
	temp := tempDir(t)
	dir := filepath.Join(temp, "state")
	cluster := func(name string) string { return run(t, binary, name, "--dir="+dir) }
	atOnce := make(chan string, 1)
	go func() {
		defer close(atOnce)
		out, err := exec.Command(binary, "up", "--dir="+dir).CombinedOutput()
		if err != nil {
			t.Error(err)
		}
		atOnce <- string(out)
	}()
	first := cluster("up")
	for _, other := range []string{<-atOnce, cluster("up")} {
		if other != first {
			t.Errorf("got %q and %q", first, other)
		}
	}
	cluster("status")
	kubeconfig := strings.TrimSpace(cluster("kubeconfig"))
	if _, err := os.Stat(kubeconfig); err != nil {
		t.Error(err)
	}
	cluster("down")
	nothingLeft(t, temp)
	cluster("down")
	if out, err := exec.Command(binary, "status", "--dir="+dir).CombinedOutput(); err == nil {
		t.Errorf("the status is good although it is down: %s", out)
	}
	nothingLeft(t, temp)
}

// served is a cluster run by serve, or by a parent that passes on its lines.
type served struct {
	command *exec.Cmd
	in      io.Closer
	write   io.Writer
	out     *json.Decoder
	ready   supervisor.Ready
}

func serve(t *testing.T, command *exec.Cmd) *served {
	t.Helper()
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close() })
	s := &served{command: command, in: in, write: in, out: json.NewDecoder(bufio.NewReader(out))}
	if err := s.out.Decode(&s.ready); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *served) ask(t *testing.T, line string) supervisor.Answer {
	t.Helper()
	var answer supervisor.Answer
	if _, err := fmt.Fprintln(s.write, line); err != nil {
		t.Fatal(err)
	}
	if err := s.out.Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

// build returns the binary that the environment names, or builds one, which takes minutes if nothing is cached.
func build(t *testing.T) string {
	t.Helper()
	if binary := os.Getenv(envBinary); binary != "" {
		return binary
	}
	binary := filepath.Join(t.TempDir(), "orkestra-cluster")
	const version = "k8s.io/component-base/version."
	flags := "-s -w -X " + version + "gitVersion=v1.36.3 -X " + version + "gitMajor=1 -X " + version + "gitMinor=36"
	command := exec.Command("go", "build", "-trimpath", "-ldflags", flags, "-o", binary, "../..")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("building the cluster binary: %v: %s", err, out)
	}
	return binary
}

// tempDir makes all clusters of this test use a folder of its own for temporary files, by which they can be found.
func tempDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	return dir
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	command := exec.Command(name, args...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("running %s %q: %v", filepath.Base(name), args, err)
	}
	return string(out)
}

func kill(t *testing.T, command *exec.Cmd) {
	t.Helper()
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait() // says that it was killed
}

func nothingLeft(t *testing.T, temp string) {
	t.Helper()
	eventually(t, func() string {
		left, err := filepath.Glob(filepath.Join(temp, "*"))
		if err != nil {
			return err.Error()
		}
		return strings.Join(append(left, processes(temp)...), "\n")
	})
}

// processes returns those whose temporary files go below a folder.
func processes(temp string) []string {
	var found []string
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is good
	for _, file := range files {
		environment, err := os.ReadFile(file) // empty for a process that ended and was not yet waited for
		if err == nil && strings.Contains(string(environment), "TMPDIR="+temp) {
			found = append(found, file)
		}
	}
	return found
}

// eventually waits until left returns nothing.
func eventually(t *testing.T, left func() string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		now := left()
		if now == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left behind:\n%s", now)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
