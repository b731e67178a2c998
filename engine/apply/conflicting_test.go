package apply

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/drift"
)

// managed is what a manager wrote, at a second.
func managed(manager string, second int64, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Time: new(metav1.Unix(second, 0)), FieldsV1: metav1.NewFieldsV1(fields)}
}

func TestConflictingManager(t *testing.T) {
	const image = "spec.template.spec.containers[name=main].image"
	ours := managed(v1alpha1.FieldManager, 9, `{"f:data":{"f:a":{}}}`)
	cases := map[string]struct {
		entries []metav1.ManagedFieldsEntry
		path    string
		want    string
	}{
		"nobody":              {nil, "data.a", ""},
		"we ourselves":        {[]metav1.ManagedFieldsEntry{ours, managed(v1alpha1.FieldManagerInitial, 9, `{"f:data":{"f:a":{}}}`)}, "data.a", ""},
		"who wrote the field": {[]metav1.ManagedFieldsEntry{ours, managed("another", 8, `{"f:data":{"f:b":{}}}`), managed("other", 1, `{"f:data":{"f:a":{}}}`)}, "data.a", "other"},
		"the last of several": {[]metav1.ManagedFieldsEntry{managed("a", 1, `{"f:data":{"f:a":{}}}`), managed("b", 2, `{"f:data":{"f:a":{}}}`)}, "data.a", "b"},
		"an entry of a list": {[]metav1.ManagedFieldsEntry{managed("other", 1,
			`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"main\"}":{"f:image":{}}}}}}}`)}, image, "other"},
		"another entry of the list": {[]metav1.ManagedFieldsEntry{managed("other", 1,
			`{"f:spec":{"f:template":{"f:spec":{"f:containers":{".":{},"k:{\"name\":\"side\"}":{".":{},"f:image":{}}}}}}}`)}, image, ""},
		"a list as a whole":     {[]metav1.ManagedFieldsEntry{managed("other", 1, `{"f:spec":{"f:args":{}}}`)}, "spec.args[0]", "other"},
		"a name that is longer": {[]metav1.ManagedFieldsEntry{managed("other", 1, `{"f:data":{"f:ab":{}}}`)}, "data.a", ""},
		"a label": {[]metav1.ManagedFieldsEntry{managed("other", 1, `{"f:metadata":{"f:labels":{".":{},"f:a/b":{}}}}`)},
			"metadata.labels['a/b']", "other"},
		"our labels, which are gone": {[]metav1.ManagedFieldsEntry{managed("kubectl-label", 1, `{"f:metadata":{"f:labels":{"f:mine":{}}}}`)}, LabelsPath, ""},
		"the status":                 {[]metav1.ManagedFieldsEntry{{Manager: "kubelet", Subresource: "status", FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:a":{}}}`)}}, "data.a", ""},
		"what can't be read":         {[]metav1.ManagedFieldsEntry{managed("other", 1, `[`), {Manager: "bare"}}, "data.a", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(conflictingManager(tc.entries, tc.path)).To(Equal(tc.want))
		})
	}
}

func TestCorrections(t *testing.T) {
	g := NewWithT(t)
	replicas := drift.Difference{Path: "spec.replicas", Live: int64(5), Wanted: int64(2)}
	mutated := drift.Difference{Path: "spec.paused", Live: true, Wanted: false}
	gone := drift.Difference{Path: "metadata.labels.a", Wanted: "b"}
	scaled := managed("kubectl", 7, `{"f:spec":{"f:replicas":{}}}`)
	scaled.Subresource = "scale"
	got := corrections([]drift.Difference{gone, mutated, replicas}, []drift.Difference{mutated}, []metav1.ManagedFieldsEntry{
		{Manager: v1alpha1.FieldManager}, managed("helm", 3, `{"f:spec":{"f:replicas":{}}}`), scaled,
	})
	g.Expect(got).To(Equal([]Correction{{Difference: gone}, {Difference: replicas, SetBy: "kubectl"}}), "what is left is the server's own form")
}
