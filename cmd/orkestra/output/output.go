// Package output writes answers in the formats that commands have in common.
package output

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// The values of --output.
const (
	Text = "text"
	JSON = "json"
	YAML = "yaml"
	Wide = "wide"
)

// WriteJSON writes a value as indented JSON.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// WriteYAML writes a value as YAML, with the names that it has in JSON.
func WriteYAML(w io.Writer, v any) error {
	b, err := yaml.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// Writer gives what writes an answer in the format of --output: plain where it is empty, which is as people read it. An error for any but
// json and yaml.
func Writer[T any](format string, plain func(w io.Writer, answer T) error) (func(w io.Writer, answer T) error, error) {
	switch format {
	case "":
		return plain, nil
	case JSON:
		return func(w io.Writer, answer T) error { return WriteJSON(w, answer) }, nil
	case YAML:
		return func(w io.Writer, answer T) error { return WriteYAML(w, answer) }, nil
	default:
		return nil, Check(format, JSON, YAML)
	}
}

// Bind gives a command the flag --output, with the formats that it has beside what is printed for people.
func Bind(cmd *cobra.Command, format *string, formats ...string) {
	cmd.Flags().StringVarP(format, "output", "o", "", oneOf(formats)+"; default: as people read it")
	if err := cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // only a wrong name of a flag could fail here, which every test would show
	}
}

// Check gives an error for a format that is none of those that a command has.
func Check(format string, formats ...string) error {
	if format == "" || slices.Contains(formats, format) {
		return nil
	}
	return fmt.Errorf("--output %q: wanted %s", format, oneOf(formats))
}

// oneOf is a list of two or more words, as people write it.
func oneOf(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Count says how many there are of something, such as "1 box" and "2 boxes".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Plain gives a text of an object as one line for a terminal. Control characters are written as in Go, such as \x1b: the text comes
// from everybody who can write the object's status, and could otherwise color the line, move the cursor or hide what stands before.
func Plain(text string) string {
	var b strings.Builder
	broken := false // behind a line break or a tab
	for _, r := range text {
		breaks := unicode.IsSpace(r) && !unicode.IsGraphic(r)
		switch {
		case unicode.IsGraphic(r):
			b.WriteRune(r)
		case !breaks:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		case !broken:
			b.WriteByte(' ')
		}
		broken = breaks
	}
	return b.String()
}

// columnGap is the space between two columns, as kubectl has it.
const columnGap = 3

// Table writes rows with aligned columns, and without space at the ends of lines. The first row is the head.
func Table(w io.Writer, rows [][]string) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, columnGap, ' ', 0)
	for _, row := range rows {
		cells := make([]string, 0, len(row))
		for _, cell := range row {
			cells = append(cells, Plain(cell))
		}
		_, _ = fmt.Fprintln(t, strings.Join(cells, "\t")) // a strings.Builder never fails
	}
	_ = t.Flush()
	for line := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// Grid writes rows that come one by one, with columns as wide as the widest cell so far.
type Grid struct{ widths []int }

// Write writes rows, as Table does.
func (g *Grid) Write(w io.Writer, rows ...[]string) error {
	plain := make([][]string, 0, len(rows))
	for _, row := range rows {
		cells := make([]string, 0, len(row))
		for n, cell := range row {
			cell = Plain(cell)
			if n == len(g.widths) {
				g.widths = append(g.widths, 0)
			}
			g.widths[n] = max(g.widths[n], utf8.RuneCountInString(cell))
			cells = append(cells, cell)
		}
		plain = append(plain, cells)
	}
	for _, cells := range plain {
		var line strings.Builder
		for n, cell := range cells {
			fmt.Fprintf(&line, "%-*s", g.widths[n]+columnGap, cell)
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}
