package bench_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// audit counts the requests of each user by what they are for, from the API server's audit log. What tally leaves out, it leaves out, too.
type audit struct {
	path   string
	offset int64
	users  map[string]map[string]int
}

func newAudit(path string) *audit { return &audit{path: path, users: map[string]map[string]int{}} }

// methods are those of the verbs of the log. Requests that are about no resource have the method as their verb.
var methods = map[string]string{
	"get": http.MethodGet, "list": http.MethodGet, "create": http.MethodPost, "update": http.MethodPut, "patch": http.MethodPatch,
	"delete": http.MethodDelete, "deletecollection": http.MethodDelete,
}

// entry is a line of the log.
type entry struct {
	Stage string `json:"stage"`
	Verb  string `json:"verb"`
	URI   string `json:"requestURI"`
	User  struct {
		Username string `json:"username"`
	} `json:"user"`
}

// read counts what was written since it was last called. A line that is not complete yet is left for the next time.
func (a *audit) read() error {
	file, err := os.Open(a.path)
	if err != nil {
		return fmt.Errorf("opening the audit log: %w", err)
	}
	defer func() { _ = file.Close() }() // only read from
	if _, err := file.Seek(a.offset, io.SeekStart); err != nil {
		return fmt.Errorf("reading the audit log: %w", err)
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return fmt.Errorf("reading the audit log: %w", err)
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	a.offset += int64(len(data))
	for line := range bytes.Lines(data) {
		if err := a.count(line); err != nil {
			return err
		}
	}
	return nil
}

func (a *audit) count(line []byte) error {
	var e entry
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("reading a line of the audit log: %w: %s", err, line)
	}
	if e.Stage != "ResponseComplete" && e.Stage != "Panic" {
		return nil // a watch has begun
	}
	uri, err := url.Parse(e.URI)
	if err != nil {
		return fmt.Errorf("reading a line of the audit log: %w", err)
	}
	method := methods[e.Verb]
	if method == "" {
		method = strings.ToUpper(e.Verb)
	}
	if e.Verb == "watch" || uncounted(uri) {
		return nil
	}
	if a.users[e.User.Username] == nil {
		a.users[e.User.Username] = map[string]int{}
	}
	a.users[e.User.Username][method+" "+purpose(uri.Path)]++
	return nil
}

// since gives the counts of a user since they were last asked for, and their sum.
func (a *audit) since(b *testing.B, user string) (counts map[string]int, sum int) {
	b.Helper()
	must(b, a.read())
	counts = a.users[user]
	delete(a.users, user)
	return counts, total(counts)
}

// quiet waits until a user has sent nothing for a while, and gives the counts then. Who never rests is counted after ten seconds.
func (a *audit) quiet(b *testing.B, user string) (counts map[string]int, sum int) {
	b.Helper()
	const rest, look, most = 1500 * time.Millisecond, 100 * time.Millisecond, 10 * time.Second
	began, last, seen := time.Now(), time.Now(), -1
	for time.Since(last) < rest && time.Since(began) < most {
		must(b, a.read())
		if n := total(a.users[user]); n != seen {
			seen, last = n, time.Now()
		}
		time.Sleep(look)
	}
	return a.since(b, user)
}

func total(counts map[string]int) int {
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum
}

// apart is how many requests are in only one of two counts.
func apart(one, other map[string]int) int {
	sum := 0
	for what := range union(one, other) {
		sum += max(one[what], other[what]) - min(one[what], other[what])
	}
	return sum
}

func union(one, other map[string]int) map[string]int {
	all := maps.Clone(one)
	if all == nil {
		all = map[string]int{}
	}
	maps.Copy(all, other)
	return all
}

// uncounted says that a request is a watch, or about the lease of a leader, or an event of it.
func uncounted(uri *url.URL) bool {
	return uri.Query().Get("watch") == "true" || strings.Contains(uri.Path, "/leases") || strings.Contains(uri.Path, "/namespaces/"+ownNamespace+"/events")
}

// listed prints counts, each as a share of some number of things.
func listed(counts map[string]int, of int) string {
	var out []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprintf("%s %.3g", what, float64(counts[what])/float64(of)))
	}
	return strings.Join(out, ", ")
}

// TestAudit: what the log says is counted as the transport counts it.
func TestAudit(t *testing.T) {
	path := t.TempDir() + "/audit.log"
	a := newAudit(path)
	write := func(text string) {
		t.Helper()
		file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = file.WriteString(text)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		if err := a.read(); err != nil {
			t.Fatal(err)
		}
	}
	line := func(user, verb, uri string) string {
		return fmt.Sprintf(`{"stage":"ResponseComplete","verb":%q,"requestURI":%q,"user":{"username":%q}}`+"\n", verb, uri, user)
	}
	write(line("a", "get", "/api/v1/namespaces/default/configmaps/x") + line("a", "list", "/api/v1/configmaps?limit=500") +
		line("a", "patch", "/apis/noise.example.com/v1/namespaces/default/applieds/x/status?force=true") +
		strings.Replace(line("a", "get", "/api/v1/nodes"), "ResponseComplete", "ResponseStarted", 1) +
		line("a", "watch", "/api/v1/configmaps?watch=true") + line("a", "update", "/apis/coordination.k8s.io/v1/namespaces/default/leases/l") +
		line("a", "get", "/api") + line("b", "create", "/api/v1/namespaces/default/configmaps")[:40])
	want := map[string]int{"GET configmaps": 2, "PATCH applieds/status": 1, "GET discovery": 1}
	if got := a.users["a"]; !maps.Equal(got, want) || a.users["b"] != nil {
		t.Errorf("counted %v and %v, wanted %v and nothing of a line that is not complete", got, a.users["b"], want)
	}
	write(line("b", "create", "/api/v1/namespaces/default/configmaps")[40:])
	if got := a.users["b"]; !maps.Equal(got, map[string]int{"POST configmaps": 1}) {
		t.Errorf("counted %v once the line was complete", got)
	}
	if got := a.users["a"]; !maps.Equal(got, want) {
		t.Errorf("counted %v, wanted %v: no line twice", got, want)
	}
	if n := apart(want, map[string]int{"GET configmaps": 1, "POST secrets": 2, "PATCH applieds/status": 1, "GET discovery": 1}); n != 3 {
		t.Errorf("%d requests are in one count only, wanted 3", n)
	}
}
