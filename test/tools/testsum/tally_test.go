package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// testEvents are the events of a test that writes something.
func testEvents(name, result, output string) []event {
	return []event{
		{Action: "run", Package: "p", Test: name},
		{Action: "output", Package: "p", Test: name, Output: output},
		{Action: result, Package: "p", Test: name},
	}
}

func TestTally(t *testing.T) {
	start := event{Action: "start", Package: "p"}
	pass, fail := event{Action: "pass", Package: "p"}, event{Action: "fail", Package: "p"}
	join := func(parts ...[]event) []event {
		var all []event
		for _, part := range parts {
			all = append(all, part...)
		}
		return all
	}
	one := func(e event) []event { return []event{e} }
	cases := map[string]struct {
		events   []event
		want     count
		failures []string
		prints   []string
		silent   []string
	}{
		"leaves are counted, parents are not": {
			events: join(one(start), []event{{Action: "run", Package: "p", Test: "A"}}, testEvents("A/x", "pass", ""), testEvents("A/y", "skip", ""),
				testEvents("A", "pass", "noise"), testEvents("B", "pass", ""), one(pass)),
			want:   count{passed: 2, skipped: 1},
			prints: []string{"ok    p: 2 passed, 0 failed, 1 skipped"},
			silent: []string{"noise"},
		},
		"a failed subtest is one failure": {
			events: join(one(start), []event{{Action: "run", Package: "p", Test: "A"}}, testEvents("A/x", "fail", "bad x\n"),
				testEvents("A/y", "pass", "good y\n"), testEvents("A", "fail", ""), one(fail)),
			want:     count{passed: 1, failed: 1},
			failures: []string{"p A/x"},
			prints:   []string{"bad x", "FAIL  p: 1 passed, 1 failed"},
			silent:   []string{"good y"},
		},
		"a parent that fails by itself is a failure": {
			events: join(one(start), []event{{Action: "run", Package: "p", Test: "A"}}, testEvents("A/x", "pass", ""),
				testEvents("A", "fail", "bad A\n"), one(fail)),
			want:     count{passed: 1, failed: 1},
			failures: []string{"p A"},
			prints:   []string{"bad A"},
		},
		"a slash in a name is no parent": {
			events: join(one(start), testEvents("A", "pass", ""), testEvents("B/c/d", "pass", ""), one(pass)),
			want:   count{passed: 2},
		},
		"a test that did not end has failed": {
			events: join(one(start), []event{{Action: "run", Package: "p", Test: "A"}, {Action: "output", Package: "p", Test: "A", Output: "panic: x\n"}},
				one(fail)),
			want:     count{failed: 1},
			failures: []string{"p A"},
			prints:   []string{"A did not end", "panic: x"},
		},
		"a package that was cut off has failed": {
			events:   join(one(start), testEvents("A", "pass", "")),
			want:     count{passed: 1, failed: 1},
			failures: []string{"p"},
		},
		"a package that does not build has failed": {
			events: []event{
				{Action: "build-output", ImportPath: "p [p.test]", Output: "p.go:1: syntax error\n"},
				{Action: "build-fail", ImportPath: "p [p.test]"},
				start, {Action: "output", Package: "p", Output: "FAIL p [build failed]\n"}, fail,
			},
			want:     count{failed: 1},
			failures: []string{"p"},
			prints:   []string{"syntax error", "[build failed]"},
		},
		"a package without tests is silent": {
			events: []event{start, {Action: "output", Package: "p", Output: "? p [no test files]\n"}, {Action: "skip", Package: "p"}},
			silent: []string{"p"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			got := newTally(&out)
			got.consume(lines(t, c.events), time.Hour)
			expect(t, got, c.want, c.failures)
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

func TestTallyPrintsWhatIsNoEvent(t *testing.T) {
	var out strings.Builder
	in := make(chan string, 2)
	in <- "go: downloading x"
	in <- "{not json"
	close(in)
	newTally(&out).consume(in, time.Hour)
	if out.String() != "go: downloading x\n{not json\n" {
		t.Errorf("got %q", out.String())
	}
}

func expect(t *testing.T, got *tally, want count, failures []string) {
	t.Helper()
	if got.total != want {
		t.Errorf("counted %s, want %s", got.total, want)
	}
	if strings.Join(got.failures, "\n") != strings.Join(failures, "\n") {
		t.Errorf("failures are %q, want %q", got.failures, failures)
	}
}

func lines(t *testing.T, events []event) <-chan string {
	t.Helper()
	in := make(chan string, len(events))
	for _, e := range events {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		in <- string(line)
	}
	close(in)
	return in
}
