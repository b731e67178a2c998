package pipeline

import (
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/boxspec"
)

func TestWhereThePlanMayHaveMadeAChild(t *testing.T) {
	const literal, templated = `onReconcile: {configmaps: [{namespace: shared}]}`, `onDelete: {resources: [{manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: "{{ .spec.host }}"}}}]}`
	marked := map[string]string{v1alpha1.AnnotationManagedSince: "2026-01-01T00:00:00Z"}
	noted := map[string]string{v1alpha1.AnnotationManagedSince: "2026-01-01T00:00:00Z", v1alpha1.AnnotationNamespaces: "a,b"}
	for name, tc := range map[string]struct {
		box         string
		former      boxspec.Places
		annotations map[string]string
		namespace   string
		want        bool
	}{
		"the resource's namespace":          {box: "{}", namespace: "team-a", want: true},
		"none":                              {box: "{}", namespace: "", want: true},
		"another one":                       {box: "{}", namespace: "b", annotations: marked},
		"a literal one":                     {box: literal, namespace: "shared", want: true},
		"one beside it":                     {box: literal, namespace: "b", annotations: marked},
		"a literal one of a former version": {box: "{}", former: boxspec.Places{Literal: []string{"old"}}, namespace: "old", want: true},
		"a noted one":                       {box: templated, annotations: noted, namespace: "b", want: true},
		"a noted one, of templates that are gone":        {box: "{}", annotations: noted, namespace: "b", want: true},
		"one that is not noted":                          {box: templated, annotations: noted, namespace: "c"},
		"anywhere, before there were notes":              {box: templated, annotations: marked, namespace: "c", want: true},
		"anywhere, before there were notes, of a former": {box: "{}", former: boxspec.Places{Templated: true}, annotations: marked, namespace: "c", want: true},
		"a resource that is not marked has no children":  {box: templated, namespace: "c"},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			plan := planOf(t, tc.box)
			plan.Places = plan.Places.With(tc.former)
			resource, child := website(t, `{host: shop}`), &unstructured.Unstructured{Object: map[string]any{}}
			resource.SetAnnotations(tc.annotations)
			child.SetNamespace(tc.namespace)
			g.Expect(plan.MayHaveMade(resource, child)).To(gomega.Equal(tc.want))
		})
	}
}
