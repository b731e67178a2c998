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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/hook"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/overview"
)

type untyped = hook.Hooks[*unstructured.Unstructured]

// onReconcile are hooks of which nothing but OnReconcile is set.
func onReconcile(f func(ctx context.Context, c *call) error) untyped {
	return untyped{Pure: true, OnReconcile: f}
}

const listed = `resources: [{kind: ConfigMap}]`

// edited is a resource whose spec has changed.
func edited(tb testing.TB, stored *unstructured.Unstructured, image string) *unstructured.Unstructured {
	tb.Helper()
	out := stored.DeepCopy()
	if err := unstructured.SetNestedField(out.Object, image, "spec", "image"); err != nil {
		tb.Fatal(err)
	}
	out.SetGeneration(out.GetGeneration() + 1)
	return out
}

// TestPhasesOfALife: OnCreate until the resource is Active, OnUpdate until it has succeeded at a generation, OnReconcile always. What was noted
// is on the resource, so that a restart repeats nothing.
func TestPhasesOfALife(t *testing.T) {
	g := gomega.NewWithT(t)
	var called []string
	var fails error
	note := func(phase string) func(context.Context, *call) error {
		return func(context.Context, *call) error {
			called = append(called, phase)
			if phase == "reconcile" {
				return nil
			}
			return fails
		}
	}
	plan := hooked(t, untyped{OnCreate: note("create"), OnUpdate: note("update"), OnReconcile: note("reconcile")}, listed, `workers: 1`)
	p, stored := newPorts(), website(t, `{image: v1}`)
	step := func(end error, image string) []string {
		called, fails = nil, end
		if image != "" {
			stored = edited(t, stored, image)
		}
		r, _ := p.run(plan, stored)
		stored = r.Stored
		return called
	}
	waits := fmt.Errorf("it comes: %w", hook.ErrWait)
	g.Expect(step(errors.New("no"), "")).To(gomega.Equal([]string{"create"}), "what fails ends the cycle")
	g.Expect(step(waits, "")).To(gomega.Equal([]string{"create", "reconcile"}))
	g.Expect(step(waits, "v2")).To(gomega.Equal([]string{"create", "reconcile"}), "an edit before it is Active is no update")
	g.Expect(step(nil, "")).To(gomega.Equal([]string{"create", "reconcile"}))
	g.Expect(step(nil, "")).To(gomega.Equal([]string{"reconcile"}))
	g.Expect(step(errors.New("no"), "v3")).To(gomega.Equal([]string{"update"}))
	g.Expect(step(waits, "")).To(gomega.Equal([]string{"update", "reconcile"}), "until it has succeeded")
	p.done()
	g.Expect(step(nil, "")).To(gomega.Equal([]string{"update", "reconcile"}))
	g.Expect(p.done()).To(gomega.Equal([]string{"mark Website/shop"}), "one write for an edit")
	g.Expect(step(nil, "")).To(gomega.Equal([]string{"reconcile"}))
	g.Expect(p.done()).To(gomega.BeEmpty())
}

// TestAPureHookIsNotCalledWhileNothingChanges, and one that is not pure is called again at the resync.
func TestAPureHookIsNotCalledWhileNothingChanges(t *testing.T) {
	other := configMap("other", map[string]string{"a": "1"})
	for _, pure := range []bool{true, false} {
		g := gomega.NewWithT(t)
		plan := hooked(t, untyped{Pure: pure, OnReconcile: func(ctx context.Context, c *call) error {
			read := &corev1.ConfigMap{}
			return errors.Join(c.Get(ctx, client.ObjectKey{Namespace: "team-a", Name: "other"}, read), c.Apply(configMap("a", read.Data)))
		}}, listed, `workers: 1`)
		p := newPorts()
		p.others = append(p.others, asUnstructured(t, other))
		r, err := p.run(plan, website(t, `{image: v1}`))
		g.Expect(err).NotTo(gomega.HaveOccurred())
		r, err = p.run(plan, r.Stored)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		unchanged := func(at time.Time) bool { return r.Inputs.Unchanged(&plan.Plan, r.Stored, p, at) }
		g.Expect(unchanged(now)).To(gomega.BeTrue())
		g.Expect(unchanged(now.Add(plan.Runtime.Resync))).To(gomega.Equal(pure))
		p.others[0] = p.others[0].DeepCopy()
		p.others[0].SetResourceVersion("changed")
		g.Expect(unchanged(now)).To(gomega.BeFalse(), "what was read is an input")
	}
}

func asUnstructured(tb testing.TB, obj *corev1.ConfigMap) *unstructured.Unstructured {
	tb.Helper()
	data := map[string]any{}
	for k, v := range obj.Data {
		data[k] = v
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": obj.Name, "namespace": "team-a", "resourceVersion": "1"}, "data": data,
	}}
}

