package pipeline

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestWhatReadsAChildThatIsSwitchedOff is told so, and by which condition: it is not there yet only where it may come by itself.
func TestWhatReadsAChildThatIsSwitchedOff(t *testing.T) {
	const off = `spec.tls: wanted equals true, actual false`
	for name, tc := range map[string]struct {
		box  string
		want []string
	}{
		"a template": {
			`onReconcile: {configmaps: [{id: certificate, when: [{field: spec.tls, equals: true}], data: {a: b}}, {name: reads, data: {a: "{{ .children.certificate.data.a }}"}}]}`,
			[]string{"configmaps/reads: children.certificate.data.a is not there: certificate is switched off: " + off},
		},
		"a condition": {
			`onReconcile: {configmaps: [{id: certificate, when: [{field: spec.tls, equals: true}], data: {a: b}},
				{name: asks, when: [{field: children.certificate.metadata.name, equals: shop}], data: {a: b}}]}`,
			[]string{"configmaps/asks: children.certificate.metadata.name: wanted equals shop, actual absent; certificate is switched off: " + off},
		},
		"an expression": {
			`onReconcile: {configmaps: [{id: certificate, when: [{field: spec.tls, equals: true}], data: {a: b}}, {name: asks, when: [{cel: "children.certificate.metadata.name == 'shop'"}], data: {a: b}}]}`,
			[]string{`configmaps/asks: cel "children.certificate.metadata.name == 'shop'": children.certificate.metadata.name is absent; certificate is switched off: ` + off},
		},
		"a value": {
			`{values: [{name: url, value: "https://{{ .children.service.metadata.name }}"}, {name: service, value: "{{ .children.service }}"}],
				onReconcile: {services: [{port: 80, selector: {a: b}, when: [{field: spec.tls, equals: true}]}], configmaps: [{name: reads, data: {a: "{{ .values.url }}"}}, {name: below, data: {a: "{{ .values.service.spec.clusterIP }}"}}]}}`,
			[]string{"configmaps/reads: values.url: children.service.metadata.name is not there: services is switched off: " + off,
				"configmaps/below: values.service: children.service is not there: services is switched off: " + off},
		},
		"a patch": {
			`onReconcile: {services: [{port: 80, selector: {a: b}, when: [{field: spec.tls, equals: true}]}], patches: [{id: p, target: {apiVersion: v1, kind: ConfigMap, name: a}, patch: {data: {a: "{{ .children.service.metadata.name }}"}}}]}`,
			[]string{"p: children.service.metadata.name is not there: services is switched off: " + off},
		},
		"several of one kind, all of them off": {
			`onReconcile: {services: [{name: a, port: 80, selector: {a: b}, when: [{field: spec.tls, equals: true}]}, {name: b, port: 80, selector: {a: b}, when: [{field: spec.tls, equals: true}]}],
				configmaps: [{name: reads, data: {a: "{{ .children.service.metadata.name }}"}}]}`,
			[]string{"configmaps/reads: children.service.metadata.name is not there: services/a is switched off: " + off},
		},
		"one of them waits itself": {
			`onReconcile: {services: [{name: a, port: 80, selector: {a: b}, when: [{field: spec.tls, equals: true}]}, {name: b, port: 80, selector: {a: b}, when: [{field: children.deployment.status.readyReplicas, greaterThan: 0}]}],
				deployments: [{image: a}], configmaps: [{name: reads, data: {a: "{{ .children.service.metadata.name }}"}}]}`,
			[]string{"services/b: children.deployment.status.readyReplicas: wanted more than 0, actual 0", "configmaps/reads: children.service.metadata.name is not there yet"},
		},
		"a field of a child that is kept, although it is switched off": {
			`onReconcile: {services: [{id: kept, name: kept, port: 80, selector: {a: b}, whenFalse: Keep, when: [{field: spec.tls, equals: true}]}], configmaps: [{name: reads, data: {a: "{{ .children.kept.spec.clusterIP }}"}}]}`,
			[]string{"configmaps/reads: children.kept.spec.clusterIP is not there yet"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			if strings.Contains(tc.box, "whenFalse: Keep") {
				p.put(serviceKind, "kept", "kept", func(*unstructured.Unstructured) {})
			}
			r, err := p.run(planOf(t, tc.box), website(t, `{tls: false}`))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			var messages []string
			for _, w := range r.Waits {
				messages = append(messages, w.Message)
			}
			g.Expect(messages).To(gomega.Equal(tc.want))
		})
	}
}
