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