// TestArgumentsOfAHook are rendered for the resource. What is not there yet is waited for, and the hook is not called.
func TestArgumentsOfAHook(t *testing.T) {
	g := gomega.NewWithT(t)
	var got []any
	plan := hooked(t, onReconcile(func(_ context.Context, c *call) error {
		got = append(got, c.Args.Get("image"), c.Args.Get("of"))
		return nil
	}),
		`args: {image: "{{ .spec.image }}", of: "{{ .children.a.data.key }}"}, `+listed, `onReconcile: {configmaps: [{id: a, name: a}]}`)
	p := newPorts()
	r, err := p.run(plan, website(t, `{image: v1}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(got).To(gomega.BeEmpty())
	g.Expect(r.Waits).To(gomega.HaveLen(1))
	g.Expect(r.Waits[0].Message).To(gomega.Equal("hook: children.a.data.key is not there yet"))
	p.edit("a", func(c *unstructured.Unstructured) { c.Object["data"] = map[string]any{"key": "value"} })
	_, err = p.run(plan, r.Stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(got).To(gomega.Equal([]any{"v1", "value"}))
}

// TestErrorsOfAHook have the class that says when it is called again.
func TestErrorsOfAHook(t *testing.T) {
	forbidden := answer(403, metav1.StatusReasonForbidden, `configmaps "a" is forbidden: User "x" cannot get resource "configmaps" in API group "" in the namespace "team-a"`)
	for name, tc := range map[string]struct {
		err    error
		class  Class
		reason string
	}{
		"any":                    {errors.New("no"), Transient, ""},
		"a missing right":        {fmt.Errorf("reading: %w", forbidden), Permission, v1alpha1.ReasonForbidden},
		"what no try mends":      {reconcile.TerminalError(errors.New("no")), Permanent, v1alpha1.ReasonHookFailed},
		"the end of its context": {context.DeadlineExceeded, Transient, ""},
	} {
		t.Run(name, func(t *testing.T) {
			plan := hooked(t, onReconcile(func(context.Context, *call) error { return tc.err }), listed, `workers: 1`)
			_, err := newPorts().run(plan, website(t, `{image: v1}`))
			expectStep(gomega.NewWithT(t), err, "hook", tc.class, tc.reason)
		})
	}
}

// TestMistakesOfAHookAreNotTriedAgain: no retry mends them, but a change of the resource, of the box, or of the code.
func TestMistakesOfAHookAreNotTriedAgain(t *testing.T) {
	apply := func(c *call, name, id string) error {
		return c.Apply(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, hook.WithID(id))
	}
	for name, tc := range map[string]struct {
		f      func(context.Context, *call) error
		reason string
	}{
		"a child without a name": {func(_ context.Context, c *call) error { return apply(c, "", "a") }, v1alpha1.ReasonHookFailed},
		"one that it wraps":      {func(_ context.Context, c *call) error { return fmt.Errorf("making it: %w", apply(c, "", "a")) }, v1alpha1.ReasonHookFailed},
		"one that it ignores":    {func(_ context.Context, c *call) error { _ = apply(c, "", "a"); return nil }, v1alpha1.ReasonHookFailed},
		"a child twice":          {func(_ context.Context, c *call) error { return errors.Join(apply(c, "a", "a"), apply(c, "b", "a")) }, v1alpha1.ReasonHookFailed},
		"a child of another kind": {func(_ context.Context, c *call) error {
			return c.Apply(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
		}, v1alpha1.ReasonInvalidChild},
		"a condition of Orkestra": {func(_ context.Context, c *call) error {
			return c.SetCondition(metav1.Condition{Type: "Ready", Status: "True"})
		}, v1alpha1.ReasonHookFailed},
		"a status field without a path": {func(_ context.Context, c *call) error { return c.SetStatus("", 1) }, v1alpha1.ReasonHookFailed},
		"one that the schema lacks":     {func(_ context.Context, c *call) error { return c.SetStatus("lacks", 1) }, v1alpha1.ReasonHookFailed},
		"a reason of two words":         {func(_ context.Context, c *call) error { c.Wait("two words", ""); return nil }, v1alpha1.ReasonHookFailed},
		"arguments that do not fit":     {func(_ context.Context, c *call) error { return c.Args.Decode(&struct{ Other int }{}) }, v1alpha1.ReasonHookFailed},
		"a kind that is not listed":     {func(ctx context.Context, c *call) error { return c.List(ctx, &corev1.PodList{}) }, v1alpha1.ReasonHookFailed},
		"a Secret by Get": {func(ctx context.Context, c *call) error {
			return c.Get(ctx, client.ObjectKey{Name: "a"}, &corev1.Secret{})
		}, v1alpha1.ReasonHookFailed},
		"a list without a namespace": {func(ctx context.Context, c *call) error { return c.List(ctx, &corev1.ConfigMapList{}) }, v1alpha1.ReasonHookFailed},
		"a list by a field": {func(ctx context.Context, c *call) error {
			return c.List(ctx, &corev1.ConfigMapList{}, client.InNamespace("team-a"), client.MatchingFields{"a": "b"})
		}, v1alpha1.ReasonHookFailed},
		"a type that is not registered": {func(ctx context.Context, c *call) error {
			return c.Get(ctx, client.ObjectKey{Name: "a"}, &v1alpha1.OperatorBox{})
		}, v1alpha1.ReasonHookFailed},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			plan := hooked(t, onReconcile(tc.f), `args: {a: b}, `+listed, `workers: 1`)
			r, err := newPorts().run(plan, website(t, `{image: v1}`))
			expectStep(g, err, "hook", Permanent, tc.reason)
			g.Expect(err).NotTo(gomega.MatchError(gomega.ContainSubstring("terminal error")))
			res, _ := r.Result(t.Context(), err)
			g.Expect(res.Reconciling.Status).To(gomega.Equal(metav1.ConditionFalse))
		})
	}
}

// TestWhatSecretsHoldIsNotShown, wherever a hook says it; and the class of its error stays.
func TestWhatSecretsHoldIsNotShown(t *testing.T) {
	const secret = "hunter22"
	for name, f := range map[string]func(c *call, value string) error{
		"an error":            func(_ *call, v string) error { return errors.New("wrong password " + v) },
		"a terminal error":    func(_ *call, v string) error { return reconcile.TerminalError(errors.New(v)) },
		"an API error":        func(_ *call, v string) error { return answer(403, metav1.StatusReasonForbidden, "no "+v) },
		"a panic":             func(_ *call, v string) error { panic("at " + v) },
		"a wait":              func(c *call, v string) error { c.Wait("Importing", "with "+v); return nil },
		"a wait by its error": func(_ *call, v string) error { return fmt.Errorf("with %s: %w", v, hook.ErrWait) },
		"an event":            func(c *call, v string) error { c.Event("Said", v); return nil },
		"a condition": func(c *call, v string) error {
			return c.SetCondition(metav1.Condition{Type: "Mine", Status: "True", Message: v})
		},
		"a status field":     func(c *call, v string) error { return c.SetStatus("message", "it is "+v) },
		"its base64":         func(c *call, _ string) error { return c.SetStatus("message", "aHVudGVyMjI=") },
		"an applied mistake": func(c *call, v string) error { return c.Apply(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: v}}) },
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			plan := hooked(t, onReconcile(func(ctx context.Context, c *call) error {
				v, err := c.Secret(ctx, "s", "password")
				if err != nil {
					return err
				}
				return f(c, v)
			}), listed, `workers: 1`)
			p := newPorts()
			p.others = append(p.others, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s", "namespace": "team-a"}, "data": map[string]any{"password": "aHVudGVyMjI="},
			}})
			r, err := p.run(plan, website(t, `{image: v1}`))
			res, _ := r.Result(t.Context(), err)
			shown := fmt.Sprint(err, res, r.Events, r.Shown)
			g.Expect(shown).NotTo(gomega.Or(gomega.ContainSubstring(secret), gomega.ContainSubstring("aHVudGVyMjI=")))
			if name == "a panic" {
				g.Expect(AsStepError(err).Class).To(gomega.Equal(Panic))
			}
		})
	}
}

// TestAHookThatRunsFirst gives templates its children and its status fields in the same cycle.
func TestAHookThatRunsFirst(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := hooked(t, onReconcile(func(_ context.Context, c *call) error {
		return errors.Join(c.SetStatus("phase", "made"), c.Apply(configMap("a", map[string]string{"k": "v"}), hook.WithID("main")))
	}), `runHooksFirst: true, `+listed, `onReconcile: {deployments: [{image: x, name: x, labels: {phase: "{{ .status.phase }}", of: "{{ .children.hook.main.data.k }}"}}]}`)
	p := newPorts()
	_, err := p.run(plan, website(t, `{image: v1}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.Equal([]string{"mark Website/shop", "create ConfigMap/a", "create Deployment/x"}))
	g.Expect(p.children[1].GetLabels()).To(gomega.And(gomega.HaveKeyWithValue("phase", "made"), gomega.HaveKeyWithValue("of", "v")))
}

// TestStatusFieldsThatDoNotFit are an error that names them, before anything is written.
func TestStatusFieldsThatDoNotFit(t *testing.T) {
	for want, set := range map[string]func(*call) error{
		"hook: status.replicas":             func(c *call) error { return c.SetStatus("replicas", "many") },
		"no such field":                     func(c *call) error { return c.SetStatus("nothing", 1) },
		"Orkestra writes this field itself": func(c *call) error { return c.SetStatus("observedGeneration", 1) },
		"wanted True, False or Unknown":     func(c *call) error { return c.SetCondition(metav1.Condition{Type: "Mine", Status: "Yes"}) },
		"hook: status.many[0]":              func(c *call) error { return c.SetStatus("many[0]", []string{"a"}) },
	} {
		t.Run(want, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			r, err := p.run(hooked(t, onReconcile(func(_ context.Context, c *call) error { return errors.Join(c.Apply(configMap("a", nil)), set(c)) }), listed, `workers: 1`), website(t, `{image: v1}`))
			g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring(want)))
			g.Expect(p.children).To(gomega.BeEmpty())
			res, _ := r.Result(t.Context(), err)
			g.Expect(res.Ready.Message).To(gomega.ContainSubstring(want))
		})
	}
}

