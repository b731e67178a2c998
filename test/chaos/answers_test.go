package chaos_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The longest that a fault may hold something up.
const (
	longestLatency = 300 * time.Millisecond
	longestHold    = 3 * time.Second
	longestSilence = 5 * time.Second // longer than a manager waits for the answer to a write
)

// refuse delays a request, or answers it in place of the API server; done says that it has answered.
func (g *gate) refuse(w http.ResponseWriter, r *http.Request, f fate) (done bool) {
	p := g.proxy.plan
	switch f.fault {
	case latency:
		p.count(f.fault)
		g.pause(r.Context(), time.Duration(f.draw*float64(longestLatency)))
		return false
	case denied:
		status(w, http.StatusForbidden, "Forbidden", denial(r))
	case tooMany:
		status(w, http.StatusTooManyRequests, "TooManyRequests", "chaos: too many requests")
	case internal:
		status(w, http.StatusInternalServerError, "InternalError", "chaos: something is broken")
	case unavailable:
		status(w, http.StatusServiceUnavailable, "ServiceUnavailable", "chaos: not now")
	case conflict:
		status(w, http.StatusConflict, "Conflict", "chaos: the object has been modified")
	case refuseList:
		if r.URL.Query().Get("sendInitialEvents") != "true" {
			return false
		}
		status(w, http.StatusUnprocessableEntity, "Invalid", "chaos: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")
	case resetBefore:
		reset(w)
	case staleList:
		older := g.proxy.lists.older(r, f.draw)
		if older == nil {
			return false
		}
		send(w, older.header, older.code, older.body, len(older.body))
	default:
		return false
	}
	p.count(f.fault)
	return true
}

// denial is what the authorizer says of a request.
func denial(r *http.Request) string {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if parts[0] == "api" {
		parts = slices.Insert(parts, 1, "") // the core group
	}
	if len(parts) < 4 {
		return fmt.Sprintf("forbidden: User %q cannot get path %q", "chaos", r.URL.Path)
	}
	group, parts, where := parts[1], parts[3:], " at the cluster scope"
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts, where = parts[2:], fmt.Sprintf(" in the namespace %q", parts[1])
	}
	verb := map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}[r.Method]
	of := parts[0] + "." + group
	switch {
	case verb == "" && r.URL.Query().Get("watch") != "":
		verb = "watch"
	case verb == "" && len(parts) == 1:
		verb = "list"
	case verb == "":
		verb = "get"
	}
	what := parts[0]
	if len(parts) > 1 {
		of += fmt.Sprintf(" %q", parts[1])
	}
	if len(parts) > 2 {
		what += "/" + parts[2]
	}
	return fmt.Sprintf("%s is forbidden: User %q cannot %s resource %q in API group %q%s", strings.Replace(of, ". ", " ", 1), "chaos", verb, what, group, where)
}

// answer passes on what the API server said, or loses it.
func (g *gate) answer(w http.ResponseWriter, r *http.Request, f fate, said recorded) {
	p := g.proxy.plan
	g.proxy.lists.record(r, said)
	switch f.fault {
	case resetAfter:
		p.count(f.fault)
		reset(w)
	case timeout504:
		p.count(f.fault)
		status(w, http.StatusGatewayTimeout, "Timeout", "chaos: request did not complete within the allotted timeout")
	case slowDeath:
		p.count(f.fault)
		g.pause(r.Context(), longestSilence)
		reset(w)
	case cutBody:
		p.count(f.fault)
		send(w, said.header, said.code, said.body[:len(said.body)/2], len(said.body))
		panic(http.ErrAbortHandler)
	case brokenJSON, brokenReply:
		p.count(f.fault)
		send(w, said.header, said.code, said.body[:len(said.body)/2], len(said.body)/2)
	default:
		send(w, said.header, said.code, said.body, len(said.body))
	}
}

