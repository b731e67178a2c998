package pipeline

import (
	"context"
	"testing"
	"time"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/status"
)

// shownBy runs a plan and gives what the resource shows.
func shownBy(g *gomega.WithT, p *ports, plan *Plan, stored *unstructured.Unstructured) (*Run, status.Result) {
	r, err := p.run(plan, stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	res, err := r.Result(context.Background(), nil)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	return r, res
}

func conditionIs(kind string, s metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: s, Reason: reason, Message: message}
}

func withPhase(phase string) func(*unstructured.Unstructured) {
	return func(c *unstructured.Unstructured) {
		annotations := c.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations["phase"] = phase
		c.SetAnnotations(annotations)
	}
}

func TestReadyWhenOfTheStatus(t *testing.T) {
	const waiting = "readyWhen: children.configmap.metadata.annotations.phase: wanted equals Up, actual Down"
	wait := conditionIs("Reconciling", "True", v1alpha1.ReasonWaitingForGate, waiting)
	cases := map[string]struct {
		box, spec, phase   string
		ready, reconciling metav1.Condition
	}{
		"met": {
			`{readyWhen: [{field: children.configmap.metadata.annotations.phase, equals: Up}]}`, `{}`, "Up", status.Succeeded(), status.Settled(),
		},
		"a child does not meet it": {
			`{readyWhen: [{field: children.configmap.metadata.annotations.phase, equals: Up}]}`, `{}`, "Down",
			conditionIs("Ready", "False", v1alpha1.ReasonWaitingForGate, waiting), wait,
		},
		"the resource does not meet it": {
			`{readyWhen: [{field: spec.tls, equals: true}]}`, `{tls: false}`, "Up",
			conditionIs("Ready", "False", v1alpha1.ReasonWaitingForGate, "readyWhen: spec.tls: wanted equals true, actual false"),
			conditionIs("Reconciling", "True", v1alpha1.ReasonWaitingForGate, "readyWhen: spec.tls: wanted equals true, actual false"),
		},
		"with Current": {
			`{ready: Current, readyWhen: [{field: children.configmap.metadata.annotations.phase, equals: Up}]}`, `{}`, "Down",
			conditionIs("Ready", "False", v1alpha1.ReasonWaitingForGate, waiting), wait,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			plan := planOf(t, "onReconcile: {configmaps: [{}]}\nstatus: "+tc.box)
			r, _ := shownBy(g, p, plan, website(t, tc.spec))
			p.edit("shop", withPhase(tc.phase))
			_, res := shownBy(g, p, plan, r.Stored)
			g.Expect(res.Ready).To(gomega.Equal(tc.ready))
			g.Expect(res.Reconciling).To(gomega.Equal(tc.reconciling))
			g.Expect(res.Stalled).To(gomega.Equal(status.NotStalled()))
		})
	}
}

func TestReadyWhenGoesBesideWhatElseIsUnderWay(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := planOf(t, `
onReconcile: {configmaps: [{}], services: [{port: 80, selector: {a: b}, when: [{field: children.configmap.data.go, equals: "yes"}]}]}
status: {readyWhen: [{field: spec.tls, equals: true}]}
`)
	_, res := shownBy(g, newPorts(), plan, website(t, `{}`))
	g.Expect(res.Ready).To(gomega.Equal(conditionIs("Ready", "False", v1alpha1.ReasonWaitingForGate, "readyWhen: spec.tls: wanted equals true, actual absent")))
	g.Expect(res.Reconciling.Message).To(gomega.HavePrefix("services: children.configmap.data.go: wanted "), "the first thing that is waited for")
	_, res = shownBy(g, newPorts(), plan, website(t, `{tls: true}`))
	g.Expect(res.Ready).To(gomega.Equal(status.Succeeded()))
}

func TestReadyWhenThatCannotBeEvaluated(t *testing.T) {
	cases := map[string]struct{ box, message string }{
		"of the status":      {`status: {readyWhen: [{field: spec.host, greaterThan: 3}]}`, `status: readyWhen: comparing "spec.host" by gt`},
		"of a declaration":   {`onReconcile: {configmaps: [{readyWhen: [{field: spec.host, greaterThan: 3}]}]}`, `status: ConfigMap "shop": readyWhen: comparing "spec.host" by gt`},
		"the first mistake":  {"onReconcile: {configmaps: [{readyWhen: [{field: spec.host, greaterThan: 3}]}]}\nstatus: {fields: [{path: replicas, value: \"{{ .spec.host }}\"}]}", `status: fields: status.replicas`},
		"and nothing is set": {`status: {readyWhen: [{field: spec.image, equals: x}, {field: spec.host, greaterThan: 3}]}`, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			r, err := newPorts().run(planOf(t, tc.box), website(t, `{host: many}`))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			res, err := r.Result(context.Background(), nil)
			if tc.message == "" {
				g.Expect(err).NotTo(gomega.HaveOccurred(), "one that does not hold settles it")
				return
			}
			g.Expect(err).To(gomega.MatchError(gomega.HavePrefix(tc.message)))
			g.Expect(AsStepError(err).Class).To(gomega.Equal(Permanent))
			g.Expect(res.Ready.Reason).To(gomega.Equal(v1alpha1.ReasonReconcileError))
			g.Expect(res.Stalled.Status).To(gomega.Equal(metav1.ConditionTrue))
		})
	}
}

