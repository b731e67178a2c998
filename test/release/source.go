package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// source is what is built: a commit, and when it was made. Every time in what is released is that one.
type source struct {
	commit string
	time   time.Time
}

// readSource gives the commit that is checked out. What differs from it can't be built again by others, and is refused.
func readSource(ctx context.Context, root string) (source, error) {
	changed, err := git(ctx, root, "status", "--porcelain")
	if err != nil {
		return source{}, err
	}
	if changed != "" {
		return source{}, fmt.Errorf("%s differs from its commit, wanted a clean checkout; commit, or remove:\n%s", root, changed)
	}
	said, err := git(ctx, root, "log", "-1", "--format=%H %ct")
	if err != nil {
		return source{}, err
	}
	commit, seconds, _ := strings.Cut(said, " ")
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return source{}, fmt.Errorf("reading the time of commit %s: %w", commit, err)
	}
	return source{commit: commit, time: time.Unix(at, 0).UTC()}, nil
}

func git(ctx context.Context, root string, args ...string) (string, error) {
	out, err := output(exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...))
	return strings.TrimSpace(string(out)), err
}

// output runs a command; its error has what the command said of it.
func output(command *exec.Cmd) ([]byte, error) {
	out, err := command.Output()
	if err == nil {
		return out, nil
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return nil, fmt.Errorf("running %q: %w", strings.Join(command.Args, " "), err)
}
