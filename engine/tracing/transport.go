package tracing

import (
	"context"
	"net/http"
	"strconv"

	"go.opentelemetry.io/otel/trace"
)

// Asked is what a request asks of the API server, in the words of rights.
type Asked struct {
	// Verb, and the Resource as resource.group/subresource, such as websites.demo.example.com/status.
	Verb, Resource string
	// Namespace and Name of the object; empty: it has none, or all are meant.
	Namespace, Name string
}

// Transport sends the requests of reconciles to the API server, each in a span. It is safe for concurrent use.
type Transport struct {
	next  http.RoundTripper
	asked func(*http.Request) Asked
}

// NewTransport gives a transport in front of next. asked says what a request asks for.
func NewTransport(next http.RoundTripper, asked func(*http.Request) Asked) *Transport {
	return &Transport{next: next, asked: asked}
}

// RoundTrip implements http.RoundTripper. The span ends when the answer begins.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	parent := recorded(r.Context())
	if parent == nil {
		return t.next.RoundTrip(r) //nolint:wrapcheck // a transport hands on what the next one says
	}
	span := request(r.Context(), parent, t.asked(r))
	response, err := t.next.RoundTrip(r)
	if err != nil {
		span.Answered(CodeNone, true)
		return nil, err //nolint:wrapcheck // as above
	}
	span.Answered(strconv.Itoa(response.StatusCode), response.StatusCode >= http.StatusBadRequest)
	return response, nil
}

// WrappedRoundTripper implements k8s.io/apimachinery/pkg/util/net.RoundTripperWrapper.
func (t *Transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// request begins the span of a request.
func request(ctx context.Context, parent trace.Span, asked Asked) *Span {
	attributes := append(object(asked.Namespace, asked.Name), keyVerb.String(asked.Verb), keyKind.String(asked.Resource))
	_, span := begin(ctx, parent, asked.Verb+" "+asked.Resource, trace.SpanKindClient, attributes...)
	return span
}
