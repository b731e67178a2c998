package localcluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// stopTimeout is how long a supervisor may take to end its processes before it is killed, which kills them too.
const stopTimeout = 30 * time.Second

// supervisor is a process that runs a cluster until its standard input is closed: by stop, or by the kernel when this
// process dies. It writes one line when the cluster is ready, and one for each command.
type supervisor struct {
	process *exec.Cmd
	stdin   io.WriteCloser
	stderr  *strings.Builder // complete once ended is closed
	ready   readyLine
	ended   chan struct{}
	exit    error // set before ended is closed

	stopOnce sync.Once
	stopErr  error

	lines chan json.RawMessage // closed before ended is
	mu    sync.Mutex           // guards the conversation: one command and its answer at a time
	owed  int                  // answers that have not come yet; more than one where a caller gave up waiting
}

type readyLine struct {
	Kubeconfig string `json:"kubeconfig"`
	Dir        string `json:"dir"`
	Kubectl    string `json:"kubectl"`
}

type answerLine struct {
	Error string `json:"error"`
}

func startSupervisor(ctx context.Context, binary, auditLog string) (*supervisor, error) {
	args := []string{"serve"}
	if auditLog != "" {
		args = append(args, "--audit-log="+auditLog)
	}
	s := &supervisor{
		process: exec.Command(binary, args...), // not bound to ctx, which only covers the start
		stderr:  &strings.Builder{},
		ended:   make(chan struct{}),
		lines:   make(chan json.RawMessage),
	}
	s.process.Stderr = s.stderr
	stdin, err := s.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	s.stdin = stdin
	stdout, err := s.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.process.Start(); err != nil {
		return nil, err
	}
	go s.read(stdout)
	line, err := s.next(ctx)
	if err == nil {
		err = json.Unmarshal(line, &s.ready)
	}
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// read passes on the lines of the process, and reaps it when it has ended. stop waits for that.
func (s *supervisor) read(stdout io.Reader) {
	defer close(s.ended)
	decoder := json.NewDecoder(stdout)
	for {
		var line json.RawMessage
		if err := decoder.Decode(&line); err != nil {
			break
		}
		s.lines <- line
	}
	close(s.lines)
	s.exit = s.process.Wait()
}

func (s *supervisor) next(ctx context.Context) (json.RawMessage, error) {
	select {
	case line, ok := <-s.lines:
		if ok {
			return line, nil
		}
		return nil, errors.New("the cluster ended by itself") // stop tells why
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// command sends a command, and waits for its answer. Answers come in the order of the commands, so those to earlier commands whose callers
// have given up are skipped.
func (s *supervisor) command(ctx context.Context, line string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := fmt.Fprintln(s.stdin, line); err != nil {
		return fmt.Errorf("asking the cluster to %s: %w", line, err)
	}
	s.owed++
	var answer answerLine
	for s.owed > 0 {
		data, err := s.next(ctx)
		if err != nil {
			return fmt.Errorf("asking the cluster to %s: %w", line, err)
		}
		s.owed--
		answer = answerLine{}
		if err := json.Unmarshal(data, &answer); err != nil {
			return fmt.Errorf("asking the cluster to %s: %w", line, err)
		}
	}
	if answer.Error != "" {
		return fmt.Errorf("asking the cluster to %s: %s", line, answer.Error)
	}
	return nil
}

// stop ends the process and everything it started. Further calls return what the first returned.
func (s *supervisor) stop() error {
	s.stopOnce.Do(func() { s.stopErr = s.end() })
	return s.stopErr
}

func (s *supervisor) end() error {
	var errs []error
	if err := s.stdin.Close(); err != nil && !errors.Is(err, os.ErrClosed) { // closed if it ended by itself
		errs = append(errs, err)
	}
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	lines := s.lines
	for running := true; running; {
		select {
		case _, ok := <-lines: // answers that nobody waits for must not hold up read
			if !ok {
				lines = nil
			}
		case <-s.ended:
			running = false
		case <-timer.C:
			errs = append(errs, fmt.Errorf("the cluster did not end within %s", stopTimeout), s.process.Process.Kill())
		}
	}
	if s.exit != nil {
		errs = append(errs, fmt.Errorf("the cluster ended: %w: %s", s.exit, strings.TrimSpace(s.stderr.String())))
	}
	return errors.Join(append(errs, s.leftovers())...)
}

// leftovers returns an error that names what the cluster left behind.
func (s *supervisor) leftovers() error {
	if s.ready.Dir == "" {
		return nil // it never was ready
	}
	var errs []error
	if _, err := os.Stat(s.ready.Dir); !errors.Is(err, os.ErrNotExist) {
		errs = append(errs, fmt.Errorf("the folder %q is left", s.ready.Dir))
	}
	// Every process of the cluster works in its folder. Where there is no /proc, nothing is found.
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		errs = append(errs, err)
	}
	for _, link := range links {
		if dir, err := os.Readlink(link); err == nil && strings.HasPrefix(dir, s.ready.Dir) {
			errs = append(errs, fmt.Errorf("process %s is left", filepath.Base(filepath.Dir(link))))
		}
	}
	return errors.Join(errs...)
}
