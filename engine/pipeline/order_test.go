package pipeline

import (
	"reflect"
	"slices"
	"testing"

	"github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
)

// goldenOrder is what docs and users rely on: a change here is a change of behavior.
var goldenOrder = []string{
	"deletion",
	"metadata",
	"dependencies",
	"normalize",
	"mutation",
	"validation",
	"cross",
	"external",
	"outputs",
	"hook",
	"dryRun",
	"onCreate",
	"onReconcile",
	"hook",
	"prune",
	"patches",
	"providers",
	"settle",
	"active",
}

// always are the stages that every box has.
var always = []string{"deletion", "metadata", "prune", "patches", "providers"}

const fullBox = `
dependsOn: [{name: other}]
normalize: {spec: {image: "{{ .spec.image | lower }}"}}
mutation: {rules: [{field: spec.replicas, default: 1}]}
validation: {rules: [{field: spec.replicas, operator: lte, value: 10}]}
cross: [{name: other, box: other}]
external: [{name: other, url: "https://example.com"}]
providers: {any: [{id: made, thing: {name: a}}]}
onCreate: {configmaps: [{name: first}]}
onReconcile: {configmaps: [{name: second}]}
onDelete: {configmaps: [{name: last}]}
rollBackOnError: true
`

func TestOrder(t *testing.T) {
	g := gomega.NewWithT(t)
	var names []string
	for _, entry := range order() {
		names = append(names, entry.name)
	}
	g.Expect(names).To(gomega.Equal(goldenOrder))
}

func TestPlansKeepTheOrder(t *testing.T) {
	cases := map[string]struct {
		box  string
		want []string
	}{
		"a box that uses all but a hook": {fullBox, slices.DeleteFunc(slices.Clone(goldenOrder), func(name string) bool { return name == "hook" })},
		"a hook":                         {`{reconciler: {hooks: {location: a, function: F}}}`, []string{"deletion", "metadata", "hook", "prune", "patches", "providers", "active"}},
		"a hook that runs first":         {`{reconciler: {hooks: {location: a, function: F, runHooksFirst: true}}, onReconcile: {configmaps: [{name: a}]}}`, []string{"deletion", "metadata", "hook", "onReconcile", "prune", "patches", "providers", "active"}},
		"an empty box":                   {"{}", always},
		"empty sections":                 {"{normalize: {}, mutation: {rules: []}, validation: {}, onCreate: {}, onReconcile: {configmaps: []}}", always},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			var names []string
			for _, s := range planOf(t, tc.box).stages {
				names = append(names, s.Name())
			}
			g.Expect(names).To(gomega.Equal(tc.want))
		})
	}
}

func TestUnusedStagesAreNil(t *testing.T) {
	for _, entry := range order() {
		t.Run(entry.name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			env := Env{CRD: websites(t)}
			box := &compile.Box{OperatorBox: boxOf(t, "{}"), Env: env, Scope: expr.NewScope(env.CRD.Schema)}
			c := &compiler{Box: box, plan: &Plan{}, declared: &declare.Set{}}
			s := entry.compile(c)
			if slices.Contains(always, entry.name) {
				g.Expect(s.Name()).To(gomega.Equal(entry.name))
				return
			}
			if s != nil { // gomega takes a nil inside of an interface for nil
				t.Errorf("a stage that is not used must be nil, not a nil inside of an interface: %v", reflect.TypeOf(s))
			}
		})
	}
}
