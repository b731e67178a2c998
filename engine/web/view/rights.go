package view

import (
	"slices"
	"strings"

	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/web/api"
)

// maxRights is how many resources are shown that rights are needed over.
const maxRights = 300

// Holds says whether somebody has a right; known is false where the API server has not said so.
type Holds func(access.Right) (granted, known bool)

// Rights puts the rights over the same objects together, those that are missing first.
func Rights(needed []access.Right, holds Holds) *api.Rights {
	var all []api.NeededRight
	places := map[access.Right]int{}
	for _, right := range needed {
		about := right
		about.Verb = ""
		at, known := places[about]
		if !known {
			at = len(all)
			places[about] = at
			all = append(all, api.NeededRight{Group: right.Group, Resource: resourceOf(right), Namespace: right.Namespace, Name: right.Name, Verbs: []string{}})
		}
		note(&all[at], right.Verb, holds, right)
	}
	slices.SortStableFunc(all, func(a, b api.NeededRight) int { return urgency(&b) - urgency(&a) })
	shown := min(len(all), maxRights)
	out := &api.Rights{Rights: append([]api.NeededRight{}, all[:shown]...), More: len(all) - shown}
	for i := range all {
		out.Missing += len(all[i].Missing)
	}
	return out
}

func note(one *api.NeededRight, verb string, holds Holds, right access.Right) {
	if slices.Contains(one.Verbs, verb) {
		return
	}
	one.Verbs = append(one.Verbs, verb)
	granted, known := holds(right)
	one.Unknown = one.Unknown || !known
	if known && !granted {
		one.Missing = append(one.Missing, verb)
	}
}

// urgency puts what is missing before what is not known, and that before the rest.
func urgency(r *api.NeededRight) int {
	switch {
	case len(r.Missing) > 0:
		return 2
	case r.Unknown:
		return 1
	default:
		return 0
	}
}

func resourceOf(r access.Right) string { return strings.TrimSuffix(r.Resource+"/"+r.Subresource, "/") }
