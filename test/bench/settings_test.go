package bench_test

import (
	"os"
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
	// burst is how many resources are made at once: BENCH_BURST.
	burst int
	// samples is how often one thing is done after another, for quantiles: BENCH_SAMPLES.
	samples int
	// many is how many boxes are made at once: BENCH_BOXES. Ten more are there when memory is read.
	many int
	// idle is how long a process is looked at that has nothing to do: BENCH_IDLE.
	idle time.Duration
	// report is the file that the table goes to: BENCH_REPORT; empty: none.
	report string
}

func readSettings(b *testing.B) settings {
	b.Helper()
	s := settings{
		binary: os.Getenv("BENCH_BINARY"), report: os.Getenv("BENCH_REPORT"),
		turns: number(b, "BENCH_TURNS", 3), burst: number(b, "BENCH_BURST", 300), samples: number(b, "BENCH_SAMPLES", 20), many: number(b, "BENCH_BOXES", 60),
		idle: 20 * time.Second,
	}
	if text := os.Getenv("BENCH_IDLE"); text != "" {
		idle, err := time.ParseDuration(text)
		if err != nil || idle <= 0 {
			b.Fatalf("BENCH_IDLE is %q, wanted a duration such as 20s", text)
		}
		s.idle = idle
	}
	return s
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
