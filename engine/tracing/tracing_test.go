package tracing

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var (
	websites = schema.GroupKind{Group: "demo.example.com", Kind: "Website"}
	web      = types.NamespacedName{Namespace: "shop", Name: "web"}
)

// keeping gives a tracer of which everything is kept.
func keeping() (*Tracer, *tracetest.InMemoryExporter) {
	exporter := tracetest.NewInMemoryExporter()
	return New(sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))), exporter
}

// attributes are those of a span, as name=value.
func attributes(span tracetest.SpanStub) (all []string) {
	for _, a := range span.Attributes {
		all = append(all, string(a.Key)+"="+a.Value.String())
	}
	return all
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestSpansTellNamesKindsVerbsAndCodes(t *testing.T) {
	for name, tc := range map[string]struct {
		make func(ctx context.Context)
		span string
		kind trace.SpanKind
		want []string
		code codes.Code
	}{
		"a stage":              {func(ctx context.Context) { _, s := Stage(ctx, "onReconcile"); s.End("") }, "onReconcile", trace.SpanKindInternal, []string{"orkestra.stage=onReconcile"}, codes.Unset},
		"a stage that fails":   {func(ctx context.Context) { _, s := Stage(ctx, "hook"); s.End("refused") }, "hook", trace.SpanKindInternal, []string{"orkestra.stage=hook", "error.type=refused"}, codes.Error},
		"an external call":     {func(ctx context.Context) { _, s := Call(ctx, "quota", "GET", false); s.Answered("404", false) }, "external call", trace.SpanKindClient, []string{"orkestra.name=quota", "http.request.method=GET", "http.response.status_code=404"}, codes.Unset},
		"one that is cached":   {func(ctx context.Context) { _, s := Call(ctx, "quota", "GET", false); s.Answered("cached", false) }, "external call", trace.SpanKindClient, []string{"orkestra.name=quota", "http.request.method=GET", "orkestra.result=cached"}, codes.Unset},
		"a webhook that fails": {func(ctx context.Context) { _, s := Call(ctx, "hook", "POST", true); s.Answered("503", true) }, "webhook call", trace.SpanKindClient, []string{"http.request.method=POST", "http.response.status_code=503", "error.type=503"}, codes.Error},
		"a provider": {func(ctx context.Context) {
			_, s := Provider(ctx, "aws", "bucket", "ensure")
			s.Answered("success", false)
		}, "provider call", trace.SpanKindClient, []string{"orkestra.provider=aws", "orkestra.kind=bucket", "orkestra.verb=ensure", "orkestra.result=success"}, codes.Unset},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			tracer, exporter := keeping()
			ctx, span := tracer.Reconcile(t.Context(), "website", websites, web)
			tc.make(ctx)
			span.Conclude(Outcome{Action: "Reconcile", Result: "permanent", Class: "permanent", Stage: "validation", Reason: "Invalid"})
			made := exporter.GetSpans()
			g.Expect(made).To(HaveLen(2))
			part, root := made[0], made[1]
			g.Expect(part.Name).To(Equal(tc.span))
			g.Expect(part.SpanKind).To(Equal(tc.kind))
			g.Expect(attributes(part)).To(Equal(tc.want))
			g.Expect(part.Status).To(Equal(sdktrace.Status{Code: tc.code}), "without a text")
			g.Expect(part.Parent.SpanID()).To(Equal(root.SpanContext.SpanID()))
			g.Expect(attributes(root)).To(Equal([]string{
				"orkestra.box=website", "orkestra.kind=Website.demo.example.com", "k8s.namespace.name=shop", "orkestra.name=web",
				"orkestra.action=Reconcile", "orkestra.result=permanent", "orkestra.stage=validation", "orkestra.reason=Invalid", "error.type=permanent",
			}))
			g.Expect(root.Parent.IsValid()).To(BeFalse())
		})
	}
}

func TestAReconcileIsATraceOfItsOwn(t *testing.T) {
	g := NewWithT(t)
	tracer, exporter := keeping()
	ctx, outer := tracer.Reconcile(t.Context(), "a", websites, web)
	_, inner := tracer.Reconcile(ctx, "b", websites, web)
	inner.Conclude(Outcome{})
	outer.Conclude(Outcome{})
	made := exporter.GetSpans()
	g.Expect(made[0].SpanContext.TraceID()).NotTo(Equal(made[1].SpanContext.TraceID()))
	g.Expect(attributes(made[0])).To(HaveLen(4), "nothing is told of what is not known")
}

