package external

import (
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// Request is one call, with every template rendered and every Secret read. Both hold secrets: they may be sent, and not shown.
type Request struct {
	// Box and Name say whose call it is: hosts are held back, and answers kept, for each box on its own.
	Box, Name string
	// Account is the ServiceAccount that the box acts as, as namespace/name; empty: it acts as the manager. What the account may reach
	// is judged by it, and an answer is kept for it alone.
	Account string
	// Method in capitals.
	Method string
	// URL is absolute.
	URL string
	// Service is the address and port of the Service that the host of the URL stands for, which the caller has found to be one that may be
	// called: it is connected to, and the guard is not asked. Empty: the host is what it is.
	Service string
	// Query replaces parameters of the URL by name.
	Query map[string]string
	// Headers to send. Those that the client sets itself are refused: see CheckHeader.
	Headers map[string]string
	// Body to send; nil: none. ContentType is sent with it unless Headers has one.
	Body        []byte
	ContentType string
	// Credential is sent as a header, and to no other host than that of URL. nil: none.
	Credential *Credential
	// CABundle verifies the server, in PEM. Default: the authorities that the system trusts.
	CABundle []byte
	// Key is the Idempotency-Key; empty: none is sent.
	Key string
	// Webhook says that the webhook of the box is called, which takes part in its cycles.
	Webhook bool
	// Trace is the header traceparent of W3C Trace Context, unless Headers has one; empty: none is sent. An answer that is kept does not depend
	// on it.
	Trace string
	// Timeout of one attempt, its answer's body included. It must be above zero.
	Timeout time.Duration
	// Retries after the first attempt.
	Retries int
	// Expected lists the statuses that are a success.
	Expected []int
	// CacheFor is how long an answer is used again; zero: not at all.
	CacheFor time.Duration
	// StatusOnly leaves headers and body of the answer unread.
	StatusOnly bool
}

// Credential is a header that holds a secret.
type Credential struct {
	// Header is the name, such as Authorization.
	Header string
	// Value of the header.
	Value string
	// Secrets are what the value was made of: the token, or of a user and a password the password and the two together. An answer may repeat them.
	Secrets []string
}

// Answer is what a host said. It is shared: read only.
type Answer struct {
	// Status code.
	Status int
	// Headers by their canonical name, several of one name joined by commas. Cookies are left out.
	Headers map[string]any
	// Body is parsed JSON where its content type says so: string, bool, int64, float64, map[string]any, []any or nil. Otherwise it is
	// a string, or nil where it is not text.
	Body any
	// Until is when the answer is no longer used again; zero: it was not kept.
	Until time.Time
	// Cached says that nothing was sent: the answer was kept from an earlier call.
	Cached bool
}

// HeaderAuthorization is the header that holds most credentials, and TypeJSON the content type of JSON.
const (
	HeaderAuthorization = "Authorization"
	TypeJSON            = "application/json"
)

// headerKey is the header that lets a service recognize a call that it has seen before.
const headerKey = "Idempotency-Key"

// headerTrace is the header of W3C Trace Context that says to which trace a request belongs.
const headerTrace = "Traceparent"

// ownConnection says why headers that steer a connection can't be set.
const ownConnection = "connections are the client's business"

// reservedHeaders are set by the client, or change how a message is read.
var reservedHeaders = map[string]string{
	HeaderAuthorization:   "give credentials by auth, so that they come from a Secret and go to one host only",
	"Proxy-Authorization": "no proxy is used",
	"Proxy-Connection":    "no proxy is used",
	"Host":                "it is taken from the URL",
	"Content-Length":      "it is computed",
	"Transfer-Encoding":   "it is computed",
	"Accept-Encoding":     "answers are not decompressed",
	"Connection":          ownConnection,
	"Keep-Alive":          ownConnection,
	"Upgrade":             ownConnection,
	"Te":                  ownConnection,
	"Trailer":             ownConnection,
	"Expect":              ownConnection,
	headerKey:             "it is computed",
}

// CheckHeader says what is wrong with the name of a header; "" where nothing is.
func CheckHeader(name string) string {
	if !httpguts.ValidHeaderFieldName(name) {
		return "not the name of a header"
	}
	if why, ok := reservedHeaders[http.CanonicalHeaderKey(name)]; ok {
		return "this header can't be set: " + why
	}
	return ""
}

// header gives the headers to send, but for the credential.
func (r *Request) header() (http.Header, error) {
	h := http.Header{"User-Agent": {"orkestra"}, "Accept": {"application/json, text/plain;q=0.9, */*;q=0.8"}}
	if r.Body != nil {
		h.Set("Content-Type", r.ContentType)
	}
	for _, name := range sortedKeys(r.Headers) {
		if problem := CheckHeader(name); problem != "" {
			return nil, refused("header %q: %s", clip(name), problem)
		}
		if !httpguts.ValidHeaderFieldValue(r.Headers[name]) {
			return nil, refused("header %q: its value holds characters that no header may have, such as a line break", clip(name))
		}
		h.Set(name, r.Headers[name])
	}
	if r.Key != "" {
		h.Set(headerKey, r.Key)
	}
	if r.Trace != "" && h.Get(headerTrace) == "" {
		h.Set(headerTrace, r.Trace)
	}
	return h, nil
}

// target gives the URL with the query.
func (r *Request) target() (*url.URL, error) {
	u, err := parseURL(r.URL)
	if err != nil {
		return nil, err
	}
	// A value that a template puts into the path must not lead out of it: a host would serve another resource than the box means.
	for segment := range strings.SplitSeq(u.Path, "/") {
		if segment == "." || segment == ".." {
			return nil, refused("the path of the URL has the segment %q, by which it would be another path", segment)
		}
	}
	u.Fragment, u.RawFragment = "", ""
	if len(r.Query) > 0 {
		q := u.Query()
		for name, value := range r.Query {
			q.Set(name, value)
		}
		u.RawQuery = q.Encode()
	}
	return u, nil
}

// identity is the same for requests that are the same in everything that their answer may depend on. The idempotency key
// and the trace are no part of it.
func (r *Request) identity() [sha256.Size]byte {
	h := sha256.New()
	// With the length before each part, ("ab", "c") and ("a", "bc") differ.
	add := func(parts ...string) {
		for _, p := range parts {
			var size [8]byte
			binary.BigEndian.PutUint64(size[:], uint64(len(p)))
			h.Write(size[:])
			h.Write([]byte(p))
		}
	}
	addMap := func(m map[string]string) {
		add("map")
		for _, k := range sortedKeys(m) {
			add(k, m[k])
		}
	}
	add(r.Box, r.Account, r.Name, r.Method, r.URL, r.Service, string(r.Body), r.ContentType, string(r.CABundle))
	addMap(r.Query)
	addMap(r.Headers)
	if r.Credential != nil {
		add("credential", r.Credential.Header, r.Credential.Value)
	}
	for _, status := range r.Expected {
		add(strconv.Itoa(status))
	}
	return [sha256.Size]byte(h.Sum(nil))
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
