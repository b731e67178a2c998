package monitor

import (
	"context"
	"testing"
	"time"

	"github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/value"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// websites is the CRD of another operator.
func websites(t *testing.T) stage.CRD {
	t.Helper()
	var s apiextensionsv1.JSONSchemaProps
	if err := yaml.UnmarshalStrict([]byte(`
type: object
properties:
  spec:
    type: object
    properties: {replicas: {type: integer}}
  status:
    type: object
    properties:
      phase: {type: string}
      replicas: {type: integer}
      message: {type: string}
      conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`), &s); err != nil {
		t.Fatal(err)
	}
	return stage.CRD{Name: "websites.demo.example.com", Schema: &s, Kind: schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Website"}}
}

func conditionsOf(t *testing.T, list string) []v1alpha1.Condition {
	t.Helper()
	var conditions []v1alpha1.Condition
	if err := yaml.UnmarshalStrict([]byte(list), &conditions); err != nil {
		t.Fatal(err)
	}
	return conditions
}

func TestMistakesOfHealthyWhen(t *testing.T) {
	bare := websites(t)
	bare.Schema = &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"status": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"phase": {Type: "string"}}},
	}}
	unknown := websites(t)
	unknown.Schema = nil
	cases := map[string]struct {
		crd  stage.CRD
		list string
		want []string
	}{
		"none":                      {websites(t), `[]`, nil},
		"none, of any schema":       {unknown, `[]`, nil},
		"none, and no conditions":   {bare, `[]`, []string{`spec.healthyWhen: Required value: resources of websites.demo.example.com have no status.conditions: say when one is healthy`}},
		"a field":                   {bare, `[{field: status.phase, equals: Up}]`, nil},
		"a field that there is not": {websites(t), `[{field: status.phaze, equals: Up}]`, []string{`spec.healthyWhen[0].field: Invalid value: "status.phaze": status.phaze: no such field in the CRD's schema, did you mean "phase"?`}},
		"children":                  {websites(t), `[{field: children.deployment.status.replicas, equals: 1}]`, []string{`spec.healthyWhen[0].field: Invalid value: "children.deployment.status.replicas": .children: no such name in a template`}},
		"CEL":                       {websites(t), `[{cel: "self.status.replicas > 0"}]`, nil},
		"CEL of children":           {websites(t), `[{cel: "size(children) > 0"}]`, []string{`spec.healthyWhen[0].cel: Invalid value: "size(children) > 0": column 6: children: no such variable or function`}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			check, errs := Compile(conditionsOf(t, tc.list), tc.crd, field.NewPath("spec", "healthyWhen"))
			var got []string
			for _, e := range errs {
				got = append(got, e.Error())
			}
			g.Expect(got).To(gomega.HaveLen(len(tc.want)), "%v", got)
			for i := range tc.want {
				g.Expect(got[i]).To(gomega.HavePrefix(tc.want[i]))
			}
			g.Expect(check == nil).To(gomega.Equal(len(tc.want) > 0))
		})
	}
}

func TestHealthyWhen(t *testing.T) {
	ready := func(status string) string {
		return `{conditions: [{type: Other, status: "False"}, {type: Ready, status: "` + status + `", reason: Failed, message: "no\n  disk"}]}`
	}
	cases := map[string]struct {
		list, status string
		unmet        string
		again        time.Time
	}{
		"ready":                       {`[]`, ready("True"), "", time.Time{}},
		"not ready":                   {`[]`, ready("False"), "Ready: wanted True, actual False: Failed: no disk", time.Time{}},
		"unknown":                     {`[]`, ready("Unknown"), "Ready: wanted True, actual Unknown: Failed: no disk", time.Time{}},
		"no such condition":           {`[]`, `{conditions: [{type: Other, status: "True"}]}`, "Ready: wanted True, actual absent", time.Time{}},
		"no status":                   {`[]`, ``, "Ready: wanted True, actual absent", time.Time{}},
		"a status of another shape":   {`[]`, `{conditions: {a: b}}`, "Ready: wanted True, actual absent", time.Time{}},
		"a field":                     {`[{field: status.phase, equals: Up}]`, `{phase: Up}`, "", time.Time{}},
		"another value":               {`[{field: status.phase, equals: Up}]`, `{phase: Down}`, `status.phase: wanted equals Up, actual Down`, time.Time{}},
		"the first of two":            {`[{field: status.phase, exists: true}, {field: status.replicas, greaterThan: 1}]`, `{replicas: 1}`, `status.phase: wanted a value, actual absent`, time.Time{}},
		"what can't be compared":      {`[{field: status.message, greaterThan: 1, valueType: int}]`, `{message: many}`, `comparing "status.message" by gt: the field is a string, the value a number, to be compared as int`, time.Time{}},
		"old enough in a minute":      {`[{field: status.message, olderThan: 2m}]`, `{message: "2026-01-02T03:03:05Z"}`, `status.message: wanted older than 2m, actual 2026-01-02T03:03:05Z`, now.Add(time.Minute)},
		"CEL":                         {`[{cel: "self.status.replicas == self.spec.replicas"}]`, `{replicas: 3}`, "", time.Time{}},
		"CEL of a field that is gone": {`[{cel: "has(self.status) && self.status.replicas == 2"}]`, `{replicas: 3}`, `"has(self.status) && self.status.replicas == 2"`, time.Time{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			check, errs := Compile(conditionsOf(t, tc.list), websites(t), field.NewPath("spec", "healthyWhen"))
			g.Expect(errs).To(gomega.BeEmpty())
			resource := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": int64(3)}}}
			var status any
			g.Expect(yaml.Unmarshal([]byte(tc.status), &status)).To(gomega.Succeed())
			if status != nil {
				raw, err := yaml.YAMLToJSON([]byte(tc.status))
				g.Expect(err).NotTo(gomega.HaveOccurred())
				resource.Object["status"], err = value.Decode(raw)
				g.Expect(err).NotTo(gomega.HaveOccurred())
			}
			unmet, again := check.Check(context.Background(), resource, now)
			if tc.unmet == "" {
				g.Expect(unmet).To(gomega.BeEmpty())
			} else {
				g.Expect(unmet).To(gomega.ContainSubstring(tc.unmet))
			}
			g.Expect(again).To(gomega.BeTemporally("==", tc.again))
		})
	}
}
