// Package localcluster gives a test process a Kubernetes cluster of its own: a real control plane that is built from source
// and dies with the process. It knows nothing of the product, and must not be imported by anything but tests and tools.
package localcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The environment that chooses the cluster.
const (
	// EnvBinary names the cluster binary, if Options does not.
	EnvBinary = "ORKESTRA_CLUSTER_BINARY"
	// EnvExisting, set to "true", says to use the cluster that KUBECONFIG names.
	EnvExisting = "USE_EXISTING_CLUSTER"
)

// ErrExisting is returned by what can only be done to a cluster that Start started.
var ErrExisting = errors.New("an existing cluster cannot be stopped and started")

// Options say how to start a cluster. The zero value will do.
type Options struct {
	// Binary is the cluster binary; defaults to EnvBinary, then to bin/orkestra-cluster in the repository.
	Binary string
	// AuditLog is a file for the API server's audit log, level Metadata; defaults to none. An existing cluster has none.
	AuditLog string
}

// Cluster is a running cluster. Its methods may be called from several goroutines.
type Cluster struct {
	config     *rest.Config
	kubeconfig string
	kubectl    string
	cache      string      // of kubectl, if the cluster has a folder
	supervisor *supervisor // nil for an existing cluster
}

// Start starts a cluster and returns when it can be used, or connects to an existing one if the environment says so. Stop
// must be called afterwards.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	if os.Getenv(EnvExisting) == "true" {
		kubeconfig := os.Getenv("KUBECONFIG")
		if kubeconfig == "" {
			return nil, fmt.Errorf("connecting to the existing cluster: %s is true but KUBECONFIG is empty", EnvExisting)
		}
		return Connect(kubeconfig, options)
	}
	binary, err := findBinary(options)
	if err != nil {
		return nil, fmt.Errorf("starting the cluster: %w", err)
	}
	s, err := startSupervisor(ctx, binary, options.AuditLog)
	if err != nil {
		return nil, fmt.Errorf("starting the cluster: %w", err)
	}
	c := &Cluster{
		kubeconfig: s.ready.Kubeconfig,
		kubectl:    s.ready.Kubectl,
		cache:      filepath.Join(s.ready.Dir, "kubectl-cache"),
		supervisor: s,
	}
	if c.config, err = clientcmd.BuildConfigFromFlags("", c.kubeconfig); err != nil {
		return nil, errors.Join(fmt.Errorf("reading the kubeconfig: %w", err), s.stop())
	}
	return c, nil
}

// Connect gives a cluster that is there already, by a kubeconfig file. It is left as it is: Stop does nothing to it.
func Connect(kubeconfig string, options Options) (*Cluster, error) {
	c := &Cluster{kubeconfig: kubeconfig}
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("connecting to the existing cluster: %w", err)
	}
	c.config = config
	if c.kubectl, err = exec.LookPath("kubectl"); err == nil {
		return c, nil
	}
	binary, err := findBinary(options)
	if err != nil {
		return nil, fmt.Errorf("finding kubectl, which is not in PATH either: %w", err)
	}
	c.kubectl = binary
	return c, nil
}

// Config returns a new client configuration for an administrator, without limits on the client's side.
func (c *Cluster) Config() *rest.Config {
	config := rest.CopyConfig(c.config)
	config.QPS = -1
	config.Burst = -1
	return config
}

// Kubeconfig returns the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string {
	return c.kubeconfig
}

// Existing says that the cluster was there before, and stays.
func (c *Cluster) Existing() bool {
	return c.supervisor == nil
}

// Kubectl runs kubectl and returns what it wrote to standard output; the error holds the rest.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) (string, error) {
	return c.runKubectl(ctx, "", args)
}

// KubectlApply applies manifests.
func (c *Cluster) KubectlApply(ctx context.Context, yaml string) (string, error) {
	return c.runKubectl(ctx, yaml, []string{"apply", "--filename=-"})
}

// Script runs a script of the shell in a folder, as a user would type it. In it kubectl speaks to this cluster, and the first words in skip
// are commands of kubectl that do nothing. The first command that fails ends it, and its error has what was printed.
func (c *Cluster) Script(ctx context.Context, folder, script string, skip ...string) error {
	const prelude = `set -eu
kubectl() {
  for skipped in $SKIP; do [ "$skipped" != "$1" ] || return 0; done
  $KUBECTL "$@"
}
`
	command := c.shell(ctx, prelude+script)
	command.Dir = folder
	command.Env = append(command.Env, "SKIP="+strings.Join(skip, " "))
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("running\n%s\n%w: %s", script, err, out)
	}
	return nil
}

// Typed runs commands one after the other, as somebody types them who looks for a cause: kubectl, and the program orkestra at a path, speak to this
// cluster, and one that fails is followed by the next. It gives what they printed; the error is of the last of them.
func (c *Cluster) Typed(ctx context.Context, orkestra, commands string) (string, error) {
	const prelude = `set -u
kubectl() { $KUBECTL "$@"; }
orkestra() { "$ORKESTRA" "$@"; }
`
	command := c.shell(ctx, prelude+commands)
	command.Env = append(command.Env, "ORKESTRA="+orkestra, "KUBECONFIG="+c.kubeconfig)
	out, err := command.CombinedOutput()
	return string(out), err
}

// shell is a script with the command of kubectl in a variable.
func (c *Cluster) shell(ctx context.Context, script string) *exec.Cmd {
	command := exec.CommandContext(ctx, "sh", "-c", script)
	command.Env = append(os.Environ(), "KUBECTL="+strings.Join(c.kubectlCommand(), " "))
	return command
}

// kubectlCommand is kubectl with the flags by which it speaks to this cluster.
func (c *Cluster) kubectlCommand() []string {
	command := []string{c.kubectl}
	if filepath.Base(c.kubectl) != "kubectl" {
		command = append(command, "kubectl") // the cluster binary
	}
	command = append(command, "--kubeconfig="+c.kubeconfig)
	if c.cache != "" {
		command = append(command, "--cache-dir="+c.cache) // another cluster may have had the same port
	}
	return command
}

func (c *Cluster) runKubectl(ctx context.Context, input string, args []string) (string, error) {
	full := append(c.kubectlCommand(), args...)
	var stdout, stderr strings.Builder
	command := exec.CommandContext(ctx, full[0], full[1:]...)
	command.Stdin = strings.NewReader(input)
	command.Stdout = &stdout
	command.Stderr = &stderr
	if err := command.Run(); err != nil {
		return stdout.String(), fmt.Errorf("running kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// StopAPIServer ends the API server; the rest of the cluster stays.
func (c *Cluster) StopAPIServer(ctx context.Context) error {
	return c.command(ctx, "stop kube-apiserver")
}

// KillAPIServer ends the API server as a crash would.
func (c *Cluster) KillAPIServer(ctx context.Context) error {
	return c.command(ctx, "kill kube-apiserver")
}

// StartAPIServer starts the API server again, at the same address and with the same data, and waits until it is ready.
func (c *Cluster) StartAPIServer(ctx context.Context) error {
	return c.command(ctx, "start kube-apiserver")
}

func (c *Cluster) command(ctx context.Context, line string) error {
	if c.supervisor == nil {
		return ErrExisting
	}
	return c.supervisor.command(ctx, line)
}

// Stop ends the cluster, unless it existed before. It returns an error if a process or the folder is left.
func (c *Cluster) Stop() error {
	if c.supervisor == nil {
		return nil
	}
	return c.supervisor.stop()
}
