// Command orkestra-cluster is a Kubernetes cluster in one binary, for tests and demonstrations: etcd, the control plane and
// kubectl, built from source, with kwok in place of nodes. It must not be used for anything else.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/orkspace/orkestra/test/cluster/internal/supervisor"
)

const usage = `Usage: orkestra-cluster <command> [flags]

A local Kubernetes cluster:
  up          start it in the background, if it does not run
  down        end it and remove its folder
  status      say whether it runs
  kubeconfig  print the path of its kubeconfig

For tests:
  serve       run a cluster until standard input ends; commands are read from there

Programs that a cluster is made of:
  etcd, kube-apiserver, kube-controller-manager, kube-scheduler,
  garbage-collector, kwok, kubectl
`

func main() {
	if code, ok := runComponent(os.Args); ok {
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "orkestra-cluster:", err)
		os.Exit(1)
	}
}

// flags are those of all commands; each command takes a part of them.
type flags struct {
	dir   string
	audit string
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return errors.New("a command is missing")
	}
	name := args[0]
	f, err := parse(name, args[1:])
	if err != nil {
		return err
	}
	switch name {
	case "up":
		return up(ctx, f, out)
	case "down":
		return supervisor.Down(f.dir)
	case "status":
		return status(ctx, f, out)
	case "kubeconfig":
		ready, err := supervisor.Running(f.dir)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, ready.Kubeconfig)
		return err
	}
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	options := supervisor.Options{AuditLog: f.audit}
	if name == "serve" {
		return supervisor.Serve(ctx, binary, options, os.Stdin, out)
	}
	signal.Ignore(syscall.SIGPIPE) // up may be gone when the cluster is ready
	return supervisor.Supervise(ctx, binary, f.dir, options, out)
}

func parse(name string, args []string) (flags, error) {
	var f flags
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	switch name {
	case "serve":
		set.StringVar(&f.audit, "audit-log", "", "write the API server's audit log, level Metadata, to this `file`")
	case "up", "supervise":
		set.StringVar(&f.audit, "audit-log", "", "write the API server's audit log, level Metadata, to this `file`")
		set.StringVar(&f.dir, "dir", ".cluster", "the `folder` of the cluster")
	case "down", "status", "kubeconfig":
		set.StringVar(&f.dir, "dir", ".cluster", "the `folder` of the cluster")
	default:
		fmt.Fprint(os.Stderr, usage)
		if name == "help" || name == "-h" || name == "--help" {
			return f, flag.ErrHelp
		}
		return f, fmt.Errorf("no command is called %q", name)
	}
	if err := set.Parse(args); err != nil {
		return f, err
	}
	if set.NArg() > 0 {
		return f, fmt.Errorf("%s takes no argument, not %q", name, set.Arg(0))
	}
	// The processes of the cluster run in folders of their own.
	for _, path := range []*string{&f.dir, &f.audit} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return f, fmt.Errorf("finding %q: %w", *path, err)
		}
		*path = absolute
	}
	return f, nil
}

func up(ctx context.Context, f flags, out io.Writer) error {
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	// No CommandContext: the supervisor outlives this process.
	command := exec.Command(binary, "supervise", "--dir="+f.dir, "--audit-log="+f.audit)
	ready, err := supervisor.Up(ctx, f.dir, command)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "The cluster is ready.\nexport KUBECONFIG=%s\n", ready.Kubeconfig)
	return err
}

func status(ctx context.Context, f flags, out io.Writer) error {
	ready, err := supervisor.Running(f.dir)
	if err != nil {
		return err
	}
	if err := supervisor.Ping(ctx, ready.Kubeconfig); err != nil {
		return fmt.Errorf("asking the API server: %w", err)
	}
	_, err = fmt.Fprintf(out, "The cluster is running in %s.\n", ready.Dir)
	return err
}
