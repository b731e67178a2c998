// Command demo starts a local Kubernetes, or takes one that is there, and the manager, applies the Website sample, and shows what was
// made. On a terminal it then waits for Ctrl-C, so that the reader can try things; otherwise it ends. It leaves nothing behind.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/orkspace/orkestra/test/localcluster"
)

const (
	samples = "config/samples/website"
	crds    = "config/crd/bases"
	// loadBalancer is the step that waits for what only a cloud can give.
	loadBalancer = "Now the Website waits for the address of a load balancer:"
	// patience is how long any one step may take.
	patience = 2 * time.Minute
	// retry is the pause before a step is tried again.
	retry = 200 * time.Millisecond
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the `file` of a cluster to use, which must not have Orkestra; defaults to one that is started")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *kubeconfig)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// demo is one run.
type demo struct {
	cluster *localcluster.Cluster
	manager *exec.Cmd
	logFile string
}

func run(ctx context.Context, kubeconfig string) (err error) {
	began := time.Now()
	cluster, err := find(ctx, kubeconfig)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	d := &demo{cluster: cluster}
	if err := d.alone(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.uninstall(ctx)) }()
	if err := d.install(ctx); err != nil {
		return err
	}
	if err := d.startManager(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stopManager()) }()
	defer func() { err = errors.Join(err, d.removeSample(ctx)) }()
	if err := d.story(ctx); err != nil {
		return fmt.Errorf("%w (the manager's log is %s)", err, d.logFile)
	}
	say("It took %s.", time.Since(began).Round(time.Second))
	return d.linger(ctx)
}

// find starts a cluster, or connects to the one of a kubeconfig.
func find(ctx context.Context, kubeconfig string) (*localcluster.Cluster, error) {
	if kubeconfig != "" {
		say("Using the cluster of %s.", kubeconfig)
		cluster, err := localcluster.Connect(kubeconfig, localcluster.Options{})
		if err != nil {
			return nil, fmt.Errorf("using the cluster of %s: %w", kubeconfig, err)
		}
		return cluster, nil
	}
	say("Starting a local Kubernetes (API server, controller manager, scheduler, etcd; pods are simulated by kwok).")
	cluster, err := localcluster.Start(ctx, localcluster.Options{})
	if err != nil {
		return nil, fmt.Errorf("starting the cluster: %w", err)
	}
	return cluster, nil
}

