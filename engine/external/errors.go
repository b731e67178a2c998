package external

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// Error says why a call failed. Its text is the same for the same cause, but for the time until which a host asks to be left alone for longer than
// it would be anyway. It holds nothing that a caller may not show.
type Error struct {
	// Text is one line, in lower case.
	Text string
	// Refused errors are not mended by trying again soon: the request, the host's answer, or what the operator allows must
	// change. The others may go away by themselves.
	Refused bool
	// Held says that nothing was sent: the host failed before, and is left alone until RetryAt.
	Held bool
	// RetryAt is when a call to the host will be sent again; zero where it is not held back.
	RetryAt time.Time
	// Status is what the host answered, where it did.
	Status int

	trips bool          // the limiter stops calling the host for a while
	after time.Duration // for how long at least, by its Retry-After
}

// Error gives one line.
func (e *Error) Error() string { return e.Text }

func refused(format string, args ...any) *Error {
	return &Error{Refused: true, Text: fmt.Sprintf(format, args...)}
}

func transient(format string, args ...any) *Error { return &Error{Text: fmt.Sprintf(format, args...)} }

// maxShown is how many characters of a text from outside an error shows.
const maxShown = 64

// clip shortens what was given from outside, and makes it one line.
func clip(s string) string {
	runes := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " "))
	if len(runes) > maxShown {
		return string(runes[:maxShown-1]) + "…"
	}
	return string(runes)
}

// explain makes the error of a call that got no answer. The text of Go's own error is not used: it may contain the URL, a port that
// changes with each connection, the time, or what the host has sent. Secrets must not be shown, and a message must stay the same.
func explain(err error, timeout time.Duration) *Error {
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	if u, ok := errors.AsType[*url.Error](err); ok && u.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return trips(transient("no full answer within %s", timeout))
	}
	if text, ok := certificate(err); ok {
		return refused("%s", text)
	}
	if strings.Contains(err.Error(), "response headers exceeded") { // net/http has no error of its own for it
		return refused("the headers of the answer are larger than %d KiB", maxHeaderBytes>>10)
	}
	return trips(transient("%s", network(err)))
}

// trips marks an error as one of the host, and not of this call alone.
func trips(e *Error) *Error {
	e.trips = true
	return e
}

// certificate says what is wrong with the server's certificate.
func certificate(err error) (text string, ok bool) {
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return "the server's certificate has expired, or is not valid yet", true
	}
	if errors.As(err, new(x509.HostnameError)) {
		return "the server's certificate is for another host", true
	}
	if errors.As(err, new(x509.UnknownAuthorityError)) {
		return "the server's certificate is signed by an unknown authority; give its CA by caBundle", true
	}
	if errors.As(err, new(*tls.CertificateVerificationError)) {
		return "the server's certificate can't be verified", true
	}
	if errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, new(tls.RecordHeaderError)) {
		return "the server does not speak TLS; is its URL an http one?", true
	}
	return "", false
}

// network says what is wrong with the connection.
func network(err error) string {
	var errno syscall.Errno
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "no such host"
	case errors.As(err, &dns):
		return "its name can't be resolved at the moment"
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the server closed the connection before its answer was complete"
	case errors.Is(err, context.Canceled):
		return "the call was canceled"
	case strings.Contains(err.Error(), "tls: "):
		return "no TLS connection can be made"
	default:
		return "the answer is not HTTP"
	}
}
