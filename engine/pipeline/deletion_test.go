package pipeline

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// deleted is a resource that was deleted a minute ago.
func deleted(tb testing.TB, finalizers ...string) *unstructured.Unstructured {
	tb.Helper()
	obj := website(tb, `{host: shop}`)
	obj.SetDeletionTimestamp(&metav1.Time{Time: now.Add(-time.Minute)})
	obj.SetFinalizers(finalizers)
	return obj
}

func ownedByReference(c *unstructured.Unstructured) {
	c.SetOwnerReferences([]metav1.OwnerReference{{UID: "u1", Name: "shop"}})
}

func endJob(condition string) func(*unstructured.Unstructured) {
	return func(c *unstructured.Unstructured) {
		c.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": condition, "status": "True"}}}
	}
}

func threeChildren(p *ports) {
	p.put(configMapKind, "a", "a")
	p.put(deploymentKind, "b", "b")
	p.put(deploymentKind, "c", "c")
}

func TestDeletionWithoutCleanUp(t *testing.T) {
	cases := map[string]struct {
		box, finalizers string
		children        func(p *ports)
		held            bool // children have finalizers of somebody else
		want            []string
		released        bool
	}{
		"nothing of ours holds it":         {box: "{}", finalizers: "other/x", released: true},
		"no children":                      {box: "{}", finalizers: v1alpha1.Finalizer, want: []string{"finish shop [" + v1alpha1.Finalizer + "]"}, released: true},
		"the garbage collector takes them": {box: "{}", finalizers: v1alpha1.Finalizer, children: func(p *ports) { p.put(configMapKind, "a", "a", ownedByReference) }, want: []string{"finish shop [" + v1alpha1.Finalizer + "]"}, released: true},
		"a child without owner reference": {box: "{}", finalizers: v1alpha1.Finalizer, children: func(p *ports) { p.put(configMapKind, "a", "a") },
			want: []string{"delete ConfigMap/a", "finish shop [" + v1alpha1.Finalizer + "]"}, released: true},
		"a child that somebody holds": {box: "{}", finalizers: v1alpha1.Finalizer, held: true, children: func(p *ports) { p.put(configMapKind, "a", "a") },
			want: []string{"delete ConfigMap/a"}},
		"a child that is to stay": {box: "{}", finalizers: v1alpha1.Finalizer, children: func(p *ports) {
			p.put(configMapKind, "a", "a", func(c *unstructured.Unstructured) {
				c.SetAnnotations(map[string]string{v1alpha1.AnnotationDeletionPolicy: "Orphan"})
			})
		}, want: []string{"orphan ConfigMap/a", "finish shop [" + v1alpha1.Finalizer + "]"}, released: true},
		"a child that is on its way": {box: "{}", finalizers: v1alpha1.Finalizer, children: func(p *ports) {
			p.put(configMapKind, "a", "a", func(c *unstructured.Unstructured) { c.SetDeletionTimestamp(&metav1.Time{Time: now}) })
		}},
		"the last made goes first": {box: "{}", finalizers: v1alpha1.Finalizer, children: threeChildren,
			want: []string{"delete Deployment/c", "delete Deployment/b", "delete ConfigMap/a", "finish shop [" + v1alpha1.Finalizer + "]"}, released: true},
		"the others wait until it is gone": {box: "{}", finalizers: v1alpha1.Finalizer, held: true, children: threeChildren,
			want: []string{"delete Deployment/c", "delete Deployment/b"}},
		"a broken box lets go as well": {box: "validation: {rules: [{field: spec.image, operator: exists}]}", finalizers: v1alpha1.Finalizer,
			want: []string{"finish shop [" + v1alpha1.Finalizer + "]"}, released: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			if tc.children != nil {
				tc.children(p)
			}
			if tc.held {
				p.delete = p.holdChild
			}
			r, err := p.run(planOf(t, tc.box), deleted(t, tc.finalizers))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(p.done()).To(gomega.Equal(tc.want))
			g.Expect(r.Released).To(gomega.Equal(tc.released))
			g.Expect(r.Deleting).To(gomega.BeTrue())
			if tc.released {
				g.Expect(r.Waits).To(gomega.BeEmpty())
			} else {
				g.Expect(r.Waits).NotTo(gomega.BeEmpty(), "what is not released waits for something")
			}
		})
	}
}

