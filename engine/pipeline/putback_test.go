package pipeline

import (
	"context"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
)

func TestWhatIsSaidOfAChildThatWasPutBack(t *testing.T) {
	correction := func(path string, live, wanted any, setBy string) apply.Correction {
		return apply.Correction{Difference: drift.Difference{Path: path, Live: live, Wanted: wanted}, SetBy: setBy}
	}
	long := strings.Repeat("x", 100)
	for name, tc := range map[string]struct {
		box  string
		put  []apply.Correction
		want string
	}{
		"from what to what, and who had set it": {
			`deployments: [{image: a, replicas: 2}]`, []apply.Correction{correction("spec.replicas", int64(5), int64(2), "kubectl")},
			"put back Deployment/shop spec.replicas 5→2, set by kubectl",
		},
		"what somebody took away": {
			`deployments: [{image: a, replicas: 2}]`, []apply.Correction{correction("metadata.labels.team", nil, "a", "")},
			`put back Deployment/shop metadata.labels.team to "a"`,
		},
		"what somebody added": {
			`services: [{selector: {a: b}}]`, []apply.Correction{correction("spec.selector.c", "d", nil, "kubectl")},
			`put back Service/shop spec.selector.c from "d", set by kubectl`,
		},
		"fields of one manager, and of another": {
			`services: [{selector: {a: b}}]`,
			[]apply.Correction{correction("spec.a", int64(1), int64(2), "x"), correction("spec.b", int64(3), int64(4), "x"), correction("spec.c", int64(5), int64(6), "y")},
			"put back Service/shop spec.a 1→2, spec.b 3→4, set by x, spec.c 5→6, set by y",
		},
		"some, and how many more": {
			`services: [{selector: {a: b}}]`,
			[]apply.Correction{correction("a", nil, nil, "x"), correction("b", nil, nil, "x"), correction("c", nil, nil, "x"), correction("d", nil, nil, "x"),
				correction("e", nil, nil, "x"), correction("f", nil, nil, "x")},
			"put back Service/shop a, b, c, d, e, set by x, and 1 more",
		},
		"a value that is long": {
			`services: [{selector: {a: b}}]`, []apply.Correction{correction("spec.selector.a", long, "b", "kubectl")},
			`put back Service/shop spec.selector.a "` + strings.Repeat("x", 62) + `…→"b", set by kubectl`,
		},
		"nothing of data": {
			`configmaps: [{data: {a: b}}]`, []apply.Correction{correction("data.a", "hidden", "hidden", "kubectl")},
			"put back ConfigMap/shop data.a, set by kubectl",
		},
		"nothing of an annotation": {
			`services: [{selector: {a: b}}]`, []apply.Correction{correction("metadata.annotations.a", "hidden", "hidden", "kubectl")},
			"put back Service/shop metadata.annotations.a, set by kubectl",
		},
		"nothing of a pod template, but the image": {
			`deployments: [{image: a}]`, []apply.Correction{
				correction("spec.template.spec.containers[name=main].env[name=TOKEN].value", "hidden", "hidden", "x"),
				correction("spec.template.spec.containers[name=main].image", "evil:1", "a", "x"),
			},
			`put back Deployment/shop spec.template.spec.containers[name=main].env[name=TOKEN].value, spec.template.spec.containers[name=main].image "evil:1"→"a", set by x`,
		},
		"nothing of a Secret": {
			`secrets: [{type: Opaque, data: {a: b}}]`, []apply.Correction{correction("type", "hidden", "hidden", "x")},
			"put back Secret/shop type, set by x",
		},
		"nothing that a template read from a Secret": {
			`secrets: [{id: token, data: {a: b}}], services: [{selector: {a: "{{ .children.token.data.a }}"}}]`,
			[]apply.Correction{correction("spec.selector.a", "hidden", "hidden", "x")},
			"put back Service/shop spec.selector.a, set by x",
		},
		"no live value of a kind that is not known": {
			`resources: [{manifest: {apiVersion: demo.example.com/v1, kind: Shop, metadata: {name: shop}, spec: {a: "{{ .spec.image }}"}}}]`,
			[]apply.Correction{correction("spec.a", "hidden", "b", "x")},
			`put back Shop/shop spec.a to "b", set by x`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			for action, want := range map[apply.Action]string{apply.Corrected: tc.want, apply.Changed: ""} {
				world := newPorts()
				plan, stored := planOf(t, "onReconcile: {"+tc.box+"}"), website(t, `{image: a}`)
				apply0 := world.apply
				world.apply = func(ctx context.Context, owner apply.Owner, child apply.Child) (apply.Outcome, error) {
					out, err := apply0(ctx, owner, child)
					if child.ID != "token" {
						out.Action, out.Drift = action, tc.put
					}
					return out, err
				}
				world.kinds = func() []schema.GroupVersionKind { return append(world.allKinds(), compile.SecretKind) }
				r, err := world.run(plan, stored)
				g.Expect(err).NotTo(gomega.HaveOccurred())
				messages := ""
				for _, e := range r.Events {
					g.Expect(e.Reason).To(gomega.Equal(v1alpha1.ReasonPutBack))
					g.Expect(e.Warning).To(gomega.BeFalse())
					g.Expect(e.Related.Name).To(gomega.Equal("shop"))
					g.Expect(e.Related.FieldPath).To(gomega.HavePrefix(tc.put[0].Path), "another field is another event")
					g.Expect(e.Related.FieldPath).To(gomega.HaveSuffix(tc.put[min(len(tc.put), 5)-1].Path))
					messages += e.Message
				}
				g.Expect(messages).To(gomega.Equal(want), "%s", action)
			}
		})
	}
}
