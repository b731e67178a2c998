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
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/tracing"
)

// spans are those that a manager in this process has made.
type spans struct{ tracetest.SpanStubs }

// of gives the spans of one reconcile of a resource in which one of a name is, each as its parents and itself; nil: there is no such reconcile.
func (s spans) of(resource, with string) (paths []string) {
	for _, root := range s.SpanStubs {
		if root.Parent.IsValid() || !slices.Contains(said(root), "orkestra.name="+resource) {
			continue
		}
		paths = s.below(root.SpanContext, root.Name)
		if slices.ContainsFunc(paths, func(path string) bool { return strings.HasSuffix(path, with) }) {
			return append(paths, root.Name)
		}
	}
	return nil
}

// below gives the spans under another, by their paths.
func (s spans) below(parent trace.SpanContext, path string) (paths []string) {
	for _, span := range s.SpanStubs {
		if span.Parent.SpanID() == parent.SpanID() && span.SpanContext.TraceID() == parent.TraceID() {
			paths = append(append(paths, path+" > "+span.Name), s.below(span.SpanContext, path+" > "+span.Name)...)
		}
	}
	return paths
}

// said are the attributes of a span, as name=value.
func said(span tracetest.SpanStub) (all []string) {
	for _, a := range span.Attributes {
		all = append(all, string(a.Key)+"="+a.Value.String())
	}
	return all
}

// find gives the attributes of the first span of a name that has one of them.
func (s spans) find(name, attribute string) []string {
	for _, span := range s.SpanStubs {
		if all := said(span); span.Name == name && slices.Contains(all, attribute) {
			return all
		}
	}
	return nil
}

// received remembers the headers of the requests that a server gets.
type received struct {
	mu  sync.Mutex
	all []http.Header // guarded by mu
}

// add is called with each request.
func (h *received) add(r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, r.Header)
}

// values gives those of one header, with "" where a request had none.
func (h *received) values(name string) (values []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, header := range h.all {
		values = append(values, header.Get(name))
	}
	return values
}

