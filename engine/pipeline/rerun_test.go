package pipeline

import (
	"testing"

	"github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/settle"
)

const rerunJob = `onReconcile: {jobs: [{id: migrate, image: "{{ .spec.image }}", rerunOn: ["{{ .spec.host }}", "{{ coalesce .spec.replicas }}"], ttlSecondsAfterFinished: 60}],
  configmaps: [{name: after, data: {image: "{{ .spec.image }}", host: "{{ .spec.host }}"}, after: [migrate]}]}`

// imageOf is the image with which a Job runs; empty: there is none.
func (l *lifeOfAJob) imageOf(name string) string {
	job := l.job(name)
	if job == nil {
		return ""
	}
	containers, _, err := unstructured.NestedSlice(job.Object, "spec", "template", "spec", "containers")
	l.Expect(err).NotTo(gomega.HaveOccurred())
	container, _ := containers[0].(map[string]any)
	image, _ := container["image"].(string)
	return image
}

// TestAJobRunsAgainForOtherValues: and for nothing else, once it has completed.
func TestAJobRunsAgainForOtherValues(t *testing.T) {
	for name, gone := range map[string]bool{"while it is there": false, "when it is gone": true} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t, rerunJob, `{image: a, host: x}`)
			l.runUntilIdle()
			l.ends("shop", batchv1.JobComplete)
			l.runUntilIdle()
			l.Expect(l.world.data("after")).To(gomega.HaveKeyWithValue("image", "a"))
			if gone {
				l.goes("shop")
			}

			l.edit(`{image: b, host: x}`)
			r := l.runUntilIdle()
			l.Expect(r.Waits).To(gomega.BeEmpty())
			l.Expect(l.world.data("after")).To(gomega.HaveKeyWithValue("image", "b"), "what reads the Job goes on")
			if gone {
				l.Expect(l.job("shop")).To(gomega.BeNil())
			} else {
				l.Expect(l.imageOf("shop")).To(gomega.Equal("a"))
			}

			l.edit(`{image: b, host: "y"}`)
			r = l.runUntilIdle()
			l.Expect(l.imageOf("shop")).To(gomega.Equal("b"), "with what is declared now")
			l.Expect(r.Waits).NotTo(gomega.BeEmpty())
			l.Expect(l.world.data("after")).To(gomega.HaveKeyWithValue("host", "x"), "the Job of y has not completed")
			l.ends("shop", batchv1.JobComplete)
			l.runUntilIdle()
			l.Expect(l.world.data("after")).To(gomega.HaveKeyWithValue("host", "y"))

			l.edit(`{image: b, host: "y", replicas: 2}`)
			l.runUntilIdle()
			l.Expect(settle.JobState(l.job("shop"))).To(gomega.BeEmpty(), "any of the values")
		})
	}
}

// TestAJobThatHasNotCompletedFollowsItsDeclaration: also where the values stay.
func TestAJobThatHasNotCompletedFollowsItsDeclaration(t *testing.T) {
	for name, how := range map[string]batchv1.JobConditionType{"it runs": "", "it has failed": batchv1.JobFailed} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t, rerunJob, `{image: a, host: x}`)
			l.runUntilIdle()
			if how != "" {
				l.ends("shop", how)
			}
			l.edit(`{image: b, host: x}`)
			l.runUntilIdle()
			l.Expect(l.imageOf("shop")).To(gomega.Equal("b"))
			l.Expect(settle.JobState(l.job("shop"))).To(gomega.BeEmpty())
		})
	}
}

// TestAJobThatWaitsAndRunsForValues: while it waits, its former run answers for the same values, and for no others.
func TestAJobThatWaitsAndRunsForValues(t *testing.T) {
	l := newLife(t, `onReconcile: {configmaps: [{id: go, name: go, data: {a: b}}, {name: after, data: {image: "{{ .spec.image }}", host: "{{ .spec.host }}"}, when: [`+migrated+`]}],
  jobs: [{id: migrate, image: "{{ .spec.image }}", rerunOn: ["{{ .spec.host }}"], when: [{field: children.go.metadata.annotations.phase, equals: Up}]}]}`, `{image: a, host: x}`)
	l.cycle()
	l.world.edit("go", withPhase("Up"))
	l.runUntilIdle()
	l.ends("shop", batchv1.JobComplete)
	l.runUntilIdle()
	l.Expect(l.world.data("after")).To(gomega.HaveKeyWithValue("image", "a"))
	l.Expect(l.marked()).To(gomega.MatchRegexp(`\{"migrate":"[0-9a-f]{16}/[0-9a-f]{16} shop"\}`))
	l.Expect(l.job("shop").GetAnnotations()).To(gomega.HaveKeyWithValue(v1alpha1.AnnotationRerunOn, gomega.HaveLen(16)))
	l.world.edit("go", withPhase("Down"))
	l.edit(`{image: b, host: x}`)
	l.runUntilIdle()
	l.Expect(l.world.data("after")).To(gomega.HaveKeyWithValue("image", "b"))
	l.edit(`{image: b, host: "y"}`)
	l.runUntilIdle()
	l.Expect(l.world.data("after")).To(gomega.HaveKeyWithValue("host", "x"), "the Job of y has not run")
}

