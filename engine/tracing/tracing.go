// Package tracing makes every span of Orkestra, and says in one place what a span may tell: names, kinds, verbs, codes and words of fixed
// lists. It never tells a value of an object, a URL, a header or the text of an error, since each may hold what is secret.
//
// A reconcile begins a trace. Everything else is a part of one, and found by its context: where no trace is recorded, it costs nothing but the
// look for one.
package tracing

import (
	"context"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// scope names who makes the spans.
const scope = "github.com/orkspace/orkestra"

// The attributes. Those without our prefix are OpenTelemetry's own.
const (
	keyBox       = attribute.Key("orkestra.box")
	keyKind      = attribute.Key("orkestra.kind")
	keyName      = attribute.Key("orkestra.name")
	keyAction    = attribute.Key("orkestra.action")
	keyResult    = attribute.Key("orkestra.result")
	keyStage     = attribute.Key("orkestra.stage")
	keyReason    = attribute.Key("orkestra.reason")
	keyVerb      = attribute.Key("orkestra.verb")
	keyProvider  = attribute.Key("orkestra.provider")
	keyNamespace = attribute.Key("k8s.namespace.name")
	keyMethod    = attribute.Key("http.request.method")
	keyCode      = attribute.Key("http.response.status_code")
	keyError     = attribute.Key("error.type")
)

// CodeNone stands for the status code of a request that got no answer.
const CodeNone = "none"

// Tracer begins traces. It is safe for concurrent use; a nil Tracer begins none.
type Tracer struct{ tracer trace.Tracer }

// New makes what begins traces of which a provider keeps the spans that it samples.
func New(provider trace.TracerProvider) *Tracer { return &Tracer{tracer: provider.Tracer(scope)} }

// Span is something that takes time. It is used by one goroutine; a nil Span does nothing.
type Span struct{ span trace.Span }

// Reconcile begins the trace of one reconcile of a resource. The span is nil where it is not sampled.
func (t *Tracer) Reconcile(ctx context.Context, box string, kind schema.GroupKind, resource types.NamespacedName) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	inner, span := t.tracer.Start(ctx, "reconcile", trace.WithNewRoot())
	if !span.IsRecording() {
		return ctx, nil
	}
	span.SetAttributes(keyBox.String(box), keyKind.String(kind.String()))
	span.SetAttributes(object(resource.Namespace, resource.Name)...)
	return inner, &Span{span}
}

// object says which object is meant; what is empty is left out.
func object(namespace, name string) (attributes []attribute.KeyValue) {
	if namespace != "" {
		attributes = append(attributes, keyNamespace.String(namespace))
	}
	if name != "" {
		attributes = append(attributes, keyName.String(name))
	}
	return attributes
}

// Outcome is what a reconcile came to.
type Outcome struct {
	// Action that was decided on, and the Result, as metrics name it; empty: it was not finished.
	Action, Result string
	// Class of what failed, the Stage in which it did, and its Reason; empty: nothing failed.
	Class, Stage, Reason string
}

// Conclude ends the span of a reconcile.
func (s *Span) Conclude(o Outcome) {
	if s == nil {
		return
	}
	for _, a := range []attribute.KeyValue{
		keyAction.String(o.Action), keyResult.String(o.Result), keyStage.String(o.Stage), keyReason.String(o.Reason),
	} {
		if a.Value.AsString() != "" {
			s.span.SetAttributes(a)
		}
	}
	s.End(o.Class)
}

// Stage begins the span of one stage of a reconcile.
func Stage(ctx context.Context, name string) (context.Context, *Span) {
	parent := recorded(ctx)
	if parent == nil {
		return ctx, nil
	}
	return begin(ctx, parent, name, trace.SpanKindInternal, keyStage.String(name))
}

// Call begins the span of an external call, to which a box gives a name, or of a call of its webhook.
func Call(ctx context.Context, name, method string, webhook bool) (context.Context, *Span) {
	parent := recorded(ctx)
	if parent == nil {
		return ctx, nil
	}
	if webhook {
		return begin(ctx, parent, "webhook call", trace.SpanKindClient, keyMethod.String(method))
	}
	return begin(ctx, parent, "external call", trace.SpanKindClient, keyName.String(name), keyMethod.String(method))
}

// Provider begins the span of a call of a provider's driver.
func Provider(ctx context.Context, provider, kind, operation string) (context.Context, *Span) {
	parent := recorded(ctx)
	if parent == nil {
		return ctx, nil
	}
	return begin(ctx, parent, "provider call", trace.SpanKindClient, keyProvider.String(provider), keyKind.String(kind), keyVerb.String(operation))
}

// recorded gives the span that a context is in; nil where it is in none that is recorded.
func recorded(ctx context.Context) trace.Span {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		return span
	}
	return nil
}

// begin begins a part of a span.
func begin(ctx context.Context, parent trace.Span, name string, kind trace.SpanKind, attributes ...attribute.KeyValue) (context.Context, *Span) {
	ctx, span := parent.TracerProvider().Tracer(scope).Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attributes...))
	return ctx, &Span{span}
}

// End ends a span. failure is the class of what failed, a word of a fixed list; empty: nothing did.
func (s *Span) End(failure string) {
	if s == nil {
		return
	}
	if failure != "" {
		s.span.SetAttributes(keyError.String(failure))
		s.span.SetStatus(codes.Error, "") // a text could hold a value
	}
	s.span.End()
}

// Answered ends the span of a call with the status code of its answer, or a word of a fixed list where there was none. It has failed where the
// caller wanted another answer.
func (s *Span) Answered(code string, failed bool) {
	if s == nil {
		return
	}
	if status, err := strconv.Atoi(code); err == nil {
		s.span.SetAttributes(keyCode.Int(status))
	} else {
		s.span.SetAttributes(keyResult.String(code))
	}
	if !failed {
		code = ""
	}
	s.End(code)
}

// Named has what is logged name the trace and the span; for a nil Span it gives the logger back.
func (s *Span) Named(logger logr.Logger) logr.Logger {
	if s == nil {
		return logger
	}
	c := s.span.SpanContext()
	return logger.WithValues("trace_id", c.TraceID().String(), "span_id", c.SpanID().String())
}

// Parent is the header traceparent of W3C Trace Context, by which who is called says that its spans belong to this one; empty for a nil Span.
func (s *Span) Parent() string {
	if s == nil {
		return ""
	}
	c := s.span.SpanContext()
	return strings.Join([]string{"00", c.TraceID().String(), c.SpanID().String(), c.TraceFlags().String()}, "-")
}
