package drain

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// leaseServer serves one Lease to those who watch it, and each change that is sent to it.
func leaseServer(t *testing.T, first map[string]string, changes <-chan map[string]string) *httptest.Server {
	t.Helper()
	lease := func(annotations map[string]string) map[string]any {
		return map[string]any{
			"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
			"metadata": map[string]any{"namespace": "ours", "name": LeaseName, "uid": "a", "resourceVersion": "1", "annotations": annotations},
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if r.URL.Path != "/apis/coordination.k8s.io/v1/namespaces/ours/leases" || query.Get("fieldSelector") != "metadata.name="+LeaseName {
			t.Errorf("asked for %s", r.URL)
		}
		w.Header().Set("Content-Type", "application/json")
		send := func(v any) {
			if err := json.NewEncoder(w).Encode(v); err != nil {
				t.Error(err)
			}
		}
		if query.Get("watch") == "" {
			send(map[string]any{
				"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": map[string]any{"resourceVersion": "1"}, "items": []any{lease(first)},
			})
			return
		}
		if query.Get("sendInitialEvents") != "" {
			send(map[string]any{"type": "ADDED", "object": lease(first)})
			send(map[string]any{"type": "BOOKMARK", "object": lease(map[string]string{metav1.InitialEventsAnnotationKey: "true"})})
		}
		for {
			_ = http.NewResponseController(w).Flush()
			select {
			case now := <-changes:
				send(map[string]any{"type": "MODIFIED", "object": lease(now)})
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// started is a Watch of a server, and a channel that gets a value at each change.
func started(t *testing.T, server *httptest.Server) (watch *Watch, told chan struct{}) {
	t.Helper()
	told = make(chan struct{}, 10)
	watch, err := NewWatch(&rest.Config{Host: server.URL}, "ours", nil, func() { told <- struct{}{} })
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	done := make(chan error)
	go func() { done <- watch.Start(t.Context()) }()
	t.Cleanup(func() {
		if err := <-done; err != nil { // the context of a test ends before its clean-up
			t.Error(err)
		}
	})
	return watch, told
}

func TestTheLeaseIsWatched(t *testing.T) {
	g := NewWithT(t)
	changes := make(chan map[string]string)
	watch, told := started(t, leaseServer(t, nil, changes))
	g.Expect(watch.Draining(t.Context())).To(BeFalse(), "nobody asks for it")
	changes <- asking("true")
	<-told
	g.Expect(watch.Draining(t.Context())).To(BeTrue())
	changes <- nil
	<-told
	g.Expect(watch.Draining(t.Context())).To(BeFalse(), "it was undone")
	g.Expect(watch.NeedLeaderElection()).To(BeFalse(), "followers must know too")
}

func TestADrainThatWasAskedForBefore(t *testing.T) {
	g := NewWithT(t)
	watch, _ := started(t, leaseServer(t, asking("true"), nil))
	g.Expect(watch.Draining(t.Context())).To(BeTrue(), "it waits until that is known")
}

func TestALeaseThatMayNotBeRead(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		if _, err := w.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}`)); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	watch, _ := started(t, server)
	g.Expect(watch.Draining(t.Context())).To(BeFalse(), "the manager works nevertheless")
}
