package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// service is a host that boxes call.
type service struct {
	url string

	mu     sync.Mutex
	status int      // guarded by mu
	limit  string   // what it answers; guarded by mu
	token  string   // that it wants; empty: none; guarded by mu
	asked  []string // method, path, Idempotency-Key and body of each request; guarded by mu
}

// newService starts a service that ends with the spec.
func newService() *service {
	s := &service{status: http.StatusOK, limit: "1"}
	server := httptest.NewServer(s)
	s.url = server.URL
	DeferCleanup(server.Close)
	return s
}

// ServeHTTP implements http.Handler.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, strings.TrimSpace(strings.Join([]string{r.Method, r.URL.EscapedPath(), r.Header.Get("Idempotency-Key"), string(body)}, " ")))
	switch {
	case r.URL.Path == "/metadata":
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
	case s.token != "" && r.Header.Get("Authorization") != "Bearer "+s.token:
		w.WriteHeader(http.StatusUnauthorized)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(s.status)
		fmt.Fprintf(w, `{"limit": %q}`, s.limit) //nolint:errcheck // who asked may be gone
	}
}

// answers changes what the service says from now on.
func (s *service) answers(change func(s *service)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// requests gives what the service was asked so far.
func (s *service) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// quota is a box that puts the limit that a service answers into a ConfigMap. more are further fields of the call.
func (s *service) quota(resync, more string) string {
	return fmt.Sprintf(`
resync: %s
external:
- name: quota
  url: "%s/v1/{{ .metadata.name }}"
%s
onReconcile:
  configmaps:
  - data:
      value: "{{ .external.quota.limit | default .external.quota.error }}"
`, resync, s.url, more)
}

var _ = Describe("External calls", func() {
	It("read into children, and a cycle that changes nothing sends nothing to the API server", func(ctx context.Context) {
		w, s := newWorld(ctx), newService()
		w.running(ctx, w.box(ctx, s.quota("1h", "")))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		w.holds(ctx, "web", "1")

		asked := len(s.requests())
		nothingSent(ctx, w, "web")
		Expect(len(s.requests())).To(BeNumerically(">", asked), "an evaluated cycle calls again")
	})

	It("see a new value once per resync, and when a kept answer is too old", func(ctx context.Context) {
		w, s := newWorld(ctx), newService()
		w.running(ctx, w.box(ctx, s.quota("1s", "")))
		w.website(ctx, "web", `{}`)
		w.holds(ctx, "web", "1")
		s.answers(func(s *service) { s.limit = "2" })
		w.holds(ctx, "web", "2")

		other, kept := newWorld(ctx), newService()
		other.running(ctx, other.box(ctx, strings.ReplaceAll(kept.quota("1h", "  cacheFor: 2s"), "/v1/{{ .metadata.name }}", "/v1")))
		for _, name := range names(5) {
			other.website(ctx, name, `{}`)
		}
		for _, name := range names(5) {
			other.settled(ctx, name)
		}
		kept.answers(func(s *service) { s.limit = "2" })
		for _, name := range names(5) {
			other.holds(ctx, name, "2")
		}
	})

	It("see the rotation and the arrival of a Secret", func(ctx context.Context) {
		w, s := newWorld(ctx), newService()
		s.answers(func(s *service) { s.token = "one" })
		w.running(ctx, w.box(ctx, s.quota("1h", "  auth: {secretRef: {name: quota}}")))
		w.website(ctx, "web", `{}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonExternalFailed,
			fmt.Sprintf("external: quota: auth.secretRef: Secret %q does not exist", w.namespace+"/quota"))
		Expect(s.requests()).To(BeEmpty())

		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "quota"}, StringData: map[string]string{"token": "one\n"}}
		Expect(kube.Create(ctx, secret)).To(Succeed())
		w.holds(ctx, "web", "1")
		w.settled(ctx, "web")

		s.answers(func(s *service) { s.token, s.limit = "two", "2" })
		secret.Data["token"] = []byte("two")
		Expect(kube.Update(ctx, secret)).To(Succeed())
		w.holds(ctx, "web", "2")

		By("saying what a wrong credential leads to, and going on when it is mended")
		secret.Data["token"] = []byte("wrong")
		Expect(kube.Update(ctx, secret)).To(Succeed())
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonExternalFailed,
			fmt.Sprintf("external: quota: GET %s: answered 401 Unauthorized, expected 200", s.url))
		w.holds(ctx, "web", "2")
		secret.Data["token"] = []byte("two")
		Expect(kube.Update(ctx, secret)).To(Succeed())
		w.settled(ctx, "web")
	})

	It("go on after a failure that a box puts up with", func(ctx context.Context) {
		w, s := newWorld(ctx), newService()
		s.answers(func(s *service) { s.status = http.StatusServiceUnavailable })
		w.running(ctx, w.box(ctx, s.quota("1s", "  onError: Continue\n  retries: 0")))
		w.website(ctx, "web", `{}`)
		w.holds(ctx, "web", fmt.Sprintf("GET %s: answered 503 Service Unavailable, expected 200", s.url))
		w.settled(ctx, "web")
		s.answers(func(s *service) { s.status = http.StatusOK })
		w.holds(ctx, "web", "1")
	})

	It("are tried again after a failure, and recover", func(ctx context.Context) {
		w, s := newWorld(ctx), newService()
		s.answers(func(s *service) { s.status = http.StatusServiceUnavailable })
		w.running(ctx, w.box(ctx, s.quota("1m", "  retries: 0")))
		w.website(ctx, "web", `{}`)
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError,
			fmt.Sprintf("external: quota: GET %s: answered 503 Service Unavailable, expected 200", s.url))
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonRetrying, "answered 503")
		w.absent(ctx, "web")
		s.answers(func(s *service) { s.status = http.StatusOK })
		w.holds(ctx, "web", "1")
		w.settled(ctx, "web")
	})

	It("that change something are made once per generation, also when the manager is restarted", func(ctx context.Context) {
		w, s := newWorld(ctx), newService()
		w.running(ctx, w.box(ctx, fmt.Sprintf(`
resync: 1s
external:
- {name: notify, method: POST, url: "%s/notify", body: "image {{ .spec.image }}"}
onReconcile:
  configmaps:
  - data: {value: called}
    when: [{field: external.notify.called, equals: true}]
`, s.url)))
		web := w.website(ctx, "web", `{image: a}`)
		w.holds(ctx, "web", "called")
		obj := w.settled(ctx, "web")
		once := fmt.Sprintf("POST /notify %s-%d-notify image a", obj.GetUID(), obj.GetGeneration())
		Expect(s.requests()).To(Equal([]string{once}))
		Expect(obj.GetAnnotations()).To(HaveKeyWithValue(v1alpha1.AnnotationCalled, fmt.Sprintf(`{"notify":%d}`, obj.GetGeneration())))

		manager.stop()
		manager = startManager(cluster.Config())
		Eventually(func(g Gomega) {
			g.Expect(manager.evaluations(g, w.id)).To(BeNumerically(">=", 1))
		}).WithContext(ctx).Should(Succeed())
		w.overwrites(ctx, "web", "by hand")
		w.holds(ctx, "web", "called")
		Expect(s.requests()).To(Equal([]string{once}))

		w.website(ctx, web.GetName(), `{image: b}`)
		second := fmt.Sprintf("POST /notify %s-%d-notify image b", obj.GetUID(), obj.GetGeneration()+1)
		Eventually(s.requests).WithContext(ctx).Should(Equal([]string{once, second}))
		w.settled(ctx, "web")
		Expect(s.requests()).To(Equal([]string{once, second}))
	})

	It("reach no address that is not public, by a redirect either", func(ctx context.Context) {
		w, s := newWorld(ctx), newService()
		for i, url := range []string{s.url + "/metadata", "http://169.254.169.254/latest/meta-data", "http://[::ffff:10.0.0.1]/"} {
			By(url)
			name := fmt.Sprintf("web-%d", i)
			w.running(ctx, w.box(ctx, fmt.Sprintf(`{external: [{name: quota, url: %q}]}`, url)))
			w.website(ctx, name, `{}`)
			w.shows(ctx, name, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonExternalFailed, "has an address that is not public")
		}
	})

	It("go where their URL leads, whatever a resource says", func(ctx context.Context) {
		w, s := newWorld(ctx), newService()
		w.running(ctx, w.box(ctx, fmt.Sprintf(`{external: [{name: quota, url: "%s/teams/{{ .spec.mode }}/quota"}]}`, s.url)))
		w.website(ctx, "above", `{mode: "x/../../admin?all="}`)
		w.shows(ctx, "above", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, "may lead to another path")
		Expect(s.requests()).To(BeEmpty())
		w.website(ctx, "beside", `{mode: "a/b?c"}`)
		w.settled(ctx, "beside")
		Expect(s.requests()).To(ConsistOf("GET /teams/a%2Fb%3Fc/quota"))
	})

	It("to a host that hangs hold up no other box", func(ctx context.Context) {
		w, other, short := newWorld(ctx), newWorld(ctx), newWorld(ctx)
		done := make(chan struct{})
		var once sync.Once
		release := func() { once.Do(func() { close(done) }) }
		hanging := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			<-done
			fmt.Fprint(w, "fine") //nolint:errcheck // who asked may be gone
		}))
		DeferCleanup(hanging.Close)
		DeferCleanup(release)
		// As many resources as there may be reconciles wait for the host, for longer than this spec waits for anything.
		w.running(ctx, w.box(ctx, fmt.Sprintf(`{workers: 64, external: [{name: quota, url: %q, timeout: 80s, retries: 0}]}`, hanging.URL)))
		other.running(ctx, other.box(ctx, oneMap(1, "fine")))
		short.running(ctx, short.box(ctx, fmt.Sprintf(`{external: [{name: quota, url: %q, timeout: 500ms, retries: 0}]}`, hanging.URL)))
		for _, name := range names(64) {
			w.website(ctx, name, `{}`)
		}
		for _, name := range names(64) {
			Eventually(func(g Gomega) {
				g.Expect(w.get(ctx, g, name).GetFinalizers()).NotTo(BeEmpty(), "what comes before the call is done")
			}).WithContext(ctx).Should(Succeed())
		}
		other.website(ctx, "web", `{}`)
		other.holds(ctx, "web", "fine")
		other.settled(ctx, "web")
		short.website(ctx, "web", `{}`)
		short.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError,
			fmt.Sprintf("external: quota: GET %s: no full answer within 500ms", hanging.URL))
		release()
		for _, name := range names(64) {
			w.settled(ctx, name)
		}
	})
})