// TestWithoutOnReconcileNothingGoes: what OnCreate has made stays when it is called no more.
func TestWithoutOnReconcileNothingGoes(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := hooked(t, untyped{Pure: true, OnCreate: func(_ context.Context, c *call) error { return c.Apply(configMap("a", nil)) }}, listed, `workers: 1`)
	p := newPorts()
	r, err := p.run(plan, website(t, `{image: v1}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	p.done()
	_, err = p.run(plan, r.Stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.BeEmpty())
	g.Expect(p.children).To(gomega.HaveLen(1))
}

func TestTheGateOfTheBoxHoldsForTheHook(t *testing.T) {
	g := gomega.NewWithT(t)
	called := 0
	plan := hooked(t, onReconcile(func(_ context.Context, c *call) error { called++; return c.Apply(configMap("a", nil)) }), listed, `when: [{field: spec.tls, equals: true}]`)
	p := newPorts()
	r, err := p.run(plan, website(t, `{tls: true}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	off := r.Stored.DeepCopy()
	off.Object["spec"] = map[string]any{"tls": false}
	_, err = p.run(plan, off)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(called).To(gomega.Equal(1))
}

// TestPlaces: objects go into the namespace of the resource, and into others by their leave. Cluster-scoped ones have a name that tells the
// namespace.
func TestPlaces(t *testing.T) {
	for name, tc := range map[string]struct {
		obj  client.Object
		want string
	}{
		"its own":                              {configMap("a", nil), ""},
		"another without leave":                {&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "closed"}}, `namespace "closed" does not let resources of "team-a" in`},
		"another with leave":                   {&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "open"}}, ""},
		"none, by a name that others may have": {&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shared"}}, "shared"},
		"none":                                 {&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-a-shop"}}, ""},
		"too large a namespace":                {&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "A_b"}}, "A_b"},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			plan := hooked(t, onReconcile(func(_ context.Context, c *call) error { return c.Apply(tc.obj) }), `resources: [{kind: ConfigMap}, {kind: Namespace}]`, `workers: 1`)
			p := newPorts()
			p.namespaced = func(kind schema.GroupVersionKind) (bool, error) { return kind.Kind != "Namespace", nil }
			p.others = append(p.others, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
				"name": "open", "annotations": map[string]any{v1alpha1.AnnotationAllowFrom: "team-a"},
			}}})
			r, err := p.run(plan, website(t, `{image: v1}`))
			if tc.want != "" {
				g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring(tc.want)))
				g.Expect(p.children).To(gomega.BeEmpty())
				return
			}
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(p.children).To(gomega.HaveLen(1))
			g.Expect(plan.MayHaveMade(r.Stored, p.children[0])).To(gomega.BeTrue(), "it is found again after a restart")
			unnoted := r.Stored.DeepCopy()
			unnoted.SetAnnotations(map[string]string{v1alpha1.AnnotationManagedSince: "2026-01-01T00:00:00Z"})
			g.Expect(plan.MayHaveMade(unnoted, p.children[0])).To(gomega.BeTrue(), "also where an older version has noted nothing")
		})
	}
}

