package supervisor

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/orkspace/orkestra/test/cluster/internal/folder"
)

// Ready is the line that says that the cluster can be used.
type Ready struct {
	Kubeconfig string `json:"kubeconfig"`
	Dir        string `json:"dir"`
	Kubectl    string `json:"kubectl"`
}

// Answer is the line that answers one command.
type Answer struct {
	OK    bool   `json:"ok,omitempty"`
	Error string `json:"error,omitempty"`
}

// Serve runs a cluster in a temporary folder of its own until ctx or the input ends, and does the commands that come as
// lines of the input: start, stop, kill or restart, and a component. The cluster dies with the process that holds the other end of in.
func Serve(ctx context.Context, binary string, options Options, in io.Reader, out io.Writer) error {
	runtime.LockOSThread() // for good: see startProcess
	if err := folder.Sweep(os.TempDir(), time.Now()); err != nil {
		return err
	}
	home, err := folder.TakeTemp(os.TempDir())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := New(home, binary, options, time.Now())
	if err != nil {
		return err
	}
	lines := readLines(ctx, cancel, in)
	err = s.Run(ctx)
	if err == nil {
		err = json.NewEncoder(out).Encode(s.ready())
	}
	if err == nil {
		err = s.obey(ctx, lines, out)
		err = errors.Join(err, s.Failure()) // a component that crashed makes the tests fail, even those that did not notice
	} else if ctx.Err() != nil {
		err = nil // the end was asked for
	}
	return errors.Join(err, s.Close())
}

// Supervise runs a cluster in the given folder until ctx ends. It writes one line when the cluster is ready, or an Answer with
// the error; nothing afterwards.
func Supervise(ctx context.Context, binary, dir string, options Options, out io.Writer) error {
	runtime.LockOSThread() // for good: see startProcess
	home, err := folder.Take(dir)
	if err != nil {
		return errors.Join(err, json.NewEncoder(out).Encode(Answer{Error: err.Error()}))
	}
	s, err := New(home, binary, options, time.Now())
	if err == nil {
		err = s.supervise(ctx, out)
	}
	if err != nil {
		err = errors.Join(err, json.NewEncoder(out).Encode(Answer{Error: err.Error()}))
	}
	return err
}

// supervise runs the cluster until ctx ends. The logs of one that did not start stay.
func (s *Supervisor) supervise(ctx context.Context, out io.Writer) error {
	if err := s.Run(ctx); err != nil {
		if ctx.Err() != nil {
			return errors.Join(err, s.Close()) // the end was asked for
		}
		return errors.Join(fmt.Errorf("%w\nTry again: on a busy machine it may take longer than it is given (%s), and start the next time. "+
			"The logs of the components are in %s until then", err, startTimeout, s.folder.File("*"+logEnding)), s.Abandon())
	}
	err := s.announce(out)
	if err == nil {
		<-ctx.Done()
	}
	return errors.Join(err, s.Close())
}

// announce leaves the ready line in the folder as well, for later callers.
func (s *Supervisor) announce(out io.Writer) error {
	data, err := json.Marshal(s.ready())
	if err != nil {
		return fmt.Errorf("encoding the ready line: %w", err)
	}
	temporary := s.folder.File(readyFile + ".new")
	if err := os.WriteFile(temporary, data, 0o600); err != nil {
		return fmt.Errorf("writing the ready line: %w", err)
	}
	if err := os.Rename(temporary, s.folder.File(readyFile)); err != nil {
		return fmt.Errorf("writing the ready line: %w", err)
	}
	_, _ = fmt.Fprintln(out, string(data)) // the caller may be gone; the cluster stays
	return nil
}

func (s *Supervisor) ready() Ready {
	return Ready{
		Kubeconfig: s.folder.File(adminKubeconfigFile),
		Dir:        s.folder.Path(),
		Kubectl:    filepath.Join(s.folder.Path(), kubectlFile),
	}
}

// obey does the commands, and answers each with a line, until ctx ends.
func (s *Supervisor) obey(ctx context.Context, lines <-chan string, out io.Writer) error {
	encoder := json.NewEncoder(out)
	for {
		select {
		case <-ctx.Done():
			return nil
		case line := <-lines:
			answer := Answer{OK: true}
			if err := s.command(ctx, line); err != nil {
				answer = Answer{Error: err.Error()}
			}
			if err := encoder.Encode(answer); err != nil {
				return fmt.Errorf("answering %q: %w", line, err)
			}
		}
	}
}

func (s *Supervisor) command(ctx context.Context, line string) error {
	verb, name, _ := strings.Cut(strings.TrimSpace(line), " ")
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	switch verb {
	case "start":
		return s.Start(ctx, name)
	case "stop":
		return s.Stop(name)
	case "kill":
		return s.Kill(name)
	case "restart":
		if err := s.Stop(name); err != nil {
			return err
		}
		return s.Start(ctx, name)
	}
	return fmt.Errorf("no command is called %q", verb)
}

// readLines reads lines until the input ends, and then calls cancel. Reading cannot be interrupted: the goroutine may
// outlive the call, but not the process, which ends right after.
func readLines(ctx context.Context, cancel context.CancelFunc, in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer cancel()
		scanner := bufio.NewScanner(in)
		for scanner.Scan() {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}
