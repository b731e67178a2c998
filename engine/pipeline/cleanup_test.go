package pipeline

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// cleaned runs a plan for a deleted resource.
func cleaned(g *gomega.WithT, p *ports, plan *Plan, stored *unstructured.Unstructured) *Run {
	r, err := p.run(plan, stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	return r
}

func waitsFor(r *Run) []string {
	var out []string
	for _, w := range r.Waits {
		out = append(out, w.Message)
	}
	return out
}

func TestACleanUpGateWaits(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `
onDelete:
  jobs:
  - {id: backup, name: backup, image: a}
  - {id: drop, name: drop, image: a, when: [{field: children.backup.status.succeeded, equals: 1}]}
`)
	const waiting = `drop: children.backup.status.succeeded: wanted equals 1, actual `
	r := cleaned(g, p, plan, deleted(t, v1alpha1.Finalizer))
	g.Expect(p.done()).To(gomega.Equal([]string{"create Job/backup"}))
	g.Expect(waitsFor(r)).To(gomega.Equal([]string{`waiting for clean-up Job "backup" to finish`, waiting + "0"}))

	p.edit("backup", func(c *unstructured.Unstructured) {
		endJob("Complete")(c)
		_ = unstructured.SetNestedField(c.Object, int64(1), "status", "succeeded")
	})
	r = cleaned(g, p, plan, r.Stored)
	g.Expect(p.done()).To(gomega.Equal([]string{"create Job/drop", "mark Website/shop"}))

	// What has begun is seen to its end, although what the gate reads is gone.
	p.children = p.children[1:]
	r = cleaned(g, p, plan, r.Stored)
	g.Expect(waitsFor(r)).To(gomega.Equal([]string{`waiting for clean-up Job "drop" to finish`}))
	p.edit("drop", endJob("Complete"))
	cleaned(g, p, plan, r.Stored)
	g.Expect(p.done()).To(gomega.Equal([]string{"mark Website/shop", "delete Job/drop", "finish shop [" + v1alpha1.Finalizer + "]"}))
}

func TestACleanUpGateThatIsAChoice(t *testing.T) {
	for name, gate := range map[string]string{
		"choice":        `when: [{field: spec.tls, equals: true}]`,
		"optional wait": `optional: true, when: [{field: children.configmap.data.go, operator: exists}]`,
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			r := cleaned(g, p, planOf(t, `onDelete: {configmaps: [{name: a, `+gate+`}]}`), deleted(t, v1alpha1.Finalizer))
			g.Expect(r.Released).To(gomega.BeTrue())
			g.Expect(p.done()).To(gomega.HaveLen(1))
		})
	}
}

func TestCleanUpOfEachItem(t *testing.T) {
	const each = `forEach: {field: spec.tags, key: "{{ .item }}"}, name: "bye-{{ .item }}", image: a`
	cases := map[string]struct {
		box      string
		created  []string
		released bool
	}{
		"all":                      {`onDelete: {jobs: [{` + each + `}]}`, []string{"create Job/bye-a", "create Job/bye-b"}, false},
		"in their order":           {"deletion: {ordered: true}\nonDelete: {jobs: [{" + each + "}]}", []string{"create Job/bye-a"}, false},
		"a gate per item":          {`onDelete: {jobs: [{` + each + `, when: [{field: item, equals: b}]}]}`, []string{"create Job/bye-b"}, false},
		"a gate before the loop":   {`onDelete: {jobs: [{` + each + `, when: [{field: spec.tls, equals: true}]}]}`, nil, true},
		"nothing to go over":       {`onDelete: {jobs: [{forEach: {field: spec.database}, name: "bye-{{ .key }}", image: a}]}`, nil, true},
		"a gate before a bad loop": {`onDelete: {jobs: [{forEach: {field: spec.replicas}, name: "bye-{{ .key }}", image: a, when: [{field: spec.tls, equals: true}]}]}`, nil, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			stored := deleted(t, v1alpha1.Finalizer)
			stored.Object["spec"] = map[string]any{"tags": []any{"a", "b"}, "replicas": int64(-1)}
			r := cleaned(g, p, planOf(t, tc.box), stored)
			g.Expect(r.Released).To(gomega.Equal(tc.released))
			if !tc.released {
				g.Expect(p.done()).To(gomega.Equal(tc.created))
			}
		})
	}
}