// TestReadsOfAHook are of kinds that are listed, and of no Secret.
func TestReadsOfAHook(t *testing.T) {
	for want, read := range map[string]func(context.Context, *call) error{
		"Secrets are read by Secret(name, key)": func(ctx context.Context, c *call) error {
			return c.Get(ctx, client.ObjectKey{Name: "a"}, &corev1.Secret{})
		},
		"v1 Pod is not among spec.reconciler.hooks.resources": func(ctx context.Context, c *call) error { return c.List(ctx, &corev1.PodList{}) },
		`namespace "closed" does not let resources of "team-a" in`: func(ctx context.Context, c *call) error {
			return c.List(ctx, &corev1.ConfigMapList{}, client.InNamespace("closed"))
		},
		`say in which namespace`:          func(ctx context.Context, c *call) error { return c.List(ctx, &corev1.ConfigMapList{}) },
		`secrets "team-a/none" not found`: func(ctx context.Context, c *call) error { _, err := c.Secret(ctx, "none", "a"); return err },
	} {
		t.Run(want, func(t *testing.T) {
			_, err := newPorts().run(hooked(t, onReconcile(read), listed, `workers: 1`), website(t, `{image: v1}`))
			gomega.NewWithT(t).Expect(err).To(gomega.MatchError(gomega.ContainSubstring(want)))
		})
	}
}

