package shape

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// cronFields are the fields of a schedule, as the CronJob controller's parser (robfig/cron) reads them. It is not a dependency: the API
// module has no part of it, and this check only has to find what is surely wrong.
var cronFields = []struct {
	name     string
	min, max int
	words    []string
}{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of the month", 1, 31, nil},
	{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{"day of the week", 0, 6, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// badSchedule says why a CronJob can't have a schedule; empty: it can, or only the API server knows.
func badSchedule(text string) string {
	if strings.HasPrefix(text, "@") {
		return "" // such as @daily
	}
	parts := strings.Fields(text)
	if len(parts) != len(cronFields) {
		return fmt.Sprintf("want five fields, such as \"30 2 * * *\": minute, hour, day of month, month and day of week; got %d", len(parts))
	}
	for i, part := range parts {
		f := cronFields[i]
		for item := range strings.SplitSeq(part, ",") {
			if !cronItem(item, f.min, f.max, f.words) {
				return fmt.Sprintf("the %s is %q: want *, or numbers from %d to %d, as 5, 1-5, 1,5 or */5", f.name, item, f.min, f.max)
			}
		}
	}
	return ""
}

// cronItem reads a number or a range, with or without a step.
func cronItem(item string, low, high int, words []string) bool {
	span, step, stepped := strings.Cut(item, "/")
	if n, err := strconv.Atoi(step); stepped && (err != nil || n < 1) {
		return false
	}
	if span == "*" || span == "?" {
		return true
	}
	from, to, ranged := strings.Cut(span, "-")
	first, ok := cronNumber(from, low, high, words)
	if !ok || !ranged {
		return ok
	}
	last, ok := cronNumber(to, low, high, words)
	return ok && first <= last
}

func cronNumber(text string, low, high int, words []string) (int, bool) {
	if i := slices.Index(words, strings.ToLower(text)); i >= 0 {
		return i + low, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= low && n <= high
}
