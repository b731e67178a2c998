package operatorbox

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// running is a process whose box runs, and says so.
func running(t *testing.T) *process {
	t.Helper()
	p := newProcess(t, websites(), shop(websitesCRD))
	p.serves(t, "shop")
	p.engine.reports = map[string]health.Report{"shop": {Phase: health.Running, Revision: p.engine.Plan("shop").Revision}}
	p.serves(t, "shop")
	return p
}

// edit changes a box as a user does.
func (p *process) edit(t *testing.T, change func(*v1alpha1.OperatorBox)) {
	t.Helper()
	g := NewWithT(t)
	box := &v1alpha1.OperatorBox{}
	g.Expect(p.kube.Get(t.Context(), types.NamespacedName{Name: "shop"}, box)).To(Succeed())
	change(box)
	box.Generation++
	g.Expect(p.kube.Update(t.Context(), box)).To(Succeed())
}

// editCRD changes the CRD as a user does.
func (p *process) editCRD(t *testing.T, change func(*apiextensionsv1.CustomResourceDefinition)) {
	t.Helper()
	g := NewWithT(t)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(p.kube.Get(t.Context(), types.NamespacedName{Name: websitesCRD}, crd)).To(Succeed())
	change(crd)
	crd.Generation++
	g.Expect(p.kube.Update(t.Context(), crd)).To(Succeed())
}

// newlyStarted forgets what ran, as another process does.
func (p *process) newlyStarted() {
	p.restart()
	p.engine.plans, p.engine.reports = nil, nil
}

func mistake(box *v1alpha1.OperatorBox) {
	box.Spec.Finalizers = []v1alpha1.ShortString{"not-qualified"}
}

func TestWhatRunsGoesOnWithAMistakeInTheSpec(t *testing.T) {
	g := NewWithT(t)
	p := running(t)
	ran := p.engine.Plan("shop")
	p.edit(t, mistake)
	box, _ := p.serves(t, "shop")
	g.Expect(p.engine.Plan("shop")).To(BeIdenticalTo(ran))
	g.Expect(condition(box, v1alpha1.ConditionCompiled)).To(And(HavePrefix("False CompileFailed: spec.finalizers[0]"), HaveSuffix("; revision "+ran.Revision+" goes on")))
	g.Expect(box.Status.Revision).To(Equal(ran.Revision))

	p.edit(t, func(b *v1alpha1.OperatorBox) { b.Spec.Suspend = true })
	p.serves(t, "shop")
	g.Expect(p.engine.Plan("shop").CleanupOnly).To(BeTrue(), "it is to be suspended all the same")
}

func TestAnotherProcessGoesOnWithTheRevisionThatRan(t *testing.T) {
	g := NewWithT(t)
	p := running(t)
	ran := p.engine.Plan("shop").Revision
	p.edit(t, mistake)
	p.newlyStarted()
	box, _ := p.serves(t, "shop")
	g.Expect(p.engine.Plan("shop").Revision).To(Equal(ran))
	g.Expect(p.engine.Plan("shop").CleanupOnly).To(BeFalse())
	g.Expect(box.Status.Revision).To(Equal(ran), "nothing else knows it")
}

// Deletions must be served whatever became of the revision.
func TestWhatAnotherProcessCanNotGoOnWith(t *testing.T) {
	resource := schema.GroupResource{Group: "apps", Resource: "controllerrevisions"}
	for name, tc := range map[string]struct {
		change func(t *testing.T, p *process)
		want   string // in the message of Ready; empty: nothing is said of it
		after  time.Duration
	}{
		"the revision is gone": {
			func(t *testing.T, p *process) {
				t.Helper()
				p.Reconciler.history.drop(t.Context(), "shop")
			},
			"it can't go on with what it ran before: revision", access.RetryInterval,
		},
		"the revision may not be read": {
			func(t *testing.T, p *process) {
				t.Helper()
				p.unlisted = apierrors.NewForbidden(resource, "", errors.New("no such right"))
				p.edit(t, func(b *v1alpha1.OperatorBox) { b.Status.Revision = "" })
				box := &v1alpha1.OperatorBox{}
				NewWithT(t).Expect(p.kube.Get(t.Context(), types.NamespacedName{Name: "shop"}, box)).To(Succeed())
				box.Status.Revision = ""
				NewWithT(t).Expect(p.kube.Status().Update(t.Context(), box)).To(Succeed())
			},
			"it can't go on with what it ran before: ", access.RetryInterval,
		},
		"it is suspended": {
			func(t *testing.T, p *process) {
				t.Helper()
				p.edit(t, func(b *v1alpha1.OperatorBox) { b.Spec.Suspend = true })
			}, "", 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := running(t)
			p.edit(t, mistake)
			p.newlyStarted()
			tc.change(t, p)
			box, result := p.serves(t, "shop")
			g.Expect(p.engine.Plan("shop").CleanupOnly).To(BeTrue())
			if tc.want != "" {
				g.Expect(condition(box, v1alpha1.ConditionReady)).To(HavePrefix("False CompileFailed: " + tc.want))
			}
			g.Expect(result.RequeueAfter).To(Equal(tc.after))
		})
	}
}

