package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/controllers/validation"
)

// definition has most of what a CRD can have.
const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: pages.verdicts.e2e.test, labels: {a: b}, annotations: {a.io/b: c}}
spec:
  group: verdicts.e2e.test
  scope: Namespaced
  names: {plural: pages, singular: page, kind: Page, listKind: PageList, shortNames: [pg], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    deprecated: false
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size, priority: 1}]
    selectableFields: [{jsonPath: .spec.image}]
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            x-kubernetes-validations: [{rule: "self.size < 9", message: too large, fieldPath: .size}]
            properties:
              image: {type: string, pattern: "^[a-z]+$", maxLength: 20, default: web}
              size: {type: integer, format: int32, minimum: 1, default: 3}
              mode: {type: string, enum: [a, b], nullable: true}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              most: {x-kubernetes-int-or-string: true}
              tags: {type: array, maxItems: 9, x-kubernetes-list-type: set, items: {type: string}}
              ports: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [port], items: {type: object, required: [port], properties: {port: {type: integer}}}}
              labels: {type: object, additionalProperties: {type: string}}
          status: {type: object, properties: {size: {type: integer}}}
`

// everyChange puts other values in every place of an object, one after the other, and calls visit each time.
func everyChange(tree any, at string, visit func(at string, value any)) {
	change := func(at string, set func(any), old any) {
		for _, value := range []any{"", "x", "a b", "strng", int64(-1), int64(7), true, false, []any{}, []any{"x", "x"}, map[string]any{}, map[string]any{"type": "string"}} {
			set(value)
			visit(at, value)
		}
		set(old)
		everyChange(old, at, visit)
	}
	switch tree := tree.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(tree)) {
			change(at+"."+key, func(v any) { tree[key] = v }, tree[key])
		}
	case []any:
		for i, old := range tree {
			change(fmt.Sprintf("%s[%d]", at, i), func(v any) { tree[i] = v }, old)
		}
	}
}

var _ = Describe("What is said of a CRD in a file", func() {
	It("is what the API server says of it to kubectl, whatever stands where", func(ctx context.Context) {
		content := map[string]any{}
		Expect(yaml.Unmarshal([]byte(definition), &content)).To(Succeed())
		var different []string
		asked, refused := 0, 0
		compare := func(at string, value any) {
			text, err := yaml.Marshal(content)
			Expect(err).NotTo(HaveOccurred())
			read := input.NewCRDs()
			for _, doc := range input.Parse("crd.yaml", text) {
				read.Add(doc)
			}
			v, err := validation.New(validation.Options{CRDs: read})
			Expect(err).NotTo(HaveOccurred())
			said, err := v.Validate(ctx)
			Expect(err).NotTo(HaveOccurred())
			obj := &unstructured.Unstructured{Object: content}
			err = kube.Create(ctx, obj.DeepCopy(), client.DryRunAll, client.FieldValidation("Strict")) // as kubectl asks
			Expect(ctx.Err()).NotTo(HaveOccurred(), "%s: %v", at, value)
			if err != nil && !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) { // a request at which the API server panics ends without an answer
				Expect(at).To(HavePrefix(".spec.versions[0].schema"), "%v: %v", value, err)
			}
			asked++
			if err != nil {
				refused++
			}
			if (err != nil) != (len(said) > 0) {
				different = append(different, fmt.Sprintf("%s: %#v: %+v, and the API server: %v", at, value, said, err))
			}
		}
		compare("as it is", nil)
		Expect(refused).To(BeZero(), "%v", different)
		for _, field := range []string{"metadata", "spec"} {
			everyChange(map[string]any{field: content[field]}, "", func(at string, value any) {
				compare(at, value)
			})
		}
		AddReportEntry("CRDs", fmt.Sprintf("%d asked, %d refused", asked, refused))
		Expect(refused).To(And(BeNumerically(">", 100), BeNumerically("<", asked-50)))
		Expect(different).To(BeEmpty())
	})
})