// TestOnDeleteComesAfterTheCleanUpOfTheBox and before children go, once, and is waited for.
func TestOnDeleteComesAfterTheCleanUpOfTheBox(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	var end error
	called := 0
	plan := hooked(t, untyped{OnDelete: func(_ context.Context, c *call) error {
		called++
		if !c.Children.Has("kept") || c.Resource.GetDeletionTimestamp() == nil {
			return errors.New("its children are there")
		}
		return end
	}}, listed, `onReconcile: {configmaps: [{name: kept, id: kept}]}, onDelete: {jobs: [{name: bye, image: x}]}`)
	p.put(configMapKind, "kept", "kept")
	stored := deleted(t, v1alpha1.Finalizer)
	step := func() (*Run, error) {
		r := plan.NewRun(stored, now, p.ports())
		err := plan.Execute(t.Context(), r)
		stored = r.Stored
		return r, err
	}
	_, err := step()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.Equal([]string{"create Job/bye"}))
	g.Expect(called).To(gomega.BeZero(), "the clean-up runs")
	p.edit("bye", endJob("Complete"))
	end = fmt.Errorf("the server goes: %w", hook.ErrWait)
	r, err := step()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Waits[0].Message).To(gomega.Equal("hook: the server goes"))
	g.Expect(r.Inputs.Expires()).NotTo(gomega.BeZero(), "it is asked again")
	end = errors.New("no route")
	_, err = step()
	g.Expect(err).To(gomega.MatchError("deletion: hook: no route"))
	g.Expect(p.children).To(gomega.HaveLen(2), "children stay until it is done")
	end, p.delete = nil, p.holdChild
	p.done()
	_, err = step()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.ContainElement("delete Job/bye"))
	before := called
	_, err = step()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(called).To(gomega.Equal(before), "it is not called again while the children go")
}

// TestOnDeleteIsCalledOnce also where the box has no onDelete: its children go, and it would not find them.
func TestOnDeleteIsCalledOnce(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	called := 0
	plan := hooked(t, untyped{OnDelete: func(context.Context, *call) error { called++; return nil }}, listed, `workers: 1`)
	p.put(configMapKind, "a", "hook#a")
	p.delete = p.holdChild
	r, err := p.run(plan, deleted(t, v1alpha1.Finalizer))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.ContainElement("delete ConfigMap/a"))
	_, err = p.run(plan, r.Stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(called).To(gomega.Equal(1))
}

func TestSkipCleanupSkipsOnDelete(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := hooked(t, untyped{OnDelete: func(context.Context, *call) error { return errors.New("the server is away") }}, listed, `workers: 1`)
	stored := deleted(t, v1alpha1.Finalizer)
	stored.SetAnnotations(map[string]string{v1alpha1.AnnotationSkipCleanup: "true"})
	_, err := p.run(plan, stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.Equal([]string{"finish shop [orkestra.orkspace.io/cleanup]"}))
}

// TestNothingIsLetGoWithoutItsOnDelete: a manager that does not have the function can't say that there is nothing to clean up.
func TestNothingIsLetGoWithoutItsOnDelete(t *testing.T) {
	g := gomega.NewWithT(t)
	r, err := hook.NewRegistry()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	box := boxOf(t, `{reconciler: {hooks: {location: example.com/op, function: Gone, resources: [{kind: ConfigMap}]}}}`)
	env := Env{CRD: websites(t), Code: r}
	_, errs := Compile(box, env)
	g.Expect(errs).To(gomega.HaveLen(1))
	g.Expect(hook.IsUnknown(errs[0])).To(gomega.BeTrue())
	plan, err := CompileCleanup(box, env)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	p := newPorts()
	_, err = p.run(plan, deleted(t, v1alpha1.Finalizer))
	expectStep(g, err, "deletion", Permanent, v1alpha1.ReasonUnknownFunction)
	g.Expect(err).To(gomega.MatchError(gomega.And(gomega.ContainSubstring(`"example.com/op.Gone"`), gomega.ContainSubstring(v1alpha1.AnnotationSkipCleanup))))
	g.Expect(p.done()).To(gomega.BeEmpty())
}

