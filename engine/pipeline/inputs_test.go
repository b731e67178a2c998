package pipeline

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline/children"
)

const twoChildren = `
onReconcile:
  configmaps: [{data: {a: b}}]
  services: [{port: 80, selector: {a: b}}]
`

// idleRun runs a plan until it has made all, and then once more: the inputs are those of a cycle that wrote nothing.
func idleRun(g *gomega.WithT, p *ports, plan *Plan, stored *unstructured.Unstructured) *Run {
	r, err := p.run(plan, stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	r, err = p.run(plan, r.Stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	_, err = r.Result(context.Background(), nil)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	return r
}

func TestUnchanged(t *testing.T) {
	edit := func(change func(*unstructured.Unstructured)) func(*ports, *unstructured.Unstructured) *unstructured.Unstructured {
		return func(_ *ports, stored *unstructured.Unstructured) *unstructured.Unstructured {
			stored = stored.DeepCopy()
			change(stored)
			return stored
		}
	}
	onPorts := func(f func(*ports)) func(*ports, *unstructured.Unstructured) *unstructured.Unstructured {
		return func(p *ports, stored *unstructured.Unstructured) *unstructured.Unstructured {
			f(p)
			return stored
		}
	}
	annotate := func(key, value string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			a := o.GetAnnotations()
			a[key] = value
			o.SetAnnotations(a)
		}
	}
	setStatus := func(o *unstructured.Unstructured) { o.Object["status"] = map[string]any{"phase": "Up"} }
	cases := map[string]struct {
		box    string
		change func(*ports, *unstructured.Unstructured) *unstructured.Unstructured
		want   bool
	}{
		"nothing":                 {twoChildren, edit(func(*unstructured.Unstructured) {}), true},
		"resourceVersion alone":   {twoChildren, edit(func(o *unstructured.Unstructured) { o.SetResourceVersion("999") }), true},
		"generation":              {twoChildren, edit(func(o *unstructured.Unstructured) { o.SetGeneration(2) }), false},
		"another resource":        {twoChildren, edit(func(o *unstructured.Unstructured) { o.SetUID("u2") }), false},
		"label":                   {twoChildren, edit(func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"a": "b"}) }), false},
		"annotation":              {twoChildren, edit(annotate("a", "b")), false},
		"look now":                {twoChildren, edit(annotate(v1alpha1.AnnotationReconcileAt, "1")), false},
		"our active mark":         {twoChildren, edit(annotate(v1alpha1.AnnotationActiveSince, "other")), true},
		"our done mark":           {twoChildren, edit(annotate(v1alpha1.AnnotationDone, "{}")), true},
		"deletion":                {twoChildren, edit(func(o *unstructured.Unstructured) { o.SetDeletionTimestamp(&metav1.Time{Time: now}) }), false},
		"status that is not read": {twoChildren, edit(setStatus), true},
		"status that is read":     {twoChildren + "  deployments: [{image: nginx, when: [{field: status.phase, operator: exists}]}]", edit(setStatus), false},
		"status read by a field":  {twoChildren + "\nstatus: {fields: [{path: message, value: '{{ .status.phase }}'}]}", edit(setStatus), false},
		"a child":                 {twoChildren, onPorts(func(p *ports) { p.edit("shop", func(*unstructured.Unstructured) {}) }), false},
		"a child is gone":         {twoChildren, onPorts(func(p *ports) { p.remove("gone", p.children[0]) }), false},
		"a child comes":           {twoChildren, onPorts(func(p *ports) { p.put(configMapKind, "copy", "configmaps") }), false},
		"a child is made once again": {twoChildren, onPorts(func(p *ports) {
			c := p.children[0]
			p.remove("gone", c)
			p.put(c.GroupVersionKind(), c.GetName(), children.IDOf(c))
		}), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			plan := planOf(t, tc.box)
			r := idleRun(g, p, plan, website(t, ""))
			stored := tc.change(p, r.Stored)
			g.Expect(r.Inputs.Unchanged(&plan.Plan, stored, p, now)).To(gomega.Equal(tc.want))
		})
	}
}

