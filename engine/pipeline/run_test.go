package pipeline

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

const allRanks = `
onReconcile:
  ingresses: [{host: a, serviceName: web, servicePort: 80}]
  deployments: [{image: nginx}]
  services: [{port: 80}]
  configmaps: [{data: {a: b}}]
`

func TestRanksGoInTheirOrder(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	_, err := p.run(planOf(t, allRanks), website(t, ""))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.Equal([]string{
		"mark Website/shop",
		"create ConfigMap/shop", "create Service/shop", "create Deployment/shop", "create Ingress/shop",
	}))
}

func TestASecondRunWritesNothing(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, allRanks)
	r, err := p.run(plan, website(t, ""))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	p.done()
	_, err = p.run(plan, r.Stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.BeEmpty())
}

func TestChildrenOfOneRankAreWrittenTogether(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	var both sync.WaitGroup
	both.Add(2)
	p.apply = func(ctx context.Context, owner apply.Owner, child apply.Child) (apply.Outcome, error) {
		if child.ID != "last" {
			both.Done()
			both.Wait() // each of the two needs the other to be in flight
		}
		return p.applyChild(ctx, owner, child)
	}
	_, err := p.run(planOf(t, `onReconcile: {configmaps: [{name: a}, {name: b}], ingresses: [{id: last, host: a, serviceName: web, servicePort: 80}]}`), website(t, ""))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.children).To(gomega.HaveLen(3))
}

func TestOneFailureLetsTheRankFinishAndStopsLaterRanks(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	failed := make(chan struct{})
	var mu sync.Mutex
	var asked []string
	p.apply = func(ctx context.Context, owner apply.Owner, child apply.Child) (apply.Outcome, error) {
		mu.Lock()
		asked = append(asked, child.ID)
		mu.Unlock()
		switch child.ID {
		case "second":
			defer close(failed)
			return apply.Outcome{}, errors.New("second failed")
		case "first":
			<-failed // it fails later, and is declared earlier
			return apply.Outcome{}, errors.New("first failed")
		case "slow":
			<-failed
		}
		if err := ctx.Err(); err != nil {
			return apply.Outcome{}, err
		}
		return p.applyChild(ctx, owner, child)
	}
	plan := planOf(t, `
onReconcile:
  configmaps: [{id: first, name: a}, {id: second, name: b}, {id: slow, name: c}]
  services: [{id: later, port: 80, selector: {a: b}}]
`)
	p.put(configMapKind, "stale", "gone")
	r, err := p.run(plan, website(t, ""))
	expectStep(g, err, stage.StepOnReconcile, Transient, "")
	g.Expect(err.Error()).To(gomega.ContainSubstring("first failed"), "the first one declared is reported")
	g.Expect(asked).To(gomega.ConsistOf("first", "second", "slow"))
	g.Expect(p.done()).To(gomega.Equal([]string{"mark Website/shop", "create ConfigMap/c"}), "nothing is pruned after an error")
	g.Expect(r.Writes).To(gomega.Equal([]stage.Written{{Kind: "ConfigMap", Name: "c", Action: apply.Created}}))
}

func TestStepsEndTheCycleInTheirOrder(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	p.mark = func(context.Context, *unstructured.Unstructured, apply.Marks) (*unstructured.Unstructured, error) {
		return nil, errors.New("no answer")
	}
	_, err := p.run(planOf(t, fullBox), website(t, `{image: A}`))
	expectStep(g, err, stage.StepMetadata, Transient, "")
	g.Expect(p.done()).To(gomega.BeEmpty(), "nothing is made for a resource that carries no finalizer")
}

func TestMarks(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, "finalizers: [example.com/a]")
	r, err := p.run(plan, website(t, ""))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Stored.GetFinalizers()).To(gomega.Equal([]string{"example.com/a", v1alpha1.Finalizer}))
	for k, want := range map[string]string{
		v1alpha1.AnnotationManagedBy: "website", v1alpha1.AnnotationManagedSince: "2026-01-02T03:04:05Z",
		v1alpha1.AnnotationActiveSince: "2026-01-02T03:04:05Z",
	} {
		g.Expect(r.Stored.GetAnnotations()).To(gomega.HaveKeyWithValue(k, want))
	}

	again := plan.NewRun(r.Stored, now.Add(time.Hour), p.ports())
	g.Expect(plan.Execute(context.Background(), again)).To(gomega.Succeed())
	g.Expect(again.Stored.GetAnnotations()).To(gomega.Equal(r.Stored.GetAnnotations()), "neither time ever changes")
}

