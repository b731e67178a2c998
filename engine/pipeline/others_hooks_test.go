package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/hook"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// othersHooked compiles a box with hooks over Deployments of others.
func othersHooked(tb testing.TB, h untyped, resources string) *Plan {
	tb.Helper()
	plan, errs := othersBoxWith(tb, Env{Code: registryOf(tb, h)}, ofDeployments, exposed+", reconciler: {hooks: {location: example.com/op, function: Hooks, resources: "+resources+"}}")
	gomega.NewWithT(tb).Expect(errs).To(gomega.BeEmpty())
	return plan
}

// applied is ports that mark an object as a server-side apply does: of what is ours, all goes that is not named.
func applied() *ports {
	p := newPorts()
	p.mark = func(_ context.Context, obj *unstructured.Unstructured, marks apply.Marks) (*unstructured.Unstructured, error) {
		if marks.On(obj) && !marks.Fewer {
			return obj, nil
		}
		p.log("mark", obj)
		merged := func(all, ours map[string]string) map[string]string {
			all = maps.Clone(all)
			maps.DeleteFunc(all, func(key, _ string) bool { return stage.IsOurMark(key) })
			if all == nil {
				all = map[string]string{}
			}
			maps.Copy(all, ours)
			return all
		}
		out := obj.DeepCopy()
		out.SetFinalizers(marks.Finalizers)
		out.SetLabels(merged(obj.GetLabels(), marks.Labels))
		out.SetAnnotations(merged(obj.GetAnnotations(), marks.Annotations))
		return out, nil
	}
	p.finish = func(_ context.Context, obj *unstructured.Unstructured, _ []string) error {
		p.log("finish", obj)
		return nil
	}
	return p
}

// namespaceFor is one that lets the objects of a namespace in.
func namespaceFor(name, from string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
		"name": name, "annotations": map[string]any{v1alpha1.AnnotationAllowFrom: from},
	}}}
}

func elsewhere(name string) *corev1.ConfigMap {
	obj := configMap(name, nil)
	obj.Namespace = "open"
	return obj
}

func nothing(context.Context, *call) error { return nil }

// TestAnObjectOfOthersGetsWhatItsHookNeeds, and no more: the finalizer for OnDelete, and for what the garbage collector would leave; annotations
// for OnCreate and OnUpdate.
func TestAnObjectOfOthersGetsWhatItsHookNeeds(t *testing.T) {
	makes := func(c func(*call) error) untyped {
		return onReconcile(func(_ context.Context, k *call) error { return c(k) })
	}
	const active, generation, spaces = v1alpha1.AnnotationActiveSince, v1alpha1.AnnotationHookGeneration, v1alpha1.AnnotationNamespaces
	for name, tc := range map[string]struct {
		hooks     untyped
		resources string
		did       []string
		held      bool
		notes     []string
		patch     bool // the account needs it
	}{
		"nothing":                {onReconcile(nothing), "[]", nil, false, nil, false},
		"children beside it":     {makes(func(c *call) error { return c.Apply(configMap("a", nil)) }), "[{kind: ConfigMap}]", []string{"create ConfigMap/a"}, false, nil, true},
		"children elsewhere":     {makes(func(c *call) error { return c.Apply(elsewhere("a")) }), "[{kind: ConfigMap}]", []string{"mark Deployment/web", "mark Deployment/web", "create ConfigMap/a"}, true, []string{spaces}, true},
		"children that stay":     {makes(func(c *call) error { return c.Apply(configMap("a", nil), hook.Orphan()) }), "[{kind: ConfigMap}]", []string{"mark Deployment/web", "create ConfigMap/a"}, true, nil, true},
		"a kind that it reads":   {onReconcile(nothing), "[{kind: Namespace}]", nil, false, nil, true},
		"OnDelete":               {untyped{OnDelete: nothing}, "[]", []string{"mark Deployment/web"}, true, nil, true},
		"OnCreate":               {untyped{OnCreate: nothing}, "[]", []string{"mark Deployment/web"}, false, []string{active}, true},
		"OnUpdate":               {untyped{OnUpdate: nothing}, "[]", []string{"mark Deployment/web"}, false, []string{active, generation}, true},
		"OnCreate with OnDelete": {untyped{OnCreate: nothing, OnDelete: nothing}, "[]", []string{"mark Deployment/web", "mark Deployment/web"}, true, []string{active}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			plan := othersHooked(t, tc.hooks, tc.resources)
			p := applied()
			p.others = append(p.others, namespaceFor("open", "team-a"))
			r, err := p.run(plan, deploymentOf("web"))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(p.done()).To(gomega.HaveExactElements(tc.did))
			g.Expect(slices.Contains(r.Stored.GetFinalizers(), v1alpha1.Finalizer)).To(gomega.Equal(tc.held))
			notes := slices.DeleteFunc(slices.Sorted(maps.Keys(r.Stored.GetAnnotations())), func(key string) bool { return !stage.IsOurMark(key) })
			g.Expect(notes).To(gomega.HaveExactElements(tc.notes))
			_, served := r.Stored.GetLabels()[v1alpha1.LabelServedBy]
			g.Expect(served).To(gomega.Equal(tc.held || len(tc.notes) > 0))
			for _, rule := range plan.Required() {
				if rule.Resources[0] == "deployments" {
					g.Expect(slices.Contains(rule.Verbs, "patch")).To(gomega.Equal(tc.patch))
				}
			}
			_, err = p.run(plan, r.Stored)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(p.done()).To(gomega.BeEmpty(), "a second cycle writes nothing")
		})
	}
}

