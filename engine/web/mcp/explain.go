package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/engine/web/api"
)

// explanation says why a condition is as it is.
type explanation struct {
	// Headline says in one line how the resource stands.
	Headline string `json:"headline"`
	// Condition is what was asked for.
	Condition api.Condition `json:"condition"`
	// Cause is the first thing that is not as it should be.
	Cause *api.Cause `json:"cause,omitempty"`
	// Declarations are those that are not as they should be, with their gates; without YAML.
	Declarations []api.Declaration `json:"declarations,omitempty"`
	// Notes say what could not be known.
	Notes []string `json:"notes,omitempty"`
}

func (t tools) explain(ctx context.Context, in conditionArgument) (*explanation, error) {
	resource, err := t.source.Resource(ctx, in.Box, in.Namespace, in.Name)
	if err != nil {
		return nil, err
	}
	for _, c := range resource.Conditions {
		if c.Type == in.Type {
			return explained(resource, c), nil
		}
	}
	return nil, fmt.Errorf("%s %q has no condition %q: it has %s", resource.Kind, in.Name, in.Type, typesOf(resource.Conditions))
}

func explained(of *api.Resource, c api.Condition) *explanation {
	out := &explanation{Headline: of.Headline, Condition: c, Cause: of.Cause, Notes: of.Notes}
	for _, d := range of.Declarations {
		if !d.Settled() {
			d.YAML = "" // get_resource has it
			out.Declarations = append(out.Declarations, d)
		}
	}
	return out
}

func typesOf(conditions []api.Condition) string {
	if len(conditions) == 0 {
		return "none"
	}
	types := make([]string, len(conditions))
	for i, c := range conditions {
		types[i] = c.Type
	}
	slices.Sort(types)
	return strings.Join(types, ", ")
}
