package bench_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
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
	for range t.turns {
		for _, m := range micros {
			found, err := runMicro(b, m.dir, m.name)
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

// runMicro runs one benchmark, and gives its figures. It is compiled once, and kept in Go's cache.
func runMicro(b *testing.B, dir, name string) (table.Micro, error) {
	top, _, _ := strings.Cut(name, "/")
	command := exec.CommandContext(b.Context(), "go", "test", "-run", "^$", "-bench", "^"+top+"$", "-benchmem", "-benchtime", "200ms", "./"+dir)
	command.Dir = filepath.Join("..", "..")
	out, err := command.CombinedOutput()
	if err != nil {
		return table.Micro{}, fmt.Errorf("running %s: %w: %s", command, err, out)
	}
	all, err := table.ParseMicro(string(out))
	if err != nil {
		return table.Micro{}, err
	}
	for _, m := range all {
		if m.Name == name {
			return m, nil
		}
	}
	return table.Micro{}, fmt.Errorf("%s has no benchmark %s: %s", dir, name, out)
}
