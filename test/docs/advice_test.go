package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/orkspace/orkestra/engine/web/view"
)

// settled are the reasons of a resource about which there is nothing to do.
var settled = []string{"ReconcileSucceeded", "Settled", "NotStalled"}

// TestAdvice checks that the page of the Control Center has something to do about each reason that the tables of resources explain, and that it leads to
// sections that are there.
func TestAdvice(t *testing.T) {
	base := strings.TrimSuffix(second(view.Advice("", "")), troubleshootPage[len("docs/"):])
	name := regexp.MustCompile("`([A-Z][A-Za-z]+)`")
	of := sections(t, troubleshootPage, "### Ready", "### Reconciling", "### Stalled")
	reasons := 0
	for line := range strings.Lines(of) {
		cell, isRow := strings.CutPrefix(line, "| `")
		if !isRow {
			continue
		}
		cell, _, _ = strings.Cut("`"+cell, "|")
		for _, match := range name.FindAllStringSubmatch(cell, -1) {
			reason := match[1]
			if slices.Contains(settled, reason) {
				continue
			}
			reasons++
			todo, page := view.Advice(reason, "")
			for _, message := range []string{"exceeded quota: a", "failed calling webhook a", "b: panic: c", "external: a", "hook: a", "constructor: a", "providers: a", "connection refused"} {
				_, other := view.Advice(reason, message)
				file, section, _ := strings.Cut("docs/"+strings.TrimPrefix(other, base), "#")
				if !slices.Contains(anchors(t, file), section) {
					t.Errorf("engine/web/view/advice_retried.go leads for %q to %s, which is not there", message, other)
				}
			}
			if todo == "" {
				t.Errorf("%s explains the reason %s, and engine/web/view/advice.go has nothing to do about it", troubleshootPage, reason)
			}
			file, section, hasSection := strings.Cut("docs/"+strings.TrimPrefix(page, base), "#")
			if !hasSection || !slices.Contains(anchors(t, file), section) {
				t.Errorf("engine/web/view/advice.go leads for %s to %s, which is not there", reason, page)
			}
		}
	}
	if reasons < 40 {
		t.Fatalf("found only %d reasons", reasons)
	}
}

// wellBoxes are the reasons of a box about which there is nothing to do.
var wellBoxes = []string{"Running", "Compiled", "Established", "Granted", "Writable"}

// TestBoxAdvice checks the same of the reasons for which a box does not run, or does not run well.
func TestBoxAdvice(t *testing.T) {
	base := strings.TrimSuffix(second(view.Advice("", "")), troubleshootPage[len("docs/"):])
	row := regexp.MustCompile("^\\| `([A-Z][A-Za-z]+)` \\| `(Ready|Compiled|CRDEstablished|PermissionsGranted|StatusWritable|several)`")
	reasons := 0
	for line := range strings.Lines(sections(t, troubleshootPage, "## Boxes")) {
		match := row.FindStringSubmatch(line)
		if match == nil || slices.Contains(wellBoxes, match[1]) {
			continue
		}
		reasons++
		todo, page := view.BoxAdvice(match[1], false)
		if todo == "" {
			t.Errorf("%s explains the reason %s of a box, and engine/web/view/advice_box.go has nothing to do about it", troubleshootPage, match[1])
		}
		file, section, hasSection := strings.Cut("docs/"+strings.TrimPrefix(page, base), "#")
		if hasSection && !slices.Contains(anchors(t, file), section) || !strings.HasPrefix(page, base) {
			t.Errorf("engine/web/view/advice_box.go leads for %s to %s, which is not there", match[1], page)
		}
	}
	if reasons < 20 {
		t.Fatalf("found only %d reasons", reasons)
	}
}

func second(_, b string) string { return b }

// sections gives the text of some sections of a page.
func sections(t *testing.T, page string, headings ...string) string {
	t.Helper()
	var out strings.Builder
	in := false
	for line := range strings.Lines(read(t, page)) {
		if strings.HasPrefix(line, "#") {
			in = slices.Contains(headings, strings.TrimSpace(line))
		}
		if in {
			out.WriteString(line)
		}
	}
	return out.String()
}