// send writes an answer that claims to have a length.
func send(w http.ResponseWriter, header http.Header, code int, body []byte, length int) {
	maps.Copy(w.Header(), header)
	w.Header().Set("Content-Length", strconv.Itoa(length))
	w.WriteHeader(code)
	_, _ = w.Write(body) // an answer that can't be written has no reader
}

// watch passes on a watch, event by event.
func (g *gate) watch(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path
	f := g.proxy.plan.decide(watching, name)
	if g.refuse(w, r, f) {
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() {
		select {
		case <-g.cut:
			cancel()
		case <-ctx.Done():
		}
	}()
	response, err := g.proxy.ask(ctx, r, nil)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = response.Body.Close() }() // only read from
	maps.Copy(w.Header(), response.Header)
	w.WriteHeader(response.StatusCode)
	flush := http.NewResponseController(w)
	_ = flush.Flush() // a client that is gone is noticed by the next write
	events := strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") && response.StatusCode == http.StatusOK
	lines := bufio.NewReader(response.Body)
	for {
		line, err := next(lines, events)
		if len(line) > 0 && (!events || g.event(ctx, w, name, line)) {
			if _, err := w.Write(line); err != nil {
				return
			}
			_ = flush.Flush() // as above
		} else if len(line) > 0 {
			return
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil || g.dead() {
			panic(http.ErrAbortHandler)
		}
	}
}

// next reads an event, or whatever there is.
func next(lines *bufio.Reader, events bool) ([]byte, error) {
	if events {
		return lines.ReadBytes('\n')
	}
	chunk := make([]byte, 32<<10)
	n, err := lines.Read(chunk)
	return chunk[:n], err
}

// event says whether an event is passed on. If it is not, the watch ends.
func (g *gate) event(ctx context.Context, w io.Writer, name string, line []byte) bool {
	p := g.proxy.plan
	f := p.decide(streamed, name)
	if f.fault == none {
		return true
	}
	p.count(f.fault)
	switch f.fault {
	case heldWatch:
		g.pause(ctx, time.Duration(f.draw*float64(longestHold)))
		return true
	case partialEvent:
		_, _ = w.Write(line[:len(line)/2]) // the connection is cut anyway
		_ = http.NewResponseController(w.(http.ResponseWriter)).Flush()
		panic(http.ErrAbortHandler)
	case expired:
		_, _ = io.WriteString(w, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",`+
			`"message":"chaos: too old resource version","reason":"Expired","code":410}}`+"\n") // as above
		return false
	default: // dropped
		if f.draw < 0.5 {
			panic(http.ErrAbortHandler)
		}
		return false // in good order
	}
}

// recordedLists are what the API server said to lists before. A list that asks for resourceVersion 0 may be answered with any state that
// there ever was; other lists may not.
type recordedLists struct {
	mu  sync.Mutex
	all map[string][]recorded // guarded by mu
}

// recorded is what the API server said.
type recorded struct {
	code   int
	header http.Header
	body   []byte
}

func (l *recordedLists) key(r *http.Request) (string, bool) {
	query := r.URL.Query()
	if r.Method != http.MethodGet || query.Get("resourceVersion") != "0" || query.Get("limit") == "1" {
		return "", false
	}
	return r.URL.Path + "?" + query.Get("labelSelector") + "&" + query.Get("fieldSelector") + "&" + r.Header.Get("Accept"), true
}

func (l *recordedLists) record(r *http.Request, said recorded) {
	key, ok := l.key(r)
	if !ok || said.code != http.StatusOK {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[string][]recorded{}
	}
	l.all[key] = append(l.all[key], said)
}

// older gives an answer that was given before, or nil.
func (l *recordedLists) older(r *http.Request, draw float64) *recorded {
	key, ok := l.key(r)
	l.mu.Lock()
	defer l.mu.Unlock()
	if all := l.all[key]; ok && len(all) > 0 {
		return &all[int(draw*float64(len(all)))]
	}
	return nil
}