func TestGates(t *testing.T) {
	const (
		choice = "when: [{field: spec.tls, equals: true}]"
		wait   = "when: [{field: children.deployment.status.readyReplicas, operator: gt, value: 0}]"
	)
	cases := map[string]struct {
		key, fields string
		exists      bool
		writes      []string
		waits       bool
		active      bool
	}{
		"false choice, absent":                    {key: "configmaps", fields: choice, active: true},
		"false choice, exists":                    {key: "configmaps", fields: choice, exists: true, writes: []string{"delete ConfigMap/gated"}, active: true},
		"false choice, exists, Keep":              {key: "configmaps", fields: choice + ", whenFalse: Keep", exists: true, active: true},
		"false choice, exists, orphaned":          {key: "configmaps", fields: choice + ", deletionPolicy: Orphan", exists: true, writes: []string{"orphan ConfigMap/gated"}, active: true},
		"false wait, absent":                      {key: "configmaps", fields: wait, waits: true, active: true},
		"false wait, absent, optional":            {key: "configmaps", fields: wait + ", optional: true", active: true},
		"false wait, exists":                      {key: "configmaps", fields: wait, exists: true, waits: true, active: true},
		"false wait, exists, optional":            {key: "configmaps", fields: wait + ", optional: true", exists: true, active: true},
		"false wait, exists, Delete":              {key: "configmaps", fields: wait + ", whenFalse: Delete", exists: true, waits: true, writes: []string{"delete ConfigMap/gated"}, active: true},
		"choice decides before the wait":          {key: "configmaps", fields: "when: [{field: children.deployment.status.readyReplicas, operator: gt, value: 0}, {field: spec.tls, equals: true}]", exists: true, writes: []string{"delete ConfigMap/gated"}, active: true},
		"true":                                    {key: "configmaps", fields: "when: [{field: spec.tls, equals: false}]", writes: []string{"create ConfigMap/gated"}, active: true},
		"a wait in onCreate holds Active back":    {key: "onCreate", fields: wait, waits: true},
		"optional in onCreate holds nothing back": {key: "onCreate", fields: wait + ", optional: true", active: true},
		"a choice in onCreate holds nothing back": {key: "onCreate", fields: choice, active: true},
		"onCreate's child is not deleted again":   {key: "onCreate", fields: choice, exists: true, active: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			gated := "{configmaps: [{id: gated, name: gated, data: {a: b}, " + tc.fields + "}]}"
			box := "onReconcile: {deployments: [{image: nginx}]}\nonCreate: " + gated
			if tc.key != "onCreate" {
				box = "onCreate: {deployments: [{image: nginx, reconcile: true}]}\nonReconcile: " + gated
			}
			p := newPorts()
			if tc.exists {
				p.put(configMapKind, "gated", "gated", func(c *unstructured.Unstructured) {
					if name == "false choice, exists, orphaned" {
						c.SetAnnotations(map[string]string{v1alpha1.AnnotationDeclaration: "gated", v1alpha1.AnnotationDeletionPolicy: "Orphan"})
					}
				})
			}
			r, err := p.run(planOf(t, box), website(t, `{tls: false}`))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			var writes []string
			for _, w := range p.done() {
				if w != "mark Website/shop" && w != "create Deployment/shop" {
					writes = append(writes, w)
				}
			}
			g.Expect(writes).To(gomega.Equal(tc.writes))
			if !tc.waits {
				g.Expect(r.Waits).To(gomega.BeEmpty())
			} else {
				g.Expect(r.Waits).To(gomega.HaveLen(1))
				g.Expect(r.Waits[0].Reason).To(gomega.Equal(v1alpha1.ReasonWaitingForGate))
				g.Expect(r.Waits[0].Message).To(gomega.HavePrefix("gated: children.deployment.status.readyReplicas: wanted more than 0, actual"))
			}
			_, active := r.Stored.GetAnnotations()[v1alpha1.AnnotationActiveSince]
			g.Expect(active).To(gomega.Equal(tc.active))
		})
	}
}

func TestChoiceKeepsWhatHoldsData(t *testing.T) {
	manifests := map[string]struct {
		manifest string
		kind     schema.GroupVersionKind
		pruned   bool
	}{
		"PersistentVolumeClaim": {"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: gated}}", schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}, false},
		"StatefulSet":           {"{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: gated}}", schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}, false},
		"Secret":                {"{apiVersion: v1, kind: Secret, metadata: {name: gated}}", schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, true},
	}
	for name, tc := range manifests {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			p.kinds = func() []schema.GroupVersionKind { return []schema.GroupVersionKind{tc.kind} }
			p.put(tc.kind, "gated", "gated")
			_, err := p.run(planOf(t, "onReconcile: {resources: [{id: gated, when: [{field: spec.tls, equals: true}], manifest: "+tc.manifest+"}]}"), website(t, `{tls: false}`))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(p.children).To(gomega.HaveLen(map[bool]int{true: 0, false: 1}[tc.pruned]))
		})
	}
}

