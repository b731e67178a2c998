package e2e_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// withNotes is a schema with a map for notes in spec and status.
func withNotes(v *apiextensionsv1.CustomResourceDefinitionVersion) {
	text := &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &apiextensionsv1.JSONSchemaProps{Type: "string"}}
	for _, root := range []string{"spec", "status"} {
		v.Schema.OpenAPIV3Schema.Properties[root].Properties["notes"] = apiextensionsv1.JSONSchemaProps{Type: "object", AdditionalProperties: text}
	}
}

var _ = Describe("Operators", func() {
	// The resources are not touched after they are made, and the box has no resync to speak of: only a timer can do it.
	soon := func() string {
		return `{expires: "` + time.Now().Add(3*time.Second).UTC().Format(time.RFC3339Nano) + `"}`
	}

	It("open and close gates at the moment the clock says so", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
resync: 24h
onReconcile:
  configmaps:
  - {name: young, data: {a: b}, whenFalse: Delete, optional: true, when: [{field: spec.expires, youngerThan: 1s}]}
  - {name: old, data: {a: b}, when: [{field: spec.expires, operator: olderThan, value: 1s}]}
`))
		w.website(ctx, "web", soon())
		w.hasData(ctx, "young", map[string]string{"a": "b"})
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonWaitingForGate,
			"configmaps/old: spec.expires: wanted older than 1s, actual 2")
		w.absent(ctx, "old")
		w.hasData(ctx, "old", map[string]string{"a": "b"})
		w.gone(ctx, w.configMap("young"), "young")
		w.settled(ctx, "web")
	})

	It("break and mend rules, and change mutation, at the moment the clock says so", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
resync: 24h
mutation: {rules: [{field: spec.mode, override: late, when: [{field: spec.expires, olderThan: 1s}]}]}
validation: {rules: [{field: spec.expires, olderThan: 1s, message: "too early"}]}
onReconcile: {configmaps: [{data: {mode: "{{ .spec.mode }}"}}]}
`))
		w.website(ctx, "web", soon())
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonValidationFailed, "spec.expires: too early (found 2")
		w.absent(ctx, "web")
		w.settled(ctx, "web")
		w.hasData(ctx, "web", map[string]string{"mode": "late"})
	})
})
