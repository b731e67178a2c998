package pipeline

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/outcome"
	"github.com/orkspace/orkestra/engine/status"
)

// migration is a Job, a Deployment that waits for it, and a StatefulSet.
const migration = `
onReconcile:
  jobs: [{id: migrate, name: "{{ .metadata.name }}-migrate", image: "{{ .spec.image }}"}]
  deployments: [{id: web, image: a, when: [{field: "{{ jobSucceeded .children.migrate }}", equals: true}]}]
  services: [{port: 80, selector: {a: b}, when: [{field: children.web.status.readyReplicas, greaterThan: 0}]}]
`

const gaveUp = `Job "shop-migrate": BackoffLimitExceeded: Job has reached the specified backoff limit`

// ended gives a Job the condition with which it ended, and what the Job controller says with it.
func ended(kind string) func(*unstructured.Unstructured) {
	return func(c *unstructured.Unstructured) {
		c.Object["status"] = map[string]any{"startTime": "2026-01-01T00:00:00Z", "conditions": []any{map[string]any{
			"type": kind, "status": "True", "reason": "BackoffLimitExceeded", "message": "Job has reached the specified backoff limit",
		}}}
	}
}

func begun(c *unstructured.Unstructured) {
	c.Object["status"] = map[string]any{"startTime": "2026-01-01T00:00:00Z", "active": int64(1)}
}

func TestAFailedChildIsNamedWhateverElseWaits(t *testing.T) {
	for _, ready := range []string{"Reconciled", "Current"} {
		t.Run(ready, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			plan := planOf(t, migration+"status: {ready: "+ready+"}")
			r, _ := shownBy(g, p, plan, website(t, `{image: a}`))
			p.edit("shop-migrate", ended("Failed"))
			_, res := shownBy(g, p, plan, r.Stored)
			const message = gaveUp + " (and 2 more)"
			g.Expect(res.Ready).To(gomega.Equal(conditionIs("Ready", "False", v1alpha1.ReasonChildFailed, message)))
			g.Expect(res.Reconciling).To(gomega.Equal(conditionIs("Reconciling", "False", v1alpha1.ReasonChildFailed, message)), "tools would take it for one in progress")
			g.Expect(res.Stalled).To(gomega.Equal(conditionIs("Stalled", "True", v1alpha1.ReasonChildFailed, message)))
		})
	}
}

func TestAFailedChildIsNamedBeforeOneThatNeverGetsReady(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	p.kinds = func() []schema.GroupVersionKind {
		return append(p.allKinds(), schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"})
	}
	plan := planOf(t, `
onReconcile:
  statefulsets: [{image: a, replicas: 3, serviceName: a}]
  jobs: [{name: "{{ .metadata.name }}-migrate", image: a}]
`)
	r, res := shownBy(g, p, plan, website(t, ""))
	g.Expect(res.Stalled.Status).To(gomega.Equal(metav1.ConditionFalse))
	g.Expect(res.Reconciling.Message).To(gomega.Equal(`StatefulSet "shop": Replicas: 0/3 (and 1 more)`))
	p.edit("shop-migrate", ended("Failed"))
	_, res = shownBy(g, p, plan, r.Stored)
	g.Expect(res.Stalled).To(gomega.Equal(conditionIs("Stalled", "True", v1alpha1.ReasonChildFailed, gaveUp+" (and 1 more)")), "the StatefulSet is not ready")
}

func TestOneThatHasFailedAlsoByItsOwnConditionsIsNamed(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `onReconcile: {jobs: [{name: "{{ .metadata.name }}-migrate", image: a, readyWhen: [{field: object.status.succeeded, equals: 1}]}]}`)
	r, _ := shownBy(g, p, plan, website(t, ""))
	p.edit("shop-migrate", begun)
	r, res := shownBy(g, p, plan, r.Stored)
	g.Expect(res.Reconciling.Message).To(gomega.Equal(`Job "shop-migrate": object.status.succeeded: wanted equals 1, actual 0`))
	p.edit("shop-migrate", ended("Failed"))
	_, res = shownBy(g, p, plan, r.Stored)
	g.Expect(res.Stalled).To(gomega.Equal(conditionIs("Stalled", "True", v1alpha1.ReasonChildFailed, gaveUp)))
}

