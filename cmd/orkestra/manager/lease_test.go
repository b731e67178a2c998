package manager

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// nowhere is where a process serves the Control Center that does not.
func nowhere() map[string]string { return nil }

// TestTheLeaseHasAConnectionOfItsOwn: whatever else a process asks for, and however slowly that is answered, the lease is renewed.
func TestTheLeaseHasAConnectionOfItsOwn(t *testing.T) {
	g := NewWithT(t)
	var (
		mu    sync.Mutex
		peers = map[string]map[string]bool{} // what is asked for, over which connections
	)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		kind := "boxes"
		if strings.HasSuffix(r.URL.Path, "/namespaces/orkestra-system/leases/orkestra-leader") {
			kind = "lease"
		}
		if peers[kind] == nil {
			peers[kind] = map[string]bool{}
		}
		peers[kind][r.RemoteAddr] = true
		g.Expect(r.ProtoMajor).To(Equal(2), "a connection serves many requests at a time")
		http.NotFound(w, r)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, QPS: 1, Burst: 1, TLSClientConfig: rest.TLSClientConfig{
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}}
	lock, err := newLeaderLock(config, "orkestra-system", nowhere)
	g.Expect(err).NotTo(HaveOccurred())
	others, err := rest.HTTPClientFor(config)
	g.Expect(err).NotTo(HaveOccurred())
	for range 3 {
		_, _, err := lock.Get(t.Context())
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/apis", http.NoBody)
		g.Expect(err).NotTo(HaveOccurred())
		response, err := others.Do(r)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(response.Body.Close()).To(Succeed())
	}
	mu.Lock()
	defer mu.Unlock()
	g.Expect(peers["lease"]).To(HaveLen(1))
	g.Expect(peers["boxes"]).To(HaveLen(1))
	g.Expect(peers["lease"]).NotTo(Equal(peers["boxes"]))
}

// TestProcessesAreToldApart: two on one machine, such as a Pod and its successor, compete for the lease.
func TestProcessesAreToldApart(t *testing.T) {
	g := NewWithT(t)
	config := &rest.Config{Host: "https://127.0.0.1:1"}
	var locks [2]resourcelock.Interface
	for i := range locks {
		lock, err := newLeaderLock(config, "a", nowhere)
		g.Expect(err).NotTo(HaveOccurred())
		locks[i] = lock
	}
	g.Expect(locks[0].Identity()).NotTo(Equal(locks[1].Identity()))
	g.Expect(locks[0].Describe()).To(Equal("a/orkestra-leader"))
	g.Expect(renewDeadline).To(BeNumerically("<", LeaseDuration))
}
