package external

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The waits between two attempts of one call. A worker is busy meanwhile, so they are short; longer ones are left to the limiter and the
// queue.
const (
	retryWaitMin  = 200 * time.Millisecond
	retryWaitMax  = 2 * time.Second
	maxRetryAfter = 10 * time.Second // the longest time asked for by Retry-After that a call waits
)

// passing says whether a status may go away by itself.
func passing(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	default:
		return status >= http.StatusInternalServerError
	}
}

// overloaded says whether a status is about the host, and not about this one request: then other calls to it would fail, too.
func overloaded(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return false
	}
}

// checkRetry implements retryablehttp.CheckRetry.
func (p *prepared) checkRetry(ctx context.Context, resp *http.Response, err error) (bool, error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		// retryablehttp would replace the error of the attempt by one that is given here.
		return !explain(err, p.Timeout).Refused, nil
	}
	if slices.Contains(p.Expected, resp.StatusCode) || !passing(resp.StatusCode) {
		return false, nil
	}
	wait, ok := retryAfter(resp.Header.Get("Retry-After"), p.clock.Now())
	return !ok || wait <= maxRetryAfter, nil
}

// backoff implements retryablehttp.Backoff.
func (p *prepared) backoff(shortest, longest time.Duration, attempt int, resp *http.Response) time.Duration {
	if resp != nil {
		if wait, ok := retryAfter(resp.Header.Get("Retry-After"), p.clock.Now()); ok {
			return min(wait, maxRetryAfter)
		}
	}
	return min(shortest<<min(attempt, 10), longest)
}

// retryAfter reads a Retry-After header: a number of seconds, or a date, which counts from now.
func retryAfter(text string, now time.Time) (time.Duration, bool) {
	if n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 31); err == nil {
		return time.Duration(n) * time.Second, true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	return max(0, at.Sub(now)), true
}

// unexpected is the error of an answer that is no success.
func (p *prepared) unexpected(resp *http.Response) *Error {
	e := &Error{Status: resp.StatusCode, Text: fmt.Sprintf("answered %s, expected %s", statusName(resp.StatusCode), expected(p.Expected))}
	if resp.Header.Get("Location") != "" && resp.StatusCode/100 == 3 {
		e.Text += fmt.Sprintf("; a redirect of a %s is not followed", p.Method)
	}
	e.Refused = !passing(resp.StatusCode)
	if e.trips = overloaded(resp.StatusCode); e.trips {
		e.after, _ = retryAfter(resp.Header.Get("Retry-After"), p.clock.Now())
	}
	return e
}

// statusName gives the code with the standard text for it. The server's own text could be anything.
func statusName(code int) string {
	if text := http.StatusText(code); text != "" {
		return fmt.Sprintf("%d %s", code, text)
	}
	return strconv.Itoa(code)
}

func expected(codes []int) string {
	texts := make([]string, 0, len(codes))
	for _, c := range codes {
		texts = append(texts, strconv.Itoa(c))
	}
	return strings.Join(texts, " or ")
}