func TestARevisionThatLacksARightDoesNotGoOn(t *testing.T) {
	g := NewWithT(t)
	p := running(t)
	ran := p.engine.Plan("shop").Revision
	p.edit(t, mistake)
	p.newlyStarted()
	p.denied["patch websites.demo.example.com"] = true
	box, result := p.serves(t, "shop")
	g.Expect(p.engine.Plan("shop")).To(BeNil(), "not even deletions can be served")
	g.Expect(condition(box, v1alpha1.ConditionReady)).To(ContainSubstring(`revision "` + ran + `" can't go on: the manager may not patch websites.demo.example.com`))
	g.Expect(result.RequeueAfter).To(Equal(access.RetryInterval))

	delete(p.denied, "patch websites.demo.example.com")
	p.serves(t, "shop")
	g.Expect(p.engine.Plan("shop").Revision).To(Equal(ran))
}

func TestABoxFollowsItsCRD(t *testing.T) {
	for name, tc := range map[string]struct {
		own     string // version that the box asks for
		serves  []string
		version string // that is worked in
		cleanup bool
		event   string
	}{
		"another version is stored":           {"", []string{"v2", "v1"}, "v1", false, ""},
		"its version goes":                    {"", []string{"v2"}, "v2", false, `version "v1" of ` + websitesCRD + ` is no longer served; the box works in "v2" from now on`},
		"the version goes that it asked for":  {"v1", []string{"v2"}, "v2", true, ""},
		"the version stays that it asked for": {"v1", []string{"v2", "v1"}, "v1", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := running(t)
			if tc.own != "" {
				p.edit(t, func(b *v1alpha1.OperatorBox) { b.Spec.CRD.Version = tc.own })
				p.serves(t, "shop")
				p.engine.reports["shop"] = health.Report{Phase: health.Running, Revision: p.engine.Plan("shop").Revision}
				p.serves(t, "shop")
			}
			p.told()
			p.editCRD(t, func(crd *apiextensionsv1.CustomResourceDefinition) { serving(crd, tc.serves...) })
			p.serves(t, "shop")
			plan := p.engine.Plan("shop")
			g.Expect(plan.CRD.Kind.Version).To(Equal(tc.version))
			g.Expect(plan.CleanupOnly).To(Equal(tc.cleanup))
			g.Expect(plan.CRD.Going).To(Equal(tc.cleanup), "children name an owner in the version that went")
			told := p.told()
			if tc.event == "" {
				g.Expect(told).NotTo(ContainElement(ContainSubstring("CRDVersionChanged")))
				return
			}
			g.Expect(told).To(ContainElement(ContainSubstring(tc.event)))
		})
	}
}

func TestACRDThatServesNothing(t *testing.T) {
	g := NewWithT(t)
	p := running(t)
	p.editCRD(t, func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = false })
	box, _ := p.serves(t, "shop")
	g.Expect(p.engine.Plan("shop")).To(BeNil())
	g.Expect(condition(box, v1alpha1.ConditionReady)).To(HaveSuffix("serve it, or name one of the others in crd.version: none"))
}

func TestTheVersionInWhichDeletionsAreServed(t *testing.T) {
	p := newProcess(t)
	p.engine.plans = map[string]*pipeline.Plan{}
	for name, tc := range map[string]struct {
		worked, own string
		serves      []string
		want        string
	}{
		"its own":              {"v1", "v3", []string{"v1", "v3"}, "v3"},
		"the one it worked in": {"v2", "v3", []string{"v1", "v2"}, "v2"},
		"the stored one":       {"", "v3", []string{"v1", "v2"}, "v1"},
		"none":                 {"v2", "v3", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			box := shop(websitesCRD)
			box.Spec.CRD.Version = tc.own
			box.Status.CRD = v1alpha1.CRDStatus{Name: websitesCRD, Version: tc.worked}
			picked, ok := p.Reconciler.run.anyVersion(box, serving(websites(), tc.serves...))
			g.Expect(ok).To(Equal(tc.want != ""))
			g.Expect(picked.Kind.Version).To(Equal(tc.want))
		})
	}
}
