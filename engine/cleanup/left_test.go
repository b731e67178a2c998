package cleanup

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// selecting is the plan of a box that serves objects of others with the label serve: yes.
func selecting(t *testing.T) *pipeline.Plan {
	t.Helper()
	box := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "website"}}
	box.Spec.CRD = v1alpha1.CRDReference{APIVersion: "apps/v1", Kind: "Deployment"}
	box.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"serve": "yes"}}
	kind := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	plan, errs := pipeline.Compile(box, pipeline.Env{CRD: pipeline.CRD{Name: "deployments.apps", Namespaced: true, Kind: kind, Schema: kinds.Schema(kind)}})
	NewWithT(t).Expect(errs).To(BeEmpty())
	return plan
}

func TestAnObjectThatLeftIsAskedForBeforeItsChildrenAreDeleted(t *testing.T) {
	labeled := func(uid, serve string) *unstructured.Unstructured {
		obj := resource(types.UID(uid), false)
		obj.SetLabels(map[string]string{"serve": serve})
		return obj
	}
	for name, tc := range map[string]struct {
		live      *unstructured.Unstructured
		fails     bool
		suspended bool
		none      bool // there are no children
		stays     int  // children
		next      time.Duration
		read      int
	}{
		"it is not selected any more": {live: labeled("first", "no"), next: backlogDelay, read: 1},
		"it is back":                  {live: labeled("first", "yes"), stays: 1, read: 1},
		"it is gone":                  {stays: 1, next: backlogDelay, read: 1},
		"another has its name":        {live: labeled("second", "no"), stays: 1, next: backlogDelay, read: 1},
		"it can't be read":            {live: labeled("first", "no"), fails: true, stays: 1, next: backlogDelay, read: 1},
		"it has no children":          {live: labeled("first", "no"), none: true},
		"the box is suspended":        {live: labeled("first", "no"), suspended: true, stays: 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o, c, _ := owners(child("a", "first", true))
			if tc.none {
				c.children = nil
			}
			plan := selecting(t)
			if tc.suspended {
				plan = plan.ForCleanup()
			}
			o.Plan = func() *pipeline.Plan { return plan }
			c.live = tc.live
			if tc.fails {
				c.err = errors.New("away")
			}
			o.Left(resource("first", false))
			g.Expect(o.CleanUp(t.Context(), web)).To(Equal(tc.next))
			g.Expect(c.read).To(Equal(tc.read))
			g.Expect(c.children).To(HaveLen(tc.stays))
		})
	}
}

// What the API server has as gone is the garbage collector's for a while, and then ours.
func TestAnObjectThatIsGoneIsInTheBacklog(t *testing.T) {
	g := NewWithT(t)
	o, c, clk := owners(child("a", "first", true))
	plan := selecting(t)
	o.Plan = func() *pipeline.Plan { return plan }
	o.Left(resource("first", false))
	g.Expect(o.CleanUp(t.Context(), web)).To(Equal(backlogDelay))
	g.Expect(c.children).To(HaveLen(1))
	clk.Step(backlogDelay)
	g.Expect(o.CleanUp(t.Context(), web)).To(BeZero())
	g.Expect(c.children).To(BeEmpty())
}

// An object may leave while no process looks: its children tell.
func TestWhatLeftWhileNobodyLookedIsFoundByItsChildren(t *testing.T) {
	g := NewWithT(t)
	mine, core := child("a", "first", true), child("b", "second", true)
	mine.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "first", Controller: new(true)}})
	core.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "web", UID: "second", Controller: new(true)}})
	o, _, _ := owners(mine, core)
	nobody := func(types.UID) bool { return false }
	o.FindBacklog(selecting(t).CRD, nil, nobody)
	g.Expect(o.Pending()).To(Equal(map[types.NamespacedName]time.Duration{web: 0}), "at once, and no other kind")
	o.FindBacklog(pipeline.CRD{Kind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Namespaced: true}, nil, nobody)
	g.Expect(o.all[web]).To(HaveLen(2), "a kind without a group has owners, too")
}