// TestGoingBackCallsOnReconcileAlone, with the spec of the snapshot.
func TestGoingBackCallsOnReconcileAlone(t *testing.T) {
	g := gomega.NewWithT(t)
	var called []string
	image := func(c *call) string {
		s, _, _ := unstructured.NestedString(c.Resource.Object, "spec", "image")
		return s
	}
	plan := hooked(t, untyped{
		OnUpdate: func(context.Context, *call) error { called = append(called, "update"); return nil },
		OnReconcile: func(_ context.Context, c *call) error {
			called = append(called, image(c))
			return c.Apply(configMap("a", map[string]string{"image": image(c)}))
		},
	}, listed, `rollBackOnError: true`)
	p := newPorts()
	active := website(t, "image: bad")
	active.SetAnnotations(map[string]string{v1alpha1.AnnotationActiveSince: "2026-01-01T00:00:00Z"})
	for _, stored := range []*unstructured.Unstructured{website(t, "image: bad"), active} {
		called = nil
		r := plan.NewRunTo(snapshotOf(website(t, "image: good")), stored, now, p.ports())
		g.Expect(plan.GoBack(t.Context(), r)).To(gomega.Succeed())
		g.Expect(called).To(gomega.Equal([]string{"good"}))
	}
	g.Expect(p.children[0].Object["data"]).To(gomega.Equal(map[string]any{"image": "good"}))
}

// TestAThousandAndOneChildren are one too many, with those of the box.
func TestAThousandAndOneChildren(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := hooked(t, onReconcile(func(_ context.Context, c *call) error {
		for i := range 1000 {
			if err := c.Apply(configMap(fmt.Sprintf("c%d", i), nil)); err != nil {
				return err
			}
		}
		return nil
	}), listed, `onReconcile: {configmaps: [{name: own}]}`)
	_, err := newPorts().run(plan, website(t, `{image: v1}`))
	expectStep(g, err, "hook", Permanent, v1alpha1.ReasonBudgetExceeded)
	g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("at most 1000 children")))
}

// TestAJobOfAHookIsWaitedFor, and its neighbors of other kinds are as they should be at once.
func TestAJobOfAHookIsWaitedFor(t *testing.T) {
	g := gomega.NewWithT(t)
	job := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "j"}, "spec": map[string]any{}}}
	plan := hooked(t, onReconcile(func(_ context.Context, c *call) error { return errors.Join(c.Apply(job), c.Apply(configMap("a", nil))) }),
		`resources: [{kind: ConfigMap}, {kind: Job}]`, `status: {ready: Current}`)
	p := newPorts()
	r, _ := shownBy(g, p, plan, website(t, `{image: v1}`))
	_, res := shownBy(g, p, plan, r.Stored)
	g.Expect(res.Ready.Message).To(gomega.ContainSubstring(`Job "j"`))
	p.edit("j", endJob("Complete"))
	r, res = shownBy(g, p, plan, r.Stored)
	g.Expect(res.Ready.Status).To(gomega.Equal(metav1.ConditionTrue), res.Ready.Message)
	p.done()
	_, _ = shownBy(g, p, plan, r.Stored)
	g.Expect(p.done()).To(gomega.BeEmpty(), "it has run")
}

