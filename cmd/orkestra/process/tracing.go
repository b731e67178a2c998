package process

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/engine/tracing"
)

// Tracing says which reconciles are traced. Where the spans go is said by the environment variables of OpenTelemetry.
type Tracing struct{ ratio float64 }

// Bind gives the flags to a command.
func (t *Tracing) Bind(fs *pflag.FlagSet) {
	fs.Float64Var(&t.ratio, "tracing-ratio", 0,
		"share of reconciles that are traced, from 0 (none) to 1 (all); spans are sent as OTLP, where the environment variables OTEL_EXPORTER_OTLP_* say")
}

// The environment variables that are checked when the process starts; the libraries read all the others.
const (
	envEndpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envTracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	envProtocol       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	envTracesProtocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
)

const (
	protocolHTTP = "http/protobuf"
	protocolGRPC = "grpc"

	flushTimeout = 3 * time.Second // how long the end of the process waits for spans to be sent
	quiet        = time.Minute     // between two messages that spans can't be sent
)

// Start makes what begins traces, and what ends all of it: that sends the spans which are left, for three seconds at most. Where nothing is
// traced, nothing is made, and the tracer is nil.
func (t *Tracing) Start(ctx context.Context, logger logr.Logger, version string) (tracer *tracing.Tracer, stop func(), err error) {
	if !(t.ratio >= 0 && t.ratio <= 1) { // also where it is no number
		return nil, nil, fmt.Errorf("--tracing-ratio %v: wanted a share from 0 to 1", t.ratio)
	}
	if t.ratio == 0 {
		return nil, func() { /* there is nothing to end */ }, nil
	}
	logger = logger.WithName("tracing")
	otel.SetLogger(logger.WithSink(wordsOnly{logger.GetSink()}))
	otel.SetErrorHandler(&seldom{log: logger, clock: clock.RealClock{}})
	exporter, err := newExporter(ctx)
	if err != nil {
		return nil, nil, err
	}
	about, err := resource.New(ctx, resource.WithHost(), resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "orkestra"), attribute.String("service.version", version)), resource.WithFromEnv())
	if err != nil {
		return nil, nil, fmt.Errorf("reading OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(t.ratio))))
	logger.Info("Reconciles are traced", "ratio", t.ratio)
	return tracing.New(provider), func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		if err := provider.Shutdown(ending); err != nil {
			logger.Error(err, "Some spans were not sent")
		}
	}, nil
}

// newExporter makes what sends spans. It connects to nothing yet.
func newExporter(ctx context.Context) (exporter sdktrace.SpanExporter, err error) {
	for _, name := range []string{envEndpoint, envTracesEndpoint} {
		if err := checkEndpoint(name, os.Getenv(name)); err != nil {
			return nil, err
		}
	}
	switch protocol := cmp.Or(os.Getenv(envTracesProtocol), os.Getenv(envProtocol), protocolHTTP); protocol {
	case protocolHTTP:
		exporter, err = otlptracehttp.New(ctx)
	case protocolGRPC:
		exporter, err = otlptracegrpc.New(ctx)
	default:
		return nil, fmt.Errorf("%s, or %s, is %q: wanted %s or %s", envTracesProtocol, envProtocol, protocol, protocolHTTP, protocolGRPC)
	}
	if err != nil {
		return nil, fmt.Errorf("making what sends spans: %w", err)
	}
	return exporter, nil
}

// checkEndpoint says what is wrong with an endpoint, which the libraries would ignore. The text is not part of the error, since a URL may hold a
// password.
func checkEndpoint(name, text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%s is no URL: wanted http:// or https:// with a host, such as http://collector.observability:4318", name)
	}
	return nil
}

// seldom logs the errors of sending spans, one in a minute at most: a collector that is away is no reason to fill the log.
type seldom struct {
	log   logr.Logger
	clock clock.PassiveClock

	mu     sync.Mutex
	last   time.Time // guarded by mu
	unsaid int       // errors since then; guarded by mu
}

// Handle implements otel.ErrorHandler.
func (s *seldom) Handle(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if !s.last.IsZero() && now.Sub(s.last) < quiet {
		s.unsaid++
		return
	}
	s.log.Error(err, "Spans could not be sent; reconciles go on without", "unsaid", s.unsaid)
	s.last, s.unsaid = now, 0
}

// wordsOnly logs what the libraries say, without the values that they say it of: these may be headers with credentials.
type wordsOnly struct{ logr.LogSink }

// Info implements logr.LogSink.
func (w wordsOnly) Info(level int, message string, _ ...any) { w.LogSink.Info(level, message) }

// Error implements logr.LogSink.
func (w wordsOnly) Error(err error, message string, _ ...any) { w.LogSink.Error(err, message) }

// WithName implements logr.LogSink.
func (w wordsOnly) WithName(name string) logr.LogSink { return wordsOnly{w.LogSink.WithName(name)} }

// WithValues implements logr.LogSink.
func (w wordsOnly) WithValues(...any) logr.LogSink { return w }
