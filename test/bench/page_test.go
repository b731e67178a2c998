package bench_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/engine/health"
)

// listedBox has no child for the resources that are listed: what they have is not what is measured.
const listedBox = `apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: listed}
spec:
  crd: {name: applieds.noise.example.com}
  onReconcile:
    configmaps: [{data: {a: b}, when: [{field: spec.host, equals: nobody}]}]
`

// pageLimit is how many rows a page of the table has.
const pageLimit = 100

// measurePage has a process serve the Control Center, of many boxes and of a box with many resources, to many pages.
func measurePage(b *testing.B, t *sheet) {
	b.Helper()
	p := newPlane(b)
	p.applyKinds(b, "Applied")
	c := p.contenders(b, t)[0]
	web, profiles := freeAddress(b), freeAddress(b)
	c.command = append(c.command, "--web-bind-address="+web, "--web-anonymous-user=bench", "--web-anonymous-groups=system:masters", "--pprof-bind-address="+profiles, "--metrics-secure=false")
	c.start(b)
	names := plainNames("paged", "x", t.pageBoxes)
	boxes, err := p.follow(b.Context(), boxKind, client.InNamespace(""))
	must(b, err)
	must(b, each(names, func(name string) error { return p.applyDefining(b, name) }))
	_, err = p.cluster.KubectlApply(b.Context(), listedBox)
	must(b, err)
	must(b, boxesReady(boxes, append(names, "listed")...))
	boxes.stop()
	_, err = p.made(b, "Applied", "listed", t.listed)
	must(b, err)
	v := newVisitor(b, "https://"+web)
	_, err = v.get(b.Context(), "/api/v1/boxes/listed/resources") // the rows are kept from now on
	must(b, err)
	for turn := range t.turns {
		time.Sleep(2 * health.SlowInterval) // counters of what was made, or edited, are written
		p.audit.quiet(b, c.user)
		t.Add("page.first", ours, newVisitor(b, "https://"+web).first(b))
		took := v.lists(b, t.listed)
		t.Add("page.rows.p50", ours, took.quantile(0.5))
		t.Add("page.rows.p99", ours, took.quantile(0.99))
		counts, sum := p.audit.quiet(b, c.user)
		t.Add("page.requests", ours, float64(sum-counts["POST subjectaccessreviews"]-counts["POST tokenreviews"]))
		if turn == 0 {
			t.Note("Requests while %d pages of rows were read: %s.", len(took), listed(counts, 1))
		}
		before := heapOf(b, profiles, t.idle)
		pages := v.opens(b, t.pages-1) // the last one measures
		told := p.edited(b, v, t)
		t.Add("page.live", ours, told.quantile(0.99)/1000)
		t.Add("page.heap", ours, (heapOf(b, profiles, t.idle)-before)/1e6)
		pages()
	}
}

// visitor is somebody who looks at the page.
type visitor struct {
	client *http.Client
	base   string
}

// newVisitor is one whose browser has no connection yet.
func newVisitor(b *testing.B, base string) *visitor {
	b.Helper()
	// The process signs its own certificate.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	b.Cleanup(transport.CloseIdleConnections)
	return &visitor{client: &http.Client{Transport: transport}, base: base}
}

// get asks for something, again where the server says that there were too many questions, and gives how long the answer took.
func (v *visitor) get(ctx context.Context, path string) (time.Duration, error) {
	for {
		began := time.Now()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, v.base+path, http.NoBody)
		if err != nil {
			return 0, err
		}
		answer, err := v.client.Do(request)
		if err != nil {
			return 0, fmt.Errorf("asking for %s: %w", path, err)
		}
		said, err := io.ReadAll(answer.Body)
		took := time.Since(began)
		if err = errors.Join(err, answer.Body.Close()); err != nil {
			return 0, fmt.Errorf("reading %s: %w", path, err)
		}
		switch answer.StatusCode {
		case http.StatusOK:
			return took, nil
		case http.StatusTooManyRequests:
			time.Sleep(time.Second)
		default:
			return 0, fmt.Errorf("asking for %s: %s: %.200s", path, answer.Status, said)
		}
	}
}

