package process

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/orkspace/orkestra/engine/tracing"
)

// parsed are the flags as a command line gives them.
func parsed(t *testing.T, args ...string) *Tracing {
	t.Helper()
	tracing, fs := &Tracing{}, pflag.NewFlagSet("test", pflag.ContinueOnError)
	tracing.Bind(fs)
	NewWithT(t).Expect(fs.Parse(args)).To(Succeed())
	return tracing
}

// one makes a trace.
func one(t *testing.T, tracer *tracing.Tracer) {
	t.Helper()
	_, span := tracer.Reconcile(t.Context(), "website", schema.GroupKind{Kind: "Website"}, types.NamespacedName{Name: "web"})
	span.Conclude(tracing.Outcome{Action: "Reconcile"})
}

// TestTracingIsOff: variables that somebody puts into all Pods start nothing.
func TestTracingIsOff(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_TRACES_SAMPLER", "always_on")
	before := goleak.IgnoreCurrent()
	tracer, stop, err := parsed(t).Start(t.Context(), logr.Discard(), "v1")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(tracer).To(BeNil())
	g.Expect(goleak.Find(before)).To(Succeed())
	stop()
}

func TestWhatTracingRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ ratio, variable, value, want string }{
		"a share above one":        {"1.5", "", "", "--tracing-ratio 1.5: wanted a share from 0 to 1"},
		"one below zero":           {"-0.1", "", "", "--tracing-ratio -0.1: wanted a share from 0 to 1"},
		"no number":                {"NaN", "", "", "--tracing-ratio NaN: wanted a share from 0 to 1"},
		"an endpoint without http": {"1", "OTEL_EXPORTER_OTLP_ENDPOINT", "user:hunter2@collector:4318", "OTEL_EXPORTER_OTLP_ENDPOINT is no URL: wanted http:// or https:// with a host"},
		"one for traces":           {"1", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is no URL"},
		"a protocol":               {"1", "OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", `OTEL_EXPORTER_OTLP_TRACES_PROTOCOL, or OTEL_EXPORTER_OTLP_PROTOCOL, is "http/json": wanted http/protobuf or grpc`},
		"attributes":               {"1", "OTEL_RESOURCE_ATTRIBUTES", "nonsense", "reading OTEL_RESOURCE_ATTRIBUTES: "},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			if tc.variable != "" {
				t.Setenv(tc.variable, tc.value)
			}
			_, _, err := parsed(t, "--tracing-ratio="+tc.ratio).Start(t.Context(), logr.Discard(), "v1")
			g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
			g.Expect(err.Error()).NotTo(ContainSubstring("hunter2"))
		})
	}
}

// TestSpansAreSentInBothProtocols: to one server, which speaks HTTP/2 without TLS for gRPC.
func TestSpansAreSentInBothProtocols(t *testing.T) {
	for protocol, path := range map[string]string{
		"": "/v1/traces", "http/protobuf": "/v1/traces", "grpc": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
	} {
		t.Run("protocol "+protocol, func(t *testing.T) {
			g := NewWithT(t)
			paths := make(chan string, 10)
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				paths <- r.URL.Path
				if protocol == "grpc" {
					w.Header().Set("Content-Type", "application/grpc")
					w.Header().Set("Trailer", "Grpc-Status")
					_, _ = w.Write(make([]byte, 5)) // an empty message: everything was taken
					w.Header().Set("Grpc-Status", "0")
				}
			}))
			server.Config.Protocols = new(http.Protocols)
			server.Config.Protocols.SetHTTP1(true)
			server.Config.Protocols.SetUnencryptedHTTP2(true)
			server.Start()
			t.Cleanup(server.Close)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
			t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
			var lines []string
			tracer, stop, err := parsed(t, "--tracing-ratio=1").Start(t.Context(), collecting(&lines), "v1")
			g.Expect(err).NotTo(HaveOccurred())
			one(t, tracer)
			stop()
			g.Expect(paths).To(Receive(Equal(path)))
			g.Expect(lines).To(HaveLen(1))
			g.Expect(lines[0]).To(ContainSubstring(`"msg"="Reconciles are traced" "ratio"=1`))
		})
	}
}

// collecting is a logger to a list.
func collecting(lines *[]string) logr.Logger {
	return funcr.New(func(_, args string) { *lines = append(*lines, args) }, funcr.Options{})
}

// TestACollectorThatHangsDoesNotHoldUpTheEnd: were there no bound, this test would not end.
func TestACollectorThatHangsDoesNotHoldUpTheEnd(t *testing.T) {
	g := NewWithT(t)
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(func() { close(release); server.Close() })
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "3600000")
	var lines []string
	tracer, stop, err := parsed(t, "--tracing-ratio=1").Start(t.Context(), collecting(&lines), "v1")
	g.Expect(err).NotTo(HaveOccurred())
	one(t, tracer)
	stop()
	g.Expect(strings.Join(lines, "\n")).To(ContainSubstring(`"Some spans were not sent" "error"="context deadline exceeded"`))
}

func TestErrorsOfSendingAreSeldomLogged(t *testing.T) {
	g := NewWithT(t)
	var lines []string
	now := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	s := &seldom{log: collecting(&lines), clock: now}
	for range 3 {
		s.Handle(errors.New("refused"))
	}
	now.SetTime(time.Unix(59, 0))
	s.Handle(errors.New("refused"))
	g.Expect(lines).To(HaveLen(1))
	now.SetTime(time.Unix(60, 0))
	s.Handle(errors.New("gone"))
	g.Expect(lines).To(HaveLen(2))
	g.Expect(lines[0]).To(ContainSubstring(`"error"="refused" "unsaid"=0`))
	g.Expect(lines[1]).To(ContainSubstring(`"error"="gone" "unsaid"=3`))
}

// TestErrorsOfTheLibrariesAreOurs: they go to our log, without the values that they are about.
func TestErrorsOfTheLibrariesAreOurs(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization hunter2")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	var lines []string
	_, stop, err := parsed(t, "--tracing-ratio=1").Start(t.Context(), collecting(&lines), "v1")
	g.Expect(err).NotTo(HaveOccurred())
	defer stop()
	otel.Handle(errors.New("refused"))
	otel.Handle(errors.New("refused"))
	all := strings.Join(lines, "\n")
	g.Expect(all).To(And(ContainSubstring(`"msg"="parse headers"`), Not(ContainSubstring("hunter2"))))
	g.Expect(strings.Count(all, "Spans could not be sent")).To(Equal(1))
}