func TestMistakesInBoxesWithHooks(t *testing.T) {
	r, err := hook.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	some := func(context.Context, *hook.Call[*corev1.ConfigMap]) error { return nil }
	if err := hook.AddHooks(r, "example.com/op.Typed", func() hook.Hooks[*corev1.ConfigMap] { return hook.Hooks[*corev1.ConfigMap]{OnReconcile: some} }); err != nil {
		t.Fatal(err)
	}
	typed := `reconciler: {hooks: {location: example.com/op, function: Typed}}, apiTypes: `
	for spec, want := range map[string]string{
		`reconciler: {hooks: {function: F}}`:                                                                             "spec.reconciler.hooks.location: Required",
		`reconciler: {hooks: {location: a}}`:                                                                             "spec.reconciler.hooks.function: Required",
		`reconciler: {hooks: {location: example.com/another, function: SomethingElse}}`:                                  `the manager has no such function; it has example.com/op.Typed alone`,
		`reconciler: {hooks: {location: example.com/op, function: Typd}}`:                                                `did you mean "example.com/op.Typed"?; it has 1, which its command ` + "`manager --list-functions`" + ` lists`,
		`reconciler: {hooks: {location: example.com/op, function: Typed}}`:                                               "spec.apiTypes: Required",
		typed + `{location: k8s.io/api/core/v1, object: ConfigMap}`:                                                      "it is the Go type of v1 ConfigMap, and the box serves demo.example.com/v1 Website",
		typed + `{location: other, object: ConfigMap}`:                                                                   "Typed takes ConfigMap of k8s.io/api/core/v1",
		typed + `{location: other, object: Other}`:                                                                       "Typed takes ConfigMap",
		typed + `{location: k8s.io/api/core/v1, object: ConfigMap, objectList: ConfigMaps}`:                              "spec.apiTypes.objectList: Invalid value: \"ConfigMaps\": k8s.io/api/core/v1 has no such type in the registry of the manager",
		typed + `{location: k8s.io/api/core/v1, object: ConfigMap, objectList: Deployment}`:                              "spec.apiTypes.objectList: Invalid value",
		typed + `{location: k8s.io/api/core/v1, object: ConfigMap, objectList: ConfigMapList}`:                           "it is the Go type of v1 ConfigMap, and the box serves demo.example.com/v1 Website",
		typed + `{object: Other}`:                                                                                        "spec.apiTypes.location: Required",
		typed + `{location: a}`:                                                                                          "spec.apiTypes.object: Required",
		typed + `{location: a, object: lower}`:                                                                           "wanted the name of an exported Go type",
		typed + `{location: a, object: Other, alias: a-b}`:                                                               "wanted a Go identifier",
		`apiTypes: {location: a, object: B}`:                                                                             "spec.apiTypes: Forbidden: it names the Go type that a hook takes, and the box has none",
		`reconciler: {hooks: {location: a, function: F, args: [a]}}`:                                                     "spec.reconciler.hooks.args: Invalid value",
		`reconciler: {hooks: {location: a, function: F, args: {a: "{{ .spec.nothing }}"}}}`:                              `spec.reconciler.hooks.args.a`,
		`reconciler: {hooks: {location: a, function: F, resources: [{kind: Thing}]}}`:                                    "spec.reconciler.hooks.resources[0].apiVersion: Required",
		`reconciler: {hooks: {location: a, function: F, resources: [{kind: Depl, apiVersion: apps/v1}]}}`:                "apps/v1 has no such kind",
		`reconciler: {hooks: {location: a, function: F, resources: [{kind: Role}]}}`:                                     "spec.reconciler.hooks.resources[0]: Forbidden",
		`reconciler: {hooks: {location: a, function: F, resources: [{kind: ConfigMap}, {kind: ConfigMap}]}}`:             "spec.reconciler.hooks.resources[1]: Duplicate",
		`reconciler: {hooks: {location: a, function: F, resources: [{kind: Website, apiVersion: demo.example.com/v1}]}}`: "a box can't make children of the kind that it serves",
		`reconciler: {hooks: {location: a, function: F}}, onReconcile: {configmaps: [{name: x, after: [hook]}]}`:         "the hook runs before all declarations",
		`reconciler: {hooks: {location: a, function: F}}, onReconcile: {configmaps: [{name: x, id: hook}]}`:              "Duplicate",
	} {
		t.Run(spec, func(t *testing.T) {
			_, errs := Compile(boxOf(t, `{`+spec+`}`), Env{CRD: websites(t), Code: r})
			texts := make([]string, 0, len(errs))
			for _, e := range errs {
				texts = append(texts, e.Error())
			}
			g := gomega.NewWithT(t)
			g.Expect(strings.Join(texts, "\n")).To(gomega.ContainSubstring(want))
		})
	}
}

