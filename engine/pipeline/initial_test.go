package pipeline

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
)

var hpaKind = schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}

func TestReplicasOfWhatAnAutoscalerScalesAreLeftAlone(t *testing.T) {
	// living is an autoscaler of this resource for the Deployment "shop", from the declaration "scaler".
	living := func(change ...func(*unstructured.Unstructured)) func(p *ports) {
		return func(p *ports) {
			p.put(hpaKind, "shop", "scaler", append(change, func(c *unstructured.Unstructured) {
				c.Object["spec"] = map[string]any{"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop"}}
			})...)
		}
	}
	going := living(func(c *unstructured.Unstructured) { c.SetDeletionTimestamp(&metav1.Time{Time: now}) })
	const (
		web     = `deployments: [{image: a, replicas: 2}]`
		choice  = `, when: [{field: spec.tls, equals: true}]`
		wait    = `, when: [{field: children.deployment.status.readyReplicas, operator: gt, value: 0}]`
		asShort = `hpas: [{id: scaler, maxReplicas: 5`
	)
	manifest := func(target, more string) string {
		return `resources: [{id: scaler, manifest: {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: "{{ .metadata.name }}"}, spec: {maxReplicas: 5, scaleTargetRef: ` +
			target + `}}` + more + `}]`
	}
	cases := map[string]struct {
		box, spec string
		active    bool
		given     func(p *ports)
		want      bool
	}{
		"no autoscaler":                           {box: web},
		"its default target":                      {box: web + "\n  " + asShort + `}]`, want: true},
		"a manifest of one":                       {box: web + "\n  " + manifest(`{apiVersion: apps/v1, kind: Deployment, name: shop}`, ""), want: true},
		"one for something else":                  {box: web + "\n  " + manifest(`{apiVersion: apps/v1, kind: Deployment, name: other}`, "")},
		"one for another kind":                    {box: web + "\n  " + manifest(`{apiVersion: apps/v1, kind: StatefulSet, name: shop}`, "")},
		"a gate that is false":                    {box: web + "\n  " + asShort + choice + `}]`},
		"a gate that is true":                     {box: web + "\n  " + asShort + choice + `}]`, spec: `{tls: true}`, want: true},
		"a false choice deletes the living one":   {box: web + "\n  " + asShort + choice + `}]`, given: living()},
		"a false choice that keeps it":            {box: web + "\n  " + asShort + choice + `, whenFalse: Keep}]`, given: living(), want: true},
		"a false wait keeps the living one":       {box: web + "\n  " + asShort + wait + `}]`, given: living(), want: true},
		"a false wait, and the one there is goes": {box: web + "\n  " + asShort + wait + `}]`, given: going},
		"a false wait, and there is none":         {box: web + "\n  " + asShort + wait + `}]`},
		"onCreate, done":                          {box: web + "\nonCreate:\n  " + asShort + `}]`, active: true},
		"onCreate, done, and it lives":            {box: web + "\nonCreate:\n  " + asShort + `}]`, active: true, given: living(), want: true},
		"one that can't be rendered":              {box: web + "\n  " + manifest(`{apiVersion: apps/v1, kind: Deployment, name: "{{ .spec.host }}"}`, "")},
		"one that can't be rendered, and lives": {box: web + "\n  " + manifest(`{apiVersion: apps/v1, kind: Deployment, name: "{{ .spec.host }}"}`, ""),
			given: living(), want: true},
		"one that is made once keeps its target": {box: web + "\n  " + manifest(`{apiVersion: apps/v1, kind: Deployment, name: other}`, ", once: true"),
			given: living(), want: true},
		"one for each item, with a gate that reads it": {
			box: web + "\n  " + manifest(`{apiVersion: apps/v1, kind: Deployment, name: "{{ .item }}"}`,
				`, name: "{{ .item }}", forEach: {field: spec.tags, key: "{{ .item }}"}, when: [{field: item, notEquals: other}]`),
			spec: `{tags: [other, shop]}`, want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			p.kinds = func() []schema.GroupVersionKind { return append(p.allKinds(), hpaKind) }
			var initial []drift.FieldPath
			p.apply = func(ctx context.Context, owner apply.Owner, child apply.Child) (apply.Outcome, error) {
				if child.Object.GetKind() != "Deployment" {
					return apply.Outcome{}, errors.New("enough was seen")
				}
				initial = child.Initial
				return p.applyChild(ctx, owner, child)
			}
			if tc.given != nil {
				tc.given(p)
			}
			resource := website(t, tc.spec)
			if tc.active {
				resource.SetAnnotations(map[string]string{v1alpha1.AnnotationActiveSince: "2026-01-01T00:00:00Z"})
			}
			_, err := p.run(planOf(t, "onReconcile:\n  "+tc.box), resource)
			if err != nil {
				g.Expect(err.Error()).To(gomega.Or(gomega.HaveSuffix("enough was seen"), gomega.ContainSubstring("spec.host")))
			}
			want := []drift.FieldPath(nil)
			if tc.want {
				want = []drift.FieldPath{{"spec", "replicas"}}
			}
			g.Expect(initial).To(gomega.Equal(want))
		})
	}
}

func TestInitialFieldsAreHandedOn(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	var mu sync.Mutex
	got := map[string][]drift.FieldPath{}
	p.apply = func(ctx context.Context, owner apply.Owner, child apply.Child) (apply.Outcome, error) {
		mu.Lock()
		defer mu.Unlock()
		got[child.Object.GetName()] = child.Initial
		return p.applyChild(ctx, owner, child)
	}
	_, err := p.run(planOf(t, `
onReconcile:
  configmaps:
  - {name: a, initialFields: [data.x, "metadata.annotations['a/b']"]}
`), website(t, ""))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(got).To(gomega.Equal(map[string][]drift.FieldPath{
		"a": {{"data", "x"}, {"metadata", "annotations", "a/b"}},
	}))
}
