package table

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Table collects what contestants came to. It is for one goroutine.
type Table struct {
	rows        []Row
	contestants []string
	figures     map[cell][]float64
	trends      map[cell]Trend
	reasons     map[cell]string
	ran         map[string]bool
	notes       []string
}

type cell struct{ row, contestant string }

// New makes a table without figures. The first contestant is the one that budgets are for.
func New(rows []Row, contestants ...string) *Table {
	return &Table{rows: rows, contestants: contestants, figures: map[cell][]float64{}, trends: map[cell]Trend{}, reasons: map[cell]string{}, ran: map[string]bool{}}
}

// Began notes that a benchmark runs, so that a row of it without a figure is told from one that nobody asked for.
func (t *Table) Began(benchmark string) { t.ran[benchmark] = true }

// Add gives the figure of one turn. A row or a contestant that the table does not have is a mistake in the caller, and panics.
func (t *Table) Add(row, contestant string, figure float64) {
	t.must(row, contestant)
	at := cell{row, contestant}
	t.figures[at] = append(t.figures[at], figure)
}

// AddTrend gives a slope with the interval that it has by itself, from many samples of one run.
func (t *Table) AddTrend(row, contestant string, trend Trend) {
	t.must(row, contestant)
	t.trends[cell{row, contestant}] = trend
}

// Miss says why a contestant has no figure in a row. What was measured in other turns stays.
func (t *Table) Miss(row, contestant, why string) {
	t.must(row, contestant)
	t.reasons[cell{row, contestant}] = why
}

// MissStep does so for all rows of a step that have no figure of the contestant.
func (t *Table) MissStep(benchmark, step, contestant, why string) {
	for i := range t.rows {
		r := &t.rows[i]
		if r.By == benchmark && r.Ratio == nil && strings.HasPrefix(r.ID, step+".") {
			if _, _, there := t.result(r, contestant); !there {
				t.Miss(r.ID, contestant, why)
			}
		}
	}
}

// Note adds a line below the table.
func (t *Table) Note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

func (t *Table) must(row, contestant string) {
	if !slices.ContainsFunc(t.rows, func(r Row) bool { return r.ID == row }) {
		panic(fmt.Sprintf("the table has no row %q", row))
	}
	if !slices.Contains(t.contestants, contestant) {
		panic(fmt.Sprintf("the table has no contestant %q, only %q", contestant, t.contestants))
	}
}

// of gives the figures of a row, one for each turn.
func (t *Table) of(r *Row, contestant string) []float64 {
	if r.Ratio == nil {
		return t.figures[cell{r.ID, contestant}]
	}
	if contestant == r.Ratio.By {
		return nil
	}
	var ratios []float64
	other := t.figures[cell{r.Ratio.Row, r.Ratio.By}]
	for turn, figure := range t.figures[cell{r.Ratio.Row, contestant}] {
		if turn < len(other) && other[turn] != 0 {
			ratios = append(ratios, figure/other[turn])
		}
	}
	return ratios
}

// missing says why a row has no figure of any contestant.
func (t *Table) missing(r *Row) string {
	switch {
	case r.By == "":
		return r.Missing
	case r.Ratio != nil:
		return "the two were not measured in the same turns"
	default:
		return "the benchmark " + r.By + " ended before"
	}
}

// Markdown prints the table, with a head above it and the notes below.
func (t *Table) Markdown(head string) string {
	var out strings.Builder
	out.WriteString(head + "\n\n| row | what is measured | budget |")
	for _, c := range t.contestants {
		out.WriteString(" " + c + " | |")
	}
	out.WriteString("\n|---|---|---|" + strings.Repeat("---|---|", len(t.contestants)) + "\n")
	left := map[string]bool{}
	for i := range t.rows {
		if r := &t.rows[i]; r.By == "" || t.ran[r.By] {
			t.line(&out, r)
		} else {
			left[r.By] = true
		}
	}
	if len(left) > 0 {
		fmt.Fprintf(&out, "\nThis run left out: %s.\n", strings.Join(slices.Sorted(maps.Keys(left)), ", "))
	}
	if len(t.notes) > 0 {
		out.WriteString("\n- " + strings.Join(t.notes, "\n- ") + "\n")
	}
	return out.String()
}

func (t *Table) line(out *strings.Builder, r *Row) {
	fmt.Fprintf(out, "| `%s` | %s | %s |", r.ID, r.Name, r.Bound.text(r.Unit))
	measured := slices.ContainsFunc(t.contestants, func(c string) bool { _, _, there := t.result(r, c); return there })
	for i, c := range t.contestants {
		figure, verdict, there := t.result(r, c)
		why := t.reasons[cell{r.ID, c}]
		switch {
		case there && why != "":
			fmt.Fprintf(out, " %s; then: %s | %s |", figure, plain(why), verdict)
		case there:
			fmt.Fprintf(out, " %s | %s |", figure, verdict)
		case why != "":
			fmt.Fprintf(out, " not measured: %s | |", plain(why))
		case i == 0 && !measured:
			fmt.Fprintf(out, " not measured: %s | |", plain(t.missing(r)))
		default:
			out.WriteString(" – | |")
		}
	}
	out.WriteString("\n")
}

// result is what a contestant came to in a row; there is false where it has no figure.
func (t *Table) result(r *Row, contestant string) (figure string, verdict Verdict, there bool) {
	if trend, found := t.trends[cell{r.ID, contestant}]; found {
		return r.trend(trend), r.judge(trend.Slope, trend.Half), true
	}
	figures := t.of(r, contestant)
	if len(figures) == 0 {
		return "", None, false
	}
	return r.figure(figures), r.verdict(figures), true
}

// plain makes a text fit into a cell.
func plain(text string) string {
	const most = 160
	text = strings.NewReplacer("\n", " ", "|", "\\|").Replace(strings.TrimSpace(text))
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
