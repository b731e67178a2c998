package stage

import (
	"testing"
	"time"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// TestEverythingThatWasReadIsAnInput: a change of any of it makes another cycle necessary, and nothing else does.
func TestEverythingThatWasReadIsAnInput(t *testing.T) {
	started := &Dependency{Name: "db", Condition: v1alpha1.ConditionStarted}
	all := labels.Everything()
	for name, tc := range map[string]struct {
		read   func(c *cluster, in *Inputs)
		change func(c *cluster)
		what   string
	}{
		"an object that changes":   {func(c *cluster, in *Inputs) { in.Get(c, secretKind, "team-a", "key") }, func(c *cluster) { c.others[0] = object("Secret", "team-a", "key", "2") }, "a change of what it reads, of kind Secret"},
		"an object that goes":      {func(c *cluster, in *Inputs) { in.Get(c, secretKind, "team-a", "key") }, func(c *cluster) { c.others = nil }, "a change of what it reads, of kind Secret"},
		"an object that comes":     {func(c *cluster, in *Inputs) { in.Get(c, secretKind, "team-a", "other") }, func(c *cluster) { c.others = append(c.others, object("Secret", "team-a", "other", "1")) }, "a change of what it reads, of kind Secret"},
		"a list that grows":        {func(c *cluster, in *Inputs) { in.Select(c, secretKind, "team-a", all) }, func(c *cluster) { c.others = append(c.others, object("Secret", "team-a", "other", "1")) }, "a change of what it reads, of kind Secret"},
		"a box that starts":        {func(c *cluster, in *Inputs) { in.Box(c, "database") }, func(c *cluster) { c.boxes = map[string]schema.GroupVersionKind{"database": secretKind} }, "the start or the end of the box database"},
		"a dependency that starts": {func(c *cluster, in *Inputs) { in.Unmet(c, started) }, func(c *cluster) { c.dependencies = map[string]DependencyState{"db": {Started: true}} }, "a change of what the box depends on: db"},
		"a child that changes":     {func(c *cluster, in *Inputs) { in.ReadChildren(c.children) }, func(c *cluster) { c.children[0] = object("Secret", "team-a", "child", "2") }, "a change of a child of kind Secret"},
		"a child that goes":        {func(c *cluster, in *Inputs) { in.ReadChildren(c.children) }, func(c *cluster) { c.children = nil }, "a child that is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			c, p := &cluster{}, &Plan{Box: "website"}
			c.others = append(c.others, object("Secret", "team-a", "key", "1"))
			c.children = append(c.children, object("Secret", "team-a", "child", "1"))
			in := c.cycle(t, p, shop()).Inputs
			tc.read(c, in)
			g.Expect(in.Unchanged(p, shop(), c, now)).To(gomega.BeTrue())
			tc.change(c)
			g.Expect(in.Unchanged(p, shop(), c, now)).To(gomega.BeFalse())
			g.Expect(in.Difference(p, shop(), c, now).String()).To(gomega.Equal(tc.what))
			g.Expect(c.cycle(t, p, shop()).Inputs.Unchanged(p, shop(), c, now)).To(gomega.BeTrue(), "nothing was read")
		})
	}
}

func TestWhatACycleWroteIsAnInput(t *testing.T) {
	g := gomega.NewWithT(t)
	c, p := &cluster{}, &Plan{Box: "website"}
	child := object("Secret", "team-a", "child", "1")
	fresh, seen := c.cycle(t, p, shop()).Inputs, c.cycle(t, p, shop()).Inputs
	for _, in := range []*Inputs{fresh, seen} {
		in.ReadChildren(nil)
	}
	fresh.Wrote(child, true)
	seen.Wrote(child, false)
	c.children = append(c.children, child)
	g.Expect(fresh.Unchanged(p, shop(), c, now)).To(gomega.BeTrue(), "its own event changes nothing")
	g.Expect(seen.Unchanged(p, shop(), c, now)).To(gomega.BeFalse(), "something has read that it was absent")
}

func TestInputsExpire(t *testing.T) {
	g := gomega.NewWithT(t)
	c, p := &cluster{}, &Plan{Box: "website"}
	in := c.cycle(t, p, shop()).Inputs
	in.ExpireAt(time.Time{})
	g.Expect(in.Expires()).To(gomega.BeZero())
	in.ExpireAt(now.Add(time.Hour))
	in.ExpireAt(now.Add(time.Minute))
	in.ExpireAt(now.Add(2 * time.Hour))
	g.Expect(in.Expires()).To(gomega.Equal(now.Add(time.Minute)))
	g.Expect(in.Unchanged(p, shop(), c, now.Add(59*time.Second))).To(gomega.BeTrue())
	g.Expect(in.Unchanged(p, shop(), c, now.Add(time.Minute))).To(gomega.BeFalse())
	g.Expect(in.Unchanged(p, shop(), c, now.Add(-time.Second))).To(gomega.BeFalse(), "the clock was set back")
}

// TestInputsOfADryRun: what a dry run has read is an input of the cycle that asked it, once.
func TestInputsOfADryRun(t *testing.T) {
	g := gomega.NewWithT(t)
	c, p := &cluster{}, &Plan{Box: "website"}
	cycle := c.cycle(t, p, shop())
	probe := cycle.Probe()
	probe.Inputs.Get(c, secretKind, "team-a", "key")
	probe.Inputs.ExpireAt(now.Add(time.Hour))
	cycle.Inputs.Take(probe.Inputs)
	g.Expect(cycle.Inputs.Observed()).To(gomega.Equal(1))
	g.Expect(cycle.Inputs.Expires()).To(gomega.Equal(now.Add(time.Hour)))
	cycle.Inputs.Take(probe.Inputs)
	g.Expect(cycle.Inputs.Observed()).To(gomega.Equal(1))
	c.others = append(c.others, object("Secret", "team-a", "key", "1"))
	g.Expect(cycle.Inputs.Unchanged(p, shop(), c, now)).To(gomega.BeFalse())
}

func TestInputsBelongToOnePlan(t *testing.T) {
	g := gomega.NewWithT(t)
	c, p, next := &cluster{}, &Plan{Box: "website"}, &Plan{Box: "website"}
	in := c.cycle(t, p, shop()).Inputs
	g.Expect(in.Unchanged(next, shop(), c, now)).To(gomega.BeFalse())
	g.Expect(in.As(next, shop()).Unchanged(next, shop(), c, now)).To(gomega.BeTrue())
	edited := shop()
	edited.SetGeneration(2)
	g.Expect(in.Unchanged(p, edited, c, now)).To(gomega.BeFalse())
	g.Expect(in.SameResource(p, edited)).To(gomega.BeFalse())
	g.Expect(in.SameResource(p, shop())).To(gomega.BeTrue())
}
