package pipeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

func TestForEachOverSeveral(t *testing.T) {
	const nested = `{any: [{name: eu, zones: [a, b]}, {name: us, zones: []}, {name: ap}, {name: sa, zones: [c]}]}`
	cases := map[string]struct {
		name, loop, value, spec string
		want                    []string
	}{
		"lists": {
			"m-{{ .size }}-{{ .tag }}", `{loops: [{field: spec.tags, as: tag}, {field: spec.replicas, as: size}]}`, "{{ .index }}/{{ .key }}", `{tags: [a, b], replicas: 2}`,
			[]string{"m-0-a=0/0 map#m-0-a", "m-0-b=2/2 map#m-0-b", "m-1-a=1/1 map#m-1-a", "m-1-b=3/3 map#m-1-b"},
		},
		"lists with a key": {
			"m-{{ .key }}", `{loops: [{field: spec.tags, as: tag}, {field: spec.replicas, as: size}], key: "{{ .tag }}-{{ .size }}"}`, "{{ .item.tag }}{{ .item.size }}", `{tags: [a, b], replicas: 1}`,
			[]string{"m-a-0=a0 map#a-0", "m-b-0=b0 map#b-0"},
		},
		"a map and a number: the key is theirs together": {
			"m-{{ .part }}-{{ .nth }}", `{loops: [{field: spec.database, as: part}, {field: spec.replicas, as: nth}]}`, "{{ .key }}", `{replicas: 1, database: {size: 3, name: x}}`,
			[]string{"m-3-0=size#0 map#size#0", "m-x-0=name#0 map#name#0"},
		},
		"a later loop reads an earlier item": {
			"m-{{ .region.name }}-{{ .zone }}", `{loops: [{field: spec.any, as: region}, {field: region.zones, as: zone}]}`, "{{ .item.region.name }}", nested,
			[]string{"m-eu-a=eu map#m-eu-a", "m-eu-b=eu map#m-eu-b", "m-sa-c=sa map#m-sa-c"},
		},
		"three, and a template": {
			"m-{{ .a }}{{ .b }}{{ .c }}", `{loops: [{field: spec.replicas, as: a}, {field: "{{ until .a }}", as: b}, {field: spec.tags, as: c}]}`, "{{ .index }}", `{replicas: 3, tags: [x]}`,
			[]string{"m-10x=0 map#m-10x", "m-20x=1 map#m-20x", "m-21x=2 map#m-21x"},
		},
		"one of them is absent": {
			"m-{{ .a }}-{{ .b }}", `{loops: [{field: spec.replicas, as: a}, {field: spec.tags, as: b}]}`, "x", `{replicas: 3}`, nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			plan := planOf(t, fmt.Sprintf(loop, tc.name, tc.loop, tc.value))
			r, err := p.run(plan, website(t, tc.spec))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(made(p)).To(gomega.Equal(tc.want))
			p.done()
			_, err = p.run(plan, r.Stored)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(p.done()).To(gomega.BeEmpty(), "what stands is neither written again nor pruned")
		})
	}
}

// The loops of a forEach are those of Go: random lists inside of each other, in order, and exactly what goes is pruned.
func TestForEachOverSeveralIsLoopsInsideOfEachOther(t *testing.T) {
	for seed := range uint64(100) {
		g := gomega.NewWithT(t)
		rnd := rand.New(rand.NewPCG(seed, 4))
		p := newPorts()
		plan := planOf(t, fmt.Sprintf(loop, "m-{{ .row.name }}-{{ .cell }}-{{ .nth }}",
			`{loops: [{field: spec.any, as: row}, {field: row.cells, as: cell}, {field: spec.replicas, as: nth}]}`, "{{ .index }}"))
		stored := website(t, "{}")
		for range 3 {
			rows, times := []any{}, rnd.Int64N(3)
			var want []string
			for i := range rnd.IntN(4) {
				cells := []any{}
				for _, j := range rnd.Perm(4)[:rnd.IntN(4)] {
					cells = append(cells, fmt.Sprintf("c%d", j))
					for n := range times {
						want = append(want, fmt.Sprintf("m-r%d-c%d-%d=%d map#m-r%d-c%d-%d", i, j, n, len(want), i, j, n))
					}
				}
				rows = append(rows, map[string]any{"name": fmt.Sprintf("r%d", i), "cells": cells})
			}
			stored = stored.DeepCopy()
			g.Expect(unstructured.SetNestedMap(stored.Object, map[string]any{"any": rows, "replicas": times}, "spec")).To(gomega.Succeed())
			r, err := p.run(plan, stored)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			slices.Sort(want)
			g.Expect(made(p)).To(gomega.Equal(want), "seed %d: %v", seed, stored.Object["spec"])
			stored = r.Stored
		}
	}
}