// TestWithoutARegistryAHookIsNoted, as on the command line, and is not run.
func TestWithoutARegistryAHookIsNoted(t *testing.T) {
	g := gomega.NewWithT(t)
	plan, errs := Compile(boxOf(t, `{reconciler: {hooks: {location: a, function: F}}}`), Env{CRD: websites(t)})
	g.Expect(errs).To(gomega.BeEmpty())
	g.Expect(plan.Notes).To(gomega.ContainElement(gomega.ContainSubstring("the hook is not run")))
	r, err := newPorts().run(plan, website(t, `{image: v1}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Waits).To(gomega.HaveLen(1))
}

// TestRightsOfAHook are those over its kinds, where the resources are.
func TestRightsOfAHook(t *testing.T) {
	g := gomega.NewWithT(t)
	h := onReconcile(func(context.Context, *call) error { return nil })
	managers := ruleTexts(hooked(t, h, listed, `workers: 1`).Required())
	g.Expect(managers).To(gomega.ContainElements("get,list,watch,create,patch,delete configmaps", "get,list,watch namespaces"))
	account := hooked(t, h, listed, `namespaces: {include: [team-a]}, serviceAccountRef: {namespace: team-a, name: shop}`)
	g.Expect(ruleTexts(account.Required())).To(gomega.ContainElements("get,create,patch,delete configmaps in team-a", "list,watch configmaps in team-a"))
	g.Expect(account.Retained()).To(gomega.ContainElements(configMapKind, compile.SecretKind), "what it may read is not let go of with each look at the box")
	own := account.Needed().Own
	g.Expect(ruleTexts(own)).NotTo(gomega.ContainElement("list,watch configmaps in team-a"), "whether it reads is not known")
	g.Expect(ruleTexts(account.Required())).NotTo(gomega.ContainElement(gomega.ContainSubstring("secrets")), "which it reads by Secret(name, key) is not known, nor whether it reads any")
	making := hooked(t, h, "resources: [{kind: Secret}]", `namespaces: {include: [team-a]}, serviceAccountRef: {namespace: team-a, name: shop}`)
	g.Expect(ruleTexts(making.Required())).To(gomega.ContainElement("get,create,patch,delete secrets in team-a"))
	elsewhere := webhooked(t, `url: "https://hooks.example.com"`, `namespaces: {include: [team-a]}, serviceAccountRef: {namespace: team-a, name: shop}`)
	g.Expect(ruleTexts(elsewhere.Required())).NotTo(gomega.ContainElement(gomega.ContainSubstring("secrets")), "a webhook reads none, and is sent those that are listed")
}

func TestTheOverviewShowsChildrenOfAHook(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := hooked(t, onReconcile(func(_ context.Context, c *call) error { return c.Apply(configMap("a", nil), hook.WithID("main")) }), listed, `workers: 1`)
	p := newPorts()
	r, err := p.run(plan, website(t, `{image: v1}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	all := plan.Overview(t.Context(), plan.NewRun(r.Stored, now, p.ports()), nil, comparer)
	at := slices.IndexFunc(all, func(s overview.Status) bool { return s.Declaration == "hook#main" })
	g.Expect(at).To(gomega.BeNumerically(">=", 0))
	g.Expect(all[at].Group + " " + string(all[at].State) + " " + all[at].Path).To(gomega.Equal("hook Ready spec.reconciler.hooks"))
}

// BenchmarkPureHookUnchanged is a cycle that finds nothing to do, of a box with five children: declared by templates, and by a pure hook that also
// reads an object and a list. The two take turns, so that what else the machine does meets both.
func BenchmarkPureHookUnchanged(b *testing.B) {
	calls := 0
	coded := hooked(b, onReconcile(func(ctx context.Context, c *call) error {
		calls++
		read, all := &corev1.ConfigMap{}, &corev1.ConfigMapList{}
		err := errors.Join(c.Get(ctx, client.ObjectKey{Namespace: "team-a", Name: "other"}, read), c.List(ctx, all, client.InNamespace("team-a")))
		for i := range 5 {
			err = errors.Join(err, c.Apply(configMap(fmt.Sprintf("c%d", i), read.Data)))
		}
		return err
	}), listed, `workers: 1`)
	declared := planOf(b, `onReconcile: {configmaps: [{name: c0, data: {a: "1"}}, {name: c1, data: {a: "1"}}, {name: c2, data: {a: "1"}}, {name: c3, data: {a: "1"}}, {name: c4, data: {a: "1"}}]}`)
	var took [2]time.Duration
	var unchanged [2]func() bool
	var worlds [2]*ports
	for i, plan := range []*Plan{declared, coded} {
		p := newPorts()
		p.others = append(p.others, asUnstructured(b, configMap("other", map[string]string{"a": "1"})))
		r, err := p.run(plan, website(b, benchSpec))
		if err == nil {
			r, err = p.run(plan, r.Stored)
		}
		if err != nil || len(p.children) != 5 {
			b.Fatal(err, len(p.children))
		}
		p.done()
		worlds[i], unchanged[i] = p, func() bool { return r.Inputs.Unchanged(&plan.Plan, r.Stored, p, now) }
	}
	before, n := calls, 0
	for b.Loop() {
		n++
		for i := range unchanged {
			began := time.Now()
			if !unchanged[i]() {
				b.Fatal("nothing has changed")
			}
			took[i] += time.Since(began)
		}
	}
	if calls != before || len(worlds[0].done())+len(worlds[1].done()) > 0 {
		b.Fatal("it was called, or something was written")
	}
	b.ReportMetric(float64(took[0].Nanoseconds())/float64(n), "templates-ns/op")
	b.ReportMetric(float64(took[1].Nanoseconds())/float64(n), "hook-ns/op")
}
