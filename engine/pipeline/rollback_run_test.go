package pipeline

import (
	"context"
	"errors"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/rollback"
)

// recorder is a dry run that notes what it is asked, and refuses what has a name.
type recorder struct {
	*ports

	refuse string
	asked  []string
}

func (a *recorder) Apply(_ context.Context, _ apply.Owner, child apply.Child) (apply.Outcome, error) {
	name := child.Object.GetName()
	a.asked = append(a.asked, name)
	if name == a.refuse {
		return apply.Outcome{}, &apply.RefusedError{Reason: v1alpha1.ReasonInvalidChild, Message: name + " is refused"}
	}
	return apply.Outcome{Action: apply.None, Object: child.Object}, nil
}

const dryBox = `
rollBackOnError: true
onReconcile: {configmaps: [{name: a, data: {image: "{{ .spec.image }}"}}], services: [{name: b, port: 80, selector: {a: b}}]}
`

func TestDryRunComesFirst(t *testing.T) {
	for name, tc := range map[string]struct {
		refuse string
		wrote  []string
	}{
		"refused": {"b", []string{"mark Website/shop"}},
		"clean":   {"", []string{"mark Website/shop", "create ConfigMap/a", "create Service/b"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			dry := &recorder{ports: p, refuse: tc.refuse}
			ports := p.ports()
			ports.DryRun = dry
			plan := planOf(t, dryBox)
			r := plan.NewRun(website(t, "image: x"), now, ports)
			err := plan.Execute(context.Background(), r)
			g.Expect(dry.asked).To(gomega.Equal([]string{"a", "b"}))
			g.Expect(p.done()).To(gomega.Equal(tc.wrote))
			g.Expect(r.DryRunPassed).To(gomega.Equal(tc.refuse == ""))
			if tc.refuse != "" {
				expectStep(g, err, "dryRun", Refused, v1alpha1.ReasonInvalidChild)
				g.Expect(err).To(gomega.MatchError("dryRun: onReconcile: b is refused"))
				g.Expect(r.Inputs.Unchanged(&plan.Plan, r.Stored, p, now)).To(gomega.BeTrue(), "nothing that was asked counts as written")
				p.put(configMapKind, "other", "other")
				g.Expect(r.Inputs.Unchanged(&plan.Plan, r.Stored, p, now)).To(gomega.BeFalse(), "the children are what the dry run has read")
				return
			}
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(r.Completed).To(gomega.BeTrue())
		})
	}
}

func TestDryRunIsNotAskedWhereItNeedNot(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	r, err := p.run(planOf(t, dryBox), website(t, "image: x"))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.DryRunPassed).To(gomega.BeFalse())
}

func TestDryRunPassesKindsThatAreNotInstalledYet(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	p.namespaced = func(kind schema.GroupVersionKind) (bool, error) {
		return false, &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}
	}
	ports := p.ports()
	ports.DryRun = &recorder{ports: p}
	plan := planOf(t, `
rollBackOnError: true
onReconcile: {configmaps: [{name: a}], resources: [{manifest: {apiVersion: example.com/v1, kind: Later, metadata: {name: x}}}]}
`)
	r := plan.NewRun(website(t, ""), now, ports)
	expectStep(g, plan.Execute(context.Background(), r), "onReconcile", Transient, "")
	g.Expect(p.done()).To(gomega.ContainElement("create ConfigMap/a"), "what may install the kind is made")
}

// snapshotOf is what was kept of a resource.
func snapshotOf(resource *unstructured.Unstructured) rollback.Snapshot {
	return rollback.Take(resource, "website", "website-1", stage.IsOurMark)
}

func TestGoBack(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `
rollback: {}
normalize: {spec: {image: "{{ .spec.image | upper }}"}}
validation: {rules: [{field: spec.image, operator: equals, value: never, message: "the good one is no longer allowed"}]}
external: [{name: told, method: POST, url: "https://example.com", body: "{{ .spec.image }}"}]
onReconcile:
  configmaps: [{name: a, data: {image: "{{ .spec.image }}", team: "{{ index .metadata.labels \"team\" }}", of: "{{ .metadata.generation }}", called: "{{ .external.told.called }}"}}]
  jobs: [{name: job, image: "{{ .spec.image }}", replace: true}]
`)
	good := website(t, "image: good")
	good.SetLabels(map[string]string{"team": "one"})
	bad := website(t, "{image: bad, host: more}")
	bad.SetGeneration(2)
	bad.SetLabels(map[string]string{"team": "two"})
	bad.SetAnnotations(map[string]string{v1alpha1.AnnotationCalled: `{"told": 1}`, v1alpha1.AnnotationDone: `{"jobs/job": "x job", "jobs/other": "y other"}`})
	p.put(configMapKind, "extra", "configmaps/extra")
	p.put(jobKind, "job", "jobs/job", func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{v1alpha1.AnnotationDeclaration: "jobs/job", v1alpha1.AnnotationRun: "other job"})
	})

	r := plan.NewRunTo(snapshotOf(good), bad, now, p.ports())
	g.Expect(plan.GoBack(context.Background(), r)).To(gomega.Succeed())
	g.Expect(p.done()).To(gomega.Equal([]string{"create ConfigMap/a", "delete ConfigMap/extra"}), "no Job is touched, nothing is marked, nothing called")
	made := p.owned(configMapKind, "u1")
	g.Expect(made).To(gomega.HaveLen(1))
	g.Expect(made[0].Object["data"]).To(gomega.Equal(map[string]any{"image": "GOOD", "team": "one", "of": "1", "called": "true"}))
	g.Expect(r.Stored).To(gomega.BeIdenticalTo(bad), "the resource is what it is")

	inputs := r.Inputs.As(&plan.Plan, bad)
	g.Expect(inputs.Unchanged(&plan.Plan, bad, p, now)).To(gomega.BeFalse(), "a child that was pruned is not there any more")
	r = plan.NewRunTo(snapshotOf(good), bad, now, p.ports())
	g.Expect(plan.GoBack(context.Background(), r)).To(gomega.Succeed())
	g.Expect(p.done()).To(gomega.BeEmpty(), "it is repeated without a write")
	inputs = r.Inputs.As(&planOf(t, `{}`).Plan, bad)
	g.Expect(inputs.Unchanged(&plan.Plan, bad, p, now)).To(gomega.BeFalse(), "of another plan")
	g.Expect(r.Inputs.As(&plan.Plan, bad).Unchanged(&plan.Plan, bad, p, now)).To(gomega.BeTrue())
}

