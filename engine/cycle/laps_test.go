package cycle

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/tracing"
)

// traces gives a tracer of which a share is kept, and where.
func traces(share float64) (*tracing.Tracer, *tracetest.InMemoryExporter) {
	exporter := tracetest.NewInMemoryExporter()
	return tracing.New(sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithSampler(sdktrace.TraceIDRatioBased(share)))), exporter
}

// named gives the spans of a name.
func named(exporter *tracetest.InMemoryExporter, name string) (found []tracetest.SpanStub) {
	for _, s := range exporter.GetSpans() {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

// tells gives what a span tells under a key.
func tells(span tracetest.SpanStub, key string) string {
	for _, a := range span.Attributes {
		if string(a.Key) == key {
			return a.Value.String()
		}
	}
	return ""
}

// TestACycleIsATrace: one that runs a plan has its stages, one that is skipped is a span alone, and the log names those that are kept.
func TestACycleIsATrace(t *testing.T) {
	for name, share := range map[string]float64{"kept": 1, "not kept": 0} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r, s, _ := living(t, v1alpha1.OperatorBoxSpec{}, nil)
			tracer, exporter := traces(share)
			var lines []string
			r.Tracer, r.Log = tracer, funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{Verbosity: 9})
			key := client.ObjectKeyFromObject(s.resource)
			r.Reconcile(patience(t), key)
			r.states.of(key, "u1").own.version = "" // the cache shows what was written
			r.Reconcile(patience(t), key)
			if share == 0 {
				g.Expect(exporter.GetSpans()).To(BeEmpty())
				g.Expect(lines).NotTo(ContainElement(ContainSubstring("trace_id")))
				return
			}
			cycles := named(exporter, "reconcile")
			g.Expect(cycles).To(HaveLen(2))
			g.Expect([]string{tells(cycles[0], "orkestra.result"), tells(cycles[1], "orkestra.result")}).To(Equal([]string{"success", "skipped"}))
			g.Expect(tells(cycles[0], "orkestra.kind")).To(Equal("Website.demo.example.com"))
			for _, step := range []string{stage.StepGather, "metadata", "prune", stage.StepStatus} {
				made := named(exporter, step)
				g.Expect(made).To(HaveLen(1), step)
				g.Expect(made[0].Parent.SpanID()).To(Equal(cycles[0].SpanContext.SpanID()), step)
			}
		})
	}
}

func TestWhatIsLoggedNamesTheTrace(t *testing.T) {
	g := NewWithT(t)
	r, s, _ := living(t, v1alpha1.OperatorBoxSpec{}, nil)
	s.refuses = http.StatusInternalServerError
	tracer, exporter := traces(1)
	var lines []string
	r.Tracer, r.Log = tracer, funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	r.Reconcile(patience(t), client.ObjectKeyFromObject(s.resource))
	made := named(exporter, "reconcile")
	g.Expect(made).To(HaveLen(1))
	g.Expect(tells(made[0], "error.type")).NotTo(BeEmpty(), "the status was not written")
	of := made[0].SpanContext
	g.Expect(lines).NotTo(BeEmpty())
	g.Expect(lines).To(HaveEach(ContainSubstring(`"trace_id"="` + of.TraceID().String() + `" "span_id"="` + of.SpanID().String() + `"`)))
}

// TestAStageThatPanics: its span does not stay open, whether another step follows or none.
func TestAStageThatPanics(t *testing.T) {
	g := NewWithT(t)
	tracer, exporter := traces(1)
	ctx, span := tracer.Reconcile(t.Context(), "website", websites.GroupKind(), types.NamespacedName{Name: "web"})
	l := &laps{clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0)), box: "website"}
	l.Begin(ctx, "hook")
	l.Begin(ctx, "status")
	record := &Record{Decision: Decision{Action: Reconcile}, Class: pipeline.Panic}
	record.endTrace(span, l)
	g.Expect(exporter.GetSpans()).To(HaveLen(3))
	for _, name := range []string{"hook", "status", "reconcile"} {
		made := named(exporter, name)
		g.Expect(made).To(HaveLen(1), name)
		g.Expect(tells(made[0], "error.type")).To(Equal("panic"), name)
	}
}

func TestAStageThatFails(t *testing.T) {
	g := NewWithT(t)
	tracer, exporter := traces(1)
	ctx, _ := tracer.Reconcile(t.Context(), "website", websites.GroupKind(), types.NamespacedName{Name: "web"})
	l := &laps{clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0)), box: "website"}
	_, call := tracing.Call(l.Begin(ctx, "hook"), "quota", http.MethodGet, false)
	call.Answered("200", false)
	l.Lap("hook", stage.NewPermanent("Invalid", errors.New("the value secret")))
	made := named(exporter, "hook")
	g.Expect(made).To(HaveLen(1))
	g.Expect(tells(made[0], "error.type")).To(Equal("permanent"))
	g.Expect(made[0].Status).To(Equal(sdktrace.Status{Code: codes.Error}))
	g.Expect(made[0].Events).To(BeEmpty())
	g.Expect(named(exporter, "external call")[0].Parent.SpanID()).To(Equal(made[0].SpanContext.SpanID()), "what the stage does is part of it")
}

// TestOnlyWebhooksAreToldTheTrace, and only where there is one.
func TestOnlyWebhooksAreToldTheTrace(t *testing.T) {
	egress, err := external.NewEgress([]string{"127.0.0.1"}, nil, external.EgressRules{})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	calls := NewCalls(egress, clock.RealClock{}, nil)
	var got http.Header
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header }))
	t.Cleanup(server.Close)
	tracer, exporter := traces(1)
	traced, _ := tracer.Reconcile(t.Context(), "website", websites.GroupKind(), types.NamespacedName{Name: "web"})
	const own = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	for name, tc := range map[string]struct {
		ctx     context.Context
		webhook bool
		headers map[string]string
		told    string // "own", "ours" or ""
		span    string
	}{
		"a webhook":                       {traced, true, nil, "ours", "webhook call"},
		"one without a trace":             {t.Context(), true, nil, "", ""},
		"one with a header":               {traced, true, map[string]string{"traceparent": own}, "own", "webhook call"},
		"an external call":                {traced, false, nil, "", "external call"},
		"one with a header that it wants": {traced, false, map[string]string{"traceparent": own}, "own", "external call"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			exporter.Reset()
			request := &external.Request{Box: "website", Name: "quota", Method: http.MethodPost, URL: server.URL, Headers: tc.headers, Timeout: time.Minute, Expected: []int{http.StatusOK}, Webhook: tc.webhook}
			before := *request
			_, err := calls.Call(tc.ctx, request)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(*request).To(Equal(before), "the caller's request stays as it is")
			want := map[string]string{"own": own}[tc.told]
			if tc.span != "" {
				made := named(exporter, tc.span)
				g.Expect(made).To(HaveLen(1))
				g.Expect(tells(made[0], "http.response.status_code")).To(Equal("200"))
				if tc.told == "ours" {
					want = "00-" + made[0].SpanContext.TraceID().String() + "-" + made[0].SpanContext.SpanID().String() + "-01"
				}
			}
			g.Expect(got.Get("Traceparent")).To(Equal(want))
			g.Expect(got).NotTo(Or(HaveKey("Tracestate"), HaveKey("Baggage")))
		})
	}
}
