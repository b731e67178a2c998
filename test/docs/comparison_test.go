package docs_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

const comparisonPage = "docs/comparison.md"

var (
	// laterRun is a row of the table of figures: its last cell is of a run that the page on performance has.
	laterRun = regexp.MustCompile(`(?m)^\| [^|]+ \| [^|]+ \| [^|]+ \| [^|]+ \| ([^|]+) \|$`)
	// port is a row of the table of ports: the tool, the lines there, the lines here.
	port = regexp.MustCompile(`(?m)^\| \[[a-z]+\]\(\.\./[a-z0-9/]+/box\.yaml\) \| ([A-Za-z ]+): [^|]+ \| (\d+) \| (\d+) \|`)
)

// TestFiguresBesideOtherTools: what is said of the later run stands on the page on performance, with its unit and interval.
func TestFiguresBesideOtherTools(t *testing.T) {
	performance := read(t, "docs/performance.md")
	count := 0
	for _, row := range laterRun.FindAllStringSubmatch(read(t, comparisonPage), -1) {
		figure := row[1]
		if strings.HasPrefix(figure, "--") || strings.HasPrefix(figure, "Orkestra") {
			continue
		}
		count++
		value, unit, _ := strings.Cut(figure, " ")
		if strings.HasPrefix(unit, "±") {
			value = figure
		}
		if !regexp.MustCompile(`[ |]` + regexp.QuoteMeta(value) + `[ ,;|]`).MatchString(performance) {
			t.Errorf("%s: docs/performance.md has no %q", comparisonPage, figure)
		}
	}
	if count < 15 {
		t.Errorf("found only %d figures of the later run", count)
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
