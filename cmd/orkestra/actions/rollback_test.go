package actions

import (
	"encoding/json"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/engine/boxspec"
)

// keep has the cluster keep the spec of the box with other fields, and gives the name of the revision.
func (w *world) keep(t *testing.T, number int64, change func(*v1alpha1.OperatorBoxSpec)) string {
	t.Helper()
	box := &v1alpha1.OperatorBox{}
	g := NewWithT(t)
	g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(w.box().Object, box)).To(Succeed())
	change(&box.Spec)
	data, err := boxspec.Data(box)
	g.Expect(err).NotTo(HaveOccurred())
	var content map[string]any
	g.Expect(json.Unmarshal(data, &content)).To(Succeed())
	kept := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": number, "data": content,
		"metadata": map[string]any{
			"namespace": "orkestra-system", "name": boxspec.Revision(box), "creationTimestamp": "2026-01-02T03:00:05Z", "labels": map[string]any{v1alpha1.LabelRevisionOf: "shops"},
		},
	}}
	w.Objects = append(w.Objects, kept)
	return kept.GetName()
}

func workers(n int32) func(*v1alpha1.OperatorBoxSpec) {
	return func(s *v1alpha1.OperatorBoxSpec) { s.Workers = &n }
}

// withHistory has a box with the workers 5, and before that 3, and before that 2.
func withHistory(t *testing.T) (w *world, first, second, third string) {
	t.Helper()
	w = newWorld(t)
	w.box().Object["spec"].(map[string]any)["workers"] = int64(5)
	w.box().SetGeneration(7)
	first, second, third = w.keep(t, 1, workers(2)), w.keep(t, 2, workers(3)), w.keep(t, 3, workers(5))
	w.box().Object["status"].(map[string]any)["revision"] = third
	return w, first, second, third
}

func (w *world) workers() any { return w.box().Object["spec"].(map[string]any)["workers"] }

func TestRevisions(t *testing.T) {
	g := NewWithT(t)
	w, first, second, third := withHistory(t)
	stdout, stderr, code := w.run(t, "revisions", "shops")
	g.Expect(code).To(BeZero(), stderr)
	g.Expect(stdout).To(Equal("REVISION   NAME" + gap(third, "NAME") + "CURRENT   AGE   CHANGES\n" +
		"3          " + third + "   *         4m    1\n2          " + second + "             4m    1\n1          " + first + "             4m    -\n"))
	stdout, _, _ = w.run(t, "revisions", "operatorbox/shops", "-o", "wide")
	g.Expect(stdout).To(And(ContainSubstring("4m    workers: 3 → 5\n"), ContainSubstring("4m    workers: 2 → 3\n")))
	stdout, _, _ = w.run(t, "revisions", "shops", "-o", "json")
	var said struct {
		Items []map[string]any `json:"items"`
	}
	g.Expect(json.Unmarshal([]byte(stdout), &said)).To(Succeed())
	g.Expect(said.Items).To(HaveExactElements(
		And(HaveKeyWithValue("name", third), HaveKeyWithValue("current", true)), HaveKeyWithValue("name", second), HaveKeyWithValue("name", first)))

	for _, of := range []string{"2", second} {
		stdout, stderr, code = w.run(t, "revisions", "shops", "--revision", of)
		g.Expect(code).To(BeZero(), stderr)
		g.Expect(stdout).To(And(ContainSubstring("workers: 3\n"), ContainSubstring("onReconcile:\n")))
	}
	_, stderr, code = w.run(t, "revisions", "shops", "--revision", "9")
	g.Expect(code).To(Equal(exit.No))
	g.Expect(stderr).To(Equal("error: OperatorBox \"shops\": no revision \"9\" is kept; see orkestra revisions shops\n"))
	_, stderr, code = w.run(t, "revisions", "none")
	g.Expect(code).To(Equal(exit.No))
	g.Expect(stderr).To(ContainSubstring(`OperatorBox "none" not found`))
	g.Expect(w.Wrote).To(BeEmpty())

	w = newWorld(t)
	stdout, _, code = w.run(t, "revisions", "shops")
	g.Expect(code).To(BeZero())
	g.Expect(stdout).To(Equal("None is kept: the box has not run yet.\n"))
}

// gap is the space behind a word in the column of a longer one.
func gap(longest, word string) string {
	out := "   "
	for range len(longest) - len(word) {
		out += " "
	}
	return out
}

