package external

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"

	"golang.org/x/net/http/httpguts"
)

// The limits of an answer.
const (
	maxBodyBytes   = 1 << 20
	maxHeaderBytes = 64 << 10
	maxRedirects   = 5
)

// transport gives the transport for one call. Connections are not kept alive: calls are few, no goroutine is left behind, and no
// connection is ever used with the credentials of another box. No proxy is taken from the environment, since it could reach what the
// guard refuses.
func (p *prepared) transport() (http.RoundTripper, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(p.CABundle) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(p.CABundle) {
			return nil, refused("the CA bundle holds no certificate in PEM")
		}
	}
	return &reader{prepared: p, next: &http.Transport{
		DialContext: p.connect, TLSClientConfig: config,
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeaderBytes,
	}}, nil
}

// connect connects to an address as the guard lets it, or to the Service that the host stands for.
func (p *prepared) connect(ctx context.Context, network, address string) (net.Conn, error) {
	if p.Service == "" {
		return p.guard.DialContext(ctx, network, address)
	}
	if p.dial != nil {
		return p.dial(ctx, network, p.Service)
	}
	return (&net.Dialer{}).DialContext(ctx, network, p.Service)
}

// reader reads the body of each answer before the answer is handed on, so that an answer that breaks off is an attempt that
// failed, and so that the timeout of the attempt covers all of it.
type reader struct {
	*prepared
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *reader) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body, err := t.read(resp)
	// What is left unread is thrown away with the connection.
	if closeErr := resp.Body.Close(); err == nil && closeErr != nil && !t.StatusOnly {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// read reads the body where its answer is wanted.
func (t *reader) read(resp *http.Response) ([]byte, error) {
	if t.StatusOnly || !slices.Contains(t.Expected, resp.StatusCode) {
		return nil, nil
	}
	if coding := resp.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return nil, refused("the answer is compressed (%s), which was not asked for", clip(coding))
	}
	if resp.ContentLength > maxBodyBytes {
		return nil, tooLarge()
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBodyBytes+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxBodyBytes {
		return nil, tooLarge()
	}
	return body, nil
}

func tooLarge() *Error { return refused("the answer is larger than %d MiB", maxBodyBytes>>20) }

// addTo sends the credential with a request.
func (c *Credential) addTo(h http.Header) error {
	if !httpguts.ValidHeaderFieldName(c.Header) {
		return refused("%q is not the name of a header", clip(c.Header))
	}
	if !httpguts.ValidHeaderFieldValue(c.Value) {
		return refused("the credential holds characters that no header may have, such as a line break")
	}
	h.Set(c.Header, c.Value)
	return nil
}

// redirects decides whether a redirect is followed. Each target is checked as the first URL was, by the rules of the same caller, and its
// addresses when it is connected to.
func (p *prepared) redirects(next *http.Request, before []*http.Request) error {
	safe := p.Method == http.MethodGet || p.Method == http.MethodHead
	if !safe || slices.Contains(p.Expected, next.Response.StatusCode) {
		return http.ErrUseLastResponse // the redirect is the answer
	}
	if p.Service != "" { // the other host would be connected to as if it were the Service
		return refused("redirected; a Service of the cluster may not redirect")
	}
	if len(before) > maxRedirects {
		return refused("redirected more than %d times", maxRedirects)
	}
	if err := p.guard.CheckURL(next.URL); err != nil {
		own := new(Error)
		if errors.As(err, &own) {
			return refused("redirected, and %s", own.Text)
		}
		return err
	}
	last := before[len(before)-1].URL
	if last.Scheme == schemeHTTPS && next.URL.Scheme == schemeHTTP {
		return refused("redirected from https to http")
	}
	host, port := hostPort(next.URL)
	switch {
	case host+":"+port == p.host:
	case p.Credential != nil:
		return refused("redirected to host %q, to which the credentials of this call may not go", clip(host))
	default:
		// The headers of the box were meant for the first host, and may contain secrets.
		next.Header = http.Header{"User-Agent": p.header["User-Agent"], "Accept": p.header["Accept"]} //nolint:gosec // neither is sensitive
	}
	next.Header.Del("Referer") // it would tell path and query
	return nil
}
