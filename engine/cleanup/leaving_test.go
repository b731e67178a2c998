package cleanup

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// marked is an object of others with our finalizer and the label of a box.
func marked(uid types.UID, serve, by string) *unstructured.Unstructured {
	obj := resource(uid, false, v1alpha1.Finalizer)
	obj.SetLabels(map[string]string{"serve": serve, v1alpha1.LabelServedBy: by})
	return obj
}

func TestAMarkedObjectThatLeftIsLetGoByACycle(t *testing.T) {
	unmarked := marked("first", "no", "other")
	for name, tc := range map[string]struct {
		live      *unstructured.Unstructured
		fails     bool
		suspended bool
		leaves    bool // a cycle has to let it go
		held      bool // it still counts as held
		children  int  // after the cycle
	}{
		"it is not selected any more":   {live: marked("first", "no", "website"), leaves: true, held: true, children: 1},
		"the box is suspended":          {live: marked("first", "no", "website"), suspended: true, leaves: true, held: true, children: 1},
		"it is back":                    {live: marked("first", "yes", "website"), children: 1},
		"it can't be read":              {fails: true, held: true, children: 1},
		"it is gone, which nobody held": {},
		"another has its name":          {live: marked("second", "no", "website")},
		"its marks are off":             {live: unmarked},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o, c, _ := owners(child("a", "first", false))
			plan := selecting(t)
			if tc.suspended {
				plan = plan.ForCleanup()
			}
			o.Plan = func() *pipeline.Plan { return plan }
			var told []types.NamespacedName
			o.Changed = func() { told = o.Held(true) }
			c.live = tc.live
			if tc.fails {
				c.err = errors.New("no answer")
			}
			o.Lost(marked("first", "yes", "website"))
			o.Left(marked("first", "yes", "website"))
			_, known := o.ByUID("first")
			g.Expect(known).To(BeTrue())
			g.Expect(told).To(ConsistOf(web), "who asks is told")
			live, since := o.Leaving(t.Context(), web, nil)
			if tc.leaves {
				g.Expect(live).To(Equal(tc.live))
				g.Expect(since).NotTo(BeZero())
			} else {
				g.Expect(live).To(BeNil())
			}
			g.Expect(c.children).To(HaveLen(1), "nothing is deleted here")
			_ = o.CleanUp(t.Context(), web)
			g.Expect(c.children).To(HaveLen(tc.children))
			if tc.held {
				g.Expect(o.Held(false)).To(ConsistOf(web))
			} else {
				g.Expect(o.Held(false)).To(BeEmpty())
			}
			g.Expect(o.Held(true)).To(Equal(o.Held(false)))
			g.Expect(told).To(Equal(o.Held(true)), "what has changed is told")
			if tc.leaves {
				o.Let(live)
				g.Expect(o.Pending()).To(BeEmpty())
				_, known = o.ByUID("first")
				g.Expect(known).To(BeFalse())
			}
		})
	}
}

func TestWhatTheWatchShowsAgainIsNotAskedFor(t *testing.T) {
	g := NewWithT(t)
	o, c, _ := owners()
	plan := selecting(t)
	o.Plan = func() *pipeline.Plan { return plan }
	o.Left(marked("first", "no", "website"))
	g.Expect(o.Held(false)).To(ConsistOf(web))
	c.live = marked("first", "no", "website")
	live, _ := o.Leaving(t.Context(), web, nil)
	g.Expect(live).NotTo(BeNil())
	g.Expect(c.read).To(Equal(1))
	live, _ = o.Leaving(t.Context(), web, marked("first", "yes", "website"))
	g.Expect(live).To(BeNil(), "the watch shows it again")
	g.Expect(c.read).To(Equal(1), "which needs no request")
	g.Expect(o.Pending()).To(BeEmpty())
}

func TestWhatAnObjectThatLeftKeptOfItsPastGoes(t *testing.T) {
	g := NewWithT(t)
	o, c, _ := owners()
	plan := selecting(t)
	o.Plan = func() *pipeline.Plan { return plan }
	c.snapshots = []types.UID{"first"}
	c.live = marked("first", "no", "website")
	o.Left(c.live)
	live, _ := o.Leaving(t.Context(), web, nil)
	g.Expect(live).NotTo(BeNil())
	g.Expect(c.snapshots).To(BeEmpty())
}
