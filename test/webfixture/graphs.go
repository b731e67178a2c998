package main

import (
	"context"
	"fmt"
	"time"

	"github.com/orkspace/orkestra/engine/web/api"
)

// Graph implements web.Source: "greetings" has nothing that depends on anything, "crowded" 203 declarations, rings among them.
func (w *world) Graph(_ context.Context, box string) (*api.Graph, error) {
	switch box {
	case "greetings":
		return &api.Graph{Nodes: []api.GraphNode{{Path: "spec.onReconcile.configMaps[0]", Label: "configMaps/greeting", Group: "onReconcile", Kind: "ConfigMap"}}, Edges: []api.GraphEdge{}}, refusal(box)
	case "crowded":
		return crowded(), refusal(box)
	}
	g := &api.Graph{Revision: "websites-7c9d4", Nodes: []api.GraphNode{
		{Path: "spec.cross[0]", Label: "database", Group: "cross", Box: "databases"},
		{Path: "spec.cross[1]", Label: "wildcard", Group: "cross", Kind: "Secret", Optional: true},
		{Path: "spec.external[0]", Label: "price", Group: "external", Kind: "GET https://prices.example.com", Gated: true},
		{Path: "spec.onCreate.jobs[0]", Label: "migrate", Group: "onCreate", Kind: "Job"},
		{Path: "spec.onReconcile.configMaps[0]", Label: "configMaps/settings", Group: "onReconcile", Kind: "ConfigMap"},
		{Path: "spec.onReconcile.deployments[0]", Label: "deployments/web", Group: "onReconcile", Kind: "Deployment"},
		{Path: "spec.onReconcile.services[0]", Label: "services/web", Group: "onReconcile", Kind: "Service", Gated: true},
		{Path: "spec.onReconcile.ingresses[0]", Label: "ingresses/host", Group: "onReconcile", Kind: "Ingress", Gated: true, Loop: true},
		{Path: "spec.onReconcile.persistentVolumeClaims[0]", Label: "persistentVolumeClaims/a-name-that-goes-on-and-on", Group: "onReconcile", Kind: "PersistentVolumeClaim"},
		{Path: "spec.onReconcile.patches[0]", Label: "patches/Ingress/front", Group: "patches", Kind: "Ingress"},
		{Path: "spec.providers.aws[0]", Label: "assets", Group: "providers", Kind: "aws/bucket"},
		{Path: "spec.onDelete.jobs[0]", Label: "export", Group: "onDelete", Kind: "Job"},
	}}
	edge := func(from, to int, ring bool, fields []string, ways ...string) {
		g.Edges = append(g.Edges, api.GraphEdge{From: g.Nodes[from].Path, To: g.Nodes[to].Path, Ways: ways, Fields: fields, Ring: ring})
	}
	edge(0, 3, false, []string{"cross.database.status.ready"}, "gate", "templates")
	edge(0, 4, false, nil, "templates")
	edge(1, 7, false, nil, "templates")
	edge(2, 4, false, nil, "templates")
	edge(3, 5, false, nil, "after")
	edge(4, 5, true, nil, "templates")
	edge(5, 4, true, nil, "templates")
	edge(5, 6, false, []string{"children.deployment.status.readyReplicas"}, "gate", "default")
	edge(6, 7, false, []string{"children.service.spec.clusterIP"}, "gate", "default")
	edge(7, 9, false, nil, "templates")
	edge(10, 4, false, nil, "templates")
	if box == "hostile" {
		g.Nodes[5].Label, g.Nodes[4].Kind, g.Edges[1].Fields = hostile, hostile, []string{hostile}
		g.Edges[0].Ways = []string{"gate", hostile}
	}
	return g, refusal(box)
}

// crowded is a box of 203 declarations, which read each other in chains that cross, and in rings.
func crowded() *api.Graph {
	g := &api.Graph{Revision: "crowded-1", Edges: []api.GraphEdge{}}
	const all = 203
	at := func(i int) string { return fmt.Sprintf("spec.onReconcile.configMaps[%d]", i) }
	for i := range all {
		g.Nodes = append(g.Nodes, api.GraphNode{Path: at(i), Label: fmt.Sprintf("configMaps/part-%03d", i), Group: "onReconcile", Kind: "ConfigMap", Gated: i%3 == 0})
		for _, step := range []int{1, 7, 31} {
			if i >= step && i%(step+1) != 0 {
				g.Edges = append(g.Edges, api.GraphEdge{From: at(i - step), To: at(i), Ways: []string{"templates"}})
			}
		}
		if i%20 == 19 {
			g.Edges = append(g.Edges, api.GraphEdge{From: at(i), To: at(i - 9), Ways: []string{"templates"}, Ring: true})
		}
	}
	return g
}

// Dependencies implements web.Source: two rings for "hostile", none for the rest.
func (w *world) Dependencies(_ context.Context, box string) (*api.Dependencies, error) {
	d := &api.Dependencies{
		Nodes: []api.DependencyNode{
			{Box: box, State: api.Degraded, IsBox: true}, {Box: "databases", State: api.Degraded, IsBox: true, Failing: 1}, {Box: "certificates", State: api.Healthy, IsBox: true},
			{Box: "caches", State: api.Pending, IsBox: true}, {Box: "storage", State: api.Healthy, IsBox: true}, {Box: "issuers.cert-manager.io", State: api.Healthy}, {Box: "checkouts", State: api.Starting, IsBox: true},
		},
		Edges: []api.DependencyEdge{
			{From: "databases", To: box, Condition: "Healthy", Met: "False"}, {From: "certificates", To: box, Condition: "Started", Met: "True"}, {From: box, To: "caches", Condition: "Healthy", Met: "False"},
			{From: "storage", To: "databases", Condition: "Started", Met: "True"}, {From: "issuers.cert-manager.io", To: "certificates", Condition: "Healthy", Met: "Unknown"}, {From: "caches", To: "checkouts", Condition: "Started", Met: "False"},
		},
	}
	if box == "hostile" {
		d.Nodes = append(d.Nodes, api.DependencyNode{Box: "x\u202eevil\x1b", State: "made-up"})
		d.Edges = append(d.Edges, api.DependencyEdge{From: "caches", To: "databases", Condition: "Healthy", Met: "False", Ring: true}, api.DependencyEdge{From: "x\u202eevil\x1b", To: box, Condition: hostile, Met: hostile})
		d.Edges[0].Ring, d.Edges[2].Ring, d.More = true, true, 7
	}
	return d, refusal(box)
}

