package e2e_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	coordinationv1 "k8s.io/api/coordination/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// alteration is a request of a process that changes something in the cluster, reviews left out.
type alteration struct {
	process, method, path string
	arrived               time.Time
	holder                string // of the lease, where this is one
	code                  int    // of the answer; 0: there was none
}

func (c *alteration) ofLease() bool { return strings.Contains(c.path, "/leases") }

// journal is what some processes have changed, in the order in which it arrived.
type journal struct {
	mu     sync.Mutex
	all    []*alteration
	before func(alteration) // told of a change before it is passed on; guarded by mu
}

// tell has a function told of each change before it is passed on.
func (j *journal) tell(before func(alteration)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.before = before
}

// mark gives the place in the journal from which a spec reads on.
func (j *journal) mark() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.all)
}

// since gives the changes since a mark, of one process: of the lease, or all others.
func (j *journal) since(mark int, process string, lease bool) []alteration {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []alteration
	for _, c := range j.all[mark:] {
		if c.process == process && c.ofLease() == lease {
			out = append(out, *c)
		}
	}
	return out
}

// proxy stands between a process and the API server, with the rights of the suite, and gives a kubeconfig.
func (j *journal) proxy(process string) string {
	GinkgoHelper()
	target, err := url.Parse(cluster.Config().Host)
	Expect(err).NotTo(HaveOccurred())
	transport, err := rest.TransportFor(cluster.Config())
	Expect(err).NotTo(HaveOccurred())
	forward := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1, // watches
		Transport:     transport,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || strings.HasSuffix(r.URL.Path, "reviews") {
			forward.ServeHTTP(w, r)
			return
		}
		c := &alteration{process: process, method: r.Method, path: r.URL.Path, arrived: time.Now()}
		if c.ofLease() {
			c.holder = holderIn(r)
		}
		j.mu.Lock()
		j.all = append(j.all, c)
		if j.before != nil {
			j.before(*c)
		}
		j.mu.Unlock()
		// What was sent is carried out, also when the process is gone.
		seen := &answer{ResponseWriter: w}
		forward.ServeHTTP(seen, r.WithContext(context.WithoutCancel(r.Context())))
		j.mu.Lock()
		c.code = seen.code
		j.mu.Unlock()
	}))
	DeferCleanup(server.Close)
	DeferCleanup(server.CloseClientConnections)
	config := clientcmdapi.NewConfig()
	config.Clusters["proxy"] = &clientcmdapi.Cluster{Server: server.URL}
	config.Contexts["proxy"] = &clientcmdapi.Context{Cluster: "proxy"}
	config.CurrentContext = "proxy"
	file := filepath.Join(GinkgoT().TempDir(), process)
	Expect(clientcmd.WriteToFile(*config, file)).To(Succeed())
	return file
}

// holderIn reads who holds the lease that is sent.
func holderIn(r *http.Request) string {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return "unread: " + err.Error()
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	decoded, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	lease, ok := decoded.(*coordinationv1.Lease)
	if err != nil || !ok {
		return "unread: " + string(body)
	}
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// answer notes the code of an answer.
type answer struct {
	http.ResponseWriter

	code int
}

func (a *answer) WriteHeader(code int) {
	a.code = code
	a.ResponseWriter.WriteHeader(code)
}

// Unwrap lets the proxy flush.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// replica is one process of `orkestra manager`.
type replica struct {
	*gexec.Session

	name, probes string
	journal      *journal
}

// startReplica starts a process whose lease is in the world's namespace.
func (w *world) startReplica(j *journal, name, binary string, args ...string) *replica {
	GinkgoHelper()
	r := &replica{name: name, probes: freeAddress(), journal: j}
	command := exec.Command(binary, append([]string{
		"manager", "--kubeconfig", j.proxy(name), "--namespace", w.namespace, "--metrics-bind-address", "0",
		"--health-probe-bind-address", r.probes, "--shutdown-timeout", "10s", "--log-format", "text",
	}, args...)...)
	var err error
	r.Session, err = gexec.Start(command, GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { r.Kill().Wait() })
	return r
}

// ready waits until its caches are full.
func (r *replica) ready(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		code, body, err := fetch(ctx, "http://"+r.probes+"/readyz", "")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(code).To(Equal(http.StatusOK), body)
	}).WithContext(ctx).Should(Succeed())
}

// leads waits until the process holds the lease, and gives its identity.
func (r *replica) leads(ctx context.Context) (identity string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		mine := r.renewals(0)
		g.Expect(mine).NotTo(BeEmpty())
		identity = mine[len(mine)-1].holder
		g.Expect(identity).NotTo(BeEmpty())
	}).WithContext(ctx).Should(Succeed())
	return identity
}

// renewals are the changes of the lease since a mark that succeeded.
func (r *replica) renewals(mark int) []alteration {
	return slices.DeleteFunc(r.journal.since(mark, r.name, true), func(c alteration) bool { return c.code >= 300 || c.code == 0 })
}

// wrote are the other changes since a mark.
func (r *replica) wrote(mark int) []alteration { return r.journal.since(mark, r.name, false) }
