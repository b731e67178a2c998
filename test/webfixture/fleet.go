package main

import (
	"time"

	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/rows"
)

// world is what is told. Times are counted back from its start.
type world struct {
	start   time.Time
	managed bool
	every   time.Duration // how often a box changes; 0: never
	many    *rows.Table   // the 50,000
}

func newWorld(managed bool, every time.Duration) *world {
	w := &world{start: time.Now(), managed: managed, every: every}
	w.many = tableOf(w.manyRows())
	return w
}

func (w *world) ago(d time.Duration) time.Time { return w.start.Add(-d).UTC().Truncate(time.Second) }

func (w *world) since(d time.Duration) *time.Time {
	t := w.ago(d)
	return &t
}

const day = 24 * time.Hour

// hostile is a message that would do harm where it is not taken as text.
const hostile = "<script>document.title='owned'</script><img src=x onerror=alert(1)> \x1b[31mred\x1b[0m \u202egnp.exe\u202c null:\x00 bell:\x07 zero\u200bwidth"

func (w *world) fleet() *api.Fleet {
	f := &api.Fleet{
		Manager: api.Manager{State: api.ManagerRunning},
		Person:  api.Person{Name: "ada", Groups: []string{"platform"}},
		Boxes:   w.boxes(),
	}
	if !w.managed {
		f.Manager.State, f.Manager.Message = api.ManagerAway, "The Lease orkestra-system/orkestra-leader ran out 14m ago; its holder was orkestra-5d8f7c9b6d-x2x7k."
		f.Notes = []string{"You may not list crdhealths: the state of the boxes is not known."}
	}
	return f
}

func (w *world) boxes() []api.Box {
	kinds := []struct {
		name, kind string
		state      api.State
		counts     api.Counts
		reason     string
		message    string
	}{
		{"websites", "Website", api.Degraded, api.Counts{Total: 50_000, Ready: 49_812, Waiting: 141, Failing: 47}, "ResourcesFailing", "47 of 50000 resources fail; 12 reconciles in a row have failed"},
		{"databases", "Database", api.Degraded, api.Counts{Total: 212, Ready: 180, Waiting: 20, Failing: 12}, "ReconcileError", "The provider aws answers AccessDenied: User arn:aws:iam::000000000000:role/orkestra is not authorized to perform rds:CreateDBInstance on resource arn:aws:rds:eu-central-1:000000000000:db:orders-primary"},
		{"legacy-queues", "Queue", api.Stopped, api.Counts{Total: 9}, "CompileFailed", "spec.onReconcile.deployments[0].image: the template reads .spec.imgae, which the schema of queues.legacy.example.com does not have; did you mean .spec.image?"},
		{"hostile", "Evil", api.Degraded, api.Counts{Total: 3, Failing: 3}, "Weird\u202eReason", hostile},
		{"caches", "Cache", api.Starting, api.Counts{Total: 18, Ready: 3, Waiting: 15}, "WaitingForDependency", "waits for the box databases to be Healthy"},
		{"topics", "Topic", api.Pending, api.Counts{}, "CRDNotEstablished", "the CRD topics.stream.example.com is not there"},
		{"certificates", "Certificate", api.Suspended, api.Counts{Total: 77, Ready: 77}, "Suspended", "spec.suspend is true"},
		{"greetings", "Greeting", api.Healthy, api.Counts{Total: 4, Ready: 4}, "", ""},
		{"tenants", "Tenant", api.Healthy, api.Counts{Total: 130, Ready: 128, Waiting: 2}, "", ""},
		{"gateways", "Gateway", api.Healthy, api.Counts{Total: 1, Failing: 1}, "", ""},
		{"a-box-with-a-name-that-is-as-long-as-a-name-of-kubernetes-may-be-which-is-two-hundred-and-fifty-three-characters", "VeryLongKindNameThatSomebodyThoughtWasAGoodIdea", api.Healthy, api.Counts{Total: 31, Ready: 31}, "", ""},
		{"nothing-yet", "Nothing", api.Healthy, api.Counts{}, "", ""},
	}
	out := make([]api.Box, 0, len(kinds))
	for i, k := range kinds {
		b := api.Box{
			Name: k.name, Kind: k.kind, CRD: k.name + ".demo.example.com", State: k.state, Reason: k.reason, Message: k.message,
			Created: w.ago(time.Duration(i+3) * 9 * day), StartedAt: w.since(6 * day), Resources: k.counts, FailureThreshold: 10,
			SuccessCount: 812_345 / int64(i+1), FailureCount: int64(k.counts.Failing) * 31, Workers: 5, QueueDepth: k.counts.Waiting / 3,
			LastReconcile: w.since(3 * time.Second), Revision: k.name[:min(8, len(k.name))] + "-7c9d4", Suspended: k.state == api.Suspended,
		}
		if k.counts.Failing > 0 {
			b.ConsecutiveFailures = 12
			b.LastFailure = &api.Failure{
				Time: w.ago(time.Duration(40+i*71) * time.Second), Resource: api.Reference{Namespace: "shop", Name: "checkout"}, Step: "children",
				Message: `applying Deployment shop/checkout: admission webhook "policy.example.com" denied the request: image registry.example.com/checkout:latest has no digest`,
			}
			b.Worst = b.LastFailure
			b.Alerts = []api.Alert{
				{Name: "OrkestraBoxDegraded", Runbook: "https://example.com/runbooks/box-degraded"},
				{Name: "OrkestraResourcesFailing", Runbook: "https://example.com/runbooks/resources-failing"},
			}
		}
		if k.name == "hostile" {
			b.LastFailure.Resource.Name = "x\u202eevil\x1b"
			b.LastFailure.Message = hostile
			b.Alerts = []api.Alert{{Name: "Bad", Runbook: "javascript:alert(1)"}}
		}
		if k.state == api.Stopped || k.state == api.Pending {
			b.Workers, b.StartedAt = 0, nil
		}
		if k.state != api.Stopped && k.state != api.Pending {
			b.Hour = w.hour(b)
		}
		out = append(out, b)
	}
	return out
}
