package expr

import (
	"fmt"
	"strconv"
	"strings"
	"text/template/parse"
)

// setAction notes the action around a position as it was written, for messages.
func (c *compiler) setAction(pos parse.Pos, line int) {
	at := min(int(pos), len(c.text))
	start := max(strings.LastIndex(c.text[:at], leftDelim), 0)
	end := strings.Index(c.text[at:], rightDelim)
	if end < 0 {
		end = len(c.text) - at - len(rightDelim)
	}
	c.action = shorten(c.text[start:max(at+end+len(rightDelim), start)])
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
	before := c.text[:min(int(pos), len(c.text))]
	line := strings.LastIndex(before, "\n") + 1
	where := fmt.Sprintf("column %d", len([]rune(before[line:]))+1)
	if strings.Contains(c.text, "\n") {
		where = fmt.Sprintf("line %d, %s", 1+strings.Count(before, "\n"), where)
	}
	c.err = fmt.Errorf("%s: %w", where, err)
}
