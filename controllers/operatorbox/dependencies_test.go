package operatorbox

import (
	"context"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/engine"
)

// dependent is a box that was made at a minute, depends on others, and on whose spec there is a verdict.
func dependent(name string, made int, is verdict, on ...string) *v1alpha1.OperatorBox {
	box := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{
		Name: name, Generation: 2, CreationTimestamp: metav1.Date(2026, 1, 1, 0, made, 0, 0, time.UTC),
	}}
	for _, other := range on {
		box.Spec.DependsOn = append(box.Spec.DependsOn, v1alpha1.Dependency{Name: other})
	}
	c := metav1.Condition{Type: v1alpha1.ConditionCompiled, Status: metav1.ConditionTrue, ObservedGeneration: 2}
	switch is {
	case open:
		c.ObservedGeneration = 1
	case refused:
		c.Status = metav1.ConditionFalse
	case valid:
	}
	box.Status.Conditions = []metav1.Condition{c}
	return box
}

func TestVerdictOn(t *testing.T) {
	g := NewWithT(t)
	for _, is := range []verdict{open, valid, refused} {
		g.Expect(verdictOn(dependent("a", 0, is))).To(Equal(is))
	}
	g.Expect(verdictOn(&v1alpha1.OperatorBox{})).To(Equal(open))
	unknown := dependent("a", 0, valid)
	unknown.Status.Conditions[0].Status = metav1.ConditionUnknown
	g.Expect(verdictOn(unknown)).To(Equal(open), "without its CRD a box is not compiled")
}

func TestWhoIsToBlameForARing(t *testing.T) {
	cases := map[string]struct {
		other  *v1alpha1.OperatorBox
		blamed bool
	}{
		"the other was there":                        {dependent("b", 9, valid, "a"), true},
		"the other has mistakes, and runs nothing":   {dependent("b", 1, refused, "a"), false},
		"both are new, and the other is older":       {dependent("b", 1, open, "a"), true},
		"both are new, and the other is younger":     {dependent("b", 9, open, "a"), false},
		"both are new, of one moment: by their name": {dependent("b", 5, open, "a"), false},
		"the other does not depend on it":            {dependent("b", 1, valid, "c"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			box := dependent("a", 5, open, "b")
			cache := fake.NewClientBuilder().WithScheme(testScheme(t)).WithIndex(&v1alpha1.OperatorBox{}, crds.Index, crds.Indexed).WithObjects(box, tc.other).WithStatusSubresource(tc.other).Build()
			r := &planner{Ports: Ports{Client: cache, Engine: &engine.Engine{}}}
			on := r.dependsOn(context.Background(), box)
			g.Expect(slices.Contains(on("b"), "a")).To(Equal(tc.blamed))
			g.Expect(on("nobody")).To(BeEmpty())
		})
	}
}

func TestWhoIsTriedAgainWhenABoxChanges(t *testing.T) {
	g := NewWithT(t)
	boxes := []*v1alpha1.OperatorBox{
		dependent("changed", 0, valid, "far"), dependent("near", 0, valid, "changed"), dependent("far", 0, refused, "near"),
		dependent("farther", 0, refused, "far"), dependent("other", 0, refused, "elsewhere"), dependent("fine", 0, valid, "changed"),
	}
	builder := fake.NewClientBuilder().WithScheme(testScheme(t)).WithIndex(&v1alpha1.OperatorBox{}, crds.Index, crds.Indexed)
	for _, box := range boxes {
		builder = builder.WithObjects(box)
	}
	r := &Reconciler{ports: Ports{Client: builder.Build()}}
	var names []string
	for _, request := range r.dependants(context.Background(), boxes[0]) {
		names = append(names, request.Name)
	}
	g.Expect(names).To(ConsistOf("far", "farther"))

	update := func(old, now *v1alpha1.OperatorBox) bool {
		return specOrVerdictChanged{}.Update(event.UpdateEvent{ObjectOld: old, ObjectNew: now})
	}
	edited := dependent("a", 0, valid)
	edited.Generation++
	g.Expect(update(dependent("a", 0, valid), dependent("a", 0, valid))).To(BeFalse())
	g.Expect(update(dependent("a", 0, valid), edited)).To(BeTrue())
	g.Expect(update(dependent("a", 0, open), dependent("a", 0, refused))).To(BeTrue())
	g.Expect(specOrVerdictChanged{}.Create(event.CreateEvent{})).To(BeFalse())
	g.Expect(specOrVerdictChanged{}.Delete(event.DeleteEvent{})).To(BeTrue())
}

func TestBoxesInOrder(t *testing.T) {
	g := NewWithT(t)
	list := []v1alpha1.OperatorBox{*dependent("a", 0, valid, "b", "gone"), *dependent("b", 0, valid, "c"), *dependent("c", 0, valid), *dependent("d", 0, valid)}
	g.Expect(inOrder(list)).To(Equal([]string{"c", "d", "b", "a"}))
}