func TestBoxGateStandsBeforeEachDeclaration(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `
when: [{field: spec.tls, equals: true}]
onReconcile: {configmaps: [{name: a}]}
onDelete: {configmaps: [{name: b}]}
`)
	r, err := p.run(plan, website(t, `{tls: false}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.children).To(gomega.BeEmpty())
	g.Expect(r.Waits).To(gomega.BeEmpty())
}

func TestOnCreateRunsOnce(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `onCreate: {configmaps: [{name: seed}, {name: kept, reconcile: true}]}`)
	r, err := p.run(plan, website(t, ""))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.ContainElements("create ConfigMap/seed", "create ConfigMap/kept"))

	p.children = nil
	_, err = p.run(plan, r.Stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.Equal([]string{"create ConfigMap/kept"}), "only what is reconciled comes back")
}

// Without onCreate there is nothing to be completed: the mark goes with the finalizer. An onCreate that comes later is for new resources.
func TestOnCreateThatIsAddedLaterDoesNotRun(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	r, err := p.run(planOf(t, `{onReconcile: {configmaps: [{name: a}]}, validation: {rules: [{field: spec.replicas, operator: lte, value: 10}]}}`), website(t, "replicas: 11"))
	expectStep(g, err, stage.StepValidation, Permanent, v1alpha1.ReasonValidationFailed)
	g.Expect(p.done()).To(gomega.Equal([]string{"mark Website/shop"}))
	g.Expect(r.Marks.Active).To(gomega.BeTrue())
	mended := r.Stored.DeepCopy()
	mended.Object["spec"] = map[string]any{"replicas": int64(1)}
	r, err = p.run(planOf(t, `{onCreate: {configmaps: [{name: seed}]}, onReconcile: {configmaps: [{name: a}]}}`), mended)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.Equal([]string{"create ConfigMap/a"}))
	g.Expect(r.Marks.Active).To(gomega.BeTrue())
}

func TestATerminatingChildIsWaitedFor(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	p.put(configMapKind, "seed", "configmaps/seed", func(c *unstructured.Unstructured) {
		c.SetDeletionTimestamp(&metav1.Time{Time: now})
	})
	r, err := p.run(planOf(t, `onCreate: {configmaps: [{name: seed}]}`), website(t, ""))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Waits).To(gomega.Equal([]stage.Wait{{Reason: v1alpha1.ReasonChildTerminating, Message: `ConfigMap "seed" is being deleted; it is made again when it is gone`, Of: "configmaps/seed"}}))
	g.Expect(r.Stored.GetAnnotations()).NotTo(gomega.HaveKey(v1alpha1.AnnotationActiveSince))
	g.Expect(r.Writes).To(gomega.BeEmpty())
}

func TestATerminatingObjectOfAnotherOwnerIsTriedAgainByTime(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	theirs := p.put(configMapKind, "seed", "configmaps/seed", func(c *unstructured.Unstructured) {
		c.SetDeletionTimestamp(&metav1.Time{Time: now})
	})
	plan := planOf(t, `onCreate: {configmaps: [{name: seed}]}`)
	r, err := p.run(plan, website(t, ""))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Inputs.Expires()).To(gomega.BeZero(), "the watch tells when a child of ours is gone")
	theirs.SetLabels(nil)
	r, err = p.run(plan, website(t, ""))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Waits).NotTo(gomega.BeEmpty())
	g.Expect(r.Inputs.Expires()).To(gomega.Equal(now.Add(15*time.Second)), "nobody tells when it is gone")
}

func TestAPanicInAWriteIsAnErrorOfTheStage(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	p.apply = func(context.Context, apply.Owner, apply.Child) (apply.Outcome, error) { panic("a bug") }
	_, err := p.run(planOf(t, `onReconcile: {configmaps: [{name: a}, {name: b}]}`), website(t, ""))
	expectStep(g, err, stage.StepOnReconcile, Panic, "")
	g.Expect(err).To(gomega.MatchError("onReconcile: panic: a bug"))
	caught, ok := errors.AsType[*PanicError](err)
	g.Expect(ok).To(gomega.BeTrue())
	g.Expect(string(caught.Stack)).To(gomega.ContainSubstring("TestAPanicInAWriteIsAnErrorOfTheStage"))
}

func TestPrune(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	p.put(configMapKind, "renamed", "configmaps/old")
	p.put(configMapKind, "former-name", "configmaps/{{ .spec.host }}")
	p.put(configMapKind, "orphan", "configmaps/other", func(c *unstructured.Unstructured) {
		c.SetAnnotations(map[string]string{v1alpha1.AnnotationDeclaration: "configmaps/other", v1alpha1.AnnotationDeletionPolicy: "Orphan"})
	})
	p.put(configMapKind, "of-another-box", "configmaps/old", func(c *unstructured.Unstructured) {
		c.SetLabels(map[string]string{v1alpha1.LabelOwnerUID: "u1", v1alpha1.LabelBox: "other"})
	})
	p.put(configMapKind, "terminating", "configmaps/old", func(c *unstructured.Unstructured) {
		c.SetDeletionTimestamp(&metav1.Time{Time: now})
	})
	r, err := p.run(planOf(t, `onReconcile: {configmaps: [{name: "{{ .spec.host }}"}]}`), website(t, `{host: new-name}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.Equal([]string{
		"mark Website/shop", "create ConfigMap/new-name",
		"delete ConfigMap/former-name", "delete ConfigMap/renamed", "orphan ConfigMap/orphan",
	}))
	g.Expect(r.Writes).To(gomega.HaveLen(4))
}

