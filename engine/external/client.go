// Package external makes the HTTP calls that boxes declare. It is the only way by which Orkestra reaches anything but the API
// server, and it is guarded: which addresses may be reached is decided when a connection is made, and for each redirect again.
//
// The package knows rendered requests and nothing of boxes, templates, Secrets or the cluster. What it reports never holds a
// header, a credential, a path or a query.
package external

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/hashicorp/go-retryablehttp"
	"k8s.io/utils/clock"
)

// Client calls hosts. It starts no goroutine that outlives a call, and is safe for concurrent use.
type Client struct {
	egress  *Egress
	clock   clock.PassiveClock
	limiter *limiter
	cache   *cache
}

// New makes a client that reaches what the rules let through for the box, and the account, that a request is made for.
func New(egress *Egress, clk clock.PassiveClock) *Client {
	return &Client{egress: egress, clock: clk, limiter: newLimiter(clk), cache: newCache(clk)}
}

// Call sends a request, or gives the answer that was kept from an earlier one. Of errors, those that are no *Error are of ctx.
func (c *Client) Call(ctx context.Context, r *Request) (*Answer, error) {
	p, err := c.prepare(r)
	if err != nil {
		return nil, err
	}
	if r.CacheFor <= 0 {
		return c.send(ctx, p)
	}
	return c.cache.get(ctx, r, func() (*Answer, error) { return c.send(ctx, p) })
}

// Forget drops what is known for a box that does not run any more.
func (c *Client) Forget(box string) {
	c.limiter.forget(box)
	c.cache.forget(box)
}

// prepared is a request that is fit to be sent.
type prepared struct {
	*Request
	guard  *Guard // of the caller, also for redirects and for each address that is connected to
	dial   dialer // connects to a Service; nil: directly
	clock  clock.PassiveClock
	url    *url.URL
	header http.Header
	host   string // host and port, for the limiter
}

func (c *Client) prepare(r *Request) (*prepared, error) {
	u, err := r.target()
	if err != nil {
		return nil, err
	}
	guard := c.egress.Of(r.Box, r.Account)
	check := guard.CheckURL
	if r.Service != "" {
		check = shape
	}
	if err := check(u); err != nil {
		return nil, err
	}
	header, err := r.header()
	if err != nil {
		return nil, err
	}
	if r.Credential != nil {
		if err := r.Credential.addTo(header); err != nil {
			return nil, err
		}
	}
	host, port := hostPort(u)
	return &prepared{Request: r, guard: guard, dial: c.egress.services(), clock: c.clock, url: u, header: header, host: host + ":" + port}, nil
}

// send makes the call, unless its host is held back.
func (c *Client) send(ctx context.Context, p *prepared) (*Answer, error) {
	turn, err := c.limiter.enter(ctx, hostKey{box: p.Box, host: p.host}, p.Timeout)
	if err != nil {
		return nil, err
	}
	answer, err := c.do(ctx, p)
	if err == nil {
		turn.leave(nil)
		return answer, nil
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		// The process stops, which says nothing about the host.
		turn.abandon()
		return nil, ctx.Err()
	}
	failure := explain(err, p.Timeout)
	if ctx.Err() != nil {
		failure = trips(transient("the time for one reconcile was over before there was an answer"))
	}
	turn.leave(failure)
	return nil, failure
}

// do sends the request, and sends it again where that may help.
func (c *Client) do(ctx context.Context, p *prepared) (*Answer, error) {
	transport, err := p.transport()
	if err != nil {
		return nil, err
	}
	client := &retryablehttp.Client{
		HTTPClient:   &http.Client{Transport: transport, Timeout: p.Timeout, CheckRedirect: p.redirects},
		RetryWaitMin: retryWaitMin, RetryWaitMax: retryWaitMax, RetryMax: p.Retries,
		CheckRetry: p.checkRetry, Backoff: p.backoff, ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	var body any
	if p.Body != nil {
		body = p.Body
	}
	req, err := retryablehttp.NewRequestWithContext(ctx, p.Method, p.url.String(), body)
	if err != nil {
		return nil, refused("no request can be made of this method, URL and body")
	}
	req.Header = p.header.Clone()
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	// The transport has read what there is to read.
	defer resp.Body.Close() //nolint:errcheck // nothing is open behind it
	if !slices.Contains(p.Expected, resp.StatusCode) {
		return nil, p.unexpected(resp)
	}
	return p.answer(resp)
}
