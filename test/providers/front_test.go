package providers

import (
	"bytes"
	"context"
	"encoding/xml"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/orkspace/orkestra/test/providers/awsdouble"
	"github.com/orkspace/orkestra/test/providers/mongodouble"
)

// step is told of each call that a manager makes, before the server sees it and after it has acted. Where it says so, the call is lost.
type step interface {
	before(call string) (lost bool)
	after(call string) (lost bool)
}

// front is where a manager finds the services of AWS: one server on loopback, before versitygw and the double.
type front struct {
	*httptest.Server

	store *store
	cloud *awsdouble.Cloud
	s3    http.Handler

	mu     sync.Mutex
	step   step                                                     // guarded by mu; nil: nobody is told
	answer func(call string, w http.ResponseWriter) (answered bool) // in place of the services; guarded by mu
	calls  []string                                                 // guarded by mu
}

func newFront(t *testing.T, flags ...string) *front {
	t.Helper()
	return frontOf(t, newStore(t, flags...))
}

// frontOf puts one before a gateway.
func frontOf(t *testing.T, s *store) *front {
	t.Helper()
	f := &front{store: s, cloud: awsdouble.New(rootKey)}
	transport := &http.Transport{DialContext: f.store.dial}
	f.s3 = &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: "store"})
		r.Out.Host = r.In.Host // which is signed
	}}
	f.Server = httptest.NewServer(f)
	t.Cleanup(func() {
		f.CloseClientConnections()
		f.Close()
		transport.CloseIdleConnections()
	})
	return f
}

var signedFor = regexp.MustCompile(`Credential=[^/]+/[0-9]{8}/([^/]+)/([^/]+)/aws4_request`)

// ServeHTTP implements http.Handler.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	service, host := "sts", "sts.amazonaws.com"
	if match := signedFor.FindStringSubmatch(r.Header.Get("Authorization")); match != nil {
		service, host = match[2], match[2]+"."+match[1]+".amazonaws.com"
	}
	call := callOf(service, r)
	f.mu.Lock()
	step, answer := f.step, f.answer
	f.calls = append(f.calls, call)
	f.mu.Unlock()
	if answer != nil && answer(call, w) {
		return
	}
	if step != nil && step.before(call) {
		panic(http.ErrAbortHandler)
	}
	said := httptest.NewRecorder()
	if service == "s3" {
		f.s3.ServeHTTP(said, r)
	} else if !f.ask(said, r, host) {
		panic(http.ErrAbortHandler)
	}
	if step != nil && step.after(call) {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), said.Header())
	w.WriteHeader(said.Code)
	_, _ = w.Write(said.Body.Bytes())
}

// ask asks the double.
func (f *front) ask(w http.ResponseWriter, r *http.Request, host string) bool {
	r = r.Clone(r.Context())
	r.URL.Host = host
	answer, err := f.cloud.Do(r)
	if err != nil {
		return false
	}
	defer func() { _ = answer.Body.Close() }()
	maps.Copy(w.Header(), answer.Header)
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(w, answer.Body)
	return true
}

// callOf names a call by what it asks for.
func callOf(service string, r *http.Request) string {
	if target := r.Header.Get("X-Amz-Target"); target != "" {
		return service + " " + target
	}
	names := slices.Sorted(maps.Keys(r.URL.Query()))
	return strings.TrimSpace(service + " " + r.Method + " " + strings.Join(names, "&"))
}

// through has each call told to somebody.
func (f *front) through(s step) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.step = s
}

// answers has a function answer in place of the services; nil: they do.
func (f *front) answers(with func(call string, w http.ResponseWriter) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = with
}

// asked gives the calls since it was last asked.
func (f *front) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.calls
	f.calls = nil
	return out
}

// refuses answers as S3 does that refuses.
func refuses(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("X-Amz-Request-Id", "REQUEST7")
	w.WriteHeader(status)
	_ = xml.NewEncoder(w).Encode(struct {
		XMLName   xml.Name `xml:"Error"`
		Code      string   `xml:"Code"`
		Message   string   `xml:"Message"`
		RequestID string   `xml:"RequestId"`
	}{Code: code, Message: message, RequestID: "REQUEST7"})
}

