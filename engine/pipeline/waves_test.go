package pipeline

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/pipeline/declare"
)

func TestWaves(t *testing.T) {
	for name, tc := range map[string]struct{ box, want string }{
		"by rank, then as declared": {`{deployments: [{id: d, image: x}], configmaps: [{id: b, name: b}, {id: a, name: a}], services: [{id: s, port: 80}]}`,
			"b a, s, d"},
		"a gate": {`{deployments: [{id: d, image: x, when: [{field: "{{ jobSucceeded .children.j }}", equals: true}]}], jobs: [{id: j, image: x}], services: [{id: s, port: 80}]}`,
			"s, j, d"},
		"a template, against the rank": {`{deployments: [{id: d, image: x}], configmaps: [{id: c, data: {ip: "{{ .children.service.spec.clusterIP }}"}}], services: [{id: s, port: 80}]}`,
			"s, c, d"},
		"inside a rank": {`{configmaps: [{id: a, name: a, data: {b: "{{ .children.b.metadata.uid }}"}}, {id: b, name: b}, {id: c, name: c}]}`,
			"b c, a"},
		"a loop": {`{configmaps: [{id: a, name: "a-{{ .key }}", forEach: {field: children.service.metadata.labels}}], services: [{id: s, port: 80, selector: {a: b}}]}`,
			"s, a"},
		"a name": {`{configmaps: [{id: a, name: "{{ .children.service.metadata.name }}"}], services: [{id: s, port: 80, selector: {a: b}}]}`,
			"s, a"},
		"all of a kind": {`{configmaps: [{id: a, data: {n: "{{ len .children.services }}"}}], services: [{id: s, name: s, port: 80, selector: {a: b}}, {id: t, name: t, port: 80, selector: {a: b}}]}`,
			"s t, a"},
		"its own child": {`{configmaps: [{id: a, name: a, data: {b: '{{ default "" .children.a.data.b }}'}}, {id: b, name: b}]}`,
			"a b"},
		"a ring, and one that reads it": {`{configmaps: [{id: z, name: z, data: {v: '{{ default "" .children.a.data.v }}'}},
  {id: a, name: a, data: {v: '{{ default "" .children.b.data.v }}'}}, {id: b, name: b, data: {v: '{{ default "" .children.a.data.v }}'}}, {id: c, name: c}]}`,
			"c, a, z b"},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			plan := planOf(t, "onReconcile: "+tc.box)
			var waves []string
			for _, wave := range declare.Waves(plan.declared.OnReconcile) {
				var ids []string
				for _, d := range wave {
					ids = append(ids, d.ID)
				}
				waves = append(waves, strings.Join(ids, " "))
			}
			g.Expect(strings.Join(waves, ", ")).To(gomega.Equal(tc.want))
		})
	}
}
