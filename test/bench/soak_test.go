package bench_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/orkspace/orkestra/test/bench/table"
	"github.com/orkspace/orkestra/test/localcluster"
)

const (
	// soakRate is how many resources are created, edited and deleted in a second.
	soakRate = churnRate / 2
	// soakPace is the time between two looks at the process.
	soakPace = 5 * time.Second
	// soakPeriod is the time after which client-go forgets events that were sent: every six minutes, those that are older than that. So the
	// heap goes up and down with it, and is level after two of them.
	soakPeriod = 6 * time.Minute
	// soakWarm is how long the process is not looked at, or as long as it is looked at then, where that is shorter.
	soakWarm = 2*soakPeriod + time.Minute
	// soakGroups is the number of groups of looks that a line is laid through, where whole periods are too few.
	soakGroups = 20
)

// measureSoak has resources come, change and go for a long time, and looks at whether the process grows, one binary after another. There is no
// audit log: it would grow by a gigabyte an hour.
func measureSoak(b *testing.B, t *sheet) {
	b.Helper()
	p := startPlane(b, localcluster.Options{})
	p.applyKinds(b, "Applied", "Chained")
	_, err := p.cluster.KubectlApply(b.Context(), fmt.Sprintf(sideBox, usualResync, "b"))
	must(b, err)
	for _, c := range p.contenders(b, t) {
		if c.byHand {
			continue
		}
		address := freeAddress(b)
		c.command = append(c.command, "--metrics-bind-address="+address, "--metrics-secure=false")
		u := &turn{plane: p, contender: c, b: b, t: t, benchmark: inSoak, name: c.short + "soak"}
		u.process = c.start(b)
		u.take([]step{{inSoak, false, func(u *turn) error { return u.soak("http://" + address + "/metrics") }}})
		if !u.process.ended() {
			u.told("end", u.cleared())
			u.told("end", u.process.stop())
		}
	}
}

// freeAddress is one that nobody listens at.
func freeAddress(b *testing.B) string {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(b, err)
	must(b, listener.Close())
	return listener.Addr().String()
}

// gauge is a series that a soak looks at.
type gauge struct {
	row    string
	client *http.Client
	url    string
	// series and label select lines of the page, whose values are added.
	series, label string
	unit          float64
	points        []table.Point
}

// watches is how many there are at the API server, of everybody.
func (p *plane) watches() (*gauge, error) {
	server := p.cluster.Config()
	client, err := rest.HTTPClientFor(server)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return &gauge{row: "soak.watches", client: client, url: server.Host + "/metrics", series: "apiserver_longrunning_requests", label: `verb="WATCH"`, unit: 1}, nil
}

// soak has resources come, change and go, and lays lines through what the process takes meanwhile. The API server tells how many watches there
// are: of everybody, but only those of this process may change.
func (u *turn) soak(metrics string) error {
	if _, err := u.one(noiseOf(u.kind, u.name+"-warm")); err != nil {
		return err
	}
	watches, err := u.watches()
	if err != nil {
		return err
	}
	own := &http.Client{Timeout: patience}
	gauges := []*gauge{
		{row: "soak.heap", client: own, url: metrics, series: "go_gc_heap_live_bytes", unit: 1024},
		{row: "soak.goroutines", client: own, url: metrics, series: "go_goroutines", unit: 1},
		watches,
		{row: "", client: own, url: metrics, series: "process_resident_memory_bytes", unit: 1e6},
	}
	warm := min(soakWarm, u.t.soaked)
	names := namesOf(u.kind, u.name, int(soakRate*(warm+u.t.soaked).Seconds()))
	ctx, cancel := context.WithTimeout(u.b.Context(), warm+u.t.soaked) // a busy machine misses ticks, and would take longer for all names
	defer cancel()
	looked := make(chan error, 1)
	go func() {
		defer cancel() // without figures, the rest of the time is of no use
		looked <- u.look(ctx, warm, gauges)
	}()
	began := time.Now()
	made, err := u.goRound(names, soakRate, func(string) {}, ctx.Done())
	cancel()
	if err := errors.Join(err, <-looked); err != nil {
		return err
	}
	u.t.Note("The soak of %s made %d resources, %.3g a second.", u.column, made, float64(made)/time.Since(began).Seconds())
	for _, g := range gauges {
		u.soaked(g)
	}
	return nil
}

