package bench_test

import (
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// settings say how much is measured. Each has a variable of the environment.
type settings struct {
	// binary is another binary of ours, which is run in turns with bin/orkestra: BENCH_BINARY; empty: none.
	binary string
	// turns of each contestant: BENCH_TURNS. Times need three for a verdict.
	turns int
	// steps are those of a benchmark in turns that are measured: BENCH_STEPS, a regular expression of whole names; nil: all.
	steps *regexp.Regexp
	// burst is how many resources are made at once: BENCH_BURST.
	burst int
	// samples is how often one thing is done after another, for quantiles: BENCH_SAMPLES.
	samples int
	// links are those of a chain of children, each of which waits for the one before it: BENCH_LINKS.
	links int
	// many is how many boxes are made at once: BENCH_BOXES. Ten more are there when memory is read.
	many int
	// growth is how many resources are made first where more are made then: BENCH_GROWTH.
	growth int
	// settled is how many resources are there when the heap that they take is read: BENCH_SETTLED.
	settled int
	// listed is how many resources the page lists: BENCH_LISTED; pages how many pages are open: BENCH_PAGES, at most 200; pageBoxes how many boxes
	// there are besides: BENCH_PAGE_BOXES.
	listed, pages, pageBoxes int
	// restartBoxes is how many boxes a manager runs that is restarted: BENCH_RESTART_BOXES; restartEach how many resources of each: BENCH_RESTART_EACH.
	restartBoxes, restartEach int
	// failing is how many resources of a noisy box fail for ever: BENCH_FAILING.
	failing int
	// starts is how often boxes are started and stopped: BENCH_STARTS.
	starts int
	// churned is how long resources come, change and go: BENCH_CHURN.
	churned time.Duration
	// soaked is how long they do at half the rate, while slopes are measured: BENCH_SOAK.
	soaked time.Duration
	// idle is how long a process is looked at that has nothing to do: BENCH_IDLE.
	idle time.Duration
	// report is the file that the table goes to: BENCH_REPORT; empty: none.
	report string
}

func readSettings(b *testing.B) settings {
	b.Helper()
	return settings{
		binary: os.Getenv("BENCH_BINARY"), report: os.Getenv("BENCH_REPORT"), steps: expression(b, "BENCH_STEPS"),
		turns: number(b, "BENCH_TURNS", 3), burst: number(b, "BENCH_BURST", 300), samples: number(b, "BENCH_SAMPLES", 20), many: number(b, "BENCH_BOXES", 60), links: number(b, "BENCH_LINKS", 8),
		growth: number(b, "BENCH_GROWTH", 1000), settled: number(b, "BENCH_SETTLED", 10000), starts: number(b, "BENCH_STARTS", 1000),
		listed: number(b, "BENCH_LISTED", 50000), pages: number(b, "BENCH_PAGES", 200), pageBoxes: number(b, "BENCH_PAGE_BOXES", 300), failing: number(b, "BENCH_FAILING", 1000),
		restartBoxes: number(b, "BENCH_RESTART_BOXES", 50), restartEach: number(b, "BENCH_RESTART_EACH", 40),
		idle: span(b, "BENCH_IDLE", 20*time.Second), churned: span(b, "BENCH_CHURN", time.Minute), soaked: span(b, "BENCH_SOAK", 30*time.Minute),
	}
}

// expression reads a regular expression of whole names.
func expression(b *testing.B, variable string) *regexp.Regexp {
	b.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return nil
	}
	e, err := regexp.Compile("^(?:" + text + ")$")
	if err != nil {
		b.Fatalf("%s=%q: %v", variable, text, err)
	}
	return e
}

// span reads a duration above 0.
func span(b *testing.B, variable string, otherwise time.Duration) time.Duration {
	b.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		b.Fatalf("%s is %q, wanted a duration such as 20s", variable, text)
	}
	return d
}

// number reads a whole number above 0.
func number(b *testing.B, variable string, otherwise int) int {
	b.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		b.Fatalf("%s is %q, wanted a whole number above 0", variable, text)
	}
	return n
}
