package plane

import (
	"bytes"
	"net"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is for what a busy machine may take.
const patience = 3 * time.Minute

// Build gives a program that Go builds once, and keeps.
func Build(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), name)
	command := exec.CommandContext(t.Context(), "go", append([]string{"build", "-o", binary}, args...)...)
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", name, err, out)
	}
	return binary
}

// Program is a process that a test has started.
type Program struct {
	command *exec.Cmd
	log     said
	stop    sync.Once
}

// said is what a process has said.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

// Write implements io.Writer.
func (s *said) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(text)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// Start runs a program until the test ends, or until Stop. Where the test fails, the end of what it has said is in the test's log.
func Start(t *testing.T, program string, args ...string) *Program {
	t.Helper()
	p := &Program{command: exec.Command(program, args...)}
	p.command.Stdout, p.command.Stderr = &p.log, &p.log
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Stop()
		if text := p.Said(); t.Failed() {
			t.Logf("%s says:\n%s", filepath.Base(program), text[max(0, len(text)-5000):])
		}
	})
	return p
}

// Stop tells the program to end, and waits for it.
func (p *Program) Stop() { p.end(syscall.SIGTERM) }

// Kill ends the program at once, as a node that is lost does.
func (p *Program) Kill() { p.end(syscall.SIGKILL) }

func (p *Program) end(by syscall.Signal) {
	p.stop.Do(func() {
		_ = p.command.Process.Signal(by)
		_ = p.command.Wait() // its log says why it failed
	})
}

// Said is what the program has said.
func (p *Program) Said() string { return p.log.String() }

// FreeAddress is an address of this machine at which nobody listens.
func FreeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }() // the next one listens there
	return listener.Addr().String()
}

// Eventually waits until there is nothing to complain of.
func Eventually(t *testing.T, what string, complain func() error) {
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
