package providers

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// server is a process that listens on a socket.
type server struct {
	socket string
	cmd    *exec.Cmd
	end    sync.Once
}

// start runs a program until the test ends, and waits until it takes connections.
func start(t *testing.T, socket, program string, args ...string) *server {
	t.Helper()
	var said bytes.Buffer
	s := &server{socket: socket, cmd: exec.Command(program, args...)}
	s.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	s.cmd.Stdout, s.cmd.Stderr = &said, &said
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	ready, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for {
		if connection, err := s.dial(ready, "", ""); err == nil {
			_ = connection.Close()
			return s
		}
		select {
		case <-poll.C:
		case <-ready.Done():
			s.stop()
			t.Fatalf("%s takes no connections; it says:\n%s", filepath.Base(program), said.String())
		}
	}
}

// dial connects to the socket, whatever the address is.
func (s *server) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", s.socket)
}

func (s *server) stop() {
	s.end.Do(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	})
}

// folder is a temporary one whose path is short enough for sockets.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "orkestra") //nolint:usetesting // The path of a socket has at most 108 bytes.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func run(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		var detail []byte
		if failed, ok := err.(*exec.ExitError); ok { //nolint:errorlint // Output gives it as it is.
			detail = failed.Stderr
		}
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, detail)
	}
	return strings.TrimSpace(string(out))
}

const (
	rootKey    = "ROOTKEY"
	rootSecret = "rootsecret"
	region     = "eu-west-1"
)

// versity is the program of versitygw, which go.mod names as a tool: go builds it once, and keeps it.
func versity(t *testing.T) string {
	t.Helper()
	return run(t, ".", "go", "tool", "-n", "versitygw")
}

// gateway starts versitygw, with further flags.
func gateway(t *testing.T, flags ...string) *server {
	t.Helper()
	dir := folder(t)
	for _, name := range []string{"data", "versions"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return gatewayOver(t, dir, region, flags...)
}

// gatewayOver starts versitygw for a region over a folder in which another one may have its buckets, too.
func gatewayOver(t *testing.T, dir, region string, flags ...string) *server {
	t.Helper()
	socket := filepath.Join(dir, "s3-"+region)
	args := append([]string{"--access", rootKey, "--secret", rootSecret, "--region", region, "--port", socket, "--virtual-domain", "s3." + region + ".amazonaws.com", "--quiet"}, flags...)
	return start(t, socket, versity(t), append(args, "posix", "--versioning-dir", filepath.Join(dir, "versions"), filepath.Join(dir, "data"))...)
}

const (
	ferretModule = "github.com/FerretDB/FerretDB"
	ferretV      = "v1.24.0"
	ferretSum    = "h1:7WJmezL48Bj9bYWnhT/bEJgX5gjT5s7LFdHTqkN25rA="
)

var ferretOnce sync.Mutex

// ferret builds FerretDB once for all checkouts of this machine. Its main package wants a file that its module lacks, and can't be the tool of
// another module: so its files are copied, with the one that is missing.
func ferret(t *testing.T) string {
	t.Helper()
	ferretOnce.Lock()
	defer ferretOnce.Unlock()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(cache, "orkestra", "ferretdb-"+ferretV+"-"+runtime.Version())
	if _, err := os.Stat(binary); err == nil {
		return binary
	}
	var module struct {
		Dir string `json:"Dir"`
		Sum string `json:"Sum"`
	}
	if err := json.Unmarshal([]byte(run(t, ".", "go", "mod", "download", "-json", ferretModule+"@"+ferretV)), &module); err != nil {
		t.Fatal(err)
	}
	if module.Sum != ferretSum {
		t.Fatalf("the sum of %s is %s, want %s", ferretModule, module.Sum, ferretSum)
	}
	dir := folder(t)
	source, fresh := filepath.Join(dir, "source"), filepath.Join(dir, "program")
	if err := os.CopyFS(source, os.DirFS(module.Dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(source, "build", "version", "version.txt"), []byte(ferretV), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, source, "go", "build", "-p", "2", "-buildvcs=false", "-tags", "ferretdb_no_postgresql", "-o", fresh, "./cmd/ferretdb")
	if err := os.MkdirAll(filepath.Dir(binary), 0o700); err != nil {
		t.Fatal(err)
	}
	// Another process may build it at the same time, and the folder may be on another disk: it is copied aside, and put into place at once.
	text, err := os.ReadFile(fresh)
	if err == nil {
		err = os.WriteFile(binary+".tmp", text, 0o700)
	}
	if err == nil {
		err = os.Rename(binary+".tmp", binary)
	}
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

const (
	adminName     = "ferret-admin"
	adminPassword = "admin-password"
)

// database starts FerretDB with SQLite and one user.
func database(t *testing.T) *server {
	t.Helper()
	dir := folder(t)
	socket := filepath.Join(dir, "mongo")
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	return start(t, socket, ferret(t), "--handler=sqlite", "--sqlite-url=file:"+filepath.Join(dir, "data")+"/", "--state-dir="+dir, "--listen-addr=", "--listen-unix="+socket,
		"--debug-addr=-", "--telemetry=disable", "--log-level=error", "--test-enable-new-auth", "--setup-database=setup", "--setup-username="+adminName, "--setup-password="+adminPassword)
}
