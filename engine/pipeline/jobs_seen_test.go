package pipeline

import (
	"context"
	"testing"

	"github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/pipeline/children"
)

// gatedOn gives a box whose Deployment waits for a Job.
func gatedOn(job, gate string) string {
	return `onReconcile: {jobs: [{id: migrate, image: "{{ .spec.image }}", ` + job + `}],
  deployments: [{image: "{{ .spec.image }}", when: [` + gate + `]}]}`
}

const (
	migrated = `{field: "{{ jobSucceeded .children.migrate }}", equals: true}`
	perImage = `name: "migrate-{{ .spec.image }}"`
)

// rolledOut is the image of the Deployment; empty: there is none.
func (l *lifeOfAJob) rolledOut() string {
	for _, d := range l.world.list(deploymentKind, "u1") {
		containers, _, err := unstructured.NestedSlice(d.Object, "spec", "template", "spec", "containers")
		l.Expect(err).NotTo(gomega.HaveOccurred())
		container, _ := containers[0].(map[string]any)
		image, _ := container["image"].(string)
		return image
	}
	return ""
}

// runUntilIdle runs cycles until one does nothing, and gives the last of them.
func (l *lifeOfAJob) runUntilIdle() *Run {
	l.tb.Helper()
	for range 10 {
		if r, did := l.cycle(); len(did) == 0 {
			return r
		}
	}
	l.tb.Fatal("the cycles don't come to an end")
	return nil
}

func TestWhatReadsAJobReadsTheOneThatIsDeclaredNow(t *testing.T) {
	const replaced = "replace: true"
	for name, tc := range map[string]struct{ box, first, second string }{
		"replaced":          {gatedOn(replaced, migrated), "shop", "shop"},
		"under a new name":  {gatedOn(perImage, migrated), "migrate-a", "migrate-b"},
		"by its kind":       {gatedOn(replaced, `{field: "{{ jobSucceeded .children.job }}", equals: true}`), "shop", "shop"},
		"a name, by kind":   {gatedOn(perImage, `{field: "{{ jobSucceeded .children.job }}", equals: true}`), "migrate-a", "migrate-b"},
		"by CEL":            {gatedOn(replaced, `{cel: "children.migrate.status.conditions.exists(c, c.type == 'Complete' && c.status == 'True')"}`), "shop", "shop"},
		"all that there is": {gatedOn(perImage, `{field: "{{ range .children.jobs }}{{ jobSucceeded . }}{{ end }}", equals: "true"}`), "migrate-a", "migrate-b"},
		"of a loop": {gatedOn(`forEach: {field: spec.tags, key: "{{ .item }}"}, name: "{{ .item }}", replace: true`,
			`{field: "{{ jobSucceeded .children.migrate.x }}", equals: true}`), "x", "x"},
		"of a group that runs later": {`onReconcile: {jobs: [{id: migrate, image: "{{ .spec.image }}", replace: true}]}
onCreate: {deployments: [{image: "{{ .spec.image }}", reconcile: true, when: [` + migrated + `]}]}`, "shop", "shop"},
		"of a ring": {`onReconcile: {jobs: [{id: migrate, image: "{{ .spec.image }}", replace: true, labels: {web: '{{ default "shop" .children.deployment.metadata.name }}'}}],
  deployments: [{image: "{{ .spec.image }}", when: [` + migrated + `]}]}`, "shop", "shop"},
		"of a list without keys": {gatedOn(`forEach: {field: spec.tags}, name: "{{ .item }}", replace: true`,
			`{field: "{{ jobSucceeded .children.jobs.x }}", equals: true}`), "x", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t, tc.box, `{image: a, tags: [x]}`)
			l.runUntilIdle()
			l.Expect(l.rolledOut()).To(gomega.BeEmpty())
			l.ends(tc.first, batchv1.JobComplete)
			l.runUntilIdle()
			l.Expect(l.rolledOut()).To(gomega.Equal("a"))

			l.goes(tc.first) // by its life time: what it did counts nevertheless
			l.Expect(l.runUntilIdle().Waits).To(gomega.BeEmpty())
			l.Expect(l.rolledOut()).To(gomega.Equal("a"))

			l.edit(`{image: b, tags: [x]}`)
			r := l.runUntilIdle()
			l.Expect(l.job(tc.second)).NotTo(gomega.BeNil())
			l.Expect(l.rolledOut()).To(gomega.Equal("a"), "the Job of b has not completed")
			l.Expect(r.Waits).To(gomega.HaveLen(1))
			l.ends(tc.second, batchv1.JobComplete)
			l.runUntilIdle()
			l.Expect(l.rolledOut()).To(gomega.Equal("b"))

			l.edit(`{image: c, tags: [x]}`)
			for range 5 {
				l.cycle()
				l.Expect(l.rolledOut()).To(gomega.Equal("b"), "while the Job of b is still there, too")
			}
		})
	}
}

