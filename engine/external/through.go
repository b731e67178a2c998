package external

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
)

// Through sends requests, and makes connections, for code that speaks to a service by itself, such as the driver of a provider. It reaches
// what the rules let through and nothing else: each address is checked when it is connected to. It is safe for concurrent use.
type Through struct {
	guard  *Guard
	client *http.Client

	refused atomic.Pointer[Error]
}

// Through gives what reaches what a box may that acts as an account, as namespace/name; empty: as the manager.
func (e *Egress) Through(box, account string) *Through {
	t := &Through{guard: e.Of(box, account)}
	t.client = &http.Client{
		Transport: &http.Transport{
			DialContext: t.DialContext, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
			DisableCompression: true, MaxResponseHeaderBytes: maxHeaderBytes, // connections live until Close
		},
		// A redirect is an answer: what is signed for one host is of no use at another, which it must not reach.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return t
}

// Do sends a request. An answer that is larger than 1 MiB breaks off with an error.
func (t *Through) Do(req *http.Request) (*http.Response, error) {
	if err := t.guard.CheckURL(req.URL); err != nil {
		return nil, t.note(err)
	}
	resp, err := t.client.Do(req) //nolint:gosec // the URL is the driver's, and each address is checked when it is connected to
	if err != nil {
		if own, ok := errors.AsType[*Error](err); ok {
			return nil, own
		}
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // its text holds the URL, in which a signature may be
		}
		return nil, fmt.Errorf("sending the request: %w", err)
	}
	resp.Body = &bounded{ReadCloser: resp.Body, left: maxBodyBytes}
	return resp, nil
}

// DialContext connects to an address, a host and a port, also for what does not speak HTTP.
func (t *Through) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, refused("%q is no address", clip(address))
	}
	if err := t.guard.CheckURL(&url.URL{Scheme: schemeHTTPS, Host: net.JoinHostPort(host, port)}); err != nil {
		return nil, t.note(err)
	}
	conn, err := t.guard.DialContext(ctx, network, address)
	return conn, t.note(err)
}

// note remembers what was refused.
func (t *Through) note(err error) error {
	if own, ok := errors.AsType[*Error](err); ok && own.Refused {
		t.refused.CompareAndSwap(nil, own)
	}
	return err
}

// Refused is what was refused first; nil: nothing was.
func (t *Through) Refused() *Error { return t.refused.Load() }

// Close ends the connections that are idle.
func (t *Through) Close() { t.client.CloseIdleConnections() }

// bounded is a body that is read up to a limit.
type bounded struct {
	io.ReadCloser

	left int
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		if n, err := b.ReadCloser.Read(make([]byte, 1)); n == 0 {
			return 0, err
		}
		return 0, tooLarge()
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
