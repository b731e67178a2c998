package crds

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const pages = `metadata: {name: pages.demo.example.com}
spec:
  group: demo.example.com
  scope: Namespaced
  names: {plural: pages, singular: page, kind: Page, listKind: PageList}
  versions: [{name: v1, served: true, storage: true, selectableFields: [{jsonPath: .spec.host}],
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {host: {type: string}, free: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}}]
`

// At the last two the code of Kubernetes panics, because of selectableFields. What the API server says of many more is compared in test/e2e.
func TestRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		old, new string
		want     []string
	}{
		"right":        {"pages", "pages", nil},
		"in a version": {"host: {type: string}", "host: {type: strng}", []string{`spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[host].type: Unsupported value: "strng"`, `spec.versions[0].selectableFields[0].jsonPath: Invalid value: ".spec.host": must point to a field`}},
		"no schema":    {"schema: {openAPIV3Schema:", "schema: {}}]\nx: [{x: {x:", []string{`spec.versions[0].schema.openAPIV3Schema: Required value`}},
		"a wrong value": {"unknown-fields: true", "unknown-fields: false", []string{
			`spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[free].x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g, crd := NewWithT(t), &apiextensionsv1.CustomResourceDefinition{}
			g.Expect(yaml.Unmarshal([]byte(strings.ReplaceAll(pages, tc.old, tc.new)), crd)).To(Succeed())
			var got []string
			for _, e := range Refused(t.Context(), crd) {
				got = append(got, e.Error())
			}
			g.Expect(got).To(HaveLen(len(tc.want)))
			for i, want := range tc.want {
				g.Expect(got[i]).To(HavePrefix(want))
			}
		})
	}
}
