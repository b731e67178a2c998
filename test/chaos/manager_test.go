package chaos_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/orkspace/orkestra/controllers"
)

// instance is one manager, from its start to its end.
type instance interface {
	// kill ends it at once. What it had begun inside this process may go on, but reaches nobody.
	kill()
	// stop ends it in good order, and waits.
	stop() error
	// wait returns when nothing of it runs any more.
	wait()
	// metrics writes its series as Prometheus reads them.
	metrics(context.Context) (string, error)
}

// managers runs one manager at a time, and another one when it is killed.
type managers struct {
	proxy   *proxy
	clock   *jumpyClock
	process bool   // a process of its own: the real binary
	binary  string // of it
	out     string // where its log goes
	dir     string

	mu      sync.Mutex
	gate    *gate         // guarded by mu
	current instance      // guarded by mu
	past    []instance    // guarded by mu
	stopped bool          // guarded by mu
	failed  error         // guarded by mu: why there is no manager
	deaths  chan struct{} // one for each kill
	ended   chan struct{} // closed when run has returned
}

// run starts a manager, and another one for each that dies, until the deaths are closed.
func (m *managers) run() {
	defer close(m.ended)
	m.start()
	for range m.deaths {
		f := killed
		if m.process {
			f = killedProcess
		}
		m.proxy.plan.count(f)
		m.mu.Lock()
		m.gate.sever()
		if m.current != nil {
			m.current.kill()
			m.past = append(m.past, m.current)
		}
		m.mu.Unlock()
		m.start()
	}
}

// start tries until it works: a manager may not even come up when the first requests fail, and is started again then, as Kubernetes would.
func (m *managers) start() {
	for {
		m.mu.Lock()
		if m.stopped {
			m.mu.Unlock()
			return
		}
		gate, err := m.proxy.open(func() { m.deaths <- struct{}{} })
		if err == nil {
			m.gate = gate
			if m.process {
				m.current, err = startProcess(gate.url, m.binary, m.dir, m.out)
			} else {
				m.current, err = startInProcess(gate.url, m.clock)
			}
		}
		m.failed = err
		if err != nil && gate != nil {
			m.current = nil
			gate.sever()
		}
		m.mu.Unlock()
		if err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// stop ends the manager and everything that is left of those that were killed.
func (m *managers) stop() error {
	m.mu.Lock()
	m.stopped = true
	m.mu.Unlock()
	close(m.deaths)
	<-m.ended
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.failed
	if m.current != nil {
		err = errors.Join(err, m.current.stop())
	}
	for _, old := range m.past {
		old.wait()
	}
	if m.gate != nil {
		m.gate.sever()
	}
	return err
}

// series gives the values of a family by the labels of a box, added up.
func (m *managers) series(ctx context.Context, family, box string, without ...string) (float64, error) {
	m.mu.Lock()
	current := m.current
	m.mu.Unlock()
	if current == nil {
		return 0, errors.New("there is no manager")
	}
	text, err := current.metrics(ctx)
	if err != nil {
		return 0, err
	}
	total := 0.0
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		line := lines.Text()
		skip := !strings.HasPrefix(line, family+"{") || !strings.Contains(line, `box="`+box+`"`)
		for _, label := range without {
			skip = skip || strings.Contains(line, label)
		}
		if skip {
			continue
		}
		value, err := strconv.ParseFloat(line[strings.LastIndex(line, " ")+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("reading %q: %w", line, err)
		}
		total += value
	}
	return total, nil
}

// inProcess is a manager in this process.
type inProcess struct {
	registry *prometheus.Registry
	cancel   context.CancelFunc
	done     chan struct{}
	err      error // set before done is closed
}

func startInProcess(url string, clock *jumpyClock) (*inProcess, error) {
	config := &rest.Config{Host: url, QPS: -1, Burst: -1}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)}, // one after the other in this process
		Scheme:     scheme, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Logger: logger, NewClient: controllers.NewClient, NewCache: controllers.NewCache,
	})
	if err != nil {
		return nil, err
	}
	p := &inProcess{registry: prometheus.NewRegistry(), done: make(chan struct{})}
	if err := controllers.Setup(mgr, controllers.Options{Registry: p.registry, Clock: clock, Namespace: managerNamespace}); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	go func() {
		defer close(p.done)
		p.err = mgr.Start(ctx)
	}()
	return p, nil
}

func (p *inProcess) kill() { p.cancel() }

func (p *inProcess) wait() { <-p.done }

func (p *inProcess) stop() error {
	p.cancel()
	<-p.done
	return p.err
}

func (p *inProcess) metrics(ctx context.Context) (string, error) {
	answer := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/metrics", nil)
	promhttp.HandlerFor(p.registry, promhttp.HandlerOpts{}).ServeHTTP(answer, request)
	return answer.Body.String(), nil
}

// process is a manager in a process of its own.
type process struct {
	command *exec.Cmd
	metric  string
	done    chan struct{}
	err     error // set before done is closed
}

func startProcess(url, binary, dir, out string) (*process, error) {
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["proxy"] = &clientcmdapi.Cluster{Server: url}
	kubeconfig.Contexts["proxy"] = &clientcmdapi.Context{Cluster: "proxy"}
	kubeconfig.CurrentContext = "proxy"
	file := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*kubeconfig, file); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return nil, err
	}
	p := &process{done: make(chan struct{}), metric: "http://" + address + "/metrics"}
	p.command = exec.Command(binary, "manager", "--kubeconfig", file, "--leader-elect=false",
		"--metrics-bind-address", address, "--metrics-secure=false", "--health-probe-bind-address", "0", "--namespace", managerNamespace)
	if out != "" {
		if p.command.Stderr, err = os.OpenFile(out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
			return nil, err
		}
	}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		p.err = p.command.Wait()
	}()
	return p, nil
}

func (p *process) kill() {
	_ = p.command.Process.Kill() // it may be gone already
	<-p.done
}

func (p *process) wait() { <-p.done }

func (p *process) stop() error {
	if err := p.command.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	<-p.done
	return p.err
}

func (p *process) metrics(ctx context.Context) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.metric, nil)
	if err != nil {
		return "", err
	}
	response, err := direct.Do(request)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	_, err = bufio.NewReader(response.Body).WriteTo(&b)
	return b.String(), errors.Join(err, response.Body.Close())
}

// jumpyClock is the real clock, but for what somebody did to it.
type jumpyClock struct {
	clock.RealClock

	offset atomic.Int64 // nanoseconds
}

func (c *jumpyClock) Now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

func (c *jumpyClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