// TestAHookThatMakesNothingElsewhereAnyMoreLetsGo: the finalizer comes off when nothing is left that needs it.
func TestAHookThatMakesNothingElsewhereAnyMoreLetsGo(t *testing.T) {
	g := gomega.NewWithT(t)
	var end error
	makes := true
	plan := othersHooked(t, onReconcile(func(_ context.Context, c *call) error {
		if makes {
			return c.Apply(elsewhere("a"))
		}
		return end
	}), "[{kind: ConfigMap}]")
	p := applied()
	p.others = append(p.others, namespaceFor("open", "team-a"))
	r, err := p.run(plan, deploymentOf("web"))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	makes, end = false, fmt.Errorf("not now: %w", hook.ErrWait)
	p.done()
	r, err = p.run(plan, r.Stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.BeEmpty(), "what it made stays while it waits, and the object is held")
	end = errors.New("broken")
	r, err = p.run(plan, r.Stored)
	g.Expect(err).To(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.BeEmpty())
	end = nil
	r, err = p.run(plan, r.Stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.HaveExactElements("delete ConfigMap/a", "mark Deployment/web", "mark Deployment/web", "finish Deployment/web"))
	g.Expect(r.Stored.GetFinalizers()).To(gomega.BeEmpty())
	g.Expect(r.Stored.GetLabels()).To(gomega.Equal(map[string]string{"expose": "yes"}))
	g.Expect(r.Stored.GetAnnotations()).To(gomega.Equal(deploymentOf("web").GetAnnotations()))
}

// TestAnObjectOfOthersThatEndsIsTold: OnDelete is called when it is deleted, and when it is not selected any more; it holds the object until it
// is done.
func TestAnObjectOfOthersThatEndsIsTold(t *testing.T) {
	for name, leaves := range map[string]bool{"deleted": false, "not selected": true} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			var end error
			called := 0
			plan := othersHooked(t, untyped{
				OnReconcile: func(_ context.Context, c *call) error { return c.Apply(configMap("a", nil)) },
				OnDelete: func(_ context.Context, c *call) error {
					called++
					g.Expect(c.Resource.GetName()).To(gomega.Equal("web"))
					return end
				},
			}, "[{kind: ConfigMap}]")
			p := applied()
			r, err := p.run(plan, deploymentOf("web"))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			p.done()
			stored := r.Stored
			ends := func() error {
				run := plan.NewRun(stored, now, p.ports())
				if leaves {
					run.LeavingSince = now
				}
				err := plan.Execute(t.Context(), run)
				stored = run.Stored
				return err
			}
			if !leaves {
				stored.SetDeletionTimestamp(&metav1.Time{Time: now})
			}
			end = fmt.Errorf("the table is in use: %w", hook.ErrWait)
			g.Expect(ends()).To(gomega.Succeed())
			g.Expect(p.done()).To(gomega.BeEmpty())
			end = errors.New("the server is away")
			g.Expect(ends()).To(gomega.MatchError(gomega.ContainSubstring("the server is away")))
			g.Expect(p.done()).To(gomega.BeEmpty())
			end = nil
			g.Expect(ends()).To(gomega.Succeed())
			g.Expect(called).To(gomega.Equal(3))
			did := []string{"mark Deployment/web", "delete ConfigMap/a", "finish Deployment/web"} // it is noted that OnDelete is done
			if leaves {
				did = slices.Insert(did, 2, "mark Deployment/web") // all marks come off
			}
			g.Expect(p.done()).To(gomega.Equal(did))
		})
	}
}

