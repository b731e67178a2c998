package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRunner(t *testing.T) {
	const passing = `echo '{"Action":"run","Package":"p","Test":"A"}'
echo '{"Action":"pass","Package":"p","Test":"A"}'
echo '{"Action":"pass","Package":"p"}'`
	const failing = `echo '{"Action":"fail","Package":"p","Test":"A"}'
echo '{"Action":"fail","Package":"p"}'; exit 1`
	cases := map[string]struct {
		steps  []step
		want   string // the closing line
		prints []string
		silent []string
	}{
		"all is well": {
			steps:  []step{{need, "build", "echo built"}, {check, "lint", "true"}, {test, "unit", passing}},
			want:   "1 passed, 0 failed",
			prints: []string{"built"},
		},
		"a failed check is a failure, and the rest runs": {
			steps:  []step{{check, "lint", "false"}, {test, "unit", passing}},
			want:   "1 passed, 1 failed",
			prints: []string{"FAILED: lint: exit status 1"},
		},
		"nothing runs without what it needs": {
			steps:  []step{{need, "build", "exit 3"}, {test, "unit", passing}},
			want:   "0 passed, 1 failed",
			prints: []string{"FAILED: build: exit status 3"},
			silent: []string{"unit"},
		},
		"a failed test is counted once": {
			steps:  []step{{test, "unit", failing}},
			want:   "0 passed, 1 failed",
			prints: []string{"FAILED: p A"},
			silent: []string{"exit status"},
		},
		"a test step that fails without a test": {
			steps:  []step{{test, "unit", passing + "\nexit 2"}},
			want:   "1 passed, 1 failed",
			prints: []string{"FAILED: unit: exit status 2"},
		},
		"a part of a pipe that fails": {
			steps: []step{{check, "lint", "false | true"}},
			want:  "0 passed, 1 failed",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			total := newRunner(&out, &out, t.TempDir()).run(t.Context(), c.steps)
			if !strings.HasSuffix(out.String(), "\n"+c.want+"\n") || total.String() != c.want {
				t.Errorf("want %q at the end of:\n%s", c.want, out.String())
			}
			for _, text := range c.prints {
				if !strings.Contains(out.String(), text) {
					t.Errorf("%q is missing from:\n%s", text, out.String())
				}
			}
			for _, text := range c.silent {
				if strings.Contains(out.String(), text) {
					t.Errorf("%q should not be in:\n%s", text, out.String())
				}
			}
		})
	}
}

func TestRunnerStops(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	var out strings.Builder
	start := time.Now()
	total := newRunner(&out, &out, "").run(ctx, []step{{check, "long", "sleep 60 & wait"}, {check, "next", "true"}})
	if total.failed != 1 || strings.Contains(out.String(), "next") {
		t.Errorf("got %s:\n%s", total, out.String())
	}
	if time.Since(start) > 30*time.Second {
		t.Error("what the step started was waited for")
	}
}

func TestRunnerSuite(t *testing.T) {
	const good = `[{"SpecReports":[
		{"LeafNodeType":"BeforeSuite","State":"passed"},
		{"LeafNodeType":"It","State":"passed"},
		{"LeafNodeType":"It","State":"passed"},
		{"LeafNodeType":"It","State":"pending"}]}]`
	const bad = `[{"SpecReports":[
		{"LeafNodeType":"It","State":"passed"},
		{"LeafNodeType":"It","State":"skipped"},
		{"ContainerHierarchyTexts":["a box"],"LeafNodeType":"It","LeafNodeText":"starts","State":"timedout"},
		{"LeafNodeType":"AfterSuite","State":"panicked"}]}]`
	cases := map[string]struct {
		report, exit string
		want         string
		prints       []string
	}{
		"specs are counted": {report: good, exit: "0", want: "2 passed, 0 failed, 1 skipped", prints: []string{"ok (2 passed", "dots"}},
		"failed specs are named, once each": {
			report: bad, exit: "1", want: "1 passed, 2 failed, 1 skipped",
			prints: []string{"FAILED: [It] a box starts\nFAILED: [AfterSuite]\n\n"},
		},
		"a process that ends badly although its specs do not": {
			report: good, exit: "2", want: "2 passed, 1 failed, 1 skipped", prints: []string{"FAILED: e2e: exit status 2"},
		},
		"a suite that fails as a whole": {
			report: `[{"SpecialSuiteFailureReasons":["a spec is focused"],"SpecReports":[{"LeafNodeType":"It","State":"passed"}]}]`, exit: "1",
			want: "1 passed, 1 failed", prints: []string{"FAILED: a spec is focused"},
		},
		"nothing ran":        {report: `[{"SpecReports":[{"LeafNodeType":"It","State":"skipped"}]}]`, exit: "0", want: "0 passed, 1 failed, 1 skipped", prints: []string{"no spec ran"}},
		"there is no report": {exit: "0", want: "0 passed, 1 failed", prints: []string{"left no report"}},
		"half a report":      {report: `[{"SpecReports":[`, exit: "0", want: "0 passed, 1 failed", prints: []string{"reading the report"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			reports := filepath.Join(t.TempDir(), "new", "reports")
			if err := empty(reports); err != nil {
				t.Fatal(err)
			}
			left := filepath.Join(reports, "of-before.json")
			if err := os.WriteFile(left, []byte(good), 0o600); err != nil {
				t.Fatal(err)
			}
			command := "echo dots; exit " + c.exit
			if c.report != "" {
				command = "cat > " + filepath.Join(reports, "e2e.json") + " <<'END'\n" + c.report + "\nEND\n" + command
			}
			var out strings.Builder
			newRunner(&out, &out, reports).run(t.Context(), []step{{suite, "e2e", command}})
			if !strings.HasSuffix(out.String(), "\n"+c.want+"\n") {
				t.Errorf("want %q at the end of:\n%s", c.want, out.String())
			}
			for _, text := range c.prints {
				if !strings.Contains(out.String(), text) {
					t.Errorf("%q is missing from:\n%s", text, out.String())
				}
			}
		})
	}
}