// look reads the gauges again and again, from when the process is warm until ctx ends.
func (u *turn) look(ctx context.Context, warm time.Duration, gauges []*gauge) error {
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(warm):
	}
	began := time.Now()
	tick := time.NewTicker(min(soakPace, u.t.soaked/(2*soakGroups)))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		pages := map[string]string{}
		for _, g := range gauges {
			if pages[g.url] == "" {
				page, err := pageOf(ctx, g.client, g.url)
				if ctx.Err() != nil {
					return nil // the soak has ended
				}
				if err != nil {
					return err
				}
				pages[g.url] = page
			}
			value, found := valueOf(pages[g.url], g.series, g.label)
			if !found {
				return fmt.Errorf("%s has no %s", g.url, g.series)
			}
			g.points = append(g.points, table.Point{At: time.Since(began), Value: value / g.unit})
		}
	}
}

// soaked gives the row of a gauge, and says from where to where it went.
func (u *turn) soaked(g *gauge) {
	points, number := g.points, soakGroups
	if periods := int(u.t.soaked / soakPeriod); periods >= 4 {
		number = periods
	}
	groups := table.Means(points, number)
	trend := table.NewTrend(groups)
	if g.row != "" {
		u.t.AddTrend(g.row, u.column, trend)
	}
	low, high := groups[0].Value, groups[0].Value
	for _, p := range groups {
		low, high = min(low, p.Value), max(high, p.Value)
	}
	u.t.Note("%s of %s over %s, %d looks: %.5g at first, %.5g at last, means of groups %.5g to %.5g; slope %.3g ± %.3g an hour; unit: %g.",
		g.series, u.column, points[len(points)-1].At-points[0].At, len(points), groups[0].Value, groups[len(groups)-1].Value, low, high, trend.Slope, trend.Half, g.unit)
}

// pageOf reads a page of metrics.
func pageOf(ctx context.Context, client *http.Client, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", fmt.Errorf("asking for metrics: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return "", fmt.Errorf("asking for metrics: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // only read from
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "", fmt.Errorf("reading metrics: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("reading metrics of %s: %s: %.200s", url, response.Status, text)
	}
	return string(text), nil
}

// valueOf adds the values of a series on a page of metrics, of those lines that have a label; empty: of all.
func valueOf(page, series, label string) (sum float64, found bool) {
	lines := bufio.NewScanner(strings.NewReader(page))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		rest, of := strings.CutPrefix(lines.Text(), series)
		if !of || rest == "" || rest[0] != ' ' && rest[0] != '{' || !strings.Contains(rest, label) {
			continue
		}
		value, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			continue
		}
		sum, found = sum+value, true
	}
	return sum, found
}

// TestValueOf: a series is told from others whose names begin alike, and those with a label from those without.
func TestValueOf(t *testing.T) {
	const page = `# HELP watches some
# TYPE watches gauge
watches{group="",verb="WATCH"} 12
watches{group="apps",verb="WATCH"} 3
watches{group="apps",verb="CONNECT"} 7
watches_total 100
heap 1.5e+06
`
	for _, tc := range []struct {
		series, label string
		want          float64
		found         bool
	}{
		{"watches", `verb="WATCH"`, 15, true}, {"watches", "", 22, true}, {"heap", "", 1.5e6, true}, {"heap", `verb="WATCH"`, 0, false}, {"watch", "", 0, false},
	} {
		if sum, found := valueOf(page, tc.series, tc.label); sum != tc.want || found != tc.found {
			t.Errorf("%s with %q is %v (%v), wanted %v (%v)", tc.series, tc.label, sum, found, tc.want, tc.found)
		}
	}
}