func TestItemsThatWaitBeforeTheLoop(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	p.put(configMapKind, "lever", "lever", func(c *unstructured.Unstructured) { c.Object["data"] = map[string]any{"go": "yes"} })
	plan := planOf(t, `
onReconcile: {configmaps: [{id: lever, name: lever}]}
onDelete:
  jobs: [{forEach: {field: spec.tags, key: "{{ .item }}"}, name: "bye-{{ .item }}", image: a, when: [{field: children.lever.data.go, equals: "yes"}]}]
`)
	stored := deleted(t, v1alpha1.Finalizer)
	stored.Object["spec"] = map[string]any{"tags": []any{"a", "b"}}
	r := cleaned(g, p, plan, stored)
	g.Expect(p.done()).To(gomega.Equal([]string{"create Job/bye-a", "create Job/bye-b"}))
	p.children = p.children[1:]
	p.edit("bye-a", endJob("Complete"))
	r = cleaned(g, p, plan, r.Stored)
	g.Expect(waitsFor(r)).To(gomega.Equal([]string{`waiting for clean-up Job "bye-b" to finish`}))
	p.children = p.children[1:] // what is finished may be gone
	r = cleaned(g, p, plan, r.Stored)
	g.Expect(waitsFor(r)).To(gomega.Equal([]string{`waiting for clean-up Job "bye-b" to finish`}))
	p.children = nil // what is not finished is begun again, when the gate opens
	r = cleaned(g, p, plan, r.Stored)
	g.Expect(waitsFor(r)).To(gomega.ConsistOf(gomega.HavePrefix("jobs[0]: children.lever.data.go: wanted ")))
	g.Expect(r.Released).To(gomega.BeFalse())
}

func TestOneFailureHoldsUpNoOtherCleanUp(t *testing.T) {
	for ordered, want := range map[bool][]string{false: {"create Job/second", "create Job/third"}, true: nil} {
		t.Run(fmt.Sprint(ordered), func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			p.put(jobKind, "first", "first", endJob("Failed"))
			plan := planOf(t, fmt.Sprintf("deletion: {ordered: %t}\nonDelete: {jobs: [{id: first, name: first, image: a}, {id: second, name: second, image: a}, {id: third, name: third, image: a}]}", ordered))
			_, err := p.run(plan, deleted(t, v1alpha1.Finalizer))
			expectStep(g, err, stage.StepDeletion, Permanent, v1alpha1.ReasonCleanupFailed)
			g.Expect(err.Error()).To(gomega.HavePrefix(`deletion: first: clean-up Job "first" failed`))
			g.Expect(p.done()).To(gomega.Equal(want))
		})
	}
}

func TestOrderedCleanUpGoesByKindAndThenAsDeclared(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	cleaned(g, p, planOf(t, `
deletion: {ordered: true}
onDelete:
  resources:
  - {manifest: {apiVersion: v1, kind: Service, metadata: {name: z}, spec: {}}}
  - {manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: q}}}
  services: [{name: b, port: 80, selector: {a: b}}]
  configmaps: [{name: d}, {name: c}]
`), deleted(t, v1alpha1.Finalizer))
	g.Expect(p.done()[:5]).To(gomega.Equal([]string{
		"create ConfigMap/d", "create ConfigMap/c", "create Service/b", "create Service/z", "create ConfigMap/q",
	}))
}

func TestCleanUpWaitsForReadyWhen(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `onDelete: {configmaps: [{name: export, readyWhen: [{field: object.metadata.annotations.phase, equals: Done}]}]}`)
	r := cleaned(g, p, plan, deleted(t, v1alpha1.Finalizer))
	g.Expect(waitsFor(r)).To(gomega.Equal([]string{`ConfigMap "export": object.metadata.annotations.phase: wanted equals Done, actual absent`}))
	p.done()
	p.edit("export", withPhase("Done"))
	cleaned(g, p, plan, r.Stored)
	g.Expect(p.done()).To(gomega.Equal([]string{"mark Website/shop", "delete ConfigMap/export", "finish shop [" + v1alpha1.Finalizer + "]"}))
}

func TestWhatIsFinishedIsNotRenderedAgain(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	p.put(configMapKind, "shop", "configmaps", func(c *unstructured.Unstructured) { c.Object["data"] = map[string]any{"bucket": "b"} })
	plan := planOf(t, `
onReconcile: {configmaps: [{}]}
onDelete: {jobs: [{id: empty, name: empty, image: a, args: ["{{ .children.configmap.data.bucket }}"]}, {id: other, name: other, image: a}]}
`)
	r := cleaned(g, p, plan, deleted(t, v1alpha1.Finalizer))
	p.edit("empty", endJob("Complete"))
	r = cleaned(g, p, plan, r.Stored)
	p.children = p.children[1:] // somebody deletes the ConfigMap
	p.done()
	r = cleaned(g, p, plan, r.Stored)
	g.Expect(p.done()).To(gomega.BeEmpty())
	g.Expect(waitsFor(r)).To(gomega.Equal([]string{`waiting for clean-up Job "other" to finish`}))
}

