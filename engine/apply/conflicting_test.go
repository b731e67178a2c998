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
		entries                []metav1.ManagedFieldsEntry
		fields                 []string
		wantManager, wantField string
	}{
		"nobody":                  {nil, []string{"data.a"}, "", ""},
		"we ourselves":            {[]metav1.ManagedFieldsEntry{ours, managed(v1alpha1.FieldManagerInitial, 9, `{"f:data":{"f:a":{}}}`)}, []string{"data.a"}, "", ""},
		"who wrote the field":     {[]metav1.ManagedFieldsEntry{ours, managed("other", 8, `{"f:data":{"f:b":{}}}`), managed("foe", 1, `{"f:data":{"f:a":{}}}`)}, []string{"data.a"}, "foe", "data.a"},
		"the last of several":     {[]metav1.ManagedFieldsEntry{managed("a", 1, `{"f:data":{"f:a":{}}}`), managed("b", 2, `{"f:data":{"f:a":{}}}`)}, []string{"data.a"}, "b", "data.a"},
		"the first of two fields": {[]metav1.ManagedFieldsEntry{managed("a", 1, `{"f:data":{"f:b":{},"f:a":{}}}`)}, []string{"data.a", "data.b"}, "a", "data.a"},
		"an entry of a list": {[]metav1.ManagedFieldsEntry{managed("foe", 1,
			`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"main\"}":{"f:image":{}}}}}}}`)}, []string{image}, "foe", image},
		"another entry of the list": {[]metav1.ManagedFieldsEntry{managed("foe", 1,
			`{"f:spec":{"f:template":{"f:spec":{"f:containers":{".":{},"k:{\"name\":\"side\"}":{".":{},"f:image":{}}}}}}}`)}, []string{image}, "", ""},
		"a list as a whole":     {[]metav1.ManagedFieldsEntry{managed("foe", 1, `{"f:spec":{"f:args":{}}}`)}, []string{"spec.args[0]"}, "foe", "spec.args[0]"},
		"a name that is longer": {[]metav1.ManagedFieldsEntry{managed("foe", 1, `{"f:data":{"f:ab":{}}}`)}, []string{"data.a"}, "", ""},
		"a label": {[]metav1.ManagedFieldsEntry{managed("foe", 1, `{"f:metadata":{"f:labels":{".":{},"f:a/b":{}}}}`)},
			[]string{"metadata.labels['a/b']"}, "foe", "metadata.labels['a/b']"},
		"our labels, which are gone": {[]metav1.ManagedFieldsEntry{managed("kubectl-label", 1, `{"f:metadata":{"f:labels":{"f:mine":{}}}}`)}, []string{LabelsPath}, "", ""},
		"the status":                 {[]metav1.ManagedFieldsEntry{{Manager: "kubelet", Subresource: "status", FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:a":{}}}`)}}, []string{"data.a"}, "", ""},
		"what can't be read":         {[]metav1.ManagedFieldsEntry{managed("foe", 1, `[`), {Manager: "bare"}}, []string{"data.a"}, "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			manager, field := conflictingManager(tc.entries, tc.fields)
			g.Expect(manager).To(Equal(tc.wantManager))
			g.Expect(field).To(Equal(tc.wantField))
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
	g.Expect(Outcome{Drift: got}.DriftPaths()).To(Equal([]string{"metadata.labels.a", "spec.replicas"}))
}