func TestUnchangedOfAnotherPlan(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, twoChildren)
	r := idleRun(g, p, plan, website(t, ""))
	g.Expect(r.Inputs.Unchanged(&planOf(t, twoChildren).Plan, r.Stored, p, now)).To(gomega.BeFalse())
	var none *Inputs
	g.Expect(none.Unchanged(&plan.Plan, r.Stored, p, now)).To(gomega.BeFalse())
	g.Expect(none.Expires().IsZero()).To(gomega.BeTrue())
}

func TestOwnCreationsAndMarksChangeNothing(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, twoChildren)
	r, err := p.run(plan, website(t, ""))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.HaveLen(3))
	g.Expect(r.Inputs.Unchanged(&plan.Plan, r.Stored, p, now)).To(gomega.BeTrue(), "the first cycle knows its own children and marks")
}

func TestACorrectedChildIsReconciledAgain(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, twoChildren)
	r := idleRun(g, p, plan, website(t, ""))
	p.edit("shop", func(c *unstructured.Unstructured) {
		c.SetAnnotations(map[string]string{v1alpha1.AnnotationDeclaration: children.IDOf(c), v1alpha1.AnnotationApplied: "other"})
	})
	r, err := p.run(plan, r.Stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Writes).To(gomega.HaveLen(2))
	g.Expect(r.Inputs.Unchanged(&plan.Plan, r.Stored, p, now)).To(gomega.BeFalse(), "the answer may hold what no stage has seen")
	r, err = p.run(plan, r.Stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Inputs.Unchanged(&plan.Plan, r.Stored, p, now)).To(gomega.BeTrue())
}

func TestAChildThatChangesDuringTheCycleIsSeen(t *testing.T) {
	const box = `
onCreate: {deployments: [{image: nginx, reconcile: true}]}
onReconcile: {configmaps: [{when: [{field: children.deployment.status.readyReplicas, operator: gt, value: 0}]}]}
`
	cases := map[string]func(p *ports){
		"between the read and a write": func(p *ports) {
			p.apply = func(ctx context.Context, owner apply.Owner, child apply.Child) (apply.Outcome, error) {
				out, err := p.applyChild(ctx, owner, child)
				p.edit("web", func(*unstructured.Unstructured) {})
				return out, err
			}
		},
		"between the read and the end": func(p *ports) {
			p.mark = func(ctx context.Context, o *unstructured.Unstructured, m apply.Marks) (*unstructured.Unstructured, error) {
				if m.Annotations[v1alpha1.AnnotationActiveSince] != "" {
					p.edit("web", func(*unstructured.Unstructured) {})
				}
				return p.markResource(ctx, o, m)
			}
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			p.put(deploymentKind, "web", "deployments", func(c *unstructured.Unstructured) {
				c.SetLabels(map[string]string{v1alpha1.LabelOwnerUID: "u1", v1alpha1.LabelBox: "other"})
			})
			change(p)
			plan := planOf(t, box)
			r, err := p.run(plan, website(t, ""))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			_, err = r.Result(context.Background(), nil)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(r.Inputs.Unchanged(&plan.Plan, r.Stored, p, now)).To(gomega.BeFalse())
		})
	}
}

func TestInputsExpire(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `onReconcile: {configmaps: [{when: [{field: metadata.creationTimestamp, olderThan: 10m}]}]}`)
	stored := website(t, "")
	stored.SetCreationTimestamp(metav1.Time{Time: now.Add(-4 * time.Minute)})
	r, err := p.run(plan, stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	expires := r.Inputs.Expires()
	g.Expect(expires).To(gomega.BeTemporally("~", now.Add(6*time.Minute), time.Second))
	g.Expect(r.Inputs.Unchanged(&plan.Plan, r.Stored, p, expires.Add(-time.Second))).To(gomega.BeTrue())
	g.Expect(r.Inputs.Unchanged(&plan.Plan, r.Stored, p, expires)).To(gomega.BeFalse())
	g.Expect(r.Inputs.Unchanged(&plan.Plan, r.Stored, p, now.Add(-time.Second))).To(gomega.BeFalse(), "the clock was set back")
}

