package e2e_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// catalog stands in for the catalog of backups that the sample BackupSchedule talks to.
type catalog struct {
	server *httptest.Server

	mu   sync.Mutex
	down bool     // guarded by mu
	told []notice // guarded by mu
}

// notice is one call.
type notice struct {
	path, token, key string
	body             map[string]any
}

// startCatalog starts one that answers nobody.
func startCatalog() *catalog {
	c := &catalog{down: true}
	c.server = httptest.NewServer(c)
	DeferCleanup(c.server.Close)
	return c
}

// ServeHTTP implements http.Handler. While it is down, it ends the connection without a word.
func (c *catalog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down {
		panic(http.ErrAbortHandler)
	}
	n := notice{path: r.URL.Path, token: r.Header.Get("Authorization"), key: r.Header.Get("Idempotency-Key")}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&n.body) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.told = append(c.told, n)
	w.WriteHeader(http.StatusCreated)
}

func (c *catalog) set(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = down
}

func (c *catalog) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = nil
}

func (c *catalog) notices() []notice {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.told
}

func nobodyAnswers(_ context.Context, l *life) { l.catalog.set(true) }

// answers checks that a schedule works and says so while the catalog does not answer, and then lets it.
func answers(ctx context.Context, l *life) {
	GinkgoHelper()
	now := l.settled(ctx)
	Expect(at(now.Object, "status.registered")).To(BeFalse())
	Expect(at(now.Object, "status.notice")).To(ContainSubstring("POST " + l.catalog.server.URL + ": "))
	l.asExpected(ctx)
	Expect(l.catalog.notices()).To(BeEmpty())
	l.catalog.set(false)
	Eventually(func(g Gomega) {
		// A host that failed is left alone for a moment, so one look may not be enough.
		now := get(ctx, g, l.resource)
		l.patch(ctx, now, `{"metadata":{"annotations":{"`+v1alpha1.AnnotationReconcileAt+`":"`+now.GetResourceVersion()+`"}}}`)
		g.Expect(at(now.Object, "status.registered")).To(BeTrue())
		g.Expect(at(now.Object, "status.notice")).To(Equal("the catalog knows this schedule"))
	}).WithContext(ctx).WithPolling(300 * time.Millisecond).Should(Succeed())
}

// wasToldOnce checks that the catalog was told once of each generation whose schedule was valid, whatever else has happened.
func wasToldOnce(ctx context.Context, l *life) {
	GinkgoHelper()
	uid := string(get(ctx, Default, l.resource).GetUID())
	body := func(schedule string) map[string]any {
		return map[string]any{"namespace": "default", "name": "uploads", "schedule": schedule, "bucket": "acme-backups"}
	}
	call := func(generation, schedule string) notice {
		return notice{path: "/v1/schedules", token: "Bearer example", key: uid + "-" + generation + "-catalog", body: body(schedule)}
	}
	// The third generation had the bad value; the fourth took it back.
	Expect(l.catalog.notices()).To(Equal([]notice{call("1", "30 3 * * *"), call("2", "45 3 * * *"), call("4", "45 3 * * *")}))
}
