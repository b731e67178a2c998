// Package graph says what depends on what of all that a box declares. It reads a compiled box, and knows no resource.
package graph

import (
	"slices"

	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/outside"
	"github.com/orkspace/orkestra/engine/pipeline/providers"
	"github.com/orkspace/orkestra/engine/rings"
)

// The groups of what stands in no group of declarations.
const (
	Cross     = compile.RootCross
	External  = compile.RootExternal
	Providers = compile.RootProviders
	Patches   = "patches"
	Hook      = declare.HookID
)

// Graph has what a box declares, and what of it depends on what.
type Graph struct {
	// Nodes in the order of the box: what is read from outside, declarations of all groups, patches, what providers make.
	Nodes []Node
	// Edges by the places of their ends among the nodes, each pair once.
	Edges []Edge
}

// Node is one thing that a box declares.
type Node struct {
	// Path is its place in the box, which no other node has.
	Path string
	// Label names it as messages do, and Group says what it is: a group of declarations, or one of those above.
	Label, Group string
	// Kind of its object; what is read; or the provider and its kind.
	Kind string
	// Box whose resources are read; empty: none.
	Box string
	// Gated says that it has conditions of its own, Loop that it stands for each item of a list, Optional that nothing waits for it.
	Gated, Loop, Optional bool
}

// Edge says that the node To depends on the node From.
type Edge struct {
	// From and To are places among the nodes.
	From, To int
	// Ways in which it does, in the order gate, after, templates, default.
	Ways []declare.Way
	// Fields that conditions read of From, each once.
	Fields []string
	// Ring says that From depends on To as well, if only by way of others.
	Ring bool
}

// Of makes the graph of what is declared, and of what is read from outside and made there.
func Of(set *declare.Set, sources []outside.Source, made []providers.Declared) Graph {
	b := &builder{links: set.Links(), places: map[any]int{}, edges: map[[2]int]*Edge{}}
	for i := range sources {
		s := &sources[i]
		b.add(s.Outside, Node{Path: s.Path, Label: s.Name, Group: s.Root, Kind: s.What, Box: s.Box, Gated: s.Gate != nil, Optional: s.Optional})
	}
	declared := set.Every()
	for _, d := range declared {
		b.add(d, nodeOf(d))
	}
	for _, m := range made {
		node := nodeOf(m.Declaration)
		node.Group, node.Kind = Providers, m.Kind
		b.places[m.Declaration] = b.add(compile.Outside{Root: compile.RootProviders, Name: m.ID}, node)
	}
	for i := range sources {
		s := &sources[i]
		b.link(b.places[s.Outside], b.links.By(declare.OnReconcile, s.Gate.Paths(), declare.ByGate))
		b.link(b.places[s.Outside], b.links.By(declare.OnReconcile, s.Paths, declare.ByTemplates))
	}
	for _, d := range declared {
		b.link(b.places[d], b.links.Of(d))
	}
	for _, m := range made {
		b.link(b.places[m.Declaration], b.links.Of(m.Declaration))
	}
	return b.graph()
}

func nodeOf(d *declare.Declaration) Node {
	n := Node{Path: d.Where, Label: d.Label(), Group: string(d.Phase), Kind: d.Kind.GVK.Kind, Gated: d.Gated, Loop: d.Loop != nil, Optional: d.Optional}
	switch {
	case d.Coded:
		n.Group, n.Loop = Hook, false // its objects are said by code, and not by a list
	case d.Patch != nil:
		n.Group, n.Kind = Patches, d.Kinds.Only().Kind
	default:
	}
	return n
}

type builder struct {
	links  declare.Links
	nodes  []Node
	places map[any]int // of nodes, by *declare.Declaration and compile.Outside
	edges  map[[2]int]*Edge
}

func (b *builder) add(key any, n Node) (place int) {
	b.places[key] = len(b.nodes)
	b.nodes = append(b.nodes, n)
	return b.places[key]
}

// link notes what a node depends on.
func (b *builder) link(to int, links []declare.Link) {
	for _, link := range links {
		var from int
		var known bool
		if link.On != nil {
			from, known = b.places[link.On]
		} else {
			from, known = b.places[link.Outside]
		}
		if !known || from == to {
			continue
		}
		at := [2]int{from, to}
		if b.edges[at] == nil {
			b.edges[at] = &Edge{From: from, To: to}
		}
		b.edges[at].note(link)
	}
}

func (e *Edge) note(link declare.Link) {
	if !slices.Contains(e.Ways, link.Way) {
		e.Ways = append(e.Ways, link.Way)
	}
	if field := link.Path.String(); link.Way == declare.ByGate && !slices.Contains(e.Fields, field) {
		e.Fields = append(e.Fields, field)
	}
}

func (b *builder) graph() Graph {
	g := Graph{Nodes: b.nodes, Edges: make([]Edge, 0, len(b.edges))}
	next := make([][]int, len(b.nodes))
	for at := range b.edges {
		next[at[0]] = append(next[at[0]], at[1])
	}
	all := make([]int, len(b.nodes))
	for i := range all {
		all[i] = i
	}
	ringOf := rings.Of(all, func(i int) []int { return next[i] })
	for at, e := range b.edges {
		e.Ring = ringOf[at[0]] == ringOf[at[1]]
		g.Edges = append(g.Edges, *e)
	}
	slices.SortFunc(g.Edges, func(a, b Edge) int { return slices.Compare([]int{a.From, a.To}, []int{b.From, b.To}) })
	return g
}
