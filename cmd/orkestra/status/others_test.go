package status

import (
	"maps"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
)

// beside adds a second box over Deployments, which is younger than the first.
func (w *world) beside(name string, spec map[string]any) {
	second := w.object("OperatorBox", "shops").DeepCopy()
	second.SetName(name)
	second.SetUID("2")
	second.SetCreationTimestamp(metav1.NewTime(w.object("OperatorBox", "shops").GetCreationTimestamp().Add(1e9)))
	for _, field := range []string{"selector", "annotationSelector"} {
		delete(second.Object["spec"].(map[string]any), field)
	}
	maps.Copy(second.Object["spec"].(map[string]any), spec)
	w.Objects = append(w.Objects, second)
}

// An object is that of the box which selects it, however many boxes are over its kind, and whatever they have made.
func TestStatusGoesByTheBoxThatSelectsTheObject(t *testing.T) {
	byLabel := func(value string) map[string]any {
		return map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"team": value}}}
	}
	byAnnotation := map[string]any{"annotationSelector": map[string]any{"matchAnnotations": map[string]any{"team": "b"}}}
	selected := func(w *world) {
		w.object("Deployment", "flowers").SetLabels(map[string]string{"team": "b"})
		w.object("Deployment", "flowers").SetAnnotations(map[string]string{"team": "b"})
	}
	for name, tc := range map[string]struct {
		older, younger map[string]any
		change         func(*world)
		box            string
		want           string
	}{
		"the younger by labels":      {byLabel("a"), byLabel("b"), selected, "younger", "is ready\n"},
		"the younger by annotations": {byLabel("a"), byAnnotation, selected, "younger", "is ready\n"},
		"the older by annotations":   {byAnnotation, byLabel("a"), selected, "shops", "is ready\n"},
		"both":                       {byLabel("b"), byLabel("b"), selected, "shops", "is ready\n"},
		"an older one with mistakes, that selects it not": {byLabel("a"), byLabel("b"), func(w *world) { selected(w); broken(w) }, "younger", "is ready\n"},
		"an older one with mistakes, that selects it":     {byLabel("b"), byLabel("b"), func(w *world) { selected(w); broken(w) }, "shops", "is not ready: Unseen"},
		"none, with what one has left":                    {byLabel("a"), byLabel("b"), func(*world) {}, "younger", `see namespaces, selector and annotationSelector of OperatorBox "younger"`},
	} {
		t.Run(name, func(t *testing.T) {
			g, w := NewWithT(t), newWorld(t)
			w.decorate(tc.older)
			w.beside("younger", tc.younger)
			tc.change(w)
			w.addPage()
			w.object("ConfigMap", "flowers").SetLabels(map[string]string{v1alpha1.LabelOwnerUID: "web", v1alpha1.LabelBox: tc.box})
			stdout, stderr, _ := w.status(t, "deployment/flowers")
			g.Expect(stdout).To(ContainSubstring(tc.want), stderr)
			json, _, _ := w.status(t, "deployment/flowers", "-o", "json")
			g.Expect(json).To(ContainSubstring(`"box": "` + tc.box + `"`))
		})
	}
}

// broken lets the first box have a mistake.
func broken(w *world) {
	w.set("OperatorBox", "shops", map[string]any{"configmaps": []any{map[string]any{"id": "page", "name": "{{ .spec.none }}"}}}, "spec", "onReconcile")
}

// What an older box has made, and the one that has taken over does not declare, is no part of what is to be there.
func TestStatusOfAnObjectThatAnotherBoxHasTakenOver(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	w.decorate(map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"expose": "yes"}}})
	w.object("Deployment", "flowers").SetLabels(map[string]string{"expose": "yes"})
	w.addPage()
	left := w.object("ConfigMap", "flowers").DeepCopy()
	left.SetName("flowers-former")
	left.SetLabels(map[string]string{v1alpha1.LabelOwnerUID: "web", v1alpha1.LabelBox: "former"})
	left.SetAnnotations(map[string]string{v1alpha1.AnnotationDeclaration: "other"})
	w.Objects = append(w.Objects, left)
	stdout, stderr, code := w.status(t, "deployment/flowers")
	g.Expect(code).To(BeZero(), stdout+stderr)
	g.Expect(stdout).To(And(HavePrefix("Deployment default/flowers is ready\n"),
		ContainSubstring("\nConfigMap flowers-former is left as it is: OperatorBox \"former\" made it, and \"shops\" does not declare it\n"),
		MatchRegexp(`other +ConfigMap/flowers-former +Undeclared .*made by the box "former", and kept`)))

	left.SetLabels(map[string]string{v1alpha1.LabelOwnerUID: "web", v1alpha1.LabelBox: "shops"})
	stdout, _, code = w.status(t, "deployment/flowers")
	g.Expect(code).To(Equal(exit.No), stdout)
	g.Expect(stdout).To(HavePrefix("Deployment default/flowers is not ready: Undeclared: other: no declaration stands for it\n"), "it is still to be pruned")
}

