package main

import (
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// event is a line of go test -json.
type event struct {
	Action     string  `json:"Action"`
	Package    string  `json:"Package"`
	ImportPath string  `json:"ImportPath"`
	Test       string  `json:"Test"`
	Output     string  `json:"Output"`
	Elapsed    float64 `json:"Elapsed"`
}

// tally follows the events of one go test -json. It prints a line for each package that ended, and all output of tests that failed.
type tally struct {
	out      io.Writer
	packages map[string]*pkg
	builds   map[string]*strings.Builder
	total    count
	failures []string
}

// pkg is a package whose tests run.
type pkg struct {
	started time.Time
	output  strings.Builder
	tests   map[string]*testCase
}

// testCase is a test or a subtest. Those that only hold others are not counted, but for a failure of their own.
type testCase struct {
	output  strings.Builder
	result  string // pass, fail or skip; empty while it runs
	parent  bool
	elapsed float64
}

func newTally(out io.Writer) *tally {
	return &tally{out: out, packages: map[string]*pkg{}, builds: map[string]*strings.Builder{}}
}

// consume takes lines until there are no more; what has not ended by then has failed.
func (t *tally) consume(lines <-chan string, heartbeat time.Duration) {
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				for _, name := range slices.Sorted(maps.Keys(t.packages)) {
					t.endPackage(name, event{Action: "fail", Package: name})
				}
				return
			}
			t.line(line)
		case <-ticker.C:
			t.beat()
		}
	}
}

// beat names the packages that run.
func (t *tally) beat() {
	for _, name := range slices.Sorted(maps.Keys(t.packages)) {
		p := t.packages[name]
		say(t.out, "...   %s runs for %s, %d tests so far\n", name, time.Since(p.started).Round(time.Second), len(p.tests))
	}
}

func (t *tally) line(line string) {
	var e event
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
		say(t.out, "%s\n", line) // go itself says something
		return
	}
	switch e.Action {
	case "build-output":
		if t.builds[e.ImportPath] == nil {
			t.builds[e.ImportPath] = &strings.Builder{}
		}
		t.builds[e.ImportPath].WriteString(e.Output)
	case "build-fail":
		if b := t.builds[e.ImportPath]; b != nil {
			say(t.out, "%s", b.String())
			delete(t.builds, e.ImportPath)
		}
	default:
		t.event(e)
	}
}

func (t *tally) event(e event) {
	p := t.packages[e.Package]
	if p == nil {
		p = &pkg{started: time.Now(), tests: map[string]*testCase{}}
		t.packages[e.Package] = p
	}
	ended := e.Action == "pass" || e.Action == "fail" || e.Action == "skip"
	switch {
	case e.Test == "" && ended:
		t.endPackage(e.Package, e)
	case e.Test == "" && e.Action == "output":
		p.output.WriteString(e.Output)
	case e.Test != "" && ended:
		c := p.test(e.Test)
		c.result, c.elapsed = e.Action, e.Elapsed
	case e.Test != "" && e.Action == "output":
		p.test(e.Test).output.WriteString(e.Output)
	case e.Test != "":
		p.test(e.Test)
	}
}

// test returns the test of a name, and marks those that hold it.
func (p *pkg) test(name string) *testCase {
	c := p.tests[name]
	if c != nil {
		return c
	}
	c = &testCase{}
	p.tests[name] = c
	for i, char := range name {
		// A slash may also be part of a name; then there is no such test.
		if parent := p.tests[name[:i]]; char == '/' && parent != nil {
			parent.parent = true
		}
	}
	return c
}

// endPackage counts a package, prints its line and, if it failed, why.
func (t *tally) endPackage(name string, e event) {
	p := t.packages[name]
	delete(t.packages, name)
	c, failed := p.count()
	if e.Action == "fail" && c.failed == 0 {
		c.failed = 1 // it does not build, or ended outside a test
		failed = append(failed, "")
	}
	for _, testName := range failed {
		t.failures = append(t.failures, strings.TrimSpace(name+" "+testName))
	}
	t.total = t.total.plus(c)
	if c == (count{}) {
		return // there is no test
	}
	result := "ok"
	if c.failed > 0 {
		result = "FAIL"
		t.printFailures(name, p)
	}
	say(t.out, "%-5s %s: %s (%.1fs)\n", result, name, c, e.Elapsed)
}

// count returns how many tests there are, and the names of those that failed.
func (p *pkg) count() (count, []string) {
	var c count
	var failed []string
	for _, name := range slices.Sorted(maps.Keys(p.tests)) {
		test := p.tests[name]
		switch {
		case test.result == "pass" && !test.parent:
			c.passed++
		case test.result == "skip" && !test.parent:
			c.skipped++
		case test.result == "pass" || test.result == "skip":
		case !test.parent || !p.failedBelow(name):
			c.failed++
			failed = append(failed, name)
		}
	}
	return c, failed
}

// failedBelow says whether a test below this one failed, or did not end.
func (p *pkg) failedBelow(name string) bool {
	for other, test := range p.tests {
		if strings.HasPrefix(other, name+"/") && test.result != "pass" && test.result != "skip" {
			return true
		}
	}
	return false
}

func (t *tally) printFailures(name string, p *pkg) {
	say(t.out, "\n----- %s\n", name)
	for _, testName := range slices.Sorted(maps.Keys(p.tests)) {
		test := p.tests[testName]
		if test.result == "" {
			say(t.out, "%s did not end:\n", testName)
		}
		if test.result == "fail" || test.result == "" {
			say(t.out, "%s", test.output.String())
		}
	}
	say(t.out, "%s-----\n\n", p.output.String())
}