// TestOnUpdateOfAnObjectOfOthers goes by what the object holds: some have no generation, and that of a Deployment counts changes of annotations, too.
func TestOnUpdateOfAnObjectOfOthers(t *testing.T) {
	for name, generation := range map[string]func(old int64) int64{"none": func(int64) int64 { return 0 }, "one that our own note changes": func(old int64) int64 { return old + 1 }} {
		t.Run(name, func(t *testing.T) { updatesByContent(t, generation) })
	}
}

func updatesByContent(t *testing.T, generation func(int64) int64) {
	t.Helper()
	g := gomega.NewWithT(t)
	var called []string
	note := func(phase string) func(context.Context, *call) error {
		return func(context.Context, *call) error { called = append(called, phase); return nil }
	}
	plan := othersHooked(t, untyped{OnCreate: note("create"), OnUpdate: note("update")}, "[]")
	p, stored := applied(), deploymentOf("web")
	for _, tc := range []struct {
		replicas int64
		want     []string
	}{{1, []string{"create"}}, {1, nil}, {2, []string{"update"}}, {2, nil}, {1, []string{"update"}}} {
		called = nil
		g.Expect(unstructured.SetNestedField(stored.Object, tc.replicas, "spec", "replicas")).To(gomega.Succeed())
		stored.SetGeneration(generation(stored.GetGeneration()))
		r, err := p.run(plan, stored)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(called).To(gomega.HaveExactElements(tc.want))
		stored = r.Stored
	}
}

func TestTheStatusOfAnObjectOfOthersIsNotTheHooks(t *testing.T) {
	for want, says := range map[string]func(*call) error{
		"it sets status.replicas, and the status of a Deployment is not the box's": func(c *call) error { return c.SetStatus("replicas", 3) },
		"it sets a condition, and the status of a Deployment is not the box's": func(c *call) error {
			return c.SetCondition(metav1.Condition{Type: "Imported", Status: metav1.ConditionTrue})
		},
	} {
		g := gomega.NewWithT(t)
		plan := othersHooked(t, onReconcile(func(_ context.Context, c *call) error { return errors.Join(says(c), c.Apply(configMap("a", nil))) }), "[{kind: ConfigMap}]")
		p := applied()
		_, err := p.run(plan, deploymentOf("web"))
		expectStep(g, err, "hook", Permanent, v1alpha1.ReasonHookFailed)
		g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring(want)))
		g.Expect(p.done()).To(gomega.BeEmpty())
	}
}

// TestWithoutTheFunctionAnObjectOfOthersStays held: nobody knows whether there is something to clean up.
func TestWithoutTheFunctionAnObjectOfOthersStays(t *testing.T) {
	g := gomega.NewWithT(t)
	plan, errs := othersBox(t, ofDeployments, exposed+", reconciler: {hooks: {location: a, function: F}}")
	g.Expect(errs).To(gomega.BeEmpty(), "the command line does not know the function")
	g.Expect(plan.Finalizers).To(gomega.Equal([]string{v1alpha1.Finalizer}), "and asks for the rights of one that cleans up")
	r, err := hook.NewRegistry()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	box := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "exposed", UID: "box"}}
	g.Expect(yaml.UnmarshalStrict([]byte("{crd: "+ofDeployments+", "+exposed+", reconciler: {hooks: {location: a, function: F}}}"), &box.Spec)).To(gomega.Succeed())
	cleanup, err := CompileCleanup(box, Env{Code: r, CRD: plan.CRD})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	p, stored := applied(), servedBy("exposed")
	stored.SetDeletionTimestamp(&metav1.Time{Time: now})
	_, err = p.run(cleanup, stored)
	expectStep(g, err, "deletion", Permanent, v1alpha1.ReasonUnknownFunction)
	g.Expect(p.done()).To(gomega.BeEmpty())
}

func TestKindsThatAHookOfOthersMayNotMake(t *testing.T) {
	g := gomega.NewWithT(t)
	_, errs := othersBox(t, ofDeployments, exposed+", reconciler: {hooks: {location: a, function: F, resources: [{kind: ConfigMap}, {kind: Deployment}, {apiVersion: apps/v1, kind: ReplicaSet}]}}")
	g.Expect(errs).To(gomega.ConsistOf(
		gomega.HavePrefix("spec.reconciler.hooks.resources[1]: Forbidden: a Deployment makes no Deployments"),
		gomega.ContainSubstring("a box can't make children of the kind that it serves"),
		gomega.HavePrefix("spec.reconciler.hooks.resources[2]: Forbidden: a Deployment makes no ReplicaSets"),
	))
}