func TestForEachOverSeveralRefusesAtRunTime(t *testing.T) {
	cases := map[string]struct{ loop, spec, reason, want string }{
		"a product that is too large": {
			`{loops: [{field: spec.replicas, as: a}, {field: "{{ until 40 }}", as: b}]}`, `{replicas: 26}`, v1alpha1.ReasonBudgetExceeded,
			"map: forEach: spec.replicas × {{ until 40 }} has more than 1000 items, which is as many children as a resource may have",
		},
		"an outer loop that is too large, around one without items": {
			`{loops: [{field: spec.replicas, as: a}, {field: spec.tags, as: b}]}`, `{replicas: 2000000000}`, v1alpha1.ReasonBudgetExceeded,
			"spec.replicas × spec.tags has more than 1000 items",
		},
		"not a list, inside of another": {
			`{loops: [{field: spec.any, as: a}, {field: a.zones, as: b}]}`, `{any: [{zones: eu}]}`, v1alpha1.ReasonTemplateError,
			"forEach: a.zones: wanted a list, a map or a number, got string",
		},
		"one key twice": {
			`{loops: [{field: spec.tags, as: a}, {field: spec.replicas, as: b}], key: "{{ .a }}"}`, `{tags: [x], replicas: 2}`, v1alpha1.ReasonDuplicateChild,
			`items 0 and 1 of spec.tags × spec.replicas both have the key "x"`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			p.put(configMapKind, "old", "map#7")
			_, err := p.run(planOf(t, fmt.Sprintf(loop, "same", tc.loop, "x")), website(t, tc.spec))
			expectStep(g, err, stage.StepOnReconcile, classFor(tc.reason), tc.reason)
			g.Expect(err.Error()).To(gomega.ContainSubstring(tc.want))
			g.Expect(p.done()).To(gomega.Equal([]string{"mark Website/shop"}), "nothing is made, and nothing pruned")
		})
	}
}