// What waits for a Job waits also while that Job waits: it is not to be answered by a run of an earlier spec in the meantime.
func TestAJobThatWaitsIsNotAnsweredByItsFormerRun(t *testing.T) {
	for name, migrate := range map[string]string{
		"by its gate":     `image: "{{ .spec.image }}", when: [{field: "{{ jobSucceeded .children.backup }}", equals: true}]`,
		"by its template": `image: "{{ .spec.image }}", env: [{name: BACKUP, value: "{{ .children.backup.metadata.uid }}"}]`,
		"in a loop":       `image: "{{ .spec.image }}", forEach: {field: spec.tags, key: "{{ .item }}"}, name: "shop", when: [{field: "{{ jobSucceeded .children.backup }}", equals: true}]`,
	} {
		t.Run(name, func(t *testing.T) {
			gate := migrated
			if name == "in a loop" {
				gate = `{field: "{{ jobSucceeded .children.migrate.x }}", equals: true}`
			}
			l := newLife(t, `onReconcile: {jobs: [{id: migrate, replace: true, `+migrate+`}, {id: backup, name: backup, image: "{{ .spec.image }}", replace: true}],
  deployments: [{image: "{{ .spec.image }}", when: [`+gate+`]}]}`, `{image: a, tags: [x]}`)
			l.runUntilIdle()
			l.ends("backup", batchv1.JobComplete)
			l.runUntilIdle()
			l.ends("shop", batchv1.JobComplete)
			l.runUntilIdle()
			l.Expect(l.rolledOut()).To(gomega.Equal("a"))

			l.edit(`{image: b, tags: [x]}`)
			l.runUntilIdle()
			l.Expect(l.rolledOut()).To(gomega.Equal("a"), "the backup has not completed")
			l.ends("backup", batchv1.JobComplete)
			l.runUntilIdle()
			l.Expect(l.rolledOut()).To(gomega.Equal("a"), "the migration has not completed")
			l.ends("shop", batchv1.JobComplete)
			l.runUntilIdle()
			l.Expect(l.rolledOut()).To(gomega.Equal("b"))
		})
	}
}

// A Job that is not run again counts with what it ran.
func TestAJobThatIsLeftAsItIsCounts(t *testing.T) {
	for name, job := range map[string]string{
		"without replace": `labels: {a: b}`,
		"once":            `once: true`,
		"by its gate":     `replace: true, when: [{field: spec.tls, notEquals: true}]`,
	} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t, gatedOn(job, migrated), `{image: a}`)
			l.runUntilIdle()
			l.ends("shop", batchv1.JobComplete)
			l.runUntilIdle()
			l.edit(`{image: b, tls: true}`)
			l.runUntilIdle()
			l.Expect(l.rolledOut()).To(gomega.Equal("b"))
		})
	}
}

// It counts from the cycle on that sees its end, also for a group that runs earlier: nothing would bring that group back.
func TestTheEndOfAJobThatIsLeftAsItIsIsSeenByAnEarlierGroup(t *testing.T) {
	l := newLife(t, `onReconcile: {jobs: [{id: migrate, image: "{{ .spec.image }}"}]}
onCreate: {configmaps: [{name: after, when: [`+migrated+`]}]}`, `{image: a}`)
	strictAboutJobs(l.world)
	l.runUntilIdle()
	l.edit(`{image: b}`)
	_, err := l.world.run(l.plan, l.stored)
	l.Expect(err).To(gomega.MatchError(errFixed), "the Job of a is still running")
	l.ends("shop", batchv1.JobComplete)
	r, did := l.cycle()
	l.Expect(did).To(gomega.Equal([]string{"create ConfigMap/after"}))
	l.Expect(r.Waits).To(gomega.BeEmpty())
}