func TestAStepBeforeTheChildrenIsNotHelpedByThem(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, "validation: {rules: [{field: spec.host, operator: exists}]}\n"+twoChildren)
	p.put(configMapKind, "shop", "configmaps")
	r, err := p.run(plan, website(t, ""))
	g.Expect(err).To(gomega.HaveOccurred())
	p.edit("shop", func(*unstructured.Unstructured) {})
	g.Expect(r.Inputs.Unchanged(&plan.Plan, r.Stored, p, now)).To(gomega.BeTrue())
}

func TestAFailedWriteIsReconciledWhenAChildChanges(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	p.put(configMapKind, "shop", "configmaps")
	p.apply = func(context.Context, apply.Owner, apply.Child) (apply.Outcome, error) {
		return apply.Outcome{}, errors.New("no")
	}
	plan := planOf(t, twoChildren)
	r, err := p.run(plan, website(t, ""))
	g.Expect(err).To(gomega.HaveOccurred())
	g.Expect(r.Inputs.Unchanged(&plan.Plan, r.Stored, p, now)).To(gomega.BeTrue())
	p.edit("shop", func(*unstructured.Unstructured) {})
	g.Expect(r.Inputs.Unchanged(&plan.Plan, r.Stored, p, now)).To(gomega.BeFalse())
}

func TestOurOwnStatusWriteCanBeTakenOutOfTheInputs(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `status: {fields: [{path: phase, value: "{{ .status.phase }}x"}]}`)
	stored := website(t, "")
	r := idleRun(g, p, plan, stored)
	answer := r.Stored.DeepCopy()
	answer.Object["status"] = map[string]any{"phase": "x"}
	g.Expect(r.Inputs.Unchanged(&plan.Plan, answer, p, now)).To(gomega.BeFalse(), "the box reads the status")
	r.Inputs.StatusWritten(r.Stored, answer)
	g.Expect(r.Inputs.Unchanged(&plan.Plan, answer, p, now)).To(gomega.BeTrue())
	answer.SetGeneration(7)
	g.Expect(r.Inputs.Unchanged(&plan.Plan, answer, p, now)).To(gomega.BeFalse(), "everything else still counts")
	(*Inputs)(nil).StatusWritten(stored, answer)
}

// What people wrote decides whether an error that no retry mends counts again, and nothing else.
func TestSameResource(t *testing.T) {
	p := newPorts()
	plan := planOf(t, `{onReconcile: {configmaps: [{data: {phase: '{{ .status.phase | default "none" }}'}}]}}`)
	for name, tc := range map[string]struct {
		change func(*unstructured.Unstructured)
		same   bool
	}{
		"nothing":    {func(*unstructured.Unstructured) {}, true},
		"its status": {func(u *unstructured.Unstructured) { u.Object["status"] = map[string]any{"phase": "on"} }, true},
		"a mark of ours": {func(u *unstructured.Unstructured) {
			u.SetAnnotations(map[string]string{v1alpha1.AnnotationActiveSince: "x"})
		}, true},
		"its generation": {func(u *unstructured.Unstructured) { u.SetGeneration(77) }, false},
		"a label":        {func(u *unstructured.Unstructured) { u.SetLabels(map[string]string{"a": "b"}) }, false},
		"an annotation":  {func(u *unstructured.Unstructured) { u.SetAnnotations(map[string]string{"a": "b"}) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			r := plan.NewRun(website(t, ""), now, p.ports())
			later := r.Stored.DeepCopy()
			tc.change(later)
			g.Expect(r.Inputs.SameResource(&plan.Plan, later)).To(gomega.Equal(tc.same))
			g.Expect(r.Inputs.SameResource(&planOf(t, "{}").Plan, r.Stored)).To(gomega.BeFalse(), "another plan")
			later.SetLabels(map[string]string{"a": "b"})
			longer := later.DeepCopy()
			longer.SetLabels(map[string]string{"a": "bc"})
			g.Expect(plan.NewRun(longer, now, p.ports()).Inputs.SameResource(&plan.Plan, later)).To(gomega.BeFalse())
		})
	}
	gomega.NewWithT(t).Expect((*Inputs)(nil).SameResource(&plan.Plan, website(t, ""))).To(gomega.BeFalse())
}
