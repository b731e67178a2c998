package view

import (
	"slices"

	"github.com/orkspace/orkestra/engine/web/api"
)

// Steps puts what steps did into the order in which they run. One that no reconcile has come to did nothing; one that is known from a former plan,
// or that is none of a plan, such as what became of children, comes last.
func Steps(order []string, did []api.Step) []api.Step {
	out := make([]api.Step, 0, len(order))
	for _, name := range order {
		step := api.Step{Name: name}
		if at := slices.IndexFunc(did, func(s api.Step) bool { return s.Name == name }); at >= 0 {
			step = did[at]
		}
		out = append(out, step)
	}
	for _, step := range did {
		if !slices.Contains(order, step.Name) && (step.Runs > 0 || step.Failures > 0) {
			out = append(out, step)
		}
	}
	return out
}
