package table

import (
	"fmt"
	"strconv"
	"strings"
)

// Micro has the figures of one benchmark of Go's testing package, by their units, such as "ns/op".
type Micro struct {
	// Name without the number of processors.
	Name string
	// Figures by unit.
	Figures map[string]float64
}

// ParseMicro reads what `go test -bench` prints. Lines of other kinds are skipped.
func ParseMicro(text string) ([]Micro, error) {
	var all []Micro
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 4 || !strings.HasPrefix(words[0], "Benchmark") {
			continue
		}
		name := words[0]
		if dash := strings.LastIndex(name, "-"); dash > 0 {
			if _, err := strconv.Atoi(name[dash+1:]); err == nil {
				name = name[:dash]
			}
		}
		m := Micro{Name: name, Figures: map[string]float64{}}
		for i := 2; i+1 < len(words); i += 2 {
			figure, err := strconv.ParseFloat(words[i], 64)
			if err != nil {
				return nil, fmt.Errorf("reading %q: a number was expected, not %q", strings.TrimSpace(line), words[i])
			}
			m.Figures[words[i+1]] = figure
		}
		all = append(all, m)
	}
	return all, nil
}
