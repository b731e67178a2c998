package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/pipeline/graph"
)

// edgesOf writes each edge of a graph as "from > to: ways (fields)", with a ! where it is in a ring.
func edgesOf(g graph.Graph) []string {
	var out []string
	for _, e := range g.Edges {
		ways := make([]string, 0, len(e.Ways))
		for _, way := range e.Ways {
			ways = append(ways, string(way))
		}
		text := fmt.Sprintf("%s > %s: %s", g.Nodes[e.From].Label, g.Nodes[e.To].Label, strings.Join(ways, ", "))
		if len(e.Fields) > 0 {
			text += " (" + strings.Join(e.Fields, ", ") + ")"
		}
		if e.Ring {
			text += "!"
		}
		out = append(out, text)
	}
	return out
}

func TestTheGraphOfABoxSaysWhatDependsOnWhat(t *testing.T) {
	g := gomega.NewWithT(t)
	found := planOf(t, `
cross:
- {name: database, box: databases, selector: {name: main}}
- {name: cert, apiVersion: v1, kind: Secret, optional: true, selector: {name: tls}}
external:
- {name: price, url: "https://prices.example.com/{{ .spec.host }}", when: [{field: cross.database.status.ready, equals: "true"}]}
- {name: told, url: "https://told.example.com/?p={{ .external.price.status }}"}
onCreate:
  jobs:
  - {id: migrate, image: m, when: [{field: cross.database.status.ready, equals: "true"}]}
onReconcile:
  configmaps:
  - {id: settings, name: settings, data: {price: "{{ .external.price.body }}", migrated: '{{ .children.migrate.status.succeeded | default "no" }}'}}
  - {id: alone, name: alone, data: {a: b}}
  deployments:
  - {id: web, image: "{{ .spec.image }}", port: 8080, after: [settings]}
  services:
  - {id: front, when: [{field: children.web.status.readyReplicas, greaterThan: 0}, {field: children.web.status.replicas, greaterThan: 0}]}
  patches:
  - {id: label, target: {apiVersion: v1, kind: ConfigMap, name: others}, patch: {data: {url: "{{ .children.front.metadata.name }}"}}}
onDelete:
  jobs:
  - {id: farewell, image: "{{ .children.web.metadata.name }}"}
`).Outline().Graph()
	g.Expect(edgesOf(found)).To(gomega.ConsistOf(
		"database > price: gate (cross.database.status.ready)",
		"price > told: templates",
		"database > migrate: gate (cross.database.status.ready)",
		"price > settings: templates",
		"migrate > settings: templates",
		"settings > web: after",
		"web > front: gate, default (children.web.status.readyReplicas, children.web.status.replicas)",
		"front > label: templates",
		"web > farewell: templates",
	))
	kinds := map[string]string{}
	for _, n := range found.Nodes {
		kinds[n.Label] = n.Group + " " + n.Kind + n.Box
	}
	g.Expect(kinds).To(gomega.Equal(map[string]string{
		"database": "cross databases", "cert": "cross Secret", "price": "external GET https://prices.example.com", "told": "external GET https://told.example.com",
		"migrate": "onCreate Job", "settings": "onReconcile ConfigMap", "alone": "onReconcile ConfigMap", "web": "onReconcile Deployment", "front": "onReconcile Service",
		"label": "patches ConfigMap", "farewell": "onDelete Job",
	}))
	paths := map[string]bool{}
	for _, n := range found.Nodes {
		paths[n.Path] = true
		g.Expect(n.Gated).To(gomega.Equal(n.Label == "price" || n.Label == "migrate" || n.Label == "front"), n.Label)
		g.Expect(n.Optional).To(gomega.Equal(n.Label == "cert"), n.Label)
	}
	g.Expect(paths).To(gomega.HaveLen(len(found.Nodes)), "each has a place of its own")
}

// TestRingsOfReadsAreMarked: what reads what may be absent waits for nothing, so that a ring of it is no mistake.
func TestRingsOfReadsAreMarked(t *testing.T) {
	g := gomega.NewWithT(t)
	found := planOf(t, `
onReconcile:
  configmaps:
  - {id: a, name: a, data: {x: '{{ .children.b.data.x | default "" }}'}}
  - {id: b, name: b, data: {x: '{{ .children.a.data.x | default "" }}'}}
  - {id: c, name: c, data: {x: '{{ .children.a.data.x | default "" }}', own: '{{ .children.c.data.own | default "" }}'}}
`).Outline().Graph()
	g.Expect(edgesOf(found)).To(gomega.ConsistOf("a > b: templates!", "b > a: templates!", "a > c: templates"))
}

func TestTheStepsOfAPlanStandInTheirOrder(t *testing.T) {
	g := gomega.NewWithT(t)
	g.Expect(planOf(t, `
validation: {rules: [{field: spec.replicas, lessThan: 10}]}
onReconcile: {configmaps: [{id: a, name: a, data: {x: y}}]}
`).Outline().Steps).To(gomega.Equal([]string{"gather", "deletion", "metadata", "validation", "onReconcile", "prune", "patches", "providers", "status"}))
}