// NeededRights implements web.Source: two are missing, but for "greetings".
func (w *world) NeededRights(_ context.Context, box string) (*api.Rights, error) {
	r := &api.Rights{Account: "shop/websites", Rights: []api.NeededRight{
		{Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}, Group: "networking.k8s.io", Resource: "ingresses"},
		{Verbs: []string{"get", "list", "watch", "patch"}, Group: "demo.example.com", Resource: "websites"},
		{Verbs: []string{"update"}, Group: "demo.example.com", Resource: "websites/finalizers"},
		{Verbs: []string{"get"}, Resource: "secrets", Namespace: "shop", Name: "price-token"},
	}}
	if box != "greetings" {
		r.Rights[0].Missing, r.Missing = []string{"create", "patch"}, 2
		r.Rights[3].Unknown = true
		r.Notes = []string{`show what grants it with "kubectl get operatorbox shop -o yaml | orkestra rbac -f - --cluster", read that, and apply it`}
	}
	return r, refusal(box)
}

// Difference implements web.Source: a revision does not differ from itself.
func (w *world) Difference(_ context.Context, box, from, to string) (*api.Difference, error) {
	d := &api.Difference{From: from, To: to, Changes: []api.FieldChange{}}
	if from == to {
		return d, refusal(box)
	}
	text := func(s string) *string { return &s }
	d.Changes = []api.FieldChange{
		{Field: "spec.onReconcile.deployments[0].image", Before: text("registry.example.com/checkout:1.4.2"), After: text("registry.example.com/checkout:latest")},
		{Field: "spec.validation.rules[2]", After: text("field: spec.replicas\nlessThan: 11\nmessage: at most 10 replicas")},
		{Field: "spec.workers", Before: text("3"), After: text("5")},
	}
	if box == "hostile" {
		d.Changes[0].After, d.Changes[1].Field, d.More = text(hostile), hostile, 12
	}
	return d, refusal(box)
}

// steps are those of a box, with a step that fails where its resources do; of "databases" nobody remembers anything.
func (w *world) steps(b api.Box) api.Steps {
	names := []string{"gather", "metadata", "dependencies", "validation", "cross", "external", "onCreate", "onReconcile", "prune", "settle", "status"}
	if b.Name == "databases" {
		out := api.Steps{Note: "The manager that leads remembers the last reconciles, and another one has answered, because that one could not be asked"}
		for _, name := range names {
			out.Steps = append(out.Steps, api.Step{Name: name})
		}
		return out
	}
	out := api.Steps{Since: w.since(3 * time.Hour)}
	for i, name := range names {
		step := api.Step{Name: name, Runs: 4210 - 300*i, Mean: 0.0004 * float64(1+i*i), Longest: 0.002 * float64(1+i*i)}
		if name == "external" {
			step.Mean, step.Longest = 0.31, 9.8
		}
		if b.Resources.Failing > 0 && name == "onReconcile" {
			step.Failures = 118
			step.LastFailure = &api.StepFailure{Time: w.ago(12 * time.Second), Resource: api.Reference{Namespace: "shop", Name: "checkout"}, Message: `admission webhook "policy.example.com" denied the request: image has no digest`}
		}
		out.Steps = append(out.Steps, step)
	}
	return out
}

// snapshots are those of a resource: "checkout" is rolled back, "well" has one, and of "long" they are not known.
func (w *world) snapshots(name string) *api.Snapshots {
	text := func(s string) *string { return &s }
	s := &api.Snapshots{Kept: []api.Snapshot{
		{Name: "checkout-1f2e3d", Generation: 13, Revision: "websites-5f6b2", Taken: w.ago(2 * day), Changes: []api.FieldChange{
			{Field: "spec.image", Before: text("registry.example.com/web:latest"), After: text("registry.example.com/web:1.4.2")}, {Field: "spec.replicas", Before: text("12"), After: text("3")},
		}},
		{Name: "checkout-0a1b2c", Generation: 11, Revision: "websites-1a2b3", Taken: w.ago(9 * day), Changes: []api.FieldChange{}},
	}}
	switch name {
	case "checkout":
		s.Kept[0].Current = true
		s.Back = &api.RolledBackTo{
			Since: w.ago(21 * time.Minute), Count: 3, Generation: 14, Revision: "websites-7c9d4", Step: "children", Reason: "ChildFailed", Message: "Deployment shop/web has failed: ProgressDeadlineExceeded",
			Trigger: "failures", Held: true, Next: "held: edit the spec, change the box, or set the annotation orkestra.orkspace.io/reconcile-at to a new value",
		}
	case "long":
		return &api.Snapshots{Kept: []api.Snapshot{}, Note: `listing objects of kind ControllerRevision: controllerrevisions.apps is forbidden: user "ada" cannot list resource "controllerrevisions" in the namespace "orkestra-system"`}
	case "well":
		s.Kept = s.Kept[1:]
	case "many":
		return nil
	}
	return s
}