var _ = Describe("Traces", func() {
	It("have a span for each reconcile, stage, request and call, and no values", func(ctx context.Context) {
		const canary = "canary-of-the-trace"
		w, hook, books := newWorld(ctx), newHookServer((*httptest.Server).StartTLS), newShelf()
		exporter := tracetest.NewInMemoryExporter()
		replaceManager(func(s *settings) {
			s.orkestra.Tracer = tracing.New(sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)))
		})
		var asked received
		elsewhere := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			asked.add(r)
			fmt.Fprint(rw, canary) //nolint:errcheck // who asked may be gone
		}))
		DeferCleanup(elsewhere.Close)
		books.key = canary
		hook.trusted(ctx, w)
		hook.says(onePerKey)
		for name, key := range map[string]string{"library": "key", "quota": "token"} {
			Expect(kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, StringData: map[string]string{key: canary}})).To(Succeed())
		}
		w.running(ctx, w.box(ctx, fmt.Sprintf(`
validation: {rules: [{field: spec.mode, operator: notEquals, value: wrong, message: "%[1]s"}]}
external: [{name: quota, url: "%[2]s/%[1]s", query: {q: "{{ .spec.image }}"}, auth: {secretRef: {name: quota}}}]
reconciler: {hooks: {resources: [{kind: ConfigMap}], webhook: {url: %[3]q, caBundle: {name: webhook-ca}, retries: 0}}}
providers: {library: [{id: main, book: {name: "{{ .metadata.name }}-book", pages: "7"}, credentials: {secretRef: {name: library}}, endpoint: "%[4]s"}]}
onReconcile: {configmaps: [{data: {value: "{{ .spec.image }}"}}]}
status: {fields: [{path: phase, value: "{{ .spec.image }}"}]}
`, canary, elsewhere.URL, hook.URL, books.URL)))
		w.website(ctx, "web", fmt.Sprintf(`{image: %s, settings: {a: %s}}`, canary, canary))
		w.settled(ctx, "web")

		made := func() spans { return spans{exporter.GetSpans()} }
		Eventually(func() []string { return made().of("web", "provider call") }).WithContext(ctx).Should(ContainElements(
			"reconcile", "reconcile > gather", "reconcile > validation", "reconcile > external > external call", "reconcile > hook > webhook call",
			"reconcile > providers > provider call", "reconcile > status"))
		Expect(made().of("web", "onReconcile > apply configmaps")).NotTo(BeNil(), "%v", made().of("web", ""))
		Expect(made().of("web", "status > patch websites."+w.group+"/status")).NotTo(BeNil())
		Expect(made().find("reconcile", "orkestra.result=success")).To(ContainElements(
			"orkestra.box="+w.id, "orkestra.kind=Website."+w.group, "k8s.namespace.name="+w.namespace, "orkestra.name=web", "orkestra.action=Reconcile"))
		Expect(made().find("provider call", "orkestra.verb=ensure")).To(ContainElements("orkestra.provider=library", "orkestra.kind=book", "orkestra.result=success"))
		Expect(made().find("external call", "orkestra.name=quota")).To(ContainElements("http.request.method=GET", "http.response.status_code=200"))

		By("telling the webhook, and nobody else, to which trace a call belongs")
		parents := func() (all []string) {
			for _, s := range made().SpanStubs {
				if s.Name == "webhook call" {
					all = append(all, fmt.Sprintf("00-%s-%s-01", s.SpanContext.TraceID(), s.SpanContext.SpanID()))
				}
			}
			return all
		}
		heard := hook.heard()
		Expect(heard).NotTo(BeEmpty())
		for _, request := range heard { // a span is exported when its call has ended
			Eventually(parents).WithContext(ctx).Should(ContainElement(request.Header.Get("Traceparent")))
		}
		Expect(asked.values("Traceparent")).To(HaveEach(""))
		Expect(asked.values("Authorization")).To(HaveEach(ContainSubstring(canary)), "it was this service that was asked")

		By("failing")
		w.website(ctx, "bad", `{mode: wrong}`)
		w.shows(ctx, "bad", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, canary)
		Eventually(func() []string { return made().find("reconcile", "orkestra.name=bad") }).WithContext(ctx).ShouldNot(BeNil())
		Eventually(func() []string { return made().find("reconcile", "error.type=permanent") }).WithContext(ctx).Should(ContainElements("orkestra.name=bad", "orkestra.stage=validation"))
		Expect(made().find("validation", "error.type=permanent")).NotTo(BeNil())

		By("looking for values")
		Expect(fmt.Sprintf("%+v", made().SpanStubs)).NotTo(ContainSubstring(canary))
	})

	It("are sent to a collector, with their ids in the log, and what is left when the process ends", func(ctx context.Context) {
		w := newWorld(ctx)
		replaceManager()
		manager.stop()
		var sent received
		var mu sync.Mutex
		var bodies []string
		collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			sent.add(r)
			mu.Lock()
			defer mu.Unlock()
			bodies = append(bodies, r.URL.Path+" "+string(body))
		}))
		DeferCleanup(collector.Close)
		GinkgoT().Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
		GinkgoT().Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=shop")
		GinkgoT().Setenv("OTEL_BSP_SCHEDULE_DELAY", "3600000") // so that nothing is sent before the end
		process := w.served("0", "--tracing-ratio", "1")
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{data: {a: b}}]}}`))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		Expect(sent.values("X-Tenant")).To(BeEmpty())
		Expect(process.Terminate().Wait(patience)).To(HaveField("ExitCode()", 0))

		mu.Lock()
		defer mu.Unlock()
		Expect(bodies).NotTo(BeEmpty())
		Expect(bodies).To(HaveEach(HavePrefix("/v1/traces ")))
		Expect(strings.Join(bodies, "")).To(And(ContainSubstring("service.name"), ContainSubstring("apply configmaps"), ContainSubstring(w.id)))
		Expect(sent.values("X-Tenant")).To(HaveEach("shop"))
		Expect(string(process.Err.Contents())).To(MatchRegexp(`"msg":"Child written".*"trace_id":"[0-9a-f]{32}","span_id":"[0-9a-f]{16}"`))
	})
})
