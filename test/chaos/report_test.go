package chaos_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// report adds up what happened in all seeds.
type report struct {
	resources int
	runs      []*run
}

func (r *report) add(one *run) { r.runs = append(r.runs, one) }

// markdown is the table of faults and counts.
func (r *report) markdown() string {
	faults, seeds, acts := map[fault]int{}, map[fault]int{}, map[string]int{}
	writes, seconds, slowest, failed := 0, 0.0, 0.0, []string{}
	for _, one := range r.runs {
		for f, n := range one.counts {
			faults[f] += n
			seeds[f]++
		}
		for _, u := range one.world.users {
			for what, n := range u.did {
				acts[what] += n
			}
		}
		if !one.succeeded {
			failed = append(failed, fmt.Sprint(one.seed))
		}
		writes += one.writes
		seconds += one.took.Seconds()
		slowest = max(slowest, one.took.Seconds())
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d seeds, %d of them failed, %d resources of each of %d kinds, %d writes of managers; %.1f s for a seed on average, %.1f s for the slowest.\n\n",
		len(r.runs), len(failed), r.resources, len(kinds), writes, seconds/float64(len(r.runs)), slowest)
	if len(failed) > 0 {
		fmt.Fprintf(&b, "Failed: %s.\n\n", strings.Join(failed, ", "))
	}
	b.WriteString("| fault | count | in seeds |\n|---|---:|---:|\n")
	for _, f := range slices.Sorted(maps.Keys(faults)) {
		fmt.Fprintf(&b, "| %s | %d | %d |\n", f, faults[f], seeds[f])
	}
	b.WriteString("\n| what users did | count |\n|---|---:|\n")
	for _, what := range slices.Sorted(maps.Keys(acts)) {
		fmt.Fprintf(&b, "| %s | %d |\n", what, acts[what])
	}
	return b.String()
}
