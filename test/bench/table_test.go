package bench_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/orkspace/orkestra/test/bench/table"
)

// sheet is what a benchmark writes its figures into.
type sheet struct {
	*table.Table
	settings
}

// BenchmarkTable runs the benchmarks that -bench selects, and prints one table with every row.
func BenchmarkTable(b *testing.B) {
	s := readSettings(b)
	columns := []string{ours, hand, held}
	if s.binary != "" {
		columns = []string{ours, other, hand, held}
	}
	t := &sheet{table.New(rows(s), columns...), s}
	before := load()
	for _, m := range []struct {
		name string
		run  func(b *testing.B, t *sheet)
	}{
		{inMicro, measureMicro}, {inSweep, measureSweep}, {inSides, measureSides}, {inWebsites, measureWebsites}, {inBoxes, measureBoxes}, {inIdle, measureIdle},
		{inBurst, measureBurst}, {inRestart, measureRestart}, {inFight, measureFight}, {inNoisy, measureNoisy}, {inHangs, measureHangs}, {inAutoscale, measureAutoscale},
		{inGrowth, measureGrowth}, {inSettled, measureSettled}, {inStarts, measureStarts}, {inOutage, measureOutage}, {inChurn, measureChurn}, {inPage, measurePage}, {inSoak, measureSoak},
	} {
		b.Run(m.name, func(b *testing.B) {
			t.Began(m.name)
			m.run(b, t)
		})
	}
	t.print(b, before)
}

// print prints the table, with the load of the machine before it was begun, and writes it into the report.
func (s *sheet) print(b *testing.B, before string) {
	b.Helper()
	text := s.Markdown(head(s.settings, before))
	fmt.Printf("\n%s\n", text)
	if s.report == "" {
		return
	}
	must(b, os.MkdirAll(filepath.Dir(s.report), 0o755))
	must(b, os.WriteFile(s.report, []byte(text), 0o600))
}

// head says what was run, where, and how busy the machine was: a table of times means little without that.
func head(s settings, before string) string {
	return fmt.Sprintf("Benchmarks of %s UTC on %d cores (%s/%s, %s), load %s before and %s after. Turns: %d; resources in a burst: %d, growing from %d, settled: %d; samples: %d; boxes: %d, starts of boxes: %d; churn for %s, soak for %s, idle for %s.",
		time.Now().UTC().Format(time.DateTime), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), before, load(),
		s.turns, s.burst, s.growth, s.settled, s.samples, s.many, s.starts, s.churned, s.soaked, s.idle)
}

// load is the load of the machine in the last minute, where it is known.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// TestRows: each row can be told from the others, and is measured by something or says why not, and the page says how. So it says of those that
// are only measured beside other tools.
func TestRows(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, r := range rows(settings{}) {
		if seen[r.ID] {
			t.Errorf("two rows are called %s", r.ID)
		}
		seen[r.ID] = true
		if (r.By == "") == (r.Missing == "") {
			t.Errorf("row %s: wanted a benchmark that measures it, or else why none does; found %q and %q", r.ID, r.By, r.Missing)
		}
		if !strings.Contains(string(page), "`"+r.ID+"`") {
			t.Errorf("docs/performance.md does not say how %s is measured", r.ID)
		}
	}
	for _, r := range peerRows() {
		if r.Name == "" || !strings.Contains(string(page), "`"+r.ID+"`") {
			t.Errorf("docs/performance.md does not say how %q (%s) is measured", r.ID, r.Name)
		}
	}
}
