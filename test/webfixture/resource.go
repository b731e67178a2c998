package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/orkspace/orkestra/engine/web/api"
)

// resource gives one resource: "many" has 1,000 children, "well" is ready, every other one waits for a gate behind a Deployment that fails.
func (w *world) resource(box, namespace, name string) *api.Resource {
	r := &api.Resource{
		Row: api.Row{
			Reference: api.Reference{Namespace: namespace, Name: name}, State: api.Failing, Reason: "ChildFailed",
			Created: w.ago(9 * day), Since: w.since(22 * time.Minute),
		},
		APIVersion: "demo.example.com/v1", Kind: "Website", Box: box, Revision: "websites-7c9d4",
		Headline:     "Not ready for 22m: Deployment shop/web has failed, and the Service waits for it.",
		Declarations: w.declarations(name), Conditions: w.resourceConditions(), Events: w.events(), History: w.history(box, name), Snapshots: w.snapshots(name),
		YAML: "apiVersion: demo.example.com/v1\nkind: Website\nmetadata:\n  name: " + name + "\nspec:\n  image: registry.example.com/web:latest\n  replicas: 3\n",
	}
	switch name {
	case "well":
		r.State, r.Reason, r.Headline, r.Events = api.Ready, "Settled", "Ready for 3d.", []api.Event{}
		return r
	case "many":
		r.Cause = &api.Cause{Declaration: "pods/worker[worker-0777]", Path: "spec.onReconcile.pods[0]", Message: "Pod shop/worker-0777 does not start: ImagePullBackOff."}
		return r
	}
	r.Cause = &api.Cause{
		Declaration: "services/web", Path: "spec.onReconcile.services[0]", Field: "children.deployment.status.readyReplicas", Wanted: "greater than 0", Actual: "absent",
		Message: "services/web waits until a Pod of the Deployment is ready.",
	}
	if box == "hostile" {
		r.Headline, r.Cause.Message, r.Cause.Actual = hostile, strings.Repeat("10 KB ", 1700), hostile
		r.YAML += "status:\n  text: |\n    " + strings.Repeat(hostile+"\n    ", 7000)
	}
	r.Provided = []string{"aws/bucket assets-shop: made 9d ago"}
	r.Notes = []string{"You may not list Secrets in the namespace shop: what depends on them is not known.", "The resource was rolled back once, 2d ago."}
	return r
}

func (w *world) declarations(name string) []api.Declaration {
	open, closed := api.Gate{State: "open"}, api.Gate{
		State: "closed", Field: "children.deployment.status.readyReplicas", Wanted: "greater than 0", Actual: "absent",
	}
	yaml := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  a: b\n"
	out := []api.Declaration{
		{
			Declaration: "configMaps/settings", Group: "onReconcile", Path: "spec.onReconcile.configMaps[0]", APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings",
			Created: w.since(9 * day), State: "Ready", Gate: open, YAML: yaml,
		},
		{
			Declaration: "deployments/web", Group: "onReconcile", Path: "spec.onReconcile.deployments[0]", APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web",
			Created: w.since(9 * day), State: "Failed", Reason: `ProgressDeadlineExceeded: ReplicaSet "web-6d4cf56db6" has timed out progressing.`, Gate: open, YAML: yaml,
		},
		{Declaration: "services/web", Group: "onReconcile", Path: "spec.onReconcile.services[0]", APIVersion: "v1", Kind: "Service", State: "Waiting", Reason: "the gate is closed", Gate: closed},
		{Declaration: "ingresses/host", Group: "onReconcile", Path: "spec.onReconcile.ingresses[0]", Kind: "Ingress", State: "Off", Reason: "forEach: spec.hosts has no items"},
		{Declaration: "jobs/migrate", Group: "onCreate", Path: "spec.onCreate.jobs[0]", APIVersion: "batch/v1", Kind: "Job", Namespace: "shop", Name: "migrate", Created: w.since(9 * day), State: "Completed"},
		{Declaration: "secrets/old", APIVersion: "v1", Kind: "Secret", Namespace: "shop", Name: "old", Created: w.since(90 * day), State: "Undeclared", Reason: "no declaration stands for it", YAML: "apiVersion: v1\nkind: Secret\ndata:\n  password: '***'\n"},
	}
	if name != "many" {
		return out
	}
	for i := range 1000 {
		d := api.Declaration{
			Declaration: fmt.Sprintf("pods/worker[worker-%04d]", i), Group: "onReconcile", Path: "spec.onReconcile.pods[0]", APIVersion: "v1", Kind: "Pod", Namespace: "shop",
			Name: fmt.Sprintf("worker-%04d", i), Created: w.since(time.Duration(i) * time.Minute), State: "Ready", Gate: open, YAML: yaml,
		}
		if i == 777 {
			d.State, d.Reason = "Failed", "ImagePullBackOff: Back-off pulling image \"registry.example.com/worker:nope\""
		}
		if i%100 == 3 {
			d.State, d.Reason = "Progressing", "0 of 1 containers are ready"
		}
		out = append(out, d)
	}
	return out
}

func (w *world) resourceConditions() []api.Condition {
	return []api.Condition{
		{Type: "Ready", Status: "False", Reason: "ChildFailed", Message: "Deployment shop/web has failed: ProgressDeadlineExceeded", Since: w.since(22 * time.Minute), ObservedGeneration: 3},
		{Type: "Reconciling", Status: "False", Reason: "Settled", Since: w.since(22 * time.Minute)},
		{Type: "Stalled", Status: "True", Reason: "ChildFailed", Message: "a child has failed, and does not mend itself", Since: w.since(22 * time.Minute)},
	}
}

func (w *world) events() []api.Event {
	return []api.Event{
		{Time: w.ago(41 * time.Second), Count: 118, Type: "Warning", Reason: "BackOff", Object: "Pod/web-6d4cf56db6-x9x2p", Message: "Back-off restarting failed container web in pod web-6d4cf56db6-x9x2p"},
		{Time: w.ago(22 * time.Minute), Count: 1, Type: "Warning", Reason: "Hostile", Object: "Pod/<b>x</b>", Message: hostile},
		{Time: w.ago(23 * time.Minute), Count: 1, Type: "Normal", Reason: "ScalingReplicaSet", Object: "Deployment/web", Message: "Scaled up replica set web-6d4cf56db6 from 0 to 3"},
	}
}