func TestChildrenOfAGoingCRDAreNotLeftToTheGarbageCollector(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	p.put(configMapKind, "a", "a", ownedByReference)
	r, err := p.run(planOf(t, "{}").ForGoingCRD(), deleted(t, v1alpha1.Finalizer))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.Equal([]string{"delete ConfigMap/a", "finish shop [" + v1alpha1.Finalizer + "]"}))
	g.Expect(r.Released).To(gomega.BeTrue())
}

func TestOrphanFinalizerLeavesEveryChild(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	p.put(configMapKind, "a", "a", ownedByReference)
	p.put(deploymentKind, "b", "b")
	r, err := p.run(planOf(t, "{}"), deleted(t, v1alpha1.Finalizer, metav1.FinalizerOrphanDependents))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.ConsistOf("orphan ConfigMap/a", "orphan Deployment/b", "finish shop ["+v1alpha1.Finalizer+"]"))
	g.Expect(r.Released).To(gomega.BeTrue())
}

func TestFinalizersGoInOnePatch(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	_, err := p.run(planOf(t, "finalizers: [example.com/a, example.com/b]"), deleted(t, "example.com/a", v1alpha1.Finalizer, "other/x"))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.HaveLen(1))
}

const cleanUp = `
onDelete:
  configmaps: [{name: note}]
  jobs: [{name: backup, image: backup}]
onReconcile: {deployments: [{image: nginx}]}
`

func TestCleanUpJobs(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, cleanUp)
	p.put(deploymentKind, "shop", "deployments")

	r, err := p.run(plan, deleted(t, v1alpha1.Finalizer))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.Equal([]string{"create ConfigMap/note", "create Job/backup", "mark Website/shop"}))
	g.Expect(r.Released).To(gomega.BeFalse())
	g.Expect(r.Waits).To(gomega.Equal([]stage.Wait{{Reason: v1alpha1.ReasonDeleting, Message: `waiting for clean-up Job "backup" to finish`}}))
	g.Expect(r.Stored.GetAnnotations()).To(gomega.HaveKey(v1alpha1.AnnotationDone), "a restart does not make the note again")

	p.edit("backup", endJob("Complete"))
	p.delete = p.holdChild
	r, err = p.run(plan, r.Stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Released).To(gomega.BeFalse())
	g.Expect(p.done()).To(gomega.Equal([]string{"mark Website/shop", "delete Job/backup"}), "children go in reverse order")
}

func TestAFailedCleanUpJob(t *testing.T) {
	for policy, blocks := range map[string]bool{"": true, ", failurePolicy: Block": true, ", failurePolicy: Continue": false} {
		t.Run(policy, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			plan := planOf(t, "onDelete: {jobs: [{name: backup, image: backup"+policy+"}]}")
			r, err := p.run(plan, deleted(t, v1alpha1.Finalizer))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			p.edit("backup", endJob("Failed"))
			p.done()
			_, err = p.run(plan, r.Stored)
			if !blocks {
				g.Expect(err).NotTo(gomega.HaveOccurred())
				g.Expect(p.done()[:2]).To(gomega.Equal([]string{"mark Website/shop", "delete Job/backup"}), "it is remembered before anything goes")
				return
			}
			expectStep(g, err, stage.StepDeletion, Permanent, v1alpha1.ReasonCleanupFailed)
			g.Expect(err.Error()).To(gomega.HavePrefix(`deletion: jobs/backup: clean-up Job "backup" failed and holds the deletion`))
			g.Expect(p.done()).To(gomega.BeEmpty())
		})
	}
}

func TestOrderedCleanUp(t *testing.T) {
	for ordered, want := range map[bool][]string{
		true:  {"create Job/first"},
		false: {"create Job/first", "create Job/second"},
	} {
		t.Run(fmt.Sprint(ordered), func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			plan := planOf(t, fmt.Sprintf("deletion: {ordered: %t}\nonDelete: {jobs: [{name: first, image: a}, {name: second, image: a}]}", ordered))
			_, err := p.run(plan, deleted(t, v1alpha1.Finalizer))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(p.done()).To(gomega.Equal(want))
		})
	}
}