func TestTheGateOfWhatIsFinishedIsNotAskedAgain(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	p.put(configMapKind, "lever", "lever", func(c *unstructured.Unstructured) { c.Object["data"] = map[string]any{"level": "4"} })
	plan := planOf(t, `
onReconcile: {configmaps: [{id: lever, name: lever}]}
onDelete:
  configmaps: [{name: note, when: [{field: children.lever.data.level, greaterThan: 3}]}]
  jobs: [{name: bye, image: a}]
`)
	r := cleaned(g, p, plan, deleted(t, v1alpha1.Finalizer))
	p.edit("lever", func(c *unstructured.Unstructured) { c.Object["data"] = map[string]any{"level": "high"} })
	r = cleaned(g, p, plan, r.Stored)
	g.Expect(waitsFor(r)).To(gomega.Equal([]string{`waiting for clean-up Job "bye" to finish`}))
}

func TestAMarkFromTheResourcesLifeIsNoneOfItsCleanUp(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	stored := deleted(t, v1alpha1.Finalizer)
	stored.SetAnnotations(map[string]string{v1alpha1.AnnotationDone: `{"bye":"1234567890"}`})
	r := cleaned(g, p, planOf(t, `onDelete: {jobs: [{id: bye, name: bye, image: a}]}`), stored)
	g.Expect(r.Released).To(gomega.BeFalse())
	g.Expect(p.done()).To(gomega.ContainElement("create Job/bye"))
}

func TestAMarkOfWhatIsNotDeclaredGoes(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	stored := deleted(t, v1alpha1.Finalizer)
	stored.SetAnnotations(map[string]string{v1alpha1.AnnotationDone: `{"nothing":"1 nothing","onDelete:nothing":"1","onDelete:first":"1","note":"1 note"}`})
	plan := planOf(t, `
onReconcile: {configmaps: [{id: note, name: note}]}
onDelete: {jobs: [{id: first, name: first, image: a}, {id: bye, name: bye, image: a}]}
`)
	r := cleaned(g, p, plan, stored)
	g.Expect(r.Stored.GetAnnotations()).To(gomega.HaveKeyWithValue(v1alpha1.AnnotationDone, `{"onDelete:first":"1"}`))
	g.Expect(waitsFor(r)).To(gomega.Equal([]string{`waiting for clean-up Job "bye" to finish`}))
}

func TestASkippedCleanUpIsSaidOnce(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	asked := 0
	p.apply = func(ctx context.Context, owner apply.Owner, child apply.Child) (apply.Outcome, error) {
		if child.Object.GetName() != "here" {
			return p.applyChild(ctx, owner, child)
		}
		asked++
		return apply.Outcome{}, fmt.Errorf("applying: %w", answer(http.StatusForbidden, metav1.StatusReasonForbidden, "being terminated",
			metav1.StatusCause{Type: corev1.NamespaceTerminatingCause}))
	}
	plan := planOf(t, `onDelete: {jobs: [{name: here, image: a}, {name: there, namespace: elsewhere, image: a}]}`)
	r := cleaned(g, p, plan, deleted(t, v1alpha1.Finalizer))
	g.Expect(r.Events).To(gomega.HaveLen(1))
	r = cleaned(g, p, plan, r.Stored)
	g.Expect(r.Events).To(gomega.BeEmpty())
	g.Expect(asked).To(gomega.Equal(1))
	g.Expect(waitsFor(r)).To(gomega.Equal([]string{`waiting for clean-up Job "elsewhere/there" to finish`}))
}

func TestACleanUpObjectMayStay(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	p.apply = func(ctx context.Context, owner apply.Owner, child apply.Child) (apply.Outcome, error) {
		out, err := p.applyChild(ctx, owner, child)
		if child.Orphan {
			p.edit(child.Object.GetName(), func(c *unstructured.Unstructured) {
				c.SetAnnotations(map[string]string{v1alpha1.AnnotationDeletionPolicy: string(v1alpha1.ChildOrphan)})
			})
		}
		return out, err
	}
	r := cleaned(g, p, planOf(t, `onDelete: {configmaps: [{name: record, deletionPolicy: Orphan}]}`), deleted(t, v1alpha1.Finalizer))
	g.Expect(p.done()).To(gomega.Equal([]string{"create ConfigMap/record", "orphan ConfigMap/record", "finish shop [" + v1alpha1.Finalizer + "]"}))
	g.Expect(r.Released).To(gomega.BeTrue())
}