// Calls are made before the groups run: they must not be answered by the former run either.
func TestACallIsNotAnsweredByTheFormerRunOfAJob(t *testing.T) {
	c := &caller{ports: newPorts(), answer: func(*external.Request) (*external.Answer, error) { return &external.Answer{Status: 200}, nil }}
	l := newLife(t, `external: [{name: tell, url: "https://example.com", method: POST, when: [`+migrated+`]}]
onReconcile: {jobs: [{id: migrate, image: "{{ .spec.image }}", replace: true}]}`, `{image: a}`)
	c.ports = l.world
	cycle := func() {
		r, err := c.cycle(l.plan, l.stored)
		l.Expect(err).NotTo(gomega.HaveOccurred())
		l.stored = r.Stored
	}
	cycle()
	l.ends("shop", batchv1.JobComplete)
	for range 3 {
		cycle()
	}
	l.Expect(c.asked).To(gomega.HaveLen(1))
	l.edit(`{image: b}`)
	for range 4 {
		cycle()
	}
	l.Expect(l.job("shop")).NotTo(gomega.BeNil())
	l.Expect(c.asked).To(gomega.HaveLen(1), "the Job of b has not completed")
	l.ends("shop", batchv1.JobComplete)
	for range 3 {
		cycle()
	}
	l.Expect(c.asked).To(gomega.HaveLen(2))
}

// A call reads a Job that itself waits for another, which is to run again: neither of the two has had its turn when the call is made.
func TestACallIsNotAnsweredThroughAJobThatWaits(t *testing.T) {
	c := callable(nil)
	l := newLife(t, `external: [{name: tell, url: "https://example.com", method: POST, when: [`+migrated+`]}]
onReconcile: {jobs: [{id: backup, name: backup, image: "{{ .spec.image }}", replace: true},
  {id: migrate, image: x, env: [{name: BACKUP, value: "{{ .children.backup.metadata.uid }}"}], replace: true}]}`, `{image: a}`)
	c.ports = l.world
	cycles := func() {
		for range 4 {
			r, err := c.cycle(l.plan, l.stored)
			l.Expect(err).NotTo(gomega.HaveOccurred())
			l.stored = r.Stored
		}
	}
	cycles()
	l.ends("backup", batchv1.JobComplete)
	cycles()
	l.ends("shop", batchv1.JobComplete)
	cycles()
	l.Expect(c.asked).To(gomega.HaveLen(1))
	l.edit(`{image: b}`) // what is declared of the migration changes by the backup alone
	cycles()
	l.Expect(c.asked).To(gomega.HaveLen(1), "the migration has not run after the backup of b")
	l.ends("backup", batchv1.JobComplete)
	cycles()
	l.Expect(c.asked).To(gomega.HaveLen(1))
	l.ends("shop", batchv1.JobComplete)
	cycles()
	l.Expect(c.asked).To(gomega.HaveLen(2))
}

// What a resource goes back to had its Jobs behind it: one that fails since then does not keep the rest from going back.
func TestGoingBackDoesNotWaitForAJob(t *testing.T) {
	l := newLife(t, gatedOn(`replace: true`, migrated), `{image: a}`)
	l.runUntilIdle()
	l.ends("shop", batchv1.JobComplete)
	l.runUntilIdle()
	good := snapshotOf(l.stored)
	l.edit(`{image: b}`)
	l.runUntilIdle()
	l.ends("shop", batchv1.JobFailed)
	l.runUntilIdle()
	l.world.edit("shop", func(o *unstructured.Unstructured) {
		if o.GetKind() == "Deployment" {
			l.Expect(unstructured.SetNestedField(o.Object, int64(7), "spec", "replicas")).To(gomega.Succeed())
			o.SetAnnotations(map[string]string{v1alpha1.AnnotationDeclaration: children.IDOf(o)}) // it is no more as it was applied
		}
	})
	r := l.plan.NewRunTo(good, l.stored, now, l.world.ports())
	l.Expect(l.plan.GoBack(context.Background(), r)).To(gomega.Succeed())
	l.Expect(r.Waits).To(gomega.BeEmpty())
	l.Expect(l.world.done()).To(gomega.Equal([]string{"change Deployment/shop"}))
	l.Expect(l.rolledOut()).To(gomega.Equal("a"))
}