func TestRequestsOfReconcilesHaveSpans(t *testing.T) {
	g := NewWithT(t)
	var answer *http.Response
	var failure error
	asked := 0
	transport := NewTransport(roundTripper(func(*http.Request) (*http.Response, error) { return answer, failure }), func(r *http.Request) Asked {
		asked++
		return Asked{Verb: strings.ToLower(r.Method), Resource: "configmaps", Namespace: "shop", Name: r.URL.Query().Get("name")}
	})
	send := func(ctx context.Context, query string) error {
		response, err := transport.RoundTrip(httptest.NewRequestWithContext(ctx, http.MethodGet, "/"+query, http.NoBody))
		if err == nil {
			g.Expect(response.Body.Close()).To(Succeed())
		}
		return err
	}
	answer = &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}
	g.Expect(send(t.Context(), "")).To(Succeed())
	g.Expect(asked).To(BeZero(), "there is no trace")

	tracer, exporter := keeping()
	ctx, _ := tracer.Reconcile(t.Context(), "website", websites, web)
	g.Expect(send(ctx, "?name=a")).To(Succeed())
	answer = &http.Response{StatusCode: http.StatusConflict, Body: http.NoBody}
	g.Expect(send(ctx, "")).To(Succeed())
	answer, failure = nil, errors.New("secret")
	g.Expect(send(ctx, "")).To(MatchError(failure))
	made := exporter.GetSpans()
	g.Expect(made).To(HaveLen(3))
	g.Expect(made[0].Name).To(Equal("get configmaps"))
	for i, want := range [][]string{
		{"k8s.namespace.name=shop", "orkestra.name=a", "orkestra.verb=get", "orkestra.kind=configmaps", "http.response.status_code=200"},
		{"k8s.namespace.name=shop", "orkestra.verb=get", "orkestra.kind=configmaps", "http.response.status_code=409", "error.type=409"},
		{"k8s.namespace.name=shop", "orkestra.verb=get", "orkestra.kind=configmaps", "orkestra.result=none", "error.type=none"},
	} {
		g.Expect(attributes(made[i])).To(Equal(want))
	}
	g.Expect(transport.WrappedRoundTripper()).NotTo(BeNil())
}

// TestWhatIsCalledCanJoin: the header is read as the standard says.
func TestWhatIsCalledCanJoin(t *testing.T) {
	g := NewWithT(t)
	tracer, _ := keeping()
	_, span := tracer.Reconcile(t.Context(), "website", websites, web)
	read := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(t.Context(), propagation.MapCarrier{"traceparent": span.Parent()}))
	g.Expect(read.IsSampled()).To(BeTrue())
	g.Expect(read.TraceID()).To(Equal(span.span.SpanContext().TraceID()))
	g.Expect(read.SpanID()).To(Equal(span.span.SpanContext().SpanID()))
}

func TestNothingIsMadeOfWhatIsNotSampled(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	for name, tracer := range map[string]*Tracer{
		"off": nil, "not sampled": New(sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithSampler(sdktrace.NeverSample()))),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			ctx, span := tracer.Reconcile(t.Context(), "website", websites, web)
			g.Expect(ctx).To(BeIdenticalTo(t.Context()))
			g.Expect(span).To(BeNil())
			for _, begin := range []func() (context.Context, *Span){
				func() (context.Context, *Span) { return Stage(ctx, "hook") },
				func() (context.Context, *Span) { return Call(ctx, "quota", "GET", false) },
				func() (context.Context, *Span) { return Call(ctx, "hook", "POST", true) },
				func() (context.Context, *Span) { return Provider(ctx, "aws", "bucket", "ensure") },
			} {
				inner, part := begin()
				g.Expect(inner).To(BeIdenticalTo(ctx))
				g.Expect(part).To(BeNil())
				part.Answered("200", false)
				part.End("")
			}
			span.Conclude(Outcome{Action: "Reconcile"})
			g.Expect(span.Parent()).To(BeEmpty())
			g.Expect(exporter.GetSpans()).To(BeEmpty())
		})
	}
}

func TestOffCostsNoAllocation(t *testing.T) {
	answer := &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}
	transport := NewTransport(roundTripper(func(*http.Request) (*http.Response, error) { return answer, nil }), func(*http.Request) Asked { panic("not asked") })
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	var tracer *Tracer
	NewWithT(t).Expect(testing.AllocsPerRun(100, func() {
		ctx, span := tracer.Reconcile(t.Context(), "website", websites, web)
		inner, stage := Stage(ctx, "hook")
		_, call := Call(inner, "quota", "GET", false)
		call.Answered("200", false)
		_, call = Call(inner, "hook", "POST", true)
		call.Answered("200", false)
		_, call = Provider(inner, "aws", "bucket", "ensure")
		call.Answered("success", false)
		if _, err := transport.RoundTrip(request); err != nil { //nolint:bodyclose // there is none
			t.Error(err)
		}
		stage.End("")
		span.Named(logr.Discard())
		span.Conclude(Outcome{Action: "Reconcile"})
	})).To(BeZero())
}
