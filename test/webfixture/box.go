package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/orkspace/orkestra/engine/web/api"
)

// box gives the details of a box; any name has some.
func (w *world) box(name string) *api.BoxDetail {
	all := w.boxes()
	i := slices.IndexFunc(all, func(b api.Box) bool { return b.Name == name })
	d := &api.BoxDetail{
		Failing: []api.FailingResource{}, Declarations: []api.BoxDeclaration{}, Revisions: []api.Revision{}, YAML: boxYAML(name),
	}
	if i < 0 {
		d.Cycle.Steps = []api.Step{}
		d.Box = api.Box{Name: name, State: api.Pending, Created: w.ago(time.Minute)}
		d.Conditions, d.HealthConditions = []api.Condition{}, []api.Condition{}
		return d
	}
	d.Box, d.Cycle = all[i], w.steps(all[i])
	d.Conditions, d.HealthConditions = w.boxConditions(d.Box)
	d.Failing = w.failing(d.Box)
	d.DependsOn = []api.Dependency{{Box: "databases", Condition: "Healthy"}, {Box: "certificates", Condition: "Started", Met: true}}
	d.Dependents = []api.Dependency{{Box: "caches", Condition: "Healthy"}}
	d.ManagedKinds = []string{"v1 ConfigMap", "v1 Service", "apps/v1 Deployment", "networking.k8s.io/v1 Ingress"}
	d.Declarations = []api.BoxDeclaration{
		{Declaration: "configMaps/settings", Path: "spec.onReconcile.configMaps[0]", Kind: "ConfigMap"},
		{Declaration: "deployments/web", Path: "spec.onReconcile.deployments[0]", Kind: "Deployment"},
		{Declaration: "services/web", Path: "spec.onReconcile.services[0]", Kind: "Service", Conditional: true},
		{Declaration: "ingresses/host", Path: "spec.onReconcile.ingresses[0]", Kind: "Ingress", Conditional: true, Loop: true},
	}
	d.Revisions = []api.Revision{
		{Name: d.Revision, Number: 14, Created: w.ago(23 * time.Minute), Current: true, Changes: []string{
			"spec.onReconcile.deployments[0].image: registry.example.com/checkout:1.4.2 → registry.example.com/checkout:latest", "spec.workers: 3 → 5", "spec.validation.rules[2]: added",
		}},
		{Name: "websites-5f6b2", Number: 13, Created: w.ago(8 * day), Changes: []string{"spec.retry.limit: 5 → 10"}},
		{Name: "websites-1a2b3", Number: 12, Created: w.ago(31 * day)},
	}
	if d.State == api.Degraded {
		d.LastKnownGood = &api.KnownGood{Revision: "websites-5f6b2", Time: w.ago(8 * day)}
		d.Rollback = &api.Rollback{Active: true, Count: 9, Since: w.since(21 * time.Minute), Reason: "ChildFailed"}
		d.Overdue = []api.Reference{{Namespace: "shop", Name: "slow"}}
		d.Autoscale = &api.Autoscale{Active: true, Since: w.since(4 * time.Minute), Reason: "the queue has been longer than 40 for 3m: workers 5 → 12"}
		d.Notes = []string{"You may not list controllerrevisions in the namespace orkestra-system: older revisions are not shown."}
	}
	return d
}

func (w *world) boxConditions(b api.Box) (box, health []api.Condition) {
	well, message := "True", ""
	if b.State != api.Healthy {
		well, message = "False", b.Message
	}
	box = []api.Condition{
		{Type: "Ready", Status: well, Reason: b.Reason, Message: message, Since: w.since(22 * time.Minute), ObservedGeneration: 14},
		{Type: "Compiled", Status: "True", Reason: "Compiled", Message: "4 declarations", Since: w.since(23 * time.Minute)},
		{Type: "CRDEstablished", Status: "True", Reason: "Established", Since: w.since(60 * day)},
		{Type: "PermissionsGranted", Status: "True", Reason: "AllGranted", Since: w.since(60 * day)},
	}
	health = []api.Condition{
		{Type: "Started", Status: "True", Reason: "Started", Since: w.since(6 * day)},
		{Type: "Healthy", Status: well, Reason: b.Reason, Message: message, Since: w.since(22 * time.Minute)},
	}
	return box, health
}

func (w *world) failing(b api.Box) []api.FailingResource {
	out := []api.FailingResource{}
	messages := []string{
		`admission webhook "policy.example.com" denied the request: image registry.example.com/checkout:latest has no digest`,
		"Deployment shop/cart has failed: ProgressDeadlineExceeded: ReplicaSet \"cart-6d4cf56db6\" has timed out progressing.",
		hostile, strings.Repeat("a very long line without an end ", 320),
		"spec.replicas: at most 10 replicas (found 12)",
	}
	reasons := []string{"AdmissionDenied", "ChildFailed", "TemplateError", "InvalidChild", "ValidationFailed"}
	for i := range min(10, int(b.Resources.Failing)) {
		name := []string{"checkout", "cart", "x\u202eevil\x1b", "long", "flowers"}[i%5]
		if i > 4 {
			name = fmt.Sprintf("%s-%d", name, i)
		}
		out = append(out, api.FailingResource{
			Reference: api.Reference{Namespace: "shop", Name: name}, ConsecutiveFailures: int64(40 - 3*i), Reason: reasons[i%5], Step: "children",
			Message: messages[i%5], Since: w.ago(time.Duration(22-i) * time.Minute),
		})
	}
	return out
}

func boxYAML(name string) string {
	return "apiVersion: orkestra.orkspace.io/v1alpha1\nkind: OperatorBox\nmetadata:\n  name: " + name + `
spec:
  crd:
    name: websites.demo.example.com
  workers: 5
  onReconcile:
    deployments:
    - image: "{{ .spec.image }}"
      replicas: "{{ default 2 .spec.replicas }}"
      port: 8080
    services:
    - when:
      - field: children.deployment.status.readyReplicas
        greaterThan: 0
`
}
