package providers

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/orkspace/orkestra/engine/provider"
)

// life is what is kept of a resource while processes end: what the stage of the pipeline keeps in the cluster.
type life struct {
	// driver makes one for a process.
	driver  func() provider.Driver
	request provider.Request
	known   bool
}

const patience = 30 * time.Second

func (l *life) call(t *testing.T) (context.Context, *provider.Request) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	request := l.request
	return ctx, &request
}

// cycle is what one cycle of the pipeline does: Observe, while nothing is known of the resource, and Ensure.
func (l *life) cycle(t *testing.T) (*provider.Observed, error) {
	t.Helper()
	ctx, request := l.call(t)
	driver := l.driver()
	if !l.known {
		_, err := driver.Observe(ctx, request)
		absent := classOf(err) == provider.NotFound
		if err != nil && !absent {
			return nil, err
		}
		l.known, l.request.Absent, l.request.Token = true, absent, "token-"+l.request.Owner.UID
		request.Absent, request.Token = l.request.Absent, l.request.Token
	}
	out, err := driver.Ensure(ctx, request)
	if err == nil {
		l.request.Noted = out.Noted
	}
	return out, err
}

// must runs cycles until one succeeds, each by another process.
func (l *life) must(t *testing.T) *provider.Observed {
	t.Helper()
	var err error
	for range 4 {
		var out *provider.Observed
		if out, err = l.cycle(t); err == nil {
			return out
		}
	}
	t.Fatalf("no cycle succeeds: %v", err)
	return nil
}

func (l *life) observe(t *testing.T) (*provider.Observed, error) {
	t.Helper()
	ctx, request := l.call(t)
	return l.driver().Observe(ctx, request)
}

func (l *life) delete(t *testing.T) (bool, error) {
	t.Helper()
	ctx, request := l.call(t)
	request.Declared = identity(request.Declared)
	return l.driver().Delete(ctx, request)
}

// mustDelete deletes, by as many processes as it takes.
func (l *life) mustDelete(t *testing.T) {
	t.Helper()
	var err error
	for range 40 {
		var gone bool
		if gone, err = l.delete(t); gone && err == nil {
			return
		}
	}
	t.Fatalf("it is not gone: %v", err)
}

// identity leaves what is sure to be there for Delete.
func identity(declared map[string]any) map[string]any {
	out := map[string]any{}
	for _, field := range []string{"name", "region", "zoneId", "type", "setIdentifier", "database"} {
		if value, ok := declared[field]; ok {
			out[field] = value
		}
	}
	return out
}

func classOf(err error) provider.Class {
	if failed, ok := errors.AsType[*provider.Error](err); ok {
		return failed.Class
	}
	return ""
}

// lossy loses one request: before the server sees it, or after the server has done what it asks.
type lossy struct {
	next   provider.HTTPClient
	lose   int
	before bool
	sent   int
}

var errLost = errors.New("the process ended here")

func (l *lossy) Do(req *http.Request) (*http.Response, error) {
	l.sent++
	if l.sent == l.lose && l.before {
		return nil, errLost
	}
	answer, err := l.next.Do(req)
	if l.sent == l.lose && err == nil {
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		return nil, errLost
	}
	return answer, err
}

// everyLoss runs a scenario with each of its requests lost once, before and after the server acts. The scenario says how many requests there
// were: when that is fewer than the one to lose, all have been lost.
func everyLoss(t *testing.T, scenario func(t *testing.T, lose int, before bool) (sent int)) {
	t.Helper()
	for _, before := range []bool{true, false} {
		lost := 0
		for lose := 1; ; lose++ {
			sent := scenario(t, lose, before)
			if t.Failed() {
				t.Fatalf("when request %d was lost (before the server saw it: %v)", lose, before)
			}
			if sent < lose {
				break
			}
			lost++
		}
		if lost < 4 {
			t.Fatalf("only %d requests were lost: the scenario asks for less than it should", lost)
		}
	}
}

// clientFunc is a client of one function.
type clientFunc func(*http.Request) (*http.Response, error)

func (f clientFunc) Do(req *http.Request) (*http.Response, error) { return f(req) }

// before does something before the first request with a target, or a method, is sent.
func before(next provider.HTTPClient, target string, do func()) provider.HTTPClient {
	done := false
	return clientFunc(func(req *http.Request) (*http.Response, error) {
		if !done && (req.Header.Get("X-Amz-Target") == target || req.Method == target) {
			done = true
			do()
		}
		return next.Do(req)
	})
}