// A patch is listed as declarations are, and an object is not ready while one of its patches is not set.
func TestStatusOfPatches(t *testing.T) {
	ready := map[string]any{"type": "Ready", "status": "True", "reason": "A", "message": "", "observedGeneration": int64(2), "lastTransitionTime": "2026-01-01T03:04:05Z"}
	refused := map[string]any{"type": "Ready", "status": "False", "reason": "Conflict", "message": "patches: cm: another one manages data.a", "observedGeneration": int64(2), "lastTransitionTime": "2026-01-01T03:04:05Z"}
	failing := map[string]any{"failing": []any{map[string]any{"namespace": "default", "name": "flowers", "reason": "Conflict", "step": "patches", "message": "cm: another one manages data.a"}}}
	set := func(w *world) {
		w.add("ConfigMap", "shared")
		shared := w.object("ConfigMap", "shared")
		shared.Object["data"] = map[string]any{"a": "b"}
		shared.SetManagedFields([]metav1.ManagedFieldsEntry{
			{Manager: v1alpha1.PatchManager("web", "cm"), Operation: metav1.ManagedFieldsOperationApply, FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:data":{"f:a":{}}}`)}},
			{Manager: v1alpha1.PatchManager("flowers", "cm"), Operation: metav1.ManagedFieldsOperationApply, FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:data":{"f:a":{}}}`)}},
		})
	}
	other := func(w *world) { set(w); w.set("ConfigMap", "shared", "c", "data", "a") }
	for name, tc := range map[string]struct {
		target    func(*world)
		health    map[string]any
		condition map[string]any // of a resource of the box's own kind; nil: the object is one of others
		first     string
		row       string
	}{
		"set":                        {set, nil, nil, "Deployment default/flowers is ready\n", `cm +ConfigMap/shared +Ready +open`},
		"no target":                  {func(*world) {}, nil, nil, `Deployment default/flowers is not ready: Waiting: cm: ConfigMap "default/shared" does not exist`, `cm +ConfigMap/shared +Waiting +open .*does not exist`},
		"not set":                    {other, nil, nil, "Deployment default/flowers is not ready: Missing: cm: nothing seen here keeps it from being set, and it is not\n", `cm +ConfigMap/shared +Missing`},
		"refused":                    {other, failing, nil, "Deployment default/flowers is not ready: Conflict: patches: cm: another one manages data.a\n", `cm +ConfigMap/shared +Failed +open .*another one manages data.a`},
		"of a resource":              {set, nil, ready, "Shop default/flowers is ready\n", `cm +ConfigMap/shared +Ready +open`},
		"of a resource, and refused": {other, nil, refused, "Shop default/flowers is not ready: Conflict: patches: cm: another one manages data.a\n", `cm +ConfigMap/shared +Failed +open .*another one manages data.a`},
	} {
		t.Run(name, func(t *testing.T) {
			g, w := NewWithT(t), newWorld(t)
			arg := "shop/flowers"
			if tc.condition == nil {
				arg = "deployment/flowers"
				w.decorate(map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"expose": "yes"}}})
				w.object("Deployment", "flowers").SetLabels(map[string]string{"expose": "yes"})
			} else {
				w.set("Shop", "flowers", []any{tc.condition}, "status", "conditions")
			}
			w.set("OperatorBox", "shops", map[string]any{"patches": []any{map[string]any{
				"id": "cm", "target": map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "shared"}, "patch": map[string]any{"data": map[string]any{"a": "b"}},
			}}}, "spec", "onReconcile")
			tc.target(w)
			w.remove("CRDHealth")
			w.Objects = append(w.Objects, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": v1alpha1.GroupVersion.String(), "kind": "CRDHealth", "metadata": map[string]any{"name": "shops"}, "status": tc.health,
			}})
			stdout, stderr, code := w.status(t, arg)
			g.Expect(stdout).To(HavePrefix(tc.first), stderr)
			g.Expect(stdout).To(MatchRegexp("(?m)^" + tc.row))
			g.Expect(code).To(Equal(map[bool]int{true: 0, false: exit.No}[strings.HasSuffix(tc.first, "is ready\n")]))
		})
	}
}

// TestStatusOfAPatchThatStaysBehindAClosedGate: whenFalse says whether what is set is to be taken back.
func TestStatusOfAPatchThatStaysBehindAClosedGate(t *testing.T) {
	for whenFalse, tc := range map[string]struct {
		first string
		rows  int
	}{"Keep": {"Deployment default/flowers is ready\n", 1}, "Delete": {"Deployment default/flowers is not ready: Undeclared: cm: it stands, and is to be taken back\n", 2}} {
		t.Run(whenFalse, func(t *testing.T) {
			g, w := NewWithT(t), newWorld(t)
			w.decorate(map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"expose": "yes"}}})
			flowers := w.object("Deployment", "flowers")
			flowers.SetLabels(map[string]string{"expose": "yes"})
			marks := flowers.GetAnnotations()
			if marks == nil {
				marks = map[string]string{}
			}
			marks[v1alpha1.AnnotationPatches] = `[{"id":"cm","apiVersion":"v1","kind":"ConfigMap","namespace":"default","name":"shared"}]`
			flowers.SetAnnotations(marks)
			w.set("OperatorBox", "shops", map[string]any{"patches": []any{map[string]any{
				"id": "cm", "target": map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "shared"}, "patch": map[string]any{"data": map[string]any{"a": "b"}},
				"whenFalse": whenFalse, "when": []any{map[string]any{"field": "metadata.labels.expose", "equals": "no"}},
			}}}, "spec", "onReconcile")
			w.add("ConfigMap", "shared")
			shared := w.object("ConfigMap", "shared")
			shared.Object["data"] = map[string]any{"a": "b"}
			shared.SetManagedFields([]metav1.ManagedFieldsEntry{
				{Manager: v1alpha1.PatchManager(flowers.GetUID(), "cm"), Operation: metav1.ManagedFieldsOperationApply, FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:data":{"f:a":{}}}`)}},
			})
			w.remove("CRDHealth")
			stdout, stderr, _ := w.status(t, "deployment/flowers")
			g.Expect(stdout).To(HavePrefix(tc.first), stderr)
			g.Expect(strings.Count(stdout, "\ncm ")).To(Equal(tc.rows), stdout)
		})
	}
}