func TestARunningJobIsNotDone(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `{onReconcile: {jobs: [{name: "{{ .metadata.name }}-migrate", image: a}]}, status: {ready: Current}}`)
	r, _ := shownBy(g, p, plan, website(t, ""))
	p.edit("shop-migrate", begun)
	r, res := shownBy(g, p, plan, r.Stored)
	const runs = `Job "shop-migrate": Job in progress. success:0, active: 1, failed: 0`
	g.Expect(res.Ready).To(gomega.Equal(conditionIs("Ready", "False", v1alpha1.ReasonChildrenNotCurrent, runs)))
	g.Expect(res.Reconciling).To(gomega.Equal(conditionIs("Reconciling", "True", v1alpha1.ReasonChildrenNotCurrent, runs)))
	p.edit("shop-migrate", ended("Complete"))
	_, res = shownBy(g, p, plan, r.Stored)
	g.Expect(res.Ready).To(gomega.Equal(status.Succeeded()))
	g.Expect(res.Reconciling).To(gomega.Equal(status.Settled()))
}

func TestTheGateThatOthersWaitForIsNamed(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	var chain strings.Builder
	chain.WriteString("onReconcile:\n  configmaps:\n")
	for i := 3; i > 0; i-- { // the last of the chain is declared first
		fmt.Fprintf(&chain, "  - {id: n%d, name: n%d, when: [{field: children.n%d.metadata.uid, operator: exists}]}\n", i, i, i-1)
	}
	chain.WriteString("  - {id: n0, name: n0, when: [{field: cross.db.spec.type, equals: NodePort}]}\ncross: [{name: db, apiVersion: v1, kind: Service, optional: true, selector: {name: db}}]\n")
	_, res := shownBy(g, p, planOf(t, chain.String()), website(t, ""))
	g.Expect(res.Reconciling).To(gomega.Equal(conditionIs("Reconciling", "True", v1alpha1.ReasonWaitingForGate,
		"n0: cross.db.spec.type: wanted equals NodePort, actual absent (and 3 more)")))
}

func TestWhatAnEarlierSpecLeftHasNotFailed(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	const box = `
rollBackOnError: true
onReconcile:
  jobs: [{id: migrate, name: "{{ .metadata.name }}-{{ .spec.image }}", image: "{{ .spec.image }}"}]
  deployments: [{id: web, image: a, when: [{field: "{{ jobSucceeded .children.migrate }}", equals: true}]}]
`
	plan := planOf(t, box)
	r, _ := shownBy(g, p, plan, website(t, `{image: bad}`))
	p.edit("shop-bad", ended("Failed"))
	r, res := shownBy(g, p, plan, r.Stored)
	g.Expect(res.Stalled.Reason).To(gomega.Equal(v1alpha1.ReasonChildFailed))

	next := website(t, `{image: good}`)
	next.SetAnnotations(r.Stored.GetAnnotations())
	next.SetFinalizers(r.Stored.GetFinalizers())
	_, res = shownBy(g, p, plan, next)
	g.Expect(p.children).To(gomega.HaveLen(2), "nothing is pruned from which the resource may go back")
	g.Expect(res.Stalled).To(gomega.Equal(status.NotStalled()))
	g.Expect(res.Reconciling.Reason).To(gomega.Equal(v1alpha1.ReasonWaitingForGate))
}

func TestNothingIsPrunedBesideAFailedChild(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, "rollBackOnError: true\nonReconcile: {jobs: [{name: shop-migrate, image: a}]}")
	p.put(configMapKind, "data", "configmaps/of-an-earlier-revision")
	r, err := p.run(plan, website(t, ""))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.ContainElement("delete ConfigMap/data"), "with ready: Reconciled, what is written has succeeded")

	p.edit("shop-migrate", ended("Failed"))
	p.put(configMapKind, "data", "configmaps/of-an-earlier-revision")
	_, err = p.run(plan, r.Stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).NotTo(gomega.ContainElement("delete ConfigMap/data"))
}

func TestWhatARollbackWaitsForIsTheRoot(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	r := planOf(t, migration).NewRun(website(t, `{image: a}`), now, p.ports())
	g.Expect(r.Plan.Execute(context.Background(), r)).To(gomega.Succeed())
	g.Expect(outcome.Awaited(r.Cycle.Cycle, r.Living)).To(gomega.And(gomega.HavePrefix("web: {{ jobSucceeded .children.migrate }}: wanted equals true"), gomega.HaveSuffix(" (and 1 more)")))
}
