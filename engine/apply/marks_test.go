package apply

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// What says that a resource is rolled back, and which finalizers a box has put on it, goes when it is no longer wanted. Other annotations of ours may
// stay until something is written anyway.
func TestMarksThatAreTooMany(t *testing.T) {
	const by = v1alpha1.AnnotationManagedBy
	for name, tc := range map[string]struct {
		has, wanted map[string]string
		on          bool
	}{
		"just these":               {map[string]string{by: "box"}, map[string]string{by: "box"}, true},
		"one of another purpose":   {map[string]string{by: "box", v1alpha1.AnnotationDone: "x"}, map[string]string{by: "box"}, true},
		"one is missing":           {nil, map[string]string{by: "box"}, false},
		"rolled back":              {map[string]string{by: "box", v1alpha1.AnnotationRolledBack: "x"}, map[string]string{by: "box", v1alpha1.AnnotationRolledBack: "x"}, true},
		"rolled back from another": {map[string]string{by: "box", v1alpha1.AnnotationRolledBack: "x"}, map[string]string{by: "box", v1alpha1.AnnotationRolledBack: "y"}, false},
		"no longer rolled back":    {map[string]string{by: "box", v1alpha1.AnnotationRolledBack: "x"}, map[string]string{by: "box"}, false},
		"finalizers of its own":    {map[string]string{by: "box", v1alpha1.AnnotationFinalizers: "a/b"}, map[string]string{by: "box", v1alpha1.AnnotationFinalizers: "a/b"}, true},
		"finalizers of a former":   {map[string]string{by: "box", v1alpha1.AnnotationFinalizers: "a/b"}, map[string]string{by: "box"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			resource := live("team-a")
			resource.SetAnnotations(tc.has)
			NewWithT(t).Expect(Marks{Annotations: tc.wanted}.On(resource)).To(Equal(tc.on))
		})
	}
}

// Marks that an older version wrote as the manager of declarations go over to that of marks. What a declaration has set stays: a resource may be the
// child of another box.
func TestMarksOfOlderVersionsGoOver(t *testing.T) {
	const marked = `{metadata: {finalizers: [` + v1alpha1.Finalizer + `, old/one], annotations: {` + v1alpha1.AnnotationManagedBy + `: box}}}`
	for name, tc := range map[string]struct {
		older    string // what the manager of declarations has applied
		updated  string // what it has written otherwise
		requests int
		goes     bool
	}{
		"marks":                         {older: marked, requests: 2, goes: true},
		"a child of another box":        {older: `{metadata: {labels: {a: b}}, data: {a: b}}`, requests: 1},
		"a child with finalizers":       {older: `{metadata: {finalizers: [other/one]}, data: {a: b}}`, requests: 1},
		"nothing":                       {requests: 1},
		"marks that it has not applied": {updated: marked, requests: 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			k, p := keeps(t, configMaps, `data: {own: x}`)
			if tc.older != "" {
				g.Expect(k.applied(v1alpha1.FieldManager, tc.older, false)).To(BeTrue())
			}
			if tc.updated != "" {
				k.merged(v1alpha1.FieldManager, tc.updated)
			}
			before := k.live.DeepCopy()
			marks := Marks{Finalizers: []string{v1alpha1.Finalizer}, Annotations: map[string]string{v1alpha1.AnnotationManagedBy: "box", v1alpha1.AnnotationManagedSince: "now"}}
			answer, err := NewMarker(p.client).Mark(t.Context(), k.live, marks)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(k.sent).To(HaveLen(tc.requests))
			g.Expect(answer.GetResourceVersion()).To(Equal(k.live.GetResourceVersion()))
			g.Expect(marks.On(k.live)).To(BeTrue())
			if tc.goes {
				g.Expect(ManagedByUs(k.live)).To(BeFalse())
				g.Expect(k.live.GetFinalizers()).To(Equal([]string{v1alpha1.Finalizer}), "what only the older version wanted goes")
				return
			}
			g.Expect(ManagedByUs(k.live)).To(Equal(ManagedByUs(before)))
			g.Expect(k.live.Object["data"]).To(Equal(before.Object["data"]))
			g.Expect(k.live.GetLabels()).To(Equal(before.GetLabels()))
			g.Expect(k.live.GetFinalizers()).To(ContainElements(before.GetFinalizers()))
		})
	}
}
