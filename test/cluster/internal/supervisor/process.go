package supervisor

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	// grace is how long a single component may take to end by itself.
	grace = 5 * time.Second
	// tailLines and tailBytes are how much of a log goes into an error.
	tailLines = 15
	tailBytes = 4 << 10
)

// process is one running component. Its goroutine ends with the child.
type process struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{}
	err  error // set before done is closed
}

// startProcess starts a child that the kernel kills when the calling thread ends: the caller must be locked to a thread
// that lives as long as the supervisor.
func startProcess(name, log string, cmd *exec.Cmd) (*process, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	defer func() { _ = file.Close() }() // the child has its own
	cmd.Stdout, cmd.Stderr = file, file
	cmd.SysProcAttr = childAttributes()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	p := &process{name: name, log: log, cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = cmd.Wait()
	}()
	return p, nil
}

// failure returns an error with the end of the log if the process has ended.
func (p *process) failure() error {
	select {
	case <-p.done:
	default:
		return nil
	}
	how := "exited"
	if p.err != nil {
		how = p.err.Error()
	}
	return fmt.Errorf("running %s: %s; end of its log:\n%s", p.name, how, tail(p.log))
}

// stop ends the process, with force once grace is over, and waits for it.
func (p *process) stop(grace time.Duration) error {
	if grace > 0 {
		if err := p.signal(syscall.SIGTERM); err != nil {
			return err
		}
		select {
		case <-p.done:
			return nil
		case <-time.After(grace):
		}
	}
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}

func (p *process) signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping %s: %w", p.name, err)
	}
	return nil
}

// tail returns the last lines of a file, or why it has none.
func tail(name string) string {
	data, err := os.ReadFile(name)
	if err != nil {
		return err.Error()
	}
	if len(data) > tailBytes {
		data = data[len(data)-tailBytes:]
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) > tailLines {
		lines = lines[len(lines)-tailLines:]
	}
	return strings.Join(lines, "\n")
}
