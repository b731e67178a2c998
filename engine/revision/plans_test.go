package revision

import (
	"context"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// compiler knows one box and its CRD, and counts what it compiles.
type compiler struct {
	box      *v1alpha1.OperatorBox
	crd      *apiextensionsv1.CustomResourceDefinition
	refusal  string
	compiled int
}

// Box implements Compiler.
func (c *compiler) Box(_ context.Context, name string) (*v1alpha1.OperatorBox, error) {
	if name != c.box.Name {
		return nil, fmt.Errorf("reading OperatorBox %q: not found", name)
	}
	return c.box, nil
}

// CRD implements Compiler.
func (c *compiler) CRD(context.Context, *v1alpha1.OperatorBox) (*apiextensionsv1.CustomResourceDefinition, error) {
	if c.crd == nil {
		return nil, errors.New("not found")
	}
	return c.crd, nil
}

// CompileFormer implements Compiler.
func (c *compiler) CompileFormer(
	_ context.Context, former *v1alpha1.OperatorBox, _ *apiextensionsv1.CustomResourceDefinition, version string,
) (*pipeline.Plan, string) {
	if c.refusal != "" {
		return nil, c.refusal
	}
	c.compiled++
	plan := &pipeline.Plan{Plan: stage.Plan{Revision: boxspec.Revision(former), Generation: former.Generation}}
	plan.CRD.Kind.Version = version
	return plan, ""
}

// compiling is a store that keeps what a box said before, and the plans of that.
func compiling(t *testing.T, before ...string) (*Plans, *compiler, *history) {
	t.Helper()
	h := newHistory(t)
	for _, what := range before {
		h.says(t, what, "")
	}
	h.asked = nil
	box := saying("now", "")
	box.Generation = 7
	c := &compiler{box: box, crd: &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "now", UID: "crd", Generation: 1}}}
	return NewPlans(h.Store, c), c, h
}

func TestPlanOfAKeptRevision(t *testing.T) {
	g := NewWithT(t)
	plans, c, h := compiling(t, "a")
	plan, err := plans.PlanOf(t.Context(), "shop", revisionOf("a"), "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(plan.Revision).To(Equal(revisionOf("a")), "the former spec was compiled")
	g.Expect(plan.Generation).To(BeZero(), "nobody takes it for the box's own spec")
	g.Expect(c.box.Spec).To(Equal(saying("now", "").Spec), "the box that was given is not changed")
	g.Expect(c.box.Generation).To(BeEquivalentTo(7))

	h.asked = nil
	again, err := plans.PlanOf(t.Context(), "shop", revisionOf("a"), "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).To(BeIdenticalTo(plan))
	g.Expect(h.asked).To(BeEmpty(), "it was compiled before")
}

// What a plan is made from is part of what it is kept under.
func TestAPlanIsCompiledAgainWhen(t *testing.T) {
	now := metav1.Now()
	for name, change := range map[string]func(*compiler){
		"the CRD has changed":                      func(c *compiler) { c.crd.Generation++ },
		"the CRD was made anew":                    func(c *compiler) { c.crd.UID = "another" },
		"the CRD is being deleted":                 func(c *compiler) { c.crd.DeletionTimestamp = &now },
		"the box was made anew":                    func(c *compiler) { c.box.UID = "another" },
		"the box has worked in another version":    func(c *compiler) { c.box.Status.CRD.Version = "v2" },
		"the box has worked in another definition": func(c *compiler) { c.box.Status.CRD.Name = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			plans, c, _ := compiling(t, "a")
			plan, err := plans.PlanOf(t.Context(), "shop", revisionOf("a"), "")
			g.Expect(err).NotTo(HaveOccurred())
			change(c)
			again, err := plans.PlanOf(t.Context(), "shop", revisionOf("a"), "")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(again).NotTo(BeIdenticalTo(plan))
		})
	}
}

func TestPlanOfWhatCanNotBeHad(t *testing.T) {
	for name, tc := range map[string]struct {
		box, revision, hash string
		refusal             string
		noCRD               bool
		want                string
		forGood             bool
	}{
		"no box":        {box: "cart", revision: "cart-0123456789", want: `reading OperatorBox "cart": not found`},
		"no CRD":        {box: "shop", revision: revisionOf("a"), noCRD: true, want: `revision "` + revisionOf("a") + `" of box "shop" can't be compiled without its CRD: not found`},
		"no revision":   {box: "shop", revision: "shop-0123456789", want: `revision "shop-0123456789" of box "shop" is no longer kept`, forGood: true},
		"other content": {box: "shop", revision: revisionOf("a"), hash: "0123", want: "was replaced by hand", forGood: true},
		"a refusal": {
			box: "shop", revision: revisionOf("a"), refusal: " does not compile any more: spec.a: no",
			want: `revision "` + revisionOf("a") + `" of box "shop" does not compile any more: spec.a: no`, forGood: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			plans, c, _ := compiling(t, "a")
			c.refusal = tc.refusal
			if tc.noCRD {
				c.crd = nil
			}
			plan, err := plans.PlanOf(t.Context(), tc.box, tc.revision, tc.hash)
			g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
			g.Expect(plan).To(BeNil())
			_, refused := errors.AsType[Error](err)
			g.Expect(refused).To(Equal(tc.forGood), "asking again does not help")
		})
	}
}

func TestPlansAreBounded(t *testing.T) {
	g := NewWithT(t)
	plans, c, h := compiling(t, "a")
	of := Ref{Name: revisionOf("a")}
	compile := func(version int) {
		t.Helper()
		plan, err := plans.Compile(t.Context(), c.box, c.crd, of, fmt.Sprint("v", version))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(plan.CRD.Kind.Version).To(Equal(fmt.Sprint("v", version)))
	}
	for i := range maxPlans {
		compile(i)
	}
	compile(0)
	compile(maxPlans)
	g.Expect(c.compiled).To(Equal(maxPlans + 1))
	h.asked = nil
	compile(0)
	g.Expect(h.asked).To(BeEmpty(), "it was asked for")
	compile(1)
	g.Expect(h.asked).To(Equal([]string{"get"}), "nobody has asked for it the longest time")
}

func TestFinalizersOfKeptRevisions(t *testing.T) {
	g := NewWithT(t)
	plans, _, h := compiling(t)
	for _, name := range []v1alpha1.ShortString{"example.io/a", "example.io/b"} {
		box := saying("a", "")
		box.Spec.Finalizers = []v1alpha1.ShortString{name}
		g.Expect(h.Keep(t.Context(), box, sparing())).To(Succeed())
	}
	g.Expect(plans.FinalizersOf(t.Context(), "shop")).To(ConsistOf("example.io/a", "example.io/b"))
	g.Expect(plans.FinalizersOf(t.Context(), "cart")).To(BeEmpty())
}

func TestTheRevisionThatRanLast(t *testing.T) {
	g := NewWithT(t)
	_, _, h := compiling(t, "a", "b")
	box := saying("now", "")
	g.Expect(h.Last(t.Context(), box)).To(Equal(Ref{Name: revisionOf("b")}), "without a status, the newest")
	box.Status.Revision, box.Status.RevisionHash = revisionOf("a"), "hash"
	g.Expect(h.Last(t.Context(), box)).To(Equal(Ref{Name: revisionOf("a"), Hash: "hash"}))
	box = saying("now", "")
	box.Name = "cart"
	g.Expect(h.Last(t.Context(), box)).To(Equal(Ref{}))
}
