package bench_test

import (
	"cmp"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/orkspace/orkestra/test/bench/table"
)

// micros are the benchmarks beside the code that make rows, by the step of the row.
var micros = []struct{ step, dir, name, unit string }{
	{"noop", "engine/cycle", "BenchmarkNoOp", "µs"},
	{"decide", "engine/cycle", "BenchmarkDecide", "µs"},
	{"evaluation", "engine/pipeline", "BenchmarkEvaluation", "µs"},
	{"compile", "engine/pipeline", "BenchmarkCompile", "ms"},
	{"template", "engine/expr", "BenchmarkEval/tree30", "µs"},
	{"condition", "engine/when", "BenchmarkEval/{field:_spec.num,_greaterThan:_1}", "µs"},
	{"diff", "engine/drift", "BenchmarkFiveChildren/Both", "µs"},
}

// perUnit has the nanoseconds of a unit.
var perUnit = map[string]float64{"µs": 1e3, "ms": 1e6}

// measureMicro runs the benchmarks of Go's testing package that lie beside the code. They are of this tree alone: another binary has none.
func measureMicro(b *testing.B, t *sheet) {
	b.Helper()
	programs := map[string]string{}
	for _, m := range micros {
		program := filepath.Join(b.TempDir(), "micro.test")
		if programs[m.dir] == "" {
			out, err := command(b, filepath.Join("..", ".."), "go", "test", "-c", "-o", program, "./"+m.dir)
			if err != nil {
				b.Fatalf("compiling the benchmarks of %s: %v: %s", m.dir, err, out)
			}
			programs[m.dir] = program
		}
	}
	for range t.turns {
		for _, m := range micros {
			found, err := runMicro(b, programs[m.dir], filepath.Join("..", "..", m.dir), m.name)
			if err != nil {
				t.MissStep(inMicro, m.step, ours, err.Error())
				b.Errorf("measuring %s: %v", m.step, err)
				continue
			}
			t.Add(m.step+".time", ours, found.Figures["ns/op"]/perUnit[m.unit])
			t.Add(m.step+".allocs", ours, found.Figures["allocs/op"])
		}
	}
}

// command runs a program in a folder, and gives what it prints.
func command(b *testing.B, dir, program string, args ...string) (string, error) {
	b.Helper()
	c := exec.CommandContext(b.Context(), program, args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	return string(out), err
}

// runMicro runs one benchmark some times, and gives the figures of the fastest: what else the machine does only makes it slower.
func runMicro(b *testing.B, program, dir, name string) (table.Micro, error) {
	b.Helper()
	top, _, _ := strings.Cut(name, "/")
	out, err := command(b, dir, program, "-test.run=^$", "-test.bench=^"+top+"$", "-test.benchmem", "-test.benchtime=100ms", "-test.count=5")
	if err != nil {
		return table.Micro{}, fmt.Errorf("running %s: %w: %s", name, err, out)
	}
	all, err := table.ParseMicro(out)
	if err != nil {
		return table.Micro{}, err
	}
	all = slices.DeleteFunc(all, func(m table.Micro) bool { return m.Name != name })
	if len(all) == 0 {
		return table.Micro{}, fmt.Errorf("%s has no benchmark %s: %s", dir, name, out)
	}
	return slices.MinFunc(all, func(one, other table.Micro) int { return cmp.Compare(one.Figures["ns/op"], other.Figures["ns/op"]) }), nil
}
