package pipeline

import (
	"context"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
)

func TestAValueThatDoesNotFitIsShownWhereItIsTheResourcesOwn(t *testing.T) {
	const others = "cross: [{name: s, apiVersion: v1, kind: Secret, selector: {name: creds}}]\n"
	long := strings.Repeat("x", 70)
	cases := map[string]struct{ box, spec, want string }{
		"a short field":          {`onReconcile: {deployments: [{image: a, replicas: "{{ .spec.host }}"}]}`, `{host: many}`, `replicas: want 32-bit integer, got string "many"`},
		"inside of a list":       {`onReconcile: {deployments: [{image: a, ports: [{containerPort: "{{ .spec.host }}"}]}]}`, `{host: many}`, `ports[0].containerPort: want 32-bit integer, got string "many"`},
		"the overlay":            {`onReconcile: {deployments: [{image: a, spec: {minReadySeconds: "{{ .spec.host }}"}}]}`, `{host: many}`, `spec.minReadySeconds: want 32-bit integer, got string "many"`},
		"an item of the spec":    {`onReconcile: {deployments: [{name: "{{ .key }}", image: a, replicas: "{{ .item }}", forEach: {field: spec.tags}}]}`, `{tags: [many]}`, `want 32-bit integer, got string "many"`},
		"its beginning alone":    {`onReconcile: {deployments: [{image: a, replicas: "{{ .spec.host }}"}]}`, `{host: ` + long + `}`, `got string "` + long[:64] + `"`},
		"beside one of a Secret": {others + `onReconcile: {deployments: [{image: "{{ .cross.s.data.word }}", replicas: "{{ .spec.host }}"}]}`, `{host: many}`, `got string "many"`},
		"of a Secret":            {others + `onReconcile: {deployments: [{image: a, replicas: "{{ .cross.s.data.word }}"}]}`, `{}`, `replicas: want 32-bit integer, got string`},
		"partly of a Secret":     {others + `onReconcile: {deployments: [{image: a, replicas: "{{ .spec.host }}{{ .cross.s.data.word }}"}]}`, `{host: many}`, `replicas: want 32-bit integer, got string`},
		"in the overlay, of a Secret": {
			others + `onReconcile: {deployments: [{image: "{{ .spec.host }}", spec: {minReadySeconds: "{{ .cross.s.data.word }}"}}]}`, `{host: many}`, `spec.minReadySeconds: want 32-bit integer, got string`,
		},
		"of the box":        {`onReconcile: {deployments: [{image: a, replicas: "{{ .box.name }}"}]}`, `{}`, `replicas: want 32-bit integer, got string`},
		"a status field":    {`status: {fields: [{path: replicas, value: "{{ .spec.host }}"}]}`, `{host: many}`, `fields: status.replicas: wanted integer, got string "many"`},
		"one of a metadata": {`status: {fields: [{path: replicas, value: "{{ .metadata.uid }}"}]}`, `{}`, `fields: status.replicas: wanted integer, got string`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			p.others = []*unstructured.Unstructured{other(compile.SecretKind, "team-a", "creds", map[string]any{"data": map[string]any{"word": "aHVudGVyMg=="}})}
			r, err := p.run(planOf(t, tc.box), website(t, tc.spec))
			if err == nil {
				_, err = r.Result(context.Background(), nil)
			}
			g.Expect(err).To(gomega.HaveOccurred())
			g.Expect(AsStepError(err).Reason).To(gomega.Equal(v1alpha1.ReasonTemplateError))
			g.Expect(err.Error()).To(gomega.HaveSuffix(tc.want))
		})
	}
}