// TestRerunOnThatMeansNothing: each is told when the box is applied.
func TestRerunOnThatMeansNothing(t *testing.T) {
	for name, tc := range map[string]struct{ box, why string }{
		"in onDelete":   {`onDelete: {jobs: [{image: a, rerunOn: [a]}]}`, "spec.onDelete.jobs[0].rerunOn: Forbidden: a Job of onDelete runs once, when the resource goes; remove rerunOn"},
		"asked once":    {`onReconcile: {jobs: [{image: a, once: true, rerunOn: [a]}]}`, "spec.onReconcile.jobs[0].rerunOn: Forbidden: this Job is made once; remove once, or remove rerunOn"},
		"made once":     {`onCreate: {jobs: [{image: a, rerunOn: [a]}]}`, "spec.onCreate.jobs[0].rerunOn: Forbidden: this Job is made once; move it to onReconcile, or set reconcile: true, or remove rerunOn"},
		"with replace":  {`onReconcile: {jobs: [{image: a, rerunOn: [a], replace: true}]}`, "spec.onReconcile.jobs[0].rerunOn: Forbidden: rerunOn and replace contradict each other"},
		"of a CronJob":  {`onReconcile: {cronjobs: [{image: a, schedule: "0 0 * * *", rerunOn: [a]}]}`, "spec.onReconcile.cronjobs[0].rerunOn: Forbidden: unknown field"},
		"of a Secret":   {`onReconcile: {secrets: [{id: key, name: key, data: {a: b}}], jobs: [{image: a, rerunOn: ["{{ .children.key.data.a }}"]}]}`, "spec.onReconcile.jobs[0].rerunOn: Forbidden: it reads a Secret, and the hash of these values can be read on the Job"},
		"itself":        {`onReconcile: {jobs: [{id: run, image: a, rerunOn: ["{{ default 0 .children.run.status.succeeded }}"]}]}`, "spec.onReconcile.jobs[0].rerunOn: Forbidden: children.run is the Job itself, which would run again for each end that it comes to; read what the Job is for"},
		"its kind":      {`onReconcile: {jobs: [{image: a, rerunOn: ["{{ default 0 .children.job.status.succeeded }}"]}]}`, "children.job is the Job itself"},
		"a value of it": {`{values: [{name: ends, cel: "children.run.status.succeeded"}], onReconcile: {jobs: [{id: run, image: a, rerunOn: ["{{ default 0 .values.ends }}"]}]}}`, "children.run is the Job itself"},
		"no list":       {`onReconcile: {jobs: [{image: a, rerunOn: "{{ .spec.host }}-a"}]}`, "spec.onReconcile.jobs[0].rerunOn: Invalid value: \"{{ .spec.host }}-a\": want array, got a text"},
		"a wrong field": {`onReconcile: {jobs: [{image: a, rerunOn: ["{{ .spec.hots }}"]}]}`, "spec.onReconcile.jobs[0].rerunOn[0]: Invalid value: \"{{ .spec.hots }}\": column 4: spec.hots: no such field"},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			_, errs := Compile(boxOf(t, tc.box), Env{CRD: websites(t)})
			g.Expect(errs).To(gomega.HaveLen(1))
			g.Expect(errs[0].Error()).To(gomega.ContainSubstring(tc.why))
		})
	}
}

// TestAJobOfAnotherNameIsAnotherJob: also for the same values.
func TestAJobOfAnotherNameIsAnotherJob(t *testing.T) {
	l := newLife(t, `onReconcile: {jobs: [{id: migrate, name: "migrate-{{ .spec.image }}", image: x, rerunOn: [always]}]}`, `{image: a}`)
	l.runUntilIdle()
	l.ends("migrate-a", batchv1.JobComplete)
	l.runUntilIdle()
	l.edit(`{image: b}`)
	l.runUntilIdle()
	l.Expect(l.job("migrate-b")).NotTo(gomega.BeNil())
}
