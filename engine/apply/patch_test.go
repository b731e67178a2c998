package apply

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/engine/drift"
)

// A patch stands where its manager has set all that it says, and no more, and nobody has changed it since. Otherwise it is sent.
func TestWhenAPatchStands(t *testing.T) {
	const (
		custom     = "apiVersion: demo.example.com/v1\nkind: Cup\n"
		deployment = "apiVersion: apps/v1\nkind: Deployment\n"
		configMap  = "apiVersion: v1\nkind: ConfigMap\n"
	)
	applies := func(fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: byUs, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: &metav1.FieldsV1{Raw: []byte(fields)}}
	}
	by := func(manager string, operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
		e := applies(fields)
		e.Manager, e.Operation = manager, operation
		return e
	}
	for name, tc := range map[string]struct {
		kind, patch, live string
		managed           []metav1.ManagedFieldsEntry
		stands            bool
	}{
		"set":                      {configMap, `data: {a: b}`, `data: {a: b, c: d}`, []metav1.ManagedFieldsEntry{applies(`{"f:data":{"f:a":{}}}`)}, true},
		"of a kind of others":      {custom, `spec: {a: b}`, `spec: {a: b, c: d}`, []metav1.ManagedFieldsEntry{applies(`{"f:spec":{"f:a":{}}}`)}, true},
		"beside others":            {configMap, `data: {a: b}`, `data: {a: b, c: d}`, []metav1.ManagedFieldsEntry{by("maker", "Update", `{"f:data":{"f:c":{}}}`), applies(`{"f:data":{"f:a":{}}}`)}, true},
		"written in another way":   {deployment, `spec: {template: {spec: {containers: [{name: m, resources: {limits: {cpu: "0.5"}}}]}}}`, `spec: {template: {spec: {containers: [{name: m, resources: {limits: {cpu: 500m}}}]}}}`, []metav1.ManagedFieldsEntry{applies(`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"m\"}":{".":{},"f:name":{},"f:resources":{"f:limits":{"f:cpu":{}}}}}}}}}`)}, true},
		"with what is empty":       {custom, `spec: {a: b, dir: {}}`, `spec: {a: b, dir: {}}`, []metav1.ManagedFieldsEntry{applies(`{"f:spec":{"f:a":{},"f:dir":{}}}`)}, true},
		"an annotation":            {configMap, `metadata: {name: x, annotations: {a/b: c}}`, `metadata: {name: x, annotations: {a/b: c}}`, []metav1.ManagedFieldsEntry{applies(`{"f:metadata":{"f:annotations":{"f:a/b":{}}}}`)}, true},
		"a label":                  {configMap, `metadata: {name: x, labels: {a: c}}`, `metadata: {name: x, labels: {a: c}}`, []metav1.ManagedFieldsEntry{applies(`{"f:metadata":{"f:labels":{"f:a":{}}}}`)}, true},
		"changed":                  {configMap, `data: {a: b}`, `data: {a: other}`, []metav1.ManagedFieldsEntry{applies(`{"f:data":{"f:a":{}}}`)}, false},
		"changed, of others' kind": {custom, `spec: {a: b}`, `spec: {a: other}`, []metav1.ManagedFieldsEntry{applies(`{"f:spec":{"f:a":{}}}`)}, false},
		"gone, of others' kind":    {custom, `spec: {a: b}`, `spec: {c: d}`, []metav1.ManagedFieldsEntry{applies(`{"f:spec":{"f:a":{}}}`)}, false},
		"what is empty, and gone":  {custom, `spec: {a: b, dir: {}}`, `spec: {a: b}`, []metav1.ManagedFieldsEntry{applies(`{"f:spec":{"f:a":{},"f:dir":{}}}`)}, false},
		"an object that is gone":   {custom, `spec: {a: b, dir: {}}`, `spec: {a: b}`, []metav1.ManagedFieldsEntry{applies(`{"f:spec":{"f:a":{},"f:dir":{".":{}}}}`)}, false},
		"not set":                  {configMap, `data: {a: b}`, `data: {a: b}`, []metav1.ManagedFieldsEntry{by("maker", "Update", `{"f:data":{"f:a":{}}}`)}, false},
		"set by an update":         {configMap, `data: {a: b}`, `data: {a: b}`, []metav1.ManagedFieldsEntry{by(byUs, "Update", `{"f:data":{"f:a":{}}}`)}, false},
		"by another patch":         {configMap, `data: {a: b}`, `data: {a: b}`, []metav1.ManagedFieldsEntry{by(byOther, "Apply", `{"f:data":{"f:a":{}}}`)}, false},
		"in part":                  {configMap, `data: {a: b, c: d}`, `data: {a: b, c: d}`, []metav1.ManagedFieldsEntry{applies(`{"f:data":{"f:a":{}}}`)}, false},
		"an annotation of others":  {configMap, "metadata: {name: x, annotations: {a/b: c}}\ndata: {a: b}", "metadata: {name: x, annotations: {a/b: c}}\ndata: {a: b}", []metav1.ManagedFieldsEntry{applies(`{"f:data":{"f:a":{}}}`)}, false},
		"more than is wanted now":  {configMap, `data: {a: b}`, `data: {a: b, c: d}`, []metav1.ManagedFieldsEntry{applies(`{"f:data":{"f:a":{},"f:c":{}}}`)}, false},
		"nothing, of nothing":      {configMap, `data: {}`, `data: {a: b}`, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			live := &unstructured.Unstructured{Object: parsed(t, tc.kind+tc.live)}
			if live.GetName() == "" {
				live.SetName("x")
			}
			if tc.managed != nil {
				live.SetManagedFields(tc.managed)
			}
			wanted := &unstructured.Unstructured{Object: parsed(t, tc.kind+tc.patch)}
			wanted.SetName("x")
			patch := Patch{Manager: byUs, Object: wanted}
			NewWithT(t).Expect(patch.Stands(drift.NewComparer(nil), live)).To(Equal(tc.stands))
		})
	}
}
