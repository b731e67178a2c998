package outside

import (
	"context"
	"encoding/base64"
	"iter"
	"maps"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/test/fixtures"
)

// now is the time at which the tests run.
var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const websiteSchema = `
type: object
properties:
  spec:
    type: object
    properties:
      image: {type: string}
      host: {type: string}
      replicas: {type: integer}
      tls: {type: boolean}
      tags: {type: array, items: {type: string}}
`

const readsQuota = `
external:
- name: quota
  url: "https://quota.example.com/v1/{{ .metadata.namespace }}"
`

// websites is the CRD that the boxes of these tests serve.
func websites(tb testing.TB) compile.CRD {
	tb.Helper()
	crd := compile.CRD{Name: "websites.demo.example.com", Namespaced: true}
	if err := yaml.UnmarshalStrict([]byte(websiteSchema), &crd.Schema); err != nil {
		tb.Fatal(err)
	}
	return crd
}

// plan is a box of which only what is read from outside is compiled.
type plan struct {
	stage.Plan

	ObservedKinds []schema.GroupVersionKind
	stages        []stage.Stage[*stage.Cycle]
}

func compiled(tb testing.TB, spec string, env compile.Env) (*plan, field.ErrorList) {
	tb.Helper()
	box := &v1alpha1.OperatorBox{}
	if err := yaml.UnmarshalStrict([]byte(spec), &box.Spec); err != nil {
		tb.Fatal(err)
	}
	scope := expr.NewScope(env.CRD.Schema).WithNames(compile.RootCross, CrossSchemas(box, env, false)).WithNames(compile.RootExternal, CallSchemas(box))
	b := &compile.Box{OperatorBox: box, Env: env, Scope: scope}
	p := &plan{Plan: stage.Plan{Box: "website", Runtime: stage.Runtime{Resync: time.Minute}}}
	for _, s := range stagesOf(b) {
		if s != nil {
			p.stages = append(p.stages, s)
		}
	}
	p.ObservedKinds = b.ObservedKinds
	return p, b.Mistakes()
}

func stagesOf(b *compile.Box) []stage.Stage[*stage.Cycle] {
	reads, calls, _ := Compile(b)
	return []stage.Stage[*stage.Cycle]{reads, calls}
}

// planOf compiles what has no mistakes.
func planOf(tb testing.TB, spec string) *plan {
	tb.Helper()
	p, errs := compiled(tb, spec, compile.Env{CRD: websites(tb)})
	if len(errs) > 0 {
		tb.Fatalf("the box does not compile: %v", errs.ToAggregate())
	}
	return p
}

func messages(errs field.ErrorList) []string {
	var out []string
	for _, e := range errs {
		out = append(out, e.Error())
	}
	return out
}

// website is a resource whose spec is the given YAML.
var website = fixtures.Resource

// secret is a Secret whose values are given plainly.
func secret(namespace, name string, values map[string]string) *unstructured.Unstructured {
	data := map[string]any{}
	for k, v := range values {
		data[k] = base64.StdEncoding.EncodeToString([]byte(v))
	}
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	maps.Copy(obj.Object, map[string]any{"data": data})
	obj.SetGroupVersionKind(compile.SecretKind)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	obj.SetUID(types.UID(namespace + name))
	obj.SetResourceVersion("1")
	return obj
}

// caller is what there is outside: objects, and a host that answers calls. It keeps what it was asked.
type caller struct {
	others []*unstructured.Unstructured
	asked  []*external.Request
	answer func(q *external.Request) (*external.Answer, error)
}

// callable gives one whose calls are answered by a function; nil: 200, with the body {"limit": 5}.
func callable(answer func(q *external.Request) (*external.Answer, error)) *caller {
	if answer == nil {
		answer = func(*external.Request) (*external.Answer, error) {
			return &external.Answer{Status: 200, Body: map[string]any{"limit": int64(5)}}, nil
		}
	}
	return &caller{answer: answer}
}

// cycle runs the stages of a plan for a resource.
func (c *caller) cycle(p *plan, stored *unstructured.Unstructured) (*stage.Cycle, error) {
	cycle := stage.NewCycle(&p.Plan, stored, now, stage.Ports{Observer: c, Caller: c, Marker: c})
	cycle.Children = c
	for _, s := range p.stages {
		if next, err := s.Run(context.Background(), cycle); err != nil {
			return cycle, stage.Classify(s.Name(), err)
		} else if next != stage.Next {
			break
		}
	}
	return cycle, nil
}

func (c *caller) Call(_ context.Context, q *external.Request) (*external.Answer, error) {
	c.asked = append(c.asked, q)
	return c.answer(q)
}

func (c *caller) Get(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	for _, obj := range c.others {
		if obj.GroupVersionKind() == kind && obj.GetNamespace() == namespace && obj.GetName() == name {
			return obj
		}
	}
	return nil
}

func (*caller) Observe(context.Context, schema.GroupVersionKind) error { return nil }
func (*caller) Box(string) schema.GroupVersionKind                     { return schema.GroupVersionKind{} }
func (*caller) Dependency(string) stage.DependencyState                { return stage.DependencyState{} }
func (*caller) Kinds() []schema.GroupVersionKind                       { return nil }
func (*caller) All() []*unstructured.Unstructured                      { return nil }
func (*caller) View() map[string]any                                   { return nil }
func (*caller) Foresee(context.Context, []expr.Path)                   {}

func (*caller) ReadersOf(context.Context, []compile.Outside) []string { return nil }

func (*caller) Select(schema.GroupVersionKind, string, labels.Selector) []*unstructured.Unstructured {
	return nil
}

func (*caller) Versions(schema.GroupVersionKind, *unstructured.Unstructured) iter.Seq2[types.UID, string] {
	return func(func(types.UID, string) bool) {}
}

func (*caller) Owned(schema.GroupVersionKind, *unstructured.Unstructured) []*unstructured.Unstructured {
	return nil
}

func (*caller) Mark(_ context.Context, resource *unstructured.Unstructured, marks apply.Marks) (*unstructured.Unstructured, error) {
	answer := resource.DeepCopy()
	answer.SetAnnotations(marks.Annotations)
	return answer, nil
}

func (*caller) Finish(context.Context, *unstructured.Unstructured, []string) error { return nil }

func (*caller) Gone(context.Context, *unstructured.Unstructured) (bool, error) { return false, nil }