// mongoFront is where a manager finds MongoDB: a port of loopback before the socket of a server.
type mongoFront struct {
	address string
	server  *server
	serving sync.WaitGroup

	mu          sync.Mutex
	step        step                  // guarded by mu
	listener    net.Listener          // guarded by mu; nil: it is down, and refuses connections
	connections map[net.Conn]struct{} // guarded by mu
}

func newMongoFront(t *testing.T, s *server) *mongoFront {
	t.Helper()
	f := &mongoFront{address: "127.0.0.1:0", server: s, connections: map[net.Conn]struct{}{}}
	f.up(t)
	t.Cleanup(func() {
		f.down()
		f.serving.Wait()
	})
	return f
}

// endpoint is its connection string.
func (f *mongoFront) endpoint() string {
	return "mongodb://" + f.address + "/?directConnection=true&authSource=setup"
}

// through has each call told to somebody.
func (f *mongoFront) through(s step) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.step = s
}

// up takes connections, always at the same address.
func (f *mongoFront) up(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", f.address)
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.address, f.listener = listener.Addr().String(), listener
	f.serving.Go(func() { f.serve(listener) })
}

// down refuses connections, and closes those that there are.
func (f *mongoFront) down() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listener != nil {
		_ = f.listener.Close()
	}
	f.listener = nil
	for connection := range f.connections {
		_ = connection.Close()
	}
}

// keep keeps a connection until it is down, and says whether it is up.
func (f *mongoFront) keep(connection net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listener == nil {
		_ = connection.Close()
		return false
	}
	f.connections[connection] = struct{}{}
	return true
}

func (f *mongoFront) drop(connection net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = connection.Close()
	delete(f.connections, connection)
}

func (f *mongoFront) serve(listener net.Listener) {
	for {
		here, err := listener.Accept()
		if err != nil {
			return
		}
		there, err := f.server.dial(context.Background(), "", "")
		if err != nil {
			_ = here.Close()
			continue
		}
		if f.keep(here) && f.keep(there) {
			w := &wire{of: f, here: here, there: there}
			f.serving.Go(w.ask)
			f.serving.Go(w.answer)
		}
	}
}

// wire is one connection through the front.
type wire struct {
	of          *mongoFront
	here, there net.Conn

	mu   sync.Mutex
	call string // of which the answer is awaited; guarded by mu
}

func (w *wire) end() {
	w.of.drop(w.here)
	w.of.drop(w.there)
}

// ask hands on what is asked.
func (w *wire) ask() {
	defer w.end()
	for {
		message, call, err := readWire(w.here)
		if err != nil {
			return
		}
		w.of.mu.Lock()
		step := w.of.step
		w.of.mu.Unlock()
		w.mu.Lock()
		w.call = call
		w.mu.Unlock()
		if call != "" && step != nil && step.before("mongodb "+call) {
			return
		}
		if _, err := w.there.Write(message); err != nil {
			return
		}
	}
}

// answer hands on what is answered.
func (w *wire) answer() {
	defer w.end()
	for {
		var message bytes.Buffer
		if _, _, _, err := mongodouble.ReadMessage(io.TeeReader(w.there, &message)); err != nil {
			return
		}
		w.mu.Lock()
		call := w.call
		w.mu.Unlock()
		w.of.mu.Lock()
		step := w.of.step
		w.of.mu.Unlock()
		if call != "" && step != nil && step.after("mongodb "+call) {
			return
		}
		if _, err := w.here.Write(message.Bytes()); err != nil {
			return
		}
	}
}

// readWire reads a message and names what it asks for; empty: it keeps the connection.
func readWire(from io.Reader) (message []byte, call string, err error) {
	var read bytes.Buffer
	_, op, body, err := mongodouble.ReadMessage(io.TeeReader(from, &read))
	if err != nil {
		return nil, "", err
	}
	command, err := mongodouble.Command(op, body)
	if err != nil {
		return nil, "", err
	}
	if keepsConnection(command[0].Key) {
		return read.Bytes(), "", nil
	}
	return read.Bytes(), command[0].Key, nil
}
