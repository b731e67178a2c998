package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// shape tries to create a box that box-shape judges.
func shape(ctx context.Context, box *unstructured.Unstructured) error {
	box.SetLabels(map[string]string{shaped: "true"})
	return kube.Create(ctx, box, client.DryRunAll)
}

var _ = Describe("The commonest mistakes of a box", func() {
	It("are refused where the box is applied, with their places", func(ctx context.Context) {
		w := newWorld(ctx)
		for spec, want := range map[string]string{
			"{onReconcile: {deployments: [{image: a}, {imge: a}]}}":               "spec.onReconcile.deployments[1].imge: Forbidden: unknown field",
			"{when: [{cel: 'true'}, {field: spec.mode}]}":                         "spec.when[1].operator: Required value: say how the field is compared",
			"{validation: {rules: [{field: spec.mode, equals: a, in: [a]}]}}":     `spec.validation.rules[0]: Invalid value: "equals, in": give one short form, not several`,
			"{onReconcile: {configmaps: [{id: a}], secrets: [{id: a}]}}":          `spec: Duplicate value: "a": two declarations have the same id`,
			"{onDelete: {jobs: [{image: a, readyWhen: [{field: a}]}]}}":           "spec.onDelete.jobs[0].readyWhen[0].operator: Required value",
			"{mutation: {rules: [{field: spec.mode}]}}":                           "give exactly one of default and override",
			"{onReconcile: {configmaps: [{once: true, reconcile: true}]}}":        "once and reconcile: true contradict each other",
			"{dependsOn: [{name: " + w.id + "}]}":                                 "a box can't depend on itself",
			"{rollBackOnError: true, rollback: {}}":                               "two ways back",
			"{onReconcile: {jobs: [{id: deployment, image: a}]}}":                 "the name of a kind can't be an id",
			"{onReconcile: {configmaps: [{whenFalse: Keep}]}}":                    "there is no gate that could be false",
			"{status: {fields: [{path: a, value: b, anyOf: [{field: spec.a}]}]}}": "spec.status.fields[0].anyOf[0].operator",
		} {
			By(spec)
			Eventually(func() error { return shape(ctx, w.boxObject(w.id, spec)) }).WithContext(ctx).Should(refusedBy(boxShape, want))
		}

		By("a box from before that has one")
		old := w.boxObject(w.id, "{suspend: true, when: [{field: spec.mode}]}")
		Expect(kube.Create(ctx, old)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, old))).To(Succeed()) })
		w.merge(ctx, w.boxObject(w.id, "{}"), `{"metadata":{"labels":{"`+shaped+`":"true","team":"a"}}}`)
		somebody := &user{client: kube}
		Expect(somebody.merge(ctx, w.boxObject(w.id, "{}"), `{"spec":{"workers":2}}`)).To(refusedBy(boxShape, "spec.when[0].operator"))
	})

	It("are not found in samples, nor in a box with 300 declarations", func(ctx context.Context) {
		w := newWorld(ctx)
		mistaken := w.boxObject(w.id, "{when: [{field: spec.mode}]}")
		Eventually(func() error { return shape(ctx, mistaken.DeepCopy()) }).WithContext(ctx).Should(refusedBy(boxShape, "spec.when[0].operator"), "the policy is in force")

		files, err := filepath.Glob(filepath.Join("..", "..", "config", "samples", "*", "box.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(len(files)).To(BeNumerically(">=", 10))
		ports, err := filepath.Glob(filepath.Join("..", "..", "config", "samples", "ports", "*", "box.yaml"))
		Expect(err).NotTo(HaveOccurred())
		files = append(files, ports...)
		for n, file := range files {
			content, err := os.ReadFile(file)
			Expect(err).NotTo(HaveOccurred())
			for document := range strings.SplitSeq(string(content), "\n---\n") {
				box := &unstructured.Unstructured{Object: map[string]any{}}
				Expect(yaml.Unmarshal([]byte(document), &box.Object)).To(Succeed())
				if box.GetKind() == "OperatorBox" {
					box.SetName(fmt.Sprintf("%s-%d", w.id, n))
					Expect(shape(ctx, box)).To(Succeed(), file)
				}
			}
		}

		groups := map[string][]string{}
		keys := []string{"configmaps", "secrets", "services", "deployments", "jobs"}
		for i := range 300 {
			key := keys[i%len(keys)]
			groups[key] = append(groups[key], fmt.Sprintf(
				"{id: d%d, name: '{{ .metadata.name }}-%d', labels: {a: b}, when: [{field: spec.mode, equals: a}, {field: spec.replicas, operator: gt, value: 1}], anyOf: [{cel: 'true'}]}", i, i))
		}
		var all []string
		for _, key := range keys {
			all = append(all, key+": ["+strings.Join(groups[key], ", ")+"]")
		}
		Expect(shape(ctx, w.boxObject(w.id, "{onReconcile: {"+strings.Join(all, ", ")+"}}"))).To(Succeed())
		all[0] = strings.Replace(all[0], "labels:", "lables:", 1)
		Expect(shape(ctx, w.boxObject(w.id, "{onReconcile: {"+strings.Join(all, ", ")+"}}"))).
			To(refusedBy(boxShape, "spec.onReconcile.configmaps[0].lables: Forbidden: unknown field"), "it was judged, and did not cost too much")
	})
})