func (d *demo) install(ctx context.Context) error {
	say("Installing the CRDs of Orkestra.")
	if _, err := d.kubectl(ctx, append([]string{"apply", "--server-side"}, installed...)...); err != nil {
		return err
	}
	var last error
	err := wait.PollUntilContextTimeout(ctx, retry, patience, true, func(ctx context.Context) (bool, error) {
		_, last = d.kubectl(ctx, "wait", "--for=condition=Established", "-f", crds, "--timeout=1m")
		return last == nil, nil // kubectl wait fails at once on a CRD that has no conditions yet
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}

// startManager runs the manager as a process of its own, as it would run in a pod.
func (d *demo) startManager(ctx context.Context) error {
	say("Starting the manager. It runs with the rights of the cluster's admin here, as with the chart's rbac.scope: cluster; docs/operations.md says how little it needs.")
	d.logFile = filepath.Join(os.TempDir(), "orkestra-demo-manager.log")
	log, err := os.Create(d.logFile)
	if err != nil {
		return fmt.Errorf("making the manager's log: %w", err)
	}
	defer func() { _ = log.Close() }() // the child has its own descriptor
	d.manager = exec.CommandContext(ctx, "bin/orkestra", "manager", "--kubeconfig", d.cluster.Kubeconfig(),
		"--metrics-bind-address=0", "--health-probe-bind-address=0", "--log-format=text")
	d.manager.Stdout, d.manager.Stderr = log, log
	d.manager.Cancel = func() error { return d.manager.Process.Signal(syscall.SIGTERM) }
	d.manager.WaitDelay = time.Minute
	if err := d.manager.Start(); err != nil {
		return fmt.Errorf("starting the manager: %w", err)
	}
	return nil
}

func (d *demo) stopManager() error {
	if err := d.manager.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("ending the manager: %w", err)
	}
	_ = d.manager.Wait() // it was told to end, so its exit status says nothing
	return os.Remove(d.logFile)
}

// story applies the sample, waits for each of its phases, and shows what came of it.
func (d *demo) story(ctx context.Context) error {
	steps := []struct {
		text string
		args []string
	}{
		{"Applying the CRD and the box of the Website sample.", []string{"apply", "-k", samples}},
		{"Waiting until the box runs.", []string{"wait", "--for=condition=Ready", "operatorbox/website", "--timeout=1m"}},
		{"Applying a Website.", []string{"apply", "-f", samples + "/website.yaml"}},
		{"Phase 1: the Deployment. Waiting for its pods.", []string{"wait", "--for=jsonpath={.status.readyReplicas}=2", "deployment/hello", "--timeout=1m"}},
		{"Phase 2: the Service, made because the pods are ready.", []string{"wait", "--for=create", "service/hello", "--timeout=1m"}},
		{loadBalancer, []string{
			"wait", "--for=jsonpath={.status.conditions[?(@.type==\"Reconciling\")].reason}=WaitingForGate", "website/hello", "--timeout=1m"}},
		{"", []string{"get", "websites"}},
		{"No cloud is here to give one, so this demo sets it, by patching the Service's status.", []string{
			"patch", "service/hello", "--subresource=status", "--type=merge", "-p", `{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.10"}]}}}`}},
		{"Phase 3: the Ingress.", []string{"wait", "--for=create", "ingress/hello", "--timeout=1m"}},
		{"Waiting until nothing is left to do.", []string{"wait", "--for=jsonpath={.status.conditions[?(@.type==\"Reconciling\")].status}=False", "website/hello", "--timeout=1m"}},
		{"What was made:", []string{"get", "deployments,services,ingresses", "-l", "orkestra-owner=hello"}},
		{"The operator and its health:", []string{"get", "obox,crdhealth"}},
		{"The Website and its conditions:", []string{"get", "websites"}},
		{"", []string{"get", "website/hello", "-o", `jsonpath={range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}`}},
	}
	for _, s := range steps {
		if s.text == loadBalancer && d.cluster.Existing() {
			continue // a cloud may have given the address already
		}
		if s.text != "" {
			say("%s", s.text)
		}
		out, err := d.kubectl(ctx, s.args...)
		if err != nil {
			return err
		}
		if s.args[0] == "get" {
			fmt.Println(out)
		}
	}
	return nil
}

// linger keeps everything running until Ctrl-C where a person is at a terminal, so that they can try things.
func (d *demo) linger(ctx context.Context) error {
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return nil
	}
	page, err := d.startPage(ctx)
	if err != nil {
		return err
	}
	fmt.Printf(`
Everything still runs. In another terminal:

  export KUBECONFIG=%s
%s  kubectl scale deployment/hello --replicas=7     # drift: it is put back at once
  kubectl patch website/hello --type=merge -p '{"spec":{"replicas":50}}'
  kubectl get websites; kubectl describe website hello

Ctrl-C ends it all.
`, absolute(d.cluster.Kubeconfig()), d.alias())
	<-ctx.Done()
	_ = page.Wait() // it was told to end, so its exit status says nothing
	return nil
}

// alias is a line that gives the reader a kubectl, where the cluster came with one.
func (d *demo) alias() string {
	if d.cluster.Existing() {
		return ""
	}
	return fmt.Sprintf("  alias kubectl=%q\n", absolute("bin/orkestra-cluster")+" kubectl")
}

// startPage serves the Control Center as a process of its own, until the context ends. It prints the address itself.
func (d *demo) startPage(ctx context.Context) (*exec.Cmd, error) {
	page := exec.CommandContext(ctx, "bin/orkestra", "ui", "--kubeconfig", d.cluster.Kubeconfig())
	page.Stdout, page.Stderr = os.Stdout, os.Stderr
	page.Cancel = func() error { return page.Process.Signal(syscall.SIGTERM) }
	page.WaitDelay = time.Minute
	if err := page.Start(); err != nil {
		return nil, fmt.Errorf("serving the Control Center: %w", err)
	}
	return page, nil
}

func (d *demo) kubectl(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return d.cluster.Kubectl(ctx, args...)
}

func say(format string, args ...any) { fmt.Printf("==> "+format+"\n", args...) }

func absolute(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return abs
}
