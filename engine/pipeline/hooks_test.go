package pipeline

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/hook"
)

type call = hook.Call[*unstructured.Unstructured]

// hooked compiles a box with hooks that are compiled in.
func hooked(tb testing.TB, h hook.Hooks[*unstructured.Unstructured], hooks, rest string) *Plan {
	tb.Helper()
	plan, errs := Compile(boxOf(tb, `{reconciler: {hooks: {location: example.com/op, function: Hooks, `+hooks+`}}, `+rest+`}`), Env{CRD: websites(tb), Code: registryOf(tb, h)})
	gomega.NewWithT(tb).Expect(errs).To(gomega.BeEmpty())
	return plan
}

// registryOf has hooks as its only function.
func registryOf(tb testing.TB, h hook.Hooks[*unstructured.Unstructured]) *hook.Registry {
	tb.Helper()
	g := gomega.NewWithT(tb)
	r, err := hook.NewRegistry()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(hook.AddHooks(r, "example.com/op.Hooks", func() hook.Hooks[*unstructured.Unstructured] { return h })).To(gomega.Succeed())
	return r
}

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
}

// TestAHookDeclaresChildren, which templates read, and which go when they are declared no more.
func TestAHookDeclaresChildren(t *testing.T) {
	g := gomega.NewWithT(t)
	names := []string{"a", "b"}
	plan := hooked(t, hook.Hooks[*unstructured.Unstructured]{Pure: true, OnReconcile: func(_ context.Context, c *call) error {
		image, _, _ := unstructured.NestedString(c.Resource.Object, "spec", "image")
		for _, name := range names {
			if err := c.Apply(configMap(name, map[string]string{"image": image}), hook.WithID(name)); err != nil {
				return err
			}
		}
		return errors.Join(c.SetStatus("phase", "made"), c.SetStatus("replicas", len(names)))
	}}, `resources: [{kind: ConfigMap}]`, `status: {fields: [{path: message, value: "{{ .children.hook.a.data.image }}"}]}`)
	p := newPorts()
	r, res := shownBy(g, p, plan, website(t, `{image: v1}`))
	g.Expect(p.done()).To(gomega.ConsistOf("mark Website/shop", "create ConfigMap/a", "create ConfigMap/b"))
	g.Expect(res.Ready.Status).To(gomega.Equal(metav1.ConditionTrue), res.Ready.Message)
	fields := map[string]any{}
	for _, f := range res.Fields {
		fields[f.Path[0]] = f.Value
	}
	g.Expect(fields).To(gomega.Equal(map[string]any{"phase": "made", "replicas": int64(2), "message": "v1"}))
	names = []string{"b"}
	_, _ = shownBy(g, p, plan, r.Stored)
	g.Expect(p.done()).To(gomega.Equal([]string{"delete ConfigMap/a"}))
}

// TestAHookThatWaitsOrFailsLosesNothing: what it has made stays.
func TestAHookThatWaitsOrFailsLosesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		end  error
		want string
	}{
		"waits":  {fmt.Errorf("the import runs: %w", hook.ErrWait), "Reconciling: hook: the import runs"},
		"fails":  {errors.New("no such table"), "Ready: hook: no such table"},
		"panics": {nil, `Ready: hook: panic: hooks_test\.go:\d+: a bug$`},
		"exits":  {nil, `Ready: hook: panic: hooks_test\.go:\d+: runtime\.Goexit was called, as t\.FailNow does; return an error instead$`},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			ends := false
			plan := hooked(t, hook.Hooks[*unstructured.Unstructured]{OnReconcile: func(_ context.Context, c *call) error {
				switch {
				case !ends:
					return errors.Join(c.Apply(configMap("a", nil)), c.Apply(configMap("b", nil)))
				case name == "panics":
					panic("a bug")
				case name == "exits":
					runtime.Goexit()
					return nil
				default:
					return errors.Join(c.Apply(configMap("a", nil)), tc.end)
				}
			}}, `resources: [{kind: ConfigMap}]`, `workers: 1`)
			p := newPorts()
			r, _ := shownBy(g, p, plan, website(t, `{image: v1}`))
			p.done()
			ends = true
			r, err := p.run(plan, r.Stored)
			g.Expect(p.done()).To(gomega.BeEmpty())
			g.Expect(p.children).To(gomega.HaveLen(2))
			res, _ := r.Result(t.Context(), err)
			g.Expect([]string{"Ready: " + res.Ready.Message, "Reconciling: " + res.Reconciling.Message}).To(gomega.ContainElement(gomega.MatchRegexp("^" + tc.want)))
		})
	}
}

// TestAKindThatIsNotListed is an error that names both.
func TestAKindThatIsNotListed(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := hooked(t, hook.Hooks[*unstructured.Unstructured]{OnReconcile: func(_ context.Context, c *call) error {
		return c.Apply(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	}}, `resources: [{kind: ConfigMap}]`, `workers: 1`)
	_, err := newPorts().run(plan, website(t, `{image: v1}`))
	expectStep(g, err, "hook", Permanent, v1alpha1.ReasonInvalidChild)
	g.Expect(err.Error()).To(gomega.And(gomega.ContainSubstring("v1/Service"), gomega.ContainSubstring("v1/ConfigMap")))
}
