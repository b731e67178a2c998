package e2e_test

import (
	"bytes"
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	importcmd "github.com/orkspace/orkestra/cmd/orkestra/importer"
)

// imported applies what `orkestra import` prints of a text, in which GROUP is the world's group and NAME its id.
func (w *world) imported(ctx context.Context, text string) {
	GinkgoHelper()
	var out, notes bytes.Buffer
	command := importcmd.NewCommand(nil) //nolint:contextcheck // the command gets it when it is executed
	command.SetArgs([]string{"-f", "-"})
	command.SetIn(strings.NewReader(strings.NewReplacer("GROUP", w.group, "NAME", w.id).Replace(text)))
	command.SetOut(&out)
	command.SetErr(&notes)
	Expect(command.ExecuteContext(ctx)).To(Succeed(), notes.String())
	for _, obj := range decoded(&out) {
		Expect(kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("e2e"), client.ForceOwnership)).To(Succeed())
	}
}

var _ = Describe("Import", func() {
	It("runs what it makes of a Katalog, with its phases and its clean-up", func(ctx context.Context) {
		w := newWorld(ctx)
		w.imported(ctx, `
apiVersion: orkestra.orkspace.io/v1
kind: Katalog
metadata: {name: website-katalog}
spec:
  crds:
    NAME:
      apiTypes: {group: GROUP, version: v1, kind: Website, plural: websites}
      workers: 2
      resync: 30s
      mutation:
        rules:
        - {field: spec.replicas, default: 1}
      operatorBox:
        default: true
        onCreate:
          deployments:
          - name: "{{ .metadata.name }}"
            image: "{{ .spec.image }}"
            replicas: "{{ .spec.replicas }}"
            reconcile: true
        onReconcile:
          services:
          - name: "{{ .metadata.name }}-svc"
            port: 80
            targetPort: 8080
            reconcile: true
            when:
            - field: children.deployment.status.readyReplicas
              equals: "{{ .spec.replicas }}"
          configMaps:
          - name: "{{ .metadata.name }}-{{ .item }}"
            forEach: spec.tags
            data: {tag: "{{ .item }}"}
        status:
          fields:
            replicas: "{{ readyReplicas .children.deployment }}"
`)
		w.running(ctx, w.id)
		w.website(ctx, "web", `{image: "nginx:1", tags: [a, b]}`)
		obj := w.settled(ctx, "web")
		Expect(shownFields(obj)).To(Equal(map[string]any{"replicas": int64(1)}))
		w.hasData(ctx, "web-a", map[string]string{"tag": "a"})
		w.hasData(ctx, "web-b", map[string]string{"tag": "b"})
		service := &corev1.Service{}
		w.child(ctx, Default, service, "web-svc")
		Expect(service.Spec.Ports).To(ConsistOf(And(HaveField("Port", BeEquivalentTo(80)), HaveField("TargetPort.IntVal", BeEquivalentTo(8080)))))

		By("correcting what others change")
		deployment := &appsv1.Deployment{}
		w.child(ctx, Default, deployment, "web")
		w.patch(ctx, deployment, `{"spec":{"replicas":3}}`)
		Eventually(func(g Gomega) {
			w.child(ctx, g, deployment, "web")
			g.Expect(deployment.Spec.Replicas).To(HaveValue(BeEquivalentTo(1)))
		}).WithContext(ctx).Should(Succeed())
	})

	It("runs what it makes of kro's definition: its CRD, an object that waits, one that is left out, and a loop", func(ctx context.Context) {
		w := newWorldWithoutCRD(ctx)
		w.imported(ctx, `
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: NAME}
spec:
  schema:
    apiVersion: v1
    kind: Website
    group: GROUP
    spec:
      image: string | default="nginx:1"
      replicas: integer | default=1 minimum=0
      tags: "[]string"
      ingress:
        enabled: boolean | default=false
    status:
      ready: ${deployment.status.readyReplicas == deployment.spec.replicas}
      address: http://${service.metadata.name}
      names: ${tags.map(t, t.metadata.name)}
  resources:
  - id: deployment
    readyWhen: ["${deployment.status.readyReplicas == deployment.spec.replicas}"]
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${schema.metadata.name}"}
      spec:
        replicas: ${schema.spec.replicas}
        selector: {matchLabels: {app: "${schema.metadata.name}"}}
        template:
          metadata: {labels: {app: "${schema.metadata.name}"}}
          spec: {containers: [{name: main, image: "${schema.spec.image}", env: [{name: TAGS, value: "${schema.spec.?tags.orValue([]).join(',')}"}]}]}
  - id: service
    template:
      apiVersion: v1
      kind: Service
      metadata: {name: "${schema.metadata.name}-svc"}
      spec: {selector: "${deployment.spec.selector.matchLabels}", ports: [{port: 80}]}
  - id: ingress
    includeWhen: ["${schema.spec.ingress.enabled}"]
    template:
      apiVersion: networking.k8s.io/v1
      kind: Ingress
      metadata: {name: "${schema.metadata.name}"}
      spec: {defaultBackend: {service: {name: "${service.metadata.name}", port: {number: 80}}}}
  - id: tags
    forEach: [{tag: "${schema.spec.tags}"}]
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${schema.metadata.name}-${tag}"}
      data: {tag: "${tag}", size: "${string(size(tag))}"}
`)
		w.waitEstablished(ctx)
		w.running(ctx, w.id)
		w.website(ctx, "web", `{tags: [a, bcd]}`)
		obj := w.settled(ctx, "web")
		Expect(shownFields(obj)).To(Equal(map[string]any{"ready": true, "address": "http://web-svc", "names": []any{"web-a", "web-bcd"}}))
		deployment, service := &appsv1.Deployment{}, &corev1.Service{}
		w.child(ctx, Default, deployment, "web")
		Expect(deployment.Spec.Template.Spec.Containers[0]).To(And(HaveField("Image", "nginx:1"),
			HaveField("Env", ConsistOf(corev1.EnvVar{Name: "TAGS", Value: "a,bcd"}))))
		w.child(ctx, Default, service, "web-svc")
		Expect(service.Spec.Selector).To(Equal(map[string]string{"app": "web"}))
		w.hasData(ctx, "web-bcd", map[string]string{"tag": "bcd", "size": "3"})
		w.gone(ctx, &networkingv1.Ingress{}, "web")

		By("asking for what was left out, and for one item less")
		w.website(ctx, "web", `{tags: [a], ingress: {enabled: true}}`)
		w.settled(ctx, "web")
		w.child(ctx, Default, &networkingv1.Ingress{}, "web")
		w.gone(ctx, &corev1.ConfigMap{}, "web-bcd")
	})
})
