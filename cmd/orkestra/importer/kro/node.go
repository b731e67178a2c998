package kro

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/cmd/orkestra/importer/draft"
	"github.com/orkspace/orkestra/engine/kinds"
)

// node is one resource of a definition: an object that is made, or one that is read.
type node struct {
	at       string // where it stands
	id       string // of the definition
	name     string // what the box calls it
	to       string // where it stands in the box
	content  map[string]any
	template map[string]any
	external map[string]any // what it refers to; nil: it is made
	loop     *loop

	kind  schema.GroupVersionKind
	reads []string // ids of those that it reads, sorted

	include, ready []condition
}

// condition is an expression that yields true or false.
type condition struct {
	cel  string
	from string
}

// read reads the resources, each with what it reads of the others.
func (g *graph) read(resources any) {
	list, ok := resources.([]any)
	if !ok && resources != nil {
		g.box.Fail("spec", "spec.resources", "wanted a list of resources")
	}
	for i, item := range list {
		n := &node{at: fmt.Sprintf("spec.resources[%d]", i), to: "spec.onReconcile"}
		n.content, _ = item.(map[string]any)
		n.id = text(n.content["id"])
		n.template, _ = n.content["template"].(map[string]any)
		n.external, _ = n.content["externalRef"].(map[string]any)
		switch {
		case n.content == nil:
			g.box.Fail(n.to, n.at, "wanted an object with id and template")
		case !plainID.MatchString(n.id):
			g.box.Fail(n.to, draft.Below(n.at, "id"), fmt.Sprintf("wanted a name of letters and digits, found %q", n.id))
		case g.byID[n.id] != nil:
			g.box.Fail(n.to, draft.Below(n.at, "id"), fmt.Sprintf("%s has the id %q, too", g.byID[n.id].at, n.id))
		case (n.template == nil) == (n.external == nil):
			g.box.Fail(n.to, n.at, "wanted either template or externalRef, an object")
		default:
			g.nodes, g.byID[n.id] = append(g.nodes, n), n
		}
	}
	for _, n := range g.nodes {
		g.open(n)
	}
	g.nameAll()
	for _, n := range g.nodes {
		n.reads = g.readsOf(n)
	}
}

// open reads what a resource is, before it is known what others are called.
func (g *graph) open(n *node) {
	for _, name := range slices.Sorted(maps.Keys(n.content)) {
		switch name {
		case "id", "template", "externalRef", "readyWhen", "includeWhen":
		case "forEach":
			n.loop = g.iterators(n)
		default:
			g.box.Note(n.to, draft.Below(n.at, name), noEquivalent(name))
		}
	}
	of := n.template
	if n.external != nil {
		of = n.external
	}
	n.kind = schema.FromAPIVersionAndKind(text(of["apiVersion"]), text(of["kind"]))
}

// nameAll gives each resource the name that the box knows it by. The name of a kind is one for the only object of that kind.
func (g *graph) nameAll() {
	count := map[string]int{}
	for _, n := range g.nodes {
		if n.external == nil {
			count[kinds.SingularOf(n.kind)]++
		}
	}
	for _, n := range g.nodes {
		n.name = n.id
		if n.external != nil {
			continue
		}
		own := n.loop == nil && n.id == kinds.SingularOf(n.kind) && count[n.id] == 1
		if own || !kinds.IsName(n.id) && count[n.id] == 0 {
			continue
		}
		for n.name += "Object"; g.byID[n.name] != nil; {
			n.name += "1"
		}
		g.box.Note(n.to, draft.Below(n.at, "id"), fmt.Sprintf("the id is %s here: %q is what templates call an object of that kind", n.name, n.id))
	}
}

// readsOf gives the ids of all that the expressions of a resource read.
func (g *graph) readsOf(n *node) []string {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(n.content)) {
		if name == "readyWhen" {
			continue // it reads the object itself
		}
		eachExpression(n.content[name], func(e *expression) {
			for _, name := range e.names {
				if other := g.byID[name]; other != nil && other != n && !n.loop.binds(name) {
					found = append(found, name)
				}
			}
		})
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// eachExpression visits the expressions in a value. What can't be read is told where it is translated.
func eachExpression(value any, visit func(*expression)) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			eachExpression(value[name], visit)
		}
	case []any:
		for _, item := range value {
			eachExpression(item, visit)
		}
	case string:
		pieces, err := parts(value)
		if err != nil {
			return
		}
		for _, p := range pieces {
			if e, err := parse(p.text); p.cel && err == nil {
				visit(e)
			}
		}
	}
}

// before gives a resource's own and all that it reads, directly or by others, in the order of the definition.
func (g *graph) before(n *node) []*node {
	seen := map[string]bool{}
	var visit func(id string)
	visit = func(id string) {
		if !seen[id] {
			seen[id] = true
			for _, other := range g.byID[id].reads {
				visit(other)
			}
		}
	}
	visit(n.id)
	return slices.DeleteFunc(slices.Clone(g.nodes), func(other *node) bool { return !seen[other.id] })
}
