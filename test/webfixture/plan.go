package main

import (
	"context"
	"strings"

	"github.com/orkspace/orkestra/engine/web/api"
)

// Compile implements web.Source: a text with the word "wrong" has mistakes, one with "hostile" such that mean harm.
func (*world) Compile(_ context.Context, q api.CompileQuestion) (*api.Compiled, error) {
	return compiled(q.Boxes), nil
}

func compiled(text string) *api.Compiled {
	one := api.CheckedDocument{Subject: `OperatorBox "websites"`, Valid: true, Revision: "websites-7c9d4e01ab", Mistakes: []api.Mistake{},
		Notes: []string{"spec.values: nothing reads host"}}
	switch {
	case strings.Contains(text, "hostile"):
		one.Valid, one.Revision, one.Subject = false, "", `OperatorBox "`+hostile+`"`
		one.Mistakes = []api.Mistake{{Path: hostile, Message: hostile, Line: 1 << 30, Column: 1}, {Message: strings.Repeat("long ", 2000)}}
	case strings.Contains(text, "wrong"):
		one.Valid, one.Revision = false, ""
		one.Mistakes = []api.Mistake{
			{Path: "spec.onReconcile.deployments[0].image", Message: `the template reads .spec.imgae, which the schema of websites.demo.example.com does not have, did you mean "image"?`, Line: 9, Column: 7},
			{Path: "spec.wrokers", Message: `unknown field, did you mean "workers"?`, Line: 7, Column: 3},
		}
	}
	return &api.Compiled{Valid: one.Valid, Documents: []api.CheckedDocument{one}}
}

// Render implements web.Source.
func (w *world) Render(_ context.Context, q api.RenderQuestion) (*api.Rendered, error) {
	out := &api.Rendered{Compiled: *compiled(q.Boxes), Resources: []api.RenderedResource{}}
	if !out.Compiled.Valid {
		return out, nil
	}
	name := "checkout"
	if q.Of != nil {
		if err := refusal(q.Of.Name); err != nil {
			return nil, err
		}
		name = q.Of.Name
	}
	out.Notes = []string{"How its children of kind Secret are is not known, and gates that wait for them stay closed: secrets is forbidden"}
	out.Resources = []api.RenderedResource{{
		Kind: "Website", Namespace: "shop", Name: name,
		Objects: []api.RenderedObject{
			{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings", YAML: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  color: blue\n"},
			{APIVersion: "v1", Kind: "Secret", Namespace: "shop", Name: "login", YAML: "apiVersion: v1\nkind: Secret\ndata:\n  password: '*** (11 bytes)'\n"},
			{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: strings.Repeat("n", 200), YAML: boxYAML("x")},
			{APIVersion: "networking.k8s.io/v1", Kind: "Ingress", Namespace: "edge", Name: "front", Patch: true, YAML: "spec: {}\n"},
		},
		Conditions: []api.Condition{{Type: "Ready", Status: "False", Reason: "WaitingForGate", Message: "services/web waits"}, {Type: "Reconciling", Status: "True", Reason: "WaitingForGate"}},
		Waits:      []string{"services/web: children.deployment.status.readyReplicas: wanted more than 0, actual absent"},
		Notes:      []string{"The external call quota is not known: nothing is called here: give the answer under \"What else the cluster has\", as external: {quota: {status: 200, body: {}}}"},
	}}
	return out, nil
}

// Try implements web.Source.
func (*world) Try(_ context.Context, q api.TryQuestion) (*api.Tried, error) {
	if err := refusal(q.Of.Name); err != nil {
		return nil, err
	}
	switch {
	case strings.Contains(q.Template+q.Condition, "wrong"):
		return &api.Tried{Mistake: `line 1: .spec.imgae: there is no such field, did you mean "image"?`}, nil
	case q.Condition != "":
		return &api.Tried{Verdict: &api.Verdict{Field: "spec.replicas", Wanted: "more than 3", Actual: "2"}, Reads: []string{"spec.replicas"}}, nil
	default:
		return &api.Tried{Type: "string", Value: "nginx:1.27\n", Reads: []string{"spec.image"}, Notes: []string{"Children of kind Secret are not known: secrets is forbidden"}}, nil
	}
}
