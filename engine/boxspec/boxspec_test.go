package boxspec

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

func boxOf(tb testing.TB, spec string) *v1alpha1.OperatorBox {
	tb.Helper()
	box := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "website"}}
	if err := yaml.UnmarshalStrict([]byte(spec), &box.Spec); err != nil {
		tb.Fatal(err)
	}
	return box
}

func TestPlacesOf(t *testing.T) {
	g := gomega.NewWithT(t)
	box := boxOf(t, `
onCreate: {configmaps: [{name: own}, {name: a, namespace: shared}]}
onDelete: {resources: [{manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: archive}}}]}
rollback: {onRollback: {configmaps: [{name: c, namespace: "{{ .spec.team }}"}]}}
`)
	places := PlacesOf(&box.Spec)
	g.Expect(places.Literal).To(gomega.ConsistOf("shared", "archive"))
	g.Expect(places.Templated).To(gomega.BeTrue())
	g.Expect(places.With(Places{Literal: []string{"old", "shared"}})).To(gomega.Equal(Places{Literal: []string{"archive", "old", "shared"}, Templated: true}))
}

func TestARevisionNamesWhatASpecSays(t *testing.T) {
	g := gomega.NewWithT(t)
	box := boxOf(t, `onReconcile: {configmaps: [{name: a, data: {x: "1", y: "2"}}]}`)
	data, err := Data(box)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	back, err := Decode(data)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(Revision(&v1alpha1.OperatorBox{ObjectMeta: box.ObjectMeta, Spec: *back})).To(gomega.Equal(Revision(box)))
	g.Expect(RevisionOf("website", data)).To(gomega.Equal(Revision(box)))
	g.Expect(strings.TrimPrefix(Revision(box), "website-")).To(gomega.Equal(HashOf(data)[:revisionDigits]))
	revision, hash := Identity(box)
	g.Expect([]string{revision, hash}).To(gomega.Equal([]string{Revision(box), HashOf(data)}))
	g.Expect(HashOf([]byte(`{"b": 1, "a": 2}`))).To(gomega.Equal(HashOf([]byte(`{"a":2,"b":1}`))))
	g.Expect(Revision(boxOf(t, `onReconcile: {configmaps: [{name: a, data: {x: "1"}}]}`))).NotTo(gomega.Equal(Revision(box)))
	_, err = Decode([]byte(`{"unheardOf": 1}`))
	g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("unheardOf")))
}

const definition = `
crd:
  definition:
    group: demo.example.com
    scope: Namespaced
    names: {plural: websites, kind: Website}
    versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`

func TestDefinition(t *testing.T) {
	g := gomega.NewWithT(t)
	crd, errs := Definition(boxOf(t, definition))
	g.Expect(errs).To(gomega.BeEmpty())
	g.Expect(crd.Name).To(gomega.Equal("websites.demo.example.com"))
	g.Expect(crd.Spec.Names.ListKind).To(gomega.Equal("WebsiteList"))
	g.Expect(crd.Spec.Versions[0].Subresources.Status).NotTo(gomega.BeNil(), "there must be a place for the status")
}

func TestADefinitionThatIsWrong(t *testing.T) {
	for name, tc := range map[string]struct{ from, to, want string }{
		"no group":         {"    group: demo.example.com\n", "", "spec.crd.definition.group: Required value"},
		"an odd scope":     {"scope: Namespaced", "scope: Everywhere", "spec.crd.definition.scope: Unsupported value"},
		"an unknown field": {"scope: Namespaced", "scope: Namespaced\n    skope: x", `spec.crd.definition.skope: Forbidden: unknown field, did you mean "scope"?`},
		"unknown below":    {"{type: object}", "{type: object, propertys: {a: {type: string}}}", "openAPIV3Schema.propertys: Forbidden: unknown field"},
		"another type":     {"served: true", "served: maybe", "spec.crd.definition.versions.served: Invalid value"},
		"no storage":       {"storage: true", "storage: false", "exactly one version must have storage: true, found 0"},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := Definition(boxOf(t, strings.Replace(definition, tc.from, tc.to, 1)))
			gomega.NewWithT(t).Expect(errs.ToAggregate()).To(gomega.MatchError(gomega.ContainSubstring(tc.want)))
		})
	}
}

func TestDefinitionPath(t *testing.T) {
	for path, want := range map[string]string{
		"spec.names.kind":                 "spec.crd.definition.names.kind",
		"spec.validation.openAPIV3Schema": "spec.crd.definition.versions[0].schema.openAPIV3Schema",
		"metadata.name":                   "",
	} {
		t.Run(path, func(t *testing.T) {
			g := gomega.NewWithT(t)
			got, ok := DefinitionPath(path)
			g.Expect(ok).To(gomega.Equal(want != ""))
			if ok {
				g.Expect(got).To(gomega.Equal(want))
			}
		})
	}
}