// first is the time in milliseconds until a browser that has nothing yet has the page, its script and styles, and the fleet.
func (v *visitor) first(b *testing.B) float64 {
	b.Helper()
	began := time.Now()
	for _, path := range []string{"/", "/app.js", "/app.css", "/api/v1/fleet"} {
		_, err := v.get(b.Context(), path)
		must(b, err)
	}
	return float64(time.Since(began)) / float64(time.Millisecond)
}

// lists reads all rows page by page, in two orders, and gives how long each page took.
func (v *visitor) lists(b *testing.B, rows int) (all times) {
	b.Helper()
	for _, sort := range []string{"state", "name"} {
		for offset := 0; offset < rows; offset += pageLimit {
			took, err := v.get(b.Context(), fmt.Sprintf("/api/v1/boxes/listed/resources?sort=%s&limit=%d&offset=%d", sort, pageLimit, offset))
			must(b, err)
			all = append(all, took)
		}
	}
	return all
}

// opens has many pages open, each with its stream and what it has read, until they are closed.
func (v *visitor) opens(b *testing.B, pages int) (closeAll func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	var reading sync.WaitGroup
	for n := range pages {
		path := []string{"/api/v1/fleet", "/api/v1/boxes/listed", "/api/v1/boxes/listed/resources"}[n%3]
		_, err := v.get(ctx, path)
		must(b, err)
		body, err := v.streams(ctx)
		must(b, err)
		reading.Go(func() { _, _ = io.Copy(io.Discard, body); _ = body.Close() }) // it ends when it is closed
	}
	return func() { cancel(); reading.Wait() }
}

// streams opens the stream of changes.
func (v *visitor) streams(ctx context.Context) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, v.base+"/api/v1/stream", http.NoBody)
	if err != nil {
		return nil, err
	}
	answer, err := v.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("opening the stream: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("opening the stream: %s", answer.Status), answer.Body.Close())
	}
	return answer.Body, nil
}

// edited changes 20 resources a second, and gives how long after the edit began a page that listens has been told of it.
func (p *plane) edited(b *testing.B, v *visitor, t *sheet) (all times) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	body, err := v.streams(ctx)
	must(b, err)
	told := make(chan string, 1000)
	go func() {
		defer close(told)
		defer func() { _ = body.Close() }() // it ends with the context
		for lines := bufio.NewScanner(body); lines.Scan(); {
			told <- lines.Text()
		}
	}()
	each := time.NewTicker(time.Second / 20)
	defer each.Stop()
	since, names := map[string]time.Time{}, namesOf("Applied", "listed", t.listed)
	edits := 10 * t.samples
	last := time.After(patience + time.Duration(edits)*time.Second/20)
	for n := 0; n < edits || len(since) > 0; {
		select {
		case <-each.C:
			if n == edits {
				continue
			}
			name := names[n%len(names)]
			n++
			if _, waits := since[name]; waits {
				continue
			}
			since[name] = time.Now()
			patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"edited":"%d"}}}`, time.Now().UnixNano()))
			must(b, p.kube.Patch(b.Context(), noiseOf("Applied", name), patch))
		case line, open := <-told:
			if !open {
				b.Fatal("the stream has ended")
			}
			for name, at := range since {
				if strings.Contains(line, `"name":"`+name+`"`) || strings.Contains(line, `{"box":"listed"}`) {
					all = append(all, time.Since(at))
					delete(since, name)
				}
			}
		case <-last:
			b.Fatalf("nobody was told of %d of %d edits", len(since), edits)
		}
	}
	return all
}

// heapOf is what a process has in use on its heap, in bytes, after it has collected what is not.
func heapOf(b *testing.B, profiles string, idle time.Duration) float64 {
	b.Helper()
	time.Sleep(idle)
	at := url.URL{Scheme: "http", Host: profiles, Path: "/debug/pprof/heap", RawQuery: "gc=1&debug=1"}
	text, err := pageOf(b.Context(), http.DefaultClient, at.String())
	must(b, err)
	for line := range strings.Lines(text) {
		var bytes float64
		if n, err := fmt.Sscanf(line, "# HeapAlloc = %g", &bytes); err == nil && n == 1 {
			return bytes
		}
	}
	b.Fatalf("%s does not say what is in use", at.String())
	return 0
}