// A resource is rolled back until a cycle of its own has come to its end: one that fails leaves the mark. A box that has no rollback any more takes it
// off at once.
func TestTheMarkOfARollbackGoesWithACycleThatSucceeds(t *testing.T) {
	const rules = `, validation: {rules: [{field: spec.image, operator: notEquals, value: bad, message: "bad"}]}, onReconcile: {configmaps: [{name: a}]}}`
	for name, tc := range map[string]struct {
		box, image string
		stays      bool
		marked     bool // by the plan, at the beginning
	}{
		"it succeeds":                       {`{rollback: {}` + rules, "good", false, true},
		"it fails":                          {`{rollback: {}` + rules, "bad", true, true},
		"it succeeds, and there is no rule": {`{resync: 1h` + rules, "good", false, false},
		"it fails, and there is no rule":    {`{resync: 1h` + rules, "bad", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			g, p := gomega.NewWithT(t), newPorts()
			plan := planOf(t, tc.box)
			r, err := p.run(plan, website(t, "image: good"))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			back := r.Stored.DeepCopy()
			annotations := back.GetAnnotations()
			annotations[v1alpha1.AnnotationRolledBack] = `{"generation": 2, "revision": "website-1", "snapshot": "s"}`
			back.SetAnnotations(annotations)
			back.Object["spec"] = map[string]any{"image": tc.image}
			g.Expect(plan.Marked(back)).To(gomega.Equal(tc.marked))
			r, err = p.run(plan, back)
			g.Expect(err != nil).To(gomega.Equal(tc.image == "bad"))
			_, stays := r.Stored.GetAnnotations()[v1alpha1.AnnotationRolledBack]
			g.Expect(stays).To(gomega.Equal(tc.stays))
			g.Expect(r.Stored.GetFinalizers()).To(gomega.Equal(back.GetFinalizers()))
		})
	}
}

func TestGoBackHasNotGoneWhereItWaits(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `{rollback: {}, cross: [{name: db, apiVersion: v1, kind: ConfigMap, selector: {name: db}}], onReconcile: {configmaps: [{name: a}]}}`)
	r := plan.NewRunTo(snapshotOf(website(t, "image: good")), website(t, "image: bad"), now, p.ports())
	err := plan.GoBack(context.Background(), r)
	expectStep(g, err, "cross", Transient, "")
	g.Expect(p.done()).To(gomega.BeEmpty())
}

func TestGoBackPrunesNothingAfterAnError(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	p.put(configMapKind, "extra", "configmaps/extra")
	p.apply = func(context.Context, apply.Owner, apply.Child) (apply.Outcome, error) {
		return apply.Outcome{}, errors.New("the network is broken")
	}
	plan := planOf(t, `{rollback: {}, onReconcile: {configmaps: [{name: a}]}}`)
	r := plan.NewRunTo(snapshotOf(website(t, "image: good")), website(t, "image: bad"), now, p.ports())
	expectStep(g, plan.GoBack(context.Background(), r), "onReconcile", Transient, "")
	g.Expect(p.done()).To(gomega.BeEmpty())
}

func TestOnRollbackGroups(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `
normalize: {spec: {image: "{{ fail \"this is what fails\" }}"}}
rollback: {onRollback: {configmaps: [{name: a, data: {was: "{{ .previous.spec.image }}", is: "{{ .spec.image }}", of: "{{ .previous.metadata.generation }}"}}]}}
`)
	p.put(configMapKind, "extra", "configmaps/extra")
	bad := website(t, "image: bad")
	bad.SetGeneration(2)
	r := plan.NewRun(bad, now, p.ports())
	g.Expect(plan.RunOnRollback(context.Background(), r, snapshotOf(website(t, "image: good")))).To(gomega.Succeed())
	g.Expect(p.done()).To(gomega.Equal([]string{"create ConfigMap/a"}), "nothing is pruned while it is held")
	g.Expect(p.owned(configMapKind, "u1")[1].Object["data"]).To(gomega.Equal(map[string]any{"was": "good", "is": "bad", "of": "1"}))

	r, err := p.run(planOf(t, `{rollback: {onRollback: {configmaps: [{name: a}]}}}`), bad)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Completed).To(gomega.BeTrue())
	g.Expect(p.done()).To(gomega.ConsistOf("mark Website/shop", "delete ConfigMap/a", "delete ConfigMap/extra"), "a normal cycle does not stand for it")
}
