package expr

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/template/parse"

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/value"
)

// setAction notes the action around a position as it was written, for messages.
func (c *compiler) setAction(pos parse.Pos, line int) {
	at := min(int(pos), len(c.text))
	start := max(strings.LastIndex(c.text[:at], leftDelim), 0)
	end := strings.Index(c.text[at:], rightDelim)
	if end < 0 {
		end = len(c.text) - at - len(rightDelim)
	}
	c.action = value.Shorten(c.text[start:max(at+end+len(rightDelim), start)])
	if strings.Contains(c.text, "\n") {
		c.action = "line " + strconv.Itoa(line) + ": " + c.action
	}
}

func (c *compiler) failf(pos parse.Pos, format string, args ...any) {
	c.fail(pos, fmt.Errorf(format, args...))
}

// fail keeps the first error, with its position.
func (c *compiler) fail(pos parse.Pos, err error) {
	if c.err != nil {
		return
	}
	c.err = fmt.Errorf("%s: %w", position(c.text, int(pos)), err)
}

// position says where in a text something stands.
func position(text string, at int) string {
	before := text[:min(at, len(text))]
	line := strings.LastIndex(before, "\n") + 1
	where := fmt.Sprintf("column %d", len([]rune(before[line:]))+1)
	if strings.Contains(text, "\n") {
		where = fmt.Sprintf("line %d, %s", 1+strings.Count(before, "\n"), where)
	}
	return where
}

// brokenAction finds the action that the parser can't read, of whose place the parser's error says only the line. It parses the text up
// to the end of each action, in turn, and ignores that blocks are not closed there. If all can be parsed, it gives the end of the text,
// where a block is not closed, or the last action, which has no end itself.
func brokenAction(text string) int {
	const most = 200 // reading a text again and again takes the square of its length
	end := 0
	for range most {
		start := strings.Index(text[end:], leftDelim)
		if start < 0 {
			return len(text)
		}
		start += end
		stop := strings.Index(text[start:], rightDelim)
		if stop < 0 {
			return start
		}
		end = start + stop + len(rightDelim)
		tree := parse.New(mainTree)
		tree.Mode = parse.SkipFuncCheck
		if _, err := tree.Parse(text[:end], leftDelim, rightDelim, map[string]*parse.Tree{}); err != nil && !strings.Contains(err.Error(), "unexpected EOF") {
			return start
		}
	}
	return end
}

// siteError adds the expression that went wrong, as it was written.
type siteError struct {
	expr string
	err  error
}

func (e *siteError) Error() string { return "evaluating " + e.expr + ": " + e.err.Error() }

func (e *siteError) Unwrap() error { return e.err }

// parsePrefix is what text/template puts before its errors.
var parsePrefix = regexp.MustCompile(`^template: [^:]*:(\d+)(?::\d+)?: (?:executing "[^"]*" at <.*>: )?`)

// translateParse puts the position of the action before a parse error, in place of the parser's own prefix.
func translateParse(text string, err error) error {
	message := err.Error()
	m := parsePrefix.FindStringSubmatch(message)
	if m == nil {
		return errors.New(value.Shorten(message))
	}
	message = strings.Join(strings.Fields(strings.TrimPrefix(message, m[0])), " ")
	broken := brokenAction(text)
	action, _, _ := strings.Cut(text[broken:], rightDelim)
	for _, form := range otherForms {
		if at := form.pattern.FindStringSubmatchIndex(action); at != nil && strings.Contains(message, form.refused) {
			ours := fmt.Sprintf(form.ours, action[at[2]:at[3]], action[at[4]:at[5]])
			return fmt.Errorf("%s: %s: write %s", position(text, broken+at[0]), message, ours)
		}
	}
	return fmt.Errorf("%s: %s", position(text, broken), message)
}

// otherForms are how paths are written elsewhere, such as in JSONPath and CEL, that the parser of text/template can't read.
var otherForms = []struct {
	pattern *regexp.Regexp // of a path, and what is taken of it
	refused string         // in the parser's error
	ours    string         // given both
}{
	{regexp.MustCompile(`(\$?\w*(?:\.\w+)+)-(\d+)\b`), "bad character U+002D", `sub %s %s`},
	{regexp.MustCompile(`(\$?\w*(?:\.\w+)+)\.(\w+(?:-\w+)+)`), "bad character U+002D", `get %s %q`},
	{regexp.MustCompile(`(\$?\w*(?:\.\w+)+)\[(\d+)\]`), "bad character U+005B", `index %s %s`},
	{regexp.MustCompile(`(\$?\w*(?:\.\w+)+)\["([^"\]]+)"\]`), "bad character U+005B", `get %s %q`},
}

// translateExec gives the error of our own inside one of text/template. The few errors that text/template makes itself, such
// as a variable that was declared in another branch, hold no values.
func translateExec(text string, err error) error {
	if e, ok := errors.AsType[*siteError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*budget.ExceededError](err); ok {
		return &siteError{expr: value.Shorten(text), err: e}
	}
	return &siteError{expr: value.Shorten(text), err: errors.New(parsePrefix.ReplaceAllString(err.Error(), ""))}
}
