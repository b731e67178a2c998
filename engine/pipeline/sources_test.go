package pipeline

import (
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// Of several workloads, a Service is for the one that it names; that of its own group first, and the one of its own item.
func TestReferencesByID(t *testing.T) {
	for name, tc := range map[string]struct{ box, service, pods string }{
		"one of several": {
			`onReconcile: {deployments: [{id: web, name: a, image: x}, {id: db, name: b, image: x}], services: [{workload: db}]}`, "shop", "b",
		},
		"one of onCreate, from onReconcile": {
			`onCreate: {deployments: [{id: web, name: a, image: x}, {id: db, name: b, image: x}]}
onReconcile: {services: [{workload: db}]}`, "shop", "b",
		},
		"by the id that it has without one": {
			`onReconcile: {deployments: [{name: a, image: x}, {name: b, image: x}], services: [{workload: deployments/b}]}`, "shop", "b",
		},
		"the one of the same item": {
			`onReconcile: {deployments: [{id: web, name: a, image: x}, {id: each, name: "{{ .item }}", image: x, forEach: {field: spec.tags}}],
  services: [{name: "{{ .item }}-svc", workload: each, forEach: {field: spec.tags}}]}`, "t2-svc", "t2",
		},
		"although another one has a gate that is shut": {
			`onReconcile: {deployments: [{id: web, name: a, image: x}, {id: db, name: b, image: x, when: [{field: spec.tls, equals: true}]}], services: [{workload: db}]}`, "shop", "b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			world := newPorts()
			_, err := world.run(planOf(t, tc.box), website(t, `{tags: [t1, t2]}`))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			for _, service := range world.list(serviceKind, "u1") {
				if service.GetName() != tc.service {
					continue
				}
				selector, _, err := unstructured.NestedStringMap(service.Object, "spec", "selector")
				g.Expect(err).NotTo(gomega.HaveOccurred())
				g.Expect(selector).To(gomega.Equal(map[string]string{v1alpha1.LabelAppName: tc.pods, v1alpha1.LabelAppInstance: "shop"}))
				return
			}
			t.Fatalf("there is no Service %s", tc.service)
		})
	}
}

// A template may read the status without naming it: as part of all there is, with `condition "X" .`. The status is an input then, wherever that
// stands.
func TestWhoReadsTheWholeResourceReadsItsStatus(t *testing.T) {
	const read = `'{{ condition "X" . }}'`
	for name, box := range map[string]string{
		"a child":             `onReconcile: {configmaps: [{data: {a: ` + read + `}}]}`,
		"a gate":              `onReconcile: {configmaps: [{when: [{field: ` + read + `, equals: "True"}]}]}`,
		"CEL":                 `onReconcile: {configmaps: [{when: [{cel: '[self].size() > 0'}]}]}`,
		"what is current":     `onReconcile: {configmaps: [{readyWhen: [{field: ` + read + `, equals: "True"}]}]}`,
		"a loop":              `onReconcile: {configmaps: [{forEach: {field: '{{ list (condition "X" .) }}'}}]}`,
		"a patch":             `onReconcile: {patches: [{target: {apiVersion: v1, kind: ConfigMap, name: a}, patch: {data: {a: ` + read + `}}}]}`,
		"a value":             `{values: [{name: v, value: ` + read + `}], onReconcile: {configmaps: [{data: {a: "{{ .values.v }}"}}]}}`,
		"a value of CEL":      `{values: [{name: v, cel: '[self]'}], onReconcile: {configmaps: [{data: {a: "{{ .values.v | toJson }}"}}]}}`,
		"a field of status":   `status: {fields: [{path: phase, value: ` + read + `}]}`,
		"what is ready":       `status: {readyWhen: [{field: ` + read + `, equals: "True"}]}`,
		"normalize":           `normalize: {spec: {host: ` + read + `}}`,
		"mutation":            `mutation: {rules: [{field: spec.host, default: ` + read + `}]}`,
		"validation":          `validation: {rules: [{field: ` + read + `, equals: "True"}]}`,
		"a call":              `external: [{name: quota, url: "https://quota.example.com", query: {a: ` + read + `}}]`,
		"the name of another": `cross: [{name: db, apiVersion: v1, kind: ConfigMap, selector: {name: ` + read + `}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			gomega.NewWithT(t).Expect(planOf(t, box).ReadsStatus).To(gomega.BeTrue())
		})
	}
}
