// Package supervisor runs the processes of one local cluster: etcd, the control plane of Kubernetes, and kwok in place of
// the nodes. All of them are this binary under another first argument, and none of them outlives the supervisor.
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/orkspace/orkestra/test/cluster/internal/folder"
)

// collectsLate: by default every seventh of the API server's processor time goes into collecting garbage, though its heap is small.
const collectsLate = "GOGC=300"

// startTimeout is generous: the machine may be building something else at the same time.
const startTimeout = 3 * time.Minute

// Options change how a cluster is run.
type Options struct {
	// AuditLog is the absolute path of the file for the API server's audit log, level Metadata. Empty means none.
	AuditLog string
}

// Supervisor owns the processes of one cluster. It is used by one goroutine, locked to one thread: see startProcess.
type Supervisor struct {
	options   Options
	binary    string
	folder    *folder.Folder
	ports     map[string]*port
	processes map[string]*process
	client    kubernetes.Interface
}

// New prepares the files and ports of a cluster in a folder; binary is this program. Close must be called afterwards, and also
// removes the folder.
func New(folder *folder.Folder, binary string, options Options, now time.Time) (*Supervisor, error) {
	s := &Supervisor{
		options:   options,
		binary:    binary,
		folder:    folder,
		ports:     map[string]*port{},
		processes: map[string]*process{},
	}
	if err := s.prepare(now); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Supervisor) prepare(now time.Time) error {
	for _, name := range []string{apiServer, controllerManager, scheduler} {
		p, err := reservePort()
		if err != nil {
			return err
		}
		s.ports[name] = p
	}
	if err := s.writeFiles(now); err != nil {
		return err
	}
	client, err := newClient(s.folder.File(adminKubeconfigFile))
	if err != nil {
		return err
	}
	s.client = client
	return nil
}

// Run starts all components and returns when the cluster can be used.
func (s *Supervisor) Run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for _, name := range []string{etcd, apiServer} {
		if err := s.Start(ctx, name); err != nil {
			return err
		}
	}
	// The others need the roles that the API server makes for them before it calls itself ready.
	for _, name := range []string{controllerManager, scheduler, collector, kwok} {
		if err := s.launch(name); err != nil {
			return err
		}
	}
	if err := createNode(ctx, s.client); err != nil {
		return err
	}
	return s.waitUsable(ctx)
}

// Start starts a component that does not run, and waits until it is ready.
func (s *Supervisor) Start(ctx context.Context, name string) error {
	if err := s.launch(name); err != nil {
		return err
	}
	return s.waitReady(ctx, name)
}

// Stop ends a component, and waits for it.
func (s *Supervisor) Stop(name string) error {
	return s.end(name, grace)
}

// Kill ends a component as a crash would.
func (s *Supervisor) Kill(name string) error {
	return s.end(name, 0)
}

// Close kills all components, since nothing in the folder must be kept, and removes the folder.
func (s *Supervisor) Close() error {
	var errs []error
	for _, p := range s.processes {
		errs = append(errs, p.signal(syscall.SIGKILL))
	}
	for _, p := range s.processes {
		<-p.done
	}
	for _, p := range s.ports {
		errs = append(errs, p.release())
	}
	return errors.Join(append(errs, s.folder.Remove())...)
}

// Failure returns the error of a component that ended by itself since it was started.
func (s *Supervisor) Failure() error {
	for _, name := range components() {
		if p, ok := s.processes[name]; ok {
			if err := p.failure(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Supervisor) end(name string, grace time.Duration) error {
	p, ok := s.processes[name]
	if !ok {
		return fmt.Errorf("stopping %q: it does not run", name)
	}
	if err := p.stop(grace); err != nil {
		return err
	}
	delete(s.processes, name)
	return nil
}

func (s *Supervisor) launch(name string) error {
	if p, ok := s.processes[name]; ok && p.failure() == nil {
		return fmt.Errorf("starting %q: it runs already", name)
	}
	args, err := s.arguments(name)
	if err != nil {
		return fmt.Errorf("starting %q: %w", name, err)
	}
	cmd := exec.Command(s.binary, append([]string{name}, args...)...)
	cmd.Dir = s.folder.Path()
	// Nothing of the caller's surroundings may change what a component does: no proxies, no home with configuration.
	cmd.Env = []string{"HOME=" + s.folder.Path(), "TMPDIR=" + s.folder.Path(), "PATH=" + os.Getenv("PATH"), collectsLate}
	p, err := startProcess(name, s.folder.File(logFile(name)), cmd)
	if err != nil {
		return err
	}
	s.processes[name] = p
	return nil
}

func (s *Supervisor) server() string {
	return s.address(apiServer)
}

func (s *Supervisor) address(name string) string {
	return "https://" + loopback + ":" + strconv.Itoa(s.ports[name].number)
}
