package bench_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// contender is a binary that takes turns with others on one control plane, each as a user of its own.
type contender struct {
	column string
	// short stands for it in the names of resources.
	short string
	// kind of the resources that it makes three ConfigMaps for.
	kind string
	// chained is the kind of the resources whose children wait for each other.
	chained string
	// byHand says that it is written by hand, so that it has nothing that a box has.
	byHand bool
	// define is what is applied to have a text in one child of each resource of the kind.
	define func(text string) string
	// defining is how it is told of further kinds.
	defining *definitions
	command  []string
	// byEnvironment says that it has no flag for a kubeconfig, and finds the cluster by its environment.
	byEnvironment bool
	// beside is a program that runs with it and counts as it, with its arguments; empty: none.
	beside     []string
	kubeconfig string
	user       string
}

// ownNamespace is where the leases of contenders are, and what they say of them.
const ownNamespace = "orkestra-system"

// contenders are bin/orkestra, the one that BENCH_BINARY names, and the operator written by hand without and with what Orkestra does besides, which gets flags.
func (p *plane) contenders(b *testing.B, t *sheet, flags ...string) []*contender {
	b.Helper()
	must(b, p.kube.Create(b.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ownNamespace}}))
	all := []*contender{{column: ours, short: "o", kind: "Applied", command: managerCommand(filepath.Join("..", "..", "bin", "orkestra"))}}
	if t.binary != "" {
		all = append(all, &contender{column: other, short: "b", kind: "Applied", command: managerCommand(t.binary)})
	}
	byHand := append([]string{filepath.Join("..", "..", "bin", "baseline"), "--namespace=" + ownNamespace}, flags...)
	all = append(all,
		&contender{column: hand, short: "h", kind: "Handwritten", byHand: true, command: byHand},
		&contender{column: held, short: "f", kind: "Handwritten", byHand: true, command: append(slices.Clone(byHand), "--holds")})
	for _, c := range all {
		c.chained = "Chained"
		c.define = func(text string) string { return fmt.Sprintf(sideBox, usualResync, text) }
		c.defining = boxDefinitions()
	}
	p.admit(b, all)
	return all
}

// managerCommand runs one of our binaries.
func managerCommand(binary string) []string {
	return []string{binary, "manager", "--namespace=" + ownNamespace, "--metrics-bind-address=0", "--health-probe-bind-address=0"}
}

// admit makes each contender a user of its own, which may do everything.
func (p *plane) admit(b *testing.B, all []*contender) {
	b.Helper()
	for _, c := range all {
		if _, err := os.Stat(c.command[0]); err != nil {
			b.Fatalf("finding the binary of %s: %v; make bench and make bench-peers build what they need", c.column, err)
		}
		config, user := p.installed(b)
		c.user, c.kubeconfig = user, filepath.Join(b.TempDir(), c.short+".kubeconfig")
		out := clientcmdapi.NewConfig()
		out.Clusters["bench"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
		out.AuthInfos["bench"] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
		out.Contexts["bench"] = &clientcmdapi.Context{Cluster: "bench", AuthInfo: "bench", Namespace: "default"}
		out.CurrentContext = "bench"
		must(b, clientcmd.WriteToFile(*out, c.kubeconfig))
	}
}

// process is a contender that runs.
type process struct {
	command *exec.Cmd
	log     *os.File
	done    chan struct{}
	err     error    // set before done is closed
	beside  *process // what runs with it and counts as it; nil: nothing
}

// start runs the contender, with all its defaults. It is ended at the latest with the benchmark.
func (c *contender) start(b *testing.B) *process {
	b.Helper()
	command := slices.Clone(c.command)
	if !c.byEnvironment {
		command = append(command, "--kubeconfig="+c.kubeconfig)
	}
	p := c.run(b, command)
	if len(c.beside) > 0 {
		p.beside = c.run(b, c.beside)
	}
	return p
}

// run runs a program of the contender.
func (c *contender) run(b *testing.B, command []string) *process {
	b.Helper()
	log, err := os.CreateTemp(b.TempDir(), c.short+"-*.log")
	must(b, err)
	p := &process{command: exec.Command(command[0], command[1:]...), log: log, done: make(chan struct{})}
	p.command.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig)
	p.command.Stdout, p.command.Stderr = log, log
	must(b, p.command.Start())
	go func() {
		defer close(p.done)
		p.err = p.command.Wait()
	}()
	b.Cleanup(func() {
		_ = p.command.Process.Kill() // it has ended already, but where the benchmark failed
		<-p.done
		_ = log.Close() // the process wrote it
	})
	return p
}

// stop ends the process as the kubelet does.
func (p *process) stop() error {
	if p.beside != nil {
		if err := p.beside.stop(); err != nil {
			return err
		}
	}
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("ending %s: %w: %s", p.command.Path, err, p.said())
	}
	<-p.done
	if p.err != nil {
		return fmt.Errorf("%s ended: %w: %s", p.command.Path, p.err, p.said())
	}
	return nil
}

// ended says that the process has ended, though nobody asked it to.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// said is the end of what the process has printed.
func (p *process) said() string {
	text, err := os.ReadFile(p.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}

// ticks are the units of processor time in /proc, by the second: Linux has the same number on all machines.
const ticks = 100

// cpu is the processor time that the process has used, with what runs beside it.
func (p *process) cpu() (time.Duration, error) {
	own, err := p.ownCPU()
	if err != nil || p.beside == nil {
		return own, err
	}
	others, err := p.beside.cpu()
	return own + others, err
}

func (p *process) ownCPU() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.command.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("reading the processor time: %w", err)
	}
	_, rest, _ := strings.Cut(string(text), ") ") // behind the name, which may hold anything
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("reading the processor time: found %q", text)
	}
	var sum time.Duration
	for _, field := range fields[11:13] { // user, system
		n, err := strconv.Atoi(field)
		if err != nil {
			return 0, fmt.Errorf("reading the processor time: %w", err)
		}
		sum += time.Duration(n) * time.Second / ticks
	}
	return sum, nil
}

// rss is the memory of the process, with what runs beside it, in megabytes.
func (p *process) rss() (float64, error) {
	own, err := p.ownRSS()
	if err != nil || p.beside == nil {
		return own, err
	}
	others, err := p.beside.rss()
	return own + others, err
}

func (p *process) ownRSS() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("reading the memory: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if size, found := strings.CutPrefix(line, "VmRSS:"); found {
			kib, err := strconv.ParseFloat(strings.Fields(size)[0], 64)
			if err != nil {
				return 0, fmt.Errorf("reading the memory: %w", err)
			}
			return kib * 1024 / 1e6, nil
		}
	}
	return 0, fmt.Errorf("reading the memory: no VmRSS in %q", text)
}

// TestProcess: a process has used processor time and memory, and says why it ended.
func TestProcess(t *testing.T) {
	p := &process{command: &exec.Cmd{Process: &os.Process{Pid: os.Getpid()}}}
	for began := time.Now(); time.Since(began) < 50*time.Millisecond; {
	}
	used, err := p.cpu()
	if os.IsNotExist(err) {
		t.Skip("there is no /proc")
	}
	if err != nil || used <= 0 || used > time.Hour {
		t.Errorf("this process has used %s (%v)", used, err)
	}
	if megabytes, err := p.rss(); err != nil || megabytes < 5 || megabytes > 5000 {
		t.Errorf("this process takes %v MB (%v)", megabytes, err)
	}
}