func TestReadyWhenIsAskedAgainWhenTheTimeChangesIt(t *testing.T) {
	for name, box := range map[string]string{
		"of the status":    `status: {readyWhen: [{field: metadata.creationTimestamp, olderThan: 1h}]}`,
		"of a declaration": `onReconcile: {configmaps: [{readyWhen: [{field: metadata.creationTimestamp, olderThan: 1h}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			stored := website(t, "")
			stored.SetCreationTimestamp(metav1.NewTime(now.Add(-time.Minute)))
			r, res := shownBy(g, newPorts(), planOf(t, box), stored)
			g.Expect(res.Reconciling.Status).To(gomega.Equal(metav1.ConditionTrue))
			g.Expect(r.Inputs.Expires()).To(gomega.BeTemporally("==", now.Add(59*time.Minute), time.Second))
		})
	}
}

func TestReadyWhenOfADeclaration(t *testing.T) {
	const box = `onReconcile: {configmaps: [{readyWhen: [{field: object.metadata.annotations.phase, equals: "{{ .spec.host }}"}]}]}`
	cases := map[string]struct {
		box    string
		change func(*unstructured.Unstructured)
		want   string
	}{
		"met":     {box, withPhase("Up"), ""},
		"not met": {box, withPhase("Down"), `ConfigMap "shop": object.metadata.annotations.phase: wanted equals Up, actual Down`},
		"absent":  {box, func(*unstructured.Unstructured) {}, `ConfigMap "shop": object.metadata.annotations.phase: wanted equals Up, actual absent`},
		"by the path of the child": {
			`onReconcile: {configmaps: [{id: it, readyWhen: [{field: children.it.metadata.annotations.phase, equals: Up}]}]}`, withPhase("Down"),
			`ConfigMap "shop": children.it.metadata.annotations.phase: wanted equals Up, actual Down`,
		},
		"what it holds is not shown": {
			`onReconcile: {configmaps: [{data: {a: b}, readyWhen: [{field: object.data.a, equals: c}]}]}`, func(*unstructured.Unstructured) {},
			`ConfigMap "shop": object.data.a: wanted equals c, actual a string`,
		},
		"instead of kstatus": {
			box, func(c *unstructured.Unstructured) {
				withPhase("Up")(c)
				c.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "False", "reason": "A", "message": "b"}}}
			}, "",
		},
		"its controller has not seen the last change": {
			box, func(c *unstructured.Unstructured) {
				c.SetGeneration(2)
				withPhase("Up")(c)
				c.Object["status"] = map[string]any{"observedGeneration": int64(1)}
			}, `ConfigMap "shop": ConfigMap generation is 2, but latest observed generation is 1`,
		},
		"being deleted": {
			box, func(c *unstructured.Unstructured) {
				c.SetDeletionTimestamp(&metav1.Time{Time: now})
				withPhase("Up")(c)
			}, `ConfigMap "shop" is being deleted; it is made again when it is gone`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			plan := planOf(t, tc.box)
			r, _ := shownBy(g, p, plan, website(t, `{host: Up}`))
			p.edit("shop", tc.change)
			_, res := shownBy(g, p, plan, r.Stored)
			g.Expect(res.Ready).To(gomega.Equal(status.Succeeded()), "Reconciled: the cycle succeeded")
			if tc.want == "" {
				g.Expect(res.Reconciling).To(gomega.Equal(status.Settled()))
				return
			}
			g.Expect(res.Reconciling.Status).To(gomega.Equal(metav1.ConditionTrue))
			g.Expect(res.Reconciling.Message).To(gomega.Equal(tc.want))
		})
	}
}

func TestReadyWhenOfItems(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `
onReconcile:
  configmaps:
  - name: "{{ .metadata.name }}-{{ .item }}"
    forEach: {field: spec.tags, key: "{{ .item }}"}
    readyWhen: [{field: object.metadata.annotations.phase, equals: "{{ .item }}"}]
status: {ready: Current}
`)
	r, res := shownBy(g, p, plan, website(t, `{tags: [a, b]}`))
	g.Expect(res.Ready.Message).To(gomega.MatchRegexp(`ConfigMap "shop-[ab]": object.metadata.annotations.phase: wanted equals .*, actual absent`))
	p.edit("shop-a", withPhase("a"))
	p.edit("shop-b", withPhase("a"))
	_, res = shownBy(g, p, plan, r.Stored)
	g.Expect(res.Ready.Reason).To(gomega.Equal(v1alpha1.ReasonChildrenNotCurrent))
	g.Expect(res.Ready.Message).To(gomega.HavePrefix(`ConfigMap "shop-b": object.metadata.annotations.phase: wanted `))
	p.edit("shop-b", withPhase("b"))
	_, res = shownBy(g, p, plan, r.Stored)
	g.Expect(res.Ready).To(gomega.Equal(status.Succeeded()))
}

func TestAChildThatGoesIsNotCurrentWhateverItsConditionsSay(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `onCreate: {configmaps: [{readyWhen: [{field: object.metadata.annotations.phase, equals: Up}]}]}`)
	r, _ := shownBy(g, p, plan, website(t, ""))
	p.edit("shop", func(c *unstructured.Unstructured) {
		withPhase("Up")(c)
		c.SetDeletionTimestamp(&metav1.Time{Time: now})
	})
	r, res := shownBy(g, p, plan, r.Stored)
	g.Expect(r.Waits).To(gomega.BeEmpty(), "it is not made again")
	g.Expect(res.Reconciling).To(gomega.Equal(conditionIs("Reconciling", "True", v1alpha1.ReasonChildrenNotCurrent, `ConfigMap "shop": Resource scheduled for deletion`)))
}

func TestAChildWithoutItsItemIsJudgedByKstatus(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	p.put(configMapKind, "kept", "configmaps/{{ .item }}#gone")
	_, res := shownBy(g, p, planOf(t, `
onReconcile:
  configmaps:
  - name: "{{ .item }}"
    whenFalse: Keep
    when: [{field: spec.tls, equals: true}]
    forEach: {field: spec.tags, key: "{{ .item }}"}
    readyWhen: [{field: object.metadata.annotations.phase, equals: "{{ .item }}"}]
`), website(t, `{tls: false, tags: [a]}`))
	g.Expect(res.Reconciling).To(gomega.Equal(status.Settled()))
}

func TestReadyWhenMistakes(t *testing.T) {
	cases := map[string]struct{ box, want string }{
		"of the status, a path": {`status: {readyWhen: [{field: spec.tsl, operator: exists}]}`, `spec.status.readyWhen[0].field: Invalid value: "spec.tsl": spec.tsl: no such field in the CRD's schema, did you mean "tls"?`},
		"of the status, the object": {
			`status: {readyWhen: [{field: object.status, operator: exists}]}`, `spec.status.readyWhen[0].field: Invalid value: "object.status": .object: no such name in a template`},
		"of a declaration": {
			`onReconcile: {configmaps: [{readyWhen: [{field: spec.tls, operator: exist}]}]}`, `spec.onReconcile.configmaps[0].readyWhen[0].operator: Invalid value: "exist": unknown operator, did you mean "exists"?`},
		"of a clean-up Job": {
			`onDelete: {jobs: [{image: a, readyWhen: [{field: object.status, operator: exists}]}]}`, `spec.onDelete.jobs[0].readyWhen: Forbidden: a Job of onDelete is done when it has completed`},
		"a field of the object": {
			`onReconcile: {deployments: [{image: a, readyWhen: [{field: object.status.replica, greaterThan: 1}]}]}`,
			`spec.onReconcile.deployments[0].readyWhen[0].field: Invalid value: "object.status.replica": object.status.replica: there is no such field, did you mean "replicas"?`},
		"what a Secret holds": {
			`onReconcile: {secrets: [{data: {a: b}, readyWhen: [{field: object.data.a, equals: b}]}]}`,
			`spec.onReconcile.secrets[0].readyWhen[0].field: Invalid value: "object.data.a": object.data: what a Secret holds can be read only by`},
		"an item called object": {
			`onReconcile: {configmaps: [{name: "{{ .object }}", forEach: {field: spec.tags, as: object}}]}`, `spec.onReconcile.configmaps[0].forEach.as: Invalid value: "object": templates know this name already`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, errs := Compile(boxOf(t, tc.box), Env{CRD: websites(t)})
			gomega.NewWithT(t).Expect(messages(errs)).To(gomega.ConsistOf(gomega.HavePrefix(tc.want)))
		})
	}
}
