package view

import (
	"slices"

	"github.com/orkspace/orkestra/engine/pipeline/graph"
	"github.com/orkspace/orkestra/engine/web/api"
)

const (
	// maxNodes and maxEdges are how many nodes and edges of a graph are shown, and maxReads how many fields that a gate reads of one.
	maxNodes, maxEdges, maxReads = 300, 2000, 5
)

// Graph is what a box declares, and what of it depends on what.
func Graph(of graph.Graph, revision string) *api.Graph {
	shown := min(len(of.Nodes), maxNodes)
	out := &api.Graph{Revision: revision, Nodes: make([]api.GraphNode, 0, shown), Edges: []api.GraphEdge{}, More: len(of.Nodes) - shown}
	for _, n := range of.Nodes[:shown] {
		out.Nodes = append(out.Nodes, api.GraphNode{
			Path: n.Path, Label: n.Label, Group: n.Group, Kind: n.Kind, Box: n.Box, Gated: n.Gated, Loop: n.Loop, Optional: n.Optional,
		})
	}
	for i := range of.Edges {
		e := &of.Edges[i]
		if e.From >= shown || e.To >= shown {
			continue
		}
		if len(out.Edges) == maxEdges {
			out.MoreEdges++
			continue
		}
		one := api.GraphEdge{From: of.Nodes[e.From].Path, To: of.Nodes[e.To].Path, Fields: e.Fields[:min(len(e.Fields), maxReads)], Ring: e.Ring}
		for _, way := range e.Ways {
			one.Ways = append(one.Ways, string(way))
		}
		out.Edges = append(out.Edges, one)
	}
	return out
}

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
