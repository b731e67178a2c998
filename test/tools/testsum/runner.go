package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// heartbeat is how often the packages that run are named, so that a long one does not look stuck.
const heartbeat = time.Minute

// kind says what a step counts, and what its failure means.
type kind int

const (
	need  kind = iota // a failure ends the run
	check             // passes or fails
	test              // writes what go test -json does, whose tests are counted
	suite             // leaves the report of a Ginkgo suite, whose specs are counted
)

// counts says whether steps of this kind count tests.
func (k kind) counts() bool { return k == test || k == suite }

// step is a command for bash.
type step struct {
	kind    kind
	name    string
	command string
}

// count is a number of tests.
type count struct {
	passed, failed, skipped int
}

func (c count) plus(other count) count {
	return count{c.passed + other.passed, c.failed + other.failed, c.skipped + other.skipped}
}

func (c count) String() string {
	text := fmt.Sprintf("%d passed, %d failed", c.passed, c.failed)
	if c.skipped > 0 {
		text += fmt.Sprintf(", %d skipped", c.skipped)
	}
	return text
}

// runner runs steps. Its total grows by the tests that were counted, and by one failure for each step that failed otherwise.
type runner struct {
	out, err io.Writer
	reports  string
	failures []string
	total    count
}

func newRunner(out, err io.Writer, reports string) *runner {
	return &runner{out: out, err: err, reports: reports}
}

// run runs the steps in order, and prints a table of them and the closing line.
func (r *runner) run(ctx context.Context, steps []step) count {
	var table strings.Builder
	for _, s := range steps {
		say(r.out, "\n==> %s\n", s.name)
		start := time.Now()
		ok, c := r.step(ctx, s)
		result := "ok"
		if !ok {
			result = "FAILED"
		}
		if s.kind.counts() {
			result += " (" + c.String() + ")"
		}
		line := fmt.Sprintf("%-28s %7s  %s\n", s.name, time.Since(start).Round(time.Second), result)
		say(r.out, "<== %s", line)
		table.WriteString(line)
		if ctx.Err() != nil || (!ok && s.kind == need) {
			break
		}
	}
	say(r.out, "\n%s", table.String())
	for _, failure := range r.failures {
		say(r.out, "FAILED: %s\n", failure)
	}
	say(r.out, "\n%s\n", r.total)
	return r.total
}

// step runs one step and adds to the total; false if it failed.
func (r *runner) step(ctx context.Context, s step) (bool, count) {
	command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", s.command)
	command.Stderr = r.err
	// A group of its own, so that what the step started ends with it.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	command.WaitDelay = time.Minute
	var c count
	var failures []string
	var err error
	switch s.kind {
	case test:
		c, failures, err = r.test(command)
	case suite:
		c, failures, err = r.suite(command)
	default:
		command.Stdout = r.out
		err = command.Run()
	}
	r.failures = append(r.failures, failures...)
	// A step that counted its failures has failed already.
	if err != nil && c.failed == 0 {
		c.failed = 1
		r.failures = append(r.failures, fmt.Sprintf("%s: %s", s.name, err))
	}
	r.total = r.total.plus(c)
	return c.failed == 0, c
}

// test runs a command that writes what go test -json does.
func (r *runner) test(command *exec.Cmd) (count, []string, error) {
	stdout, err := command.StdoutPipe()
	if err != nil {
		return count{}, nil, err
	}
	if err := command.Start(); err != nil {
		return count{}, nil, err
	}
	lines := make(chan string)
	readErr := make(chan error, 1)
	go func() {
		readErr <- readLines(stdout, lines)
		close(lines)
	}()
	t := newTally(r.out)
	t.consume(lines, heartbeat)
	err = errors.Join(<-readErr, command.Wait())
	return t.total, t.failures, err
}

// suite runs a command that runs a Ginkgo suite. Its report says what is counted: the output of parallel processes is for people.
func (r *runner) suite(command *exec.Cmd) (count, []string, error) {
	if err := empty(r.reports); err != nil {
		return count{}, nil, err
	}
	command.Stdout = r.out
	err := command.Run()
	s, readErr := readReports(r.reports)
	return s.count, s.failed, errors.Join(err, readErr)
}

// empty makes a folder, and removes the reports that an earlier run left there.
func empty(reports string) error {
	old, err := filepath.Glob(filepath.Join(reports, reportPattern))
	if err != nil {
		return err
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return os.MkdirAll(reports, 0o755)
}

// readLines sends each line without its end. Lines may be of any length.
func readLines(in io.Reader, lines chan<- string) error {
	reader := bufio.NewReader(in)
	for {
		line, err := reader.ReadString('\n')
		if line != "" {
			lines <- strings.TrimSuffix(line, "\n")
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// say writes for people. A writer that fails must not change what is counted, so its error is dropped.
func say(out io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(out, format, args...)
}
