package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/hook"
	"github.com/orkspace/orkestra/engine/hook/protocol"
)

// shownOn runs a plan once, and gives the resource with the status that it gets.
func shownOn(g *gomega.WithT, p *ports, plan *Plan, stored *unstructured.Unstructured) *unstructured.Unstructured {
	r, err := p.run(plan, stored)
	return settledOn(g, plan, r, err)
}

func settledOn(g *gomega.WithT, plan *Plan, r *Run, err error) *unstructured.Unstructured {
	res, _ := r.Result(context.Background(), err)
	desired, _, err := plan.Status.Desired(r.Stored, res, metav1.NewTime(now))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	out := r.Stored.DeepCopy()
	out.Object["status"] = desired
	return out
}

// theirs are the types of the conditions that are none of Orkestra's.
func theirs(obj *unstructured.Unstructured) string {
	var out []string
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, one := range list {
		kind := fmt.Sprint(one.(map[string]any)["type"])
		if !hook.Owned(kind) {
			out = append(out, kind)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func noted(obj *unstructured.Unstructured) string {
	return obj.GetAnnotations()[v1alpha1.AnnotationHookConditions]
}

// withCondition is a resource on which somebody else has set a condition.
func withCondition(obj *unstructured.Unstructured, kind string) *unstructured.Unstructured {
	out := obj.DeepCopy()
	list, _, _ := unstructured.NestedSlice(out.Object, "status", "conditions")
	if err := unstructured.SetNestedSlice(out.Object, append(list, map[string]any{"type": kind, "status": "True"}), "status", "conditions"); err != nil {
		panic(err)
	}
	return out
}

// TestConditionsThatAHookDoesNotSetAnyMoreGo, and no others. What is the hook's is noted on the resource, so that it holds for another process, too.
func TestConditionsThatAHookDoesNotSetAnyMoreGo(t *testing.T) {
	g := gomega.NewWithT(t)
	var sets []string
	var end error
	plan := hooked(t, onReconcile(func(_ context.Context, c *call) error {
		for _, kind := range sets {
			if err := c.SetCondition(metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Said"}); err != nil {
				return err
			}
		}
		return end
	}), listed, `status: {fields: [{path: "conditions[Boxed]", value: "True"}]}`)
	p := newPorts()

	sets = []string{"Synced", "Boxed", "Fits"}
	stored := shownOn(g, p, plan, withCondition(website(t, `{image: v1}`), "Approved"))
	g.Expect(theirs(stored)).To(gomega.Equal("Approved Boxed Fits Synced"))
	g.Expect(noted(stored)).To(gomega.Equal("Fits,Synced"))
	g.Expect(p.done()).To(gomega.Equal([]string{"mark Website/shop", "mark Website/shop"}))
	stored = shownOn(g, p, plan, stored)
	g.Expect(p.done()).To(gomega.BeEmpty(), "what is noted is not noted again")

	sets, end = nil, fmt.Errorf("the import runs: %w", hook.ErrWait)
	stored = shownOn(g, p, plan, stored)
	g.Expect(theirs(stored)).To(gomega.Equal("Approved Boxed Fits Synced"), "it has not come to its end")
	end = fmt.Errorf("no such table")
	stored = shownOn(g, p, plan, stored)
	g.Expect(theirs(stored)).To(gomega.Equal("Approved Boxed Fits Synced"), "it failed")
	g.Expect(noted(stored)).To(gomega.Equal("Fits,Synced"))

	sets, end = []string{"Fits"}, nil
	r, err := p.run(plan, stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(noted(r.Stored)).To(gomega.Equal("Fits,Synced"), "it stays noted until the status is written")
	g.Expect(r.Inputs.Expires()).To(gomega.BeTemporally("~", now, 2*time.Second), "and is taken off soon")
	again := settledOn(g, plan, r, err)
	g.Expect(theirs(again)).To(gomega.Equal("Approved Boxed Fits"), "Boxed is what the box declares")
	again = shownOn(g, p, plan, again)
	g.Expect(noted(again)).To(gomega.Equal("Fits"))
	g.Expect(theirs(shownOn(g, p, plan, withCondition(again, "Synced")))).To(gomega.Equal("Approved Boxed Fits Synced"), "somebody else sets it now")

	sets = nil
	g.Expect(theirs(shownOn(g, p, plan, again))).To(gomega.Equal("Approved Boxed"))

	without := planOf(t, `workers: 1`)
	p.done()
	again = shownOn(g, p, without, again)
	g.Expect(theirs(again)).To(gomega.Equal("Approved Boxed"), "the box has no hook any more")
	again = shownOn(g, p, without, again)
	g.Expect(again.GetAnnotations()).NotTo(gomega.HaveKey(v1alpha1.AnnotationHookConditions))
	p.done()
	shownOn(g, p, without, again)
	g.Expect(p.done()).To(gomega.BeEmpty())
}

// TestConditionsOfAHookThatIsNotAsked stay while its gate keeps what it has made, and go with that.
func TestConditionsOfAHookThatIsNotAsked(t *testing.T) {
	for name, tc := range map[string]struct{ gate, left string }{
		"kept": {`{field: cross.conf.data.go, equals: v1}`, "Synced"},
		"gone": {`{field: spec.image, equals: v1}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			plan := hooked(t, onReconcile(func(_ context.Context, c *call) error {
				return errors.Join(c.Apply(configMap("a", nil)), c.SetCondition(metav1.Condition{Type: "Synced", Status: metav1.ConditionTrue}))
			}), listed, `when: [`+tc.gate+`], cross: [{name: conf, apiVersion: v1, kind: ConfigMap, selector: {name: conf}}]`)
			p := newPorts()
			says := func(image string) []*unstructured.Unstructured {
				return []*unstructured.Unstructured{other(configMapKind, "team-a", "conf", map[string]any{"data": map[string]any{"go": image}})}
			}
			p.others = says("v1")
			stored := shownOn(g, p, plan, website(t, `{image: v1}`))
			g.Expect(theirs(stored)).To(gomega.Equal("Synced"))
			p.others = says("v2")
			g.Expect(theirs(shownOn(g, p, plan, edited(t, stored, "v2")))).To(gomega.Equal(tc.left))
			g.Expect(p.children).To(gomega.HaveLen(len(strings.Fields(tc.left))), "so does what it has made")
		})
	}
}

// TestAForgedNoteOfConditionsTakesNoneOfOrkestra: who writes resources may write the note, too.
func TestAForgedNoteOfConditionsTakesNoneOfOrkestra(t *testing.T) {
	g := gomega.NewWithT(t)
	p, plan := newPorts(), planOf(t, `workers: 1`)
	stored := shownOn(g, p, plan, website(t, `{image: v1}`))
	stored.SetAnnotations(map[string]string{v1alpha1.AnnotationHookConditions: "Ready,Stalled,RolledBack,,a b"})
	stored = shownOn(g, p, plan, stored)
	g.Expect(fmt.Sprint(stored.Object["status"])).To(gomega.And(gomega.ContainSubstring("type:Ready"), gomega.ContainSubstring("type:Stalled")))
	g.Expect(stored.GetAnnotations()).NotTo(gomega.HaveKey(v1alpha1.AnnotationHookConditions))
}

// TestConditionsThatAWebhookDoesNotAnswerAnyMoreGo, by either protocol. A Metacontroller webhook that says nothing of the status leaves it.
func TestConditionsThatAWebhookDoesNotAnswerAnyMoreGo(t *testing.T) {
	g := gomega.NewWithT(t)
	next := func(a *asked, plan *Plan, stored *unstructured.Unstructured) *unstructured.Unstructured {
		a.memory = protocol.Memory{}
		r, err := a.at(plan, stored, 0)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		return settledOn(g, plan, r, nil)
	}
	said := []protocol.Condition{{Type: "Fits", Status: "True"}, {Type: "Placed", Status: "False"}}
	a := asking(t, func(*protocol.Request) *protocol.Response {
		return &protocol.Response{Children: []protocol.Child{}, Conditions: said}
	})
	plan := webhooked(t, `url: "https://hooks.example.com"`, `workers: 1`)
	stored := next(a, plan, website(t, `{image: v1}`))
	g.Expect(theirs(stored)).To(gomega.Equal("Fits Placed"))
	said = said[:1]
	g.Expect(theirs(next(a, plan, stored))).To(gomega.Equal("Fits"))

	var shows any = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}, map[string]any{"type": "Fits", "status": "True"}}}
	composed(t, a, func(*protocol.CompositeRequest) map[string]any {
		return map[string]any{"children": []any{}, "status": shows}
	})
	plan = webhooked(t, `url: "https://hooks.example.com", protocol: Metacontroller`, `workers: 1`)
	stored = next(a, plan, website(t, `{image: v1}`))
	g.Expect(theirs(stored)).To(gomega.Equal("Fits WebhookReady"))
	shows = nil
	stored = next(a, plan, stored)
	g.Expect(theirs(stored)).To(gomega.Equal("Fits WebhookReady"), "null leaves the status")
	shows = map[string]any{"phase": "made"}
	g.Expect(theirs(next(a, plan, stored))).To(gomega.BeEmpty(), "it replaces the status")
}
