package declare

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/kinds"
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
		"after": {`{configmaps: [{id: a, name: a, after: [s, d]}, {id: b, name: b}], services: [{id: s, port: 80, after: [b]}], deployments: [{id: d, image: x}]}`,
			"b, s, d, a"},
		"its own child": {`{configmaps: [{id: a, name: a, data: {b: '{{ default "" .children.a.data.b }}'}}, {id: b, name: b}]}`,
			"a b"},
		"a ring, and one that reads it": {`{configmaps: [{id: z, name: z, data: {v: '{{ default "" .children.a.data.v }}'}},
  {id: a, name: a, data: {v: '{{ default "" .children.b.data.v }}'}}, {id: b, name: b, data: {v: '{{ default "" .children.a.data.v }}'}}, {id: c, name: c}]}`,
			"c, a, z b"},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			var waves []string
			for _, wave := range Waves(compiled(t, "onReconcile: "+tc.box).OnReconcile) {
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

// What reads everything must not take ever longer: a search for each of a ring, at each wave, would not end here.
func TestWavesWhereAllReadAll(t *testing.T) {
	g := gomega.NewWithT(t)
	const many = 1500
	kind, ok := kinds.Lookup("configmaps")
	g.Expect(ok).To(gomega.BeTrue())
	var ring, all []*Declaration
	for i := range many {
		all = append(all, &Declaration{Kind: kind, ID: fmt.Sprintf("reader-%d", i)})
		ring = append(ring, &Declaration{Kind: kind, ID: fmt.Sprintf("ring-%d", i)})
	}
	all = append(all, ring...)
	for _, d := range all {
		d.Reads.Children = slices.DeleteFunc(slices.Clone(ring), func(other *Declaration) bool { return other == d })
	}
	waves := Waves(all)
	g.Expect(waves).To(gomega.HaveLen(many + 1))
	for i, wave := range waves[:many] {
		g.Expect(slices.Equal(wave, ring[i:i+1])).To(gomega.BeTrue(), "wave %d", i)
	}
	g.Expect(waves[many]).To(gomega.HaveLen(many), "all readers")
}