func TestResult(t *testing.T) {
	plan := planOf(t, `
onReconcile: {deployments: [{image: nginx}], configmaps: [{}]}
status:
  ready: Current
  fields:
  - {path: phase, value: Up, when: [{field: children.deployment.status.readyReplicas, operator: gt, value: 0}]}
  - {path: phase, value: Down, when: [{field: children.deployment.status.readyReplicas, operator: lte, value: 0}]}
  - {path: replicas, value: "{{ .children.deployment.status.readyReplicas }}"}
  - {path: message, value: "{{ .spec.host }}"}
`)
	g := gomega.NewWithT(t)
	p := newPorts()
	ctx := context.Background()
	r, err := p.run(plan, website(t, ""))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	res, err := r.Result(ctx, nil)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(res.Generation).To(gomega.Equal(int64(1)))
	g.Expect(res.Fields).To(gomega.HaveLen(3))
	g.Expect(res.Fields[0].Value).To(gomega.Equal("Down"))
	g.Expect(res.Fields[1].Value).To(gomega.Equal(int64(0)), "a counter that Kubernetes leaves out reads as 0")
	g.Expect(res.Fields[2].Remove).To(gomega.BeTrue(), "a value whose path is absent is left out")
	g.Expect(res.Ready.Reason).To(gomega.Equal(v1alpha1.ReasonChildrenNotCurrent))
	g.Expect(res.Reconciling.Status).To(gomega.Equal(metav1.ConditionTrue))
	g.Expect(res.Reconciling.Message).To(gomega.HavePrefix(`Deployment "shop": `))

	res, err = r.Result(ctx, stage.NewPermanent(v1alpha1.ReasonTemplateError, errors.New("broken")))
	g.Expect(err).To(gomega.HaveOccurred())
	g.Expect(res.Ready.Reason).To(gomega.Equal(v1alpha1.ReasonReconcileError))
	g.Expect(res.Stalled.Status).To(gomega.Equal(metav1.ConditionTrue))
	g.Expect(res.Stalled.Reason).To(gomega.Equal(v1alpha1.ReasonTemplateError))
	g.Expect(res.Fields).To(gomega.HaveLen(3), "the fields are shown after an error as well")

	res, _ = r.Result(ctx, errors.New("no answer"))
	g.Expect(res.Stalled.Status).To(gomega.Equal(metav1.ConditionFalse))
	g.Expect(res.Reconciling.Reason).To(gomega.Equal(v1alpha1.ReasonRetrying))
}

func TestStatusFieldThatDoesNotFit(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := planOf(t, `status: {fields: [{path: replicas, value: "{{ .spec.host }}"}, {path: phase, value: Up}]}`)
	r, err := newPorts().run(plan, website(t, `{host: many}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	res, err := r.Result(context.Background(), nil)
	expectStep(g, err, stage.StepStatus, Permanent, v1alpha1.ReasonTemplateError)
	g.Expect(res.Ready.Status).To(gomega.Equal(metav1.ConditionFalse))
	g.Expect(res.Fields).To(gomega.HaveLen(1), "the others are still shown")

	earlier := errors.New("it came first")
	_, err = r.Result(context.Background(), earlier)
	g.Expect(errors.Is(err, earlier)).To(gomega.BeTrue(), "a status error hides no other")
}