func TestMistakesOfForEachOverSeveral(t *testing.T) {
	cases := map[string]struct{ loops, data, want string }{
		"neither field nor loops": {`{key: "{{ .item }}"}`, "x", "forEach: Invalid value: \"\": wanted either field, for one loop, or loops, for several inside of each other"},
		"both":                    {`{field: spec.tags, loops: [{field: spec.tags, as: a}, {field: spec.replicas, as: b}]}`, "x", "wanted either field, for one loop, or loops"},
		"a name beside the loops": {`{as: x, loops: [{field: spec.tags, as: a}, {field: spec.replicas, as: b}]}`, "x", `forEach.as: Invalid value: "x": with loops, each of them has a name of its own`},
		"one name twice":          {`{loops: [{field: spec.tags, as: a}, {field: spec.replicas, as: a}]}`, "x", `forEach.loops[1].as: Duplicate value: "a"`},
		"a name that is taken":    {`{loops: [{field: spec.tags, as: spec}, {field: spec.replicas, as: b}]}`, "x", `forEach.loops[0].as: Invalid value: "spec": templates know this name already`},
		"a name of all loops":     {`{loops: [{field: spec.tags, as: item}, {field: spec.replicas, as: b}]}`, "x", `forEach.loops[0].as: Invalid value: "item": templates know this name already`},
		"the name of the values":  {`{loops: [{field: spec.tags, as: values}, {field: spec.replicas, as: b}]}`, "x", `forEach.loops[0].as: Invalid value: "values": templates know this name already`},
		"many for every resource": {`{loops: [{field: "{{ until 40 }}", as: a}, {field: "{{ until 26 }}", as: b}]}`, "x", `forEach: Invalid value: "{{ until 40 }} × {{ until 26 }}": {{ until 40 }} × {{ until 26 }} has more than 1000 items`},
		"a text, in every one":    {`{field: "{{ upper \"a\" }}"}`, "x", `wanted a list, a map or a number, got string`},
		"an item of a later loop": {`{loops: [{field: b.list, as: a}, {field: spec.any, as: b}]}`, "x", `forEach.loops[0].field: Invalid value: "b.list"`},
		"its own item":            {`{loops: [{field: spec.any, as: a}, {field: b.list, as: b}]}`, "x", `forEach.loops[1].field: Invalid value: "b.list"`},
		"a path through an item":  {`{loops: [{field: spec.tags, as: a}, {field: spec.any, as: b}]}`, "{{ .a.name }}", `.a.name`},
		"the same through .item":  {`{loops: [{field: spec.tags, as: a}, {field: spec.any, as: b}]}`, "{{ .item.c }}", `.item.c`},
		"a text":                  {`{loops: [{field: spec.tags, as: a}, {field: a, as: b}]}`, "x", "forEach.loops[1].field: Invalid value: \"a\": a is a string; wanted a list, a map or a number"},
		"a key that is literal":   {`{loops: [{field: spec.tags, as: a}, {field: spec.any, as: b}], key: x}`, "x", "every item would have this key"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			_, errs := Compile(boxOf(t, fmt.Sprintf(`onReconcile: {configmaps: [{name: x, forEach: %s, data: {v: %q}}]}`, tc.loops, tc.data)), Env{CRD: websites(t)})
			g.Expect(messages(errs)).To(gomega.ConsistOf(gomega.ContainSubstring(tc.want)))
		})
	}
}

// What is read through the item of a later loop came from the field of the first.
func TestWhatIsShownOfLoopsOverOthers(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := planOf(t, `
cross: [{name: other, apiVersion: v1, kind: ConfigMap, selector: {name: s}}]
onReconcile:
  configmaps:
  - {id: open, name: "{{ .a }}-{{ .b }}", forEach: {loops: [{field: spec.tags, as: a}, {field: spec.replicas, as: b}], key: "{{ .a }}{{ .b }}"}}
  - {id: hidden, name: "{{ .b }}", forEach: {loops: [{field: cross.other.data, as: a}, {field: "{{ list .a }}", as: b}], key: "{{ .b }}"}}
`)
	g.Expect(plan.declared.Named("open#x").ShowsKeys()).To(gomega.BeTrue())
	g.Expect(plan.declared.Named("hidden#x").ShowsKeys()).To(gomega.BeFalse())
}

func TestDeclarationsThatGoOverTheSameLoops(t *testing.T) {
	const same = `forEach: {loops: [{field: spec.tags, as: a}, {field: spec.replicas, as: b}], key: "{{ .a }}-{{ .b }}"}, name: "{{ .key }}"`
	g := gomega.NewWithT(t)
	p := newPorts()
	_, err := p.run(planOf(t, `
onReconcile:
  deployments: [{image: x, port: 8080, `+same+`}]
  services: [{`+same+`}]
`), website(t, `{tags: [a], replicas: 2}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.children).To(gomega.HaveLen(4))
	_, errs := Compile(boxOf(t, `
onReconcile:
  deployments: [{image: x, port: 8080, `+same+`}]
  services: [{forEach: {loops: [{field: spec.tags, as: a}, {field: spec.any, as: b}]}, name: "{{ .a }}"}]
`), Env{CRD: websites(t)})
	g.Expect(messages(errs)).NotTo(gomega.BeEmpty(), "whose selector and port is it?")
}