func TestCleanUpTimeout(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, "deletion: {timeout: 2m}\nonDelete: {jobs: [{name: backup, image: a}]}")
	r, err := p.run(plan, deleted(t, v1alpha1.Finalizer))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Inputs.Expires()).To(gomega.BeTemporally("==", now.Add(time.Minute)))

	late := plan.NewRun(r.Stored, now.Add(time.Minute), p.ports())
	err = plan.Execute(context.Background(), late)
	expectStep(g, err, stage.StepDeletion, Transient, "")
	g.Expect(err.Error()).To(gomega.ContainSubstring(`onDelete has not finished within 2m0s: waiting for clean-up Job "backup" to finish`))
	g.Expect(late.Released).To(gomega.BeFalse(), "never a silent release")
}

func TestSkipCleanUp(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	stored := deleted(t, v1alpha1.Finalizer)
	stored.SetAnnotations(map[string]string{v1alpha1.AnnotationSkipCleanup: "true"})
	r, err := p.run(planOf(t, cleanUp), stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Released).To(gomega.BeTrue())
	g.Expect(p.done()).To(gomega.HaveLen(1))
}

func TestCleanUpInATerminatingNamespace(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	p.apply = func(context.Context, apply.Owner, apply.Child) (apply.Outcome, error) {
		return apply.Outcome{}, fmt.Errorf("applying: %w", answer(http.StatusForbidden, metav1.StatusReasonForbidden, "being terminated",
			metav1.StatusCause{Type: corev1.NamespaceTerminatingCause}))
	}
	r, err := p.run(planOf(t, cleanUp), deleted(t, v1alpha1.Finalizer))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Released).To(gomega.BeTrue())
	g.Expect(r.Events).To(gomega.HaveLen(2))
	g.Expect(r.Events[0].Reason).To(gomega.Equal("CleanupSkipped"))
}

func TestOwnerReferences(t *testing.T) {
	cases := map[string]struct {
		box  string
		want bool
	}{
		"without onDelete":                  {"onReconcile: {configmaps: [{}]}", true},
		"with onDelete":                     {"onReconcile: {configmaps: [{}]}\nonDelete: {jobs: [{image: a}]}", false},
		"in reverse":                        {"onReconcile: {configmaps: [{}]}\ndeletion: {children: Reverse}", false},
		"in no order":                       {"onReconcile: {configmaps: [{}]}\ndeletion: {children: GarbageCollector}", true},
		"with onDelete, and children first": {"onReconcile: {configmaps: [{}]}\nonDelete: {jobs: [{image: a}]}\ndeletion: {childrenFirst: true}", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			var got apply.Child
			p := newPorts()
			p.apply = func(ctx context.Context, owner apply.Owner, child apply.Child) (apply.Outcome, error) {
				got = child
				return p.applyChild(ctx, owner, child)
			}
			_, err := p.run(planOf(t, tc.box), website(t, ""))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(got.OwnerReference).To(gomega.Equal(tc.want))
		})
	}
}

func TestAFinishedCleanUpJobIsNotRunAgain(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, "onDelete: {jobs: [{name: backup, image: backup}]}")
	r, err := p.run(plan, deleted(t, v1alpha1.Finalizer))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	p.edit("backup", endJob("Complete"))
	p.done()
	var all []string
	for range 5 {
		r, err = p.run(plan, r.Stored)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		all = append(all, p.done()...)
		if r.Released {
			break
		}
	}
	g.Expect(all).NotTo(gomega.ContainElement("create Job/backup"))
	g.Expect(r.Released).To(gomega.BeTrue())
}

func TestTheEndOfACleanUpJobIsSeen(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, "onDelete: {jobs: [{name: backup, image: backup}]}")
	r, err := p.run(plan, deleted(t, v1alpha1.Finalizer))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	_, err = r.Result(context.Background(), nil)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	p.edit("backup", endJob("Complete"))
	g.Expect(r.Inputs.Unchanged(&plan.Plan, r.Stored, p, now)).To(gomega.BeFalse())
}
