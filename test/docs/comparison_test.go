package docs_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

const comparisonPage = "docs/comparison.md"

var (
	// figures is a row of the table of figures: what is measured, and four cells.
	figures = regexp.MustCompile(`(?m)^\| [^|]+ \| ([^|]*\d[^|]*) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$`)
	// port is a row of the table of ports: the tool, the lines there, the lines here.
	port = regexp.MustCompile(`(?m)^\| \[[a-z]+\]\(\.\./[a-z0-9/]+/box\.yaml\) \| ([A-Za-z ]+): [^|]+ \| (\d+) \| (\d+) \|`)
)

// TestFiguresBesideOtherTools: each row is one of the table that the benchmark printed, which the page on performance has.
func TestFiguresBesideOtherTools(t *testing.T) {
	_, printed, found := strings.Cut(read(t, "docs/performance.md"), "\n## Beside other tools\n")
	if !found {
		t.Fatal("docs/performance.md has no table of the benchmark beside other tools")
	}
	printed, _, _ = strings.Cut(printed, "\n## ")
	_, table, _ := strings.Cut(read(t, comparisonPage), "## What was measured")
	table, _, _ = strings.Cut(table, "\n## ")
	count := 0
	for _, row := range figures.FindAllStringSubmatch(strings.ReplaceAll(table, "**", ""), -1) {
		count++
		if cells := strings.Join(row[1:], " | "); !strings.Contains(printed, "| "+cells+" |\n") {
			t.Errorf("%s: docs/performance.md has no row with %q", comparisonPage, cells)
		}
	}
	if count < 20 {
		t.Errorf("found only %d rows of figures", count)
	}
}

// TestLinesBesideOtherTools: the sums are those of the table of ports.
func TestLinesBesideOtherTools(t *testing.T) {
	type sum struct{ examples, there, here int }
	sums := map[string]sum{}
	for _, row := range port.FindAllStringSubmatch(read(t, samplesPage), -1) {
		s := sums[row[1]]
		sums[row[1]] = sum{s.examples + 1, s.there + number(t, row[2]), s.here + number(t, row[3])}
	}
	page := read(t, comparisonPage)
	for _, tool := range []string{"Metacontroller", "kro", "KubeVela", "Crossplane"} {
		s := sums[tool]
		if row := fmt.Sprintf("| %s | %d | %d | %d |\n", tool, s.examples, s.there, s.here); s.examples == 0 || !strings.Contains(page, row) {
			t.Errorf("%s: want the row %q", comparisonPage, row)
		}
	}
}