func TestRollback(t *testing.T) {
	for name, tc := range map[string]struct {
		args  []string
		as    func(t *testing.T, w *world)
		left  any // the workers behind it
		want  string
		fails string
	}{
		"to the one before":          {left: 3, want: "workers\n- 5\n+ 3\noperatorbox/shops goes back to the former revision: revision 2, shops-"},
		"to one by its number":       {args: []string{"--to-revision", "1"}, left: 2, want: "workers\n- 5\n+ 2\n"},
		"nothing is written":         {args: []string{"--dry-run"}, left: 5, want: "workers\n- 5\n+ 3\n"},
		"to one that is not kept":    {args: []string{"--to-revision", "4"}, left: 5, fails: `no revision "4" is kept; see orkestra revisions shops`},
		"to that of today":           {args: []string{"--to-revision", "3"}, left: 5, fails: "its spec is that of the revision already"},
		"to the one that still runs": {as: func(_ *testing.T, w *world) { w.box().Object["spec"].(map[string]any)["workers"] = int64(9) }, left: 5, want: "workers\n- 9\n+ 5\n"},
		"past one that was kept while it was suspended": {left: 3, want: "workers\n- 5\n+ 3\n", as: func(t *testing.T, w *world) {
			t.Helper()
			w.keep(t, 4, func(s *v1alpha1.OperatorBoxSpec) { s.Suspend = true })
		}},
		"of one that has no other": {left: 5, fails: "no revision is kept but for the spec of today", as: func(_ *testing.T, w *world) {
			w.Objects = slices.DeleteFunc(w.Objects, func(o *unstructured.Unstructured) bool {
				number, _, _ := unstructured.NestedInt64(o.Object, "revision")
				return number == 1 || number == 2
			})
		}},
		"of one that was suspended and resumed": {left: 5, fails: "the 2 revisions that are kept differ in spec.suspend alone", as: func(t *testing.T, w *world) {
			t.Helper()
			w.Objects = slices.DeleteFunc(w.Objects, func(o *unstructured.Unstructured) bool {
				number, _, _ := unstructured.NestedInt64(o.Object, "revision")
				return number == 1 || number == 2
			})
			w.keep(t, 4, func(s *v1alpha1.OperatorBoxSpec) { s.Suspend = true })
		}},
		"of one that is suspended": {as: func(_ *testing.T, w *world) { w.suspend(true) }, left: 3, want: "workers\n- 5\n+ 3\n"},
		"of one that Git has": {left: 5, want: "workers\n- 5\n+ 3\n", fails: "Argo CD manages this box", as: func(_ *testing.T, w *world) {
			w.box().SetAnnotations(map[string]string{"argocd.argoproj.io/tracking-id": "apps:x"})
		}},
		"without a right": {left: 5, fails: "you may not patch operatorboxes.orkestra.orkspace.io", as: func(_ *testing.T, w *world) {
			w.Allow = func(spec authorizationv1.SubjectAccessReviewSpec) bool {
				return spec.ResourceAttributes.Verb != "patch"
			}
		}},
		"to another account": {args: []string{"--to-revision", "8"}, left: 5, fails: "the revision acts as another account", as: func(t *testing.T, w *world) {
			t.Helper()
			w.keep(t, 8, func(s *v1alpha1.OperatorBoxSpec) {
				s.ServiceAccountRef = &v1alpha1.ServiceAccountReference{Namespace: "a", Name: "b"}
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, _, _, _ := withHistory(t)
			if tc.as != nil {
				tc.as(t, w)
			}
			stdout, stderr, code := w.run(t, append([]string{"rollback", "shops"}, tc.args...)...)
			if tc.fails == "" {
				g.Expect(code).To(BeZero(), stderr)
			} else {
				g.Expect(code).To(Equal(exit.No))
				g.Expect(stderr).To(And(HavePrefix("error: "), ContainSubstring(tc.fails)))
				g.Expect(w.Wrote).To(BeEmpty())
			}
			g.Expect(stdout).To(HavePrefix(tc.want))
			g.Expect(w.workers()).To(BeEquivalentTo(tc.left))
			suspended, _ := w.box().Object["spec"].(map[string]any)["suspend"].(bool)
			g.Expect(suspended).To(Equal(name == "of one that is suspended"))
		})
	}
}

// A program gets what would be written, with what it takes to ask for it.
func TestRollbackForPrograms(t *testing.T) {
	g := NewWithT(t)
	w, _, second, _ := withHistory(t)
	stdout, stderr, code := w.run(t, "rollback", "shops", "--dry-run", "-o", "json")
	g.Expect(code).To(BeZero(), stderr)
	var said map[string]any
	g.Expect(json.Unmarshal([]byte(stdout), &said)).To(Succeed())
	g.Expect(said).To(And(HaveKeyWithValue("revision", second), HaveKeyWithValue("uid", "box"), HaveKeyWithValue("generation", BeEquivalentTo(7)), HaveKey("patch")))
	g.Expect(w.Wrote).To(BeEmpty())
}
