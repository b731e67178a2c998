package pipeline

import (
	"context"
	"testing"

	"github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

const (
	keptJob     = `onReconcile: {jobs: [{id: migrate, image: "{{ .spec.image }}", ttlSecondsAfterFinished: 60}]}`
	replacedJob = `onReconcile: {jobs: [{id: migrate, image: "{{ .spec.image }}", replace: true}]}`
)

// lifeOfAJob runs a box for one resource, cycle after cycle.
type lifeOfAJob struct {
	*gomega.WithT

	tb     testing.TB
	world  *ports
	plan   *Plan
	stored *unstructured.Unstructured
}

func newLife(t *testing.T, box, spec string) *lifeOfAJob {
	t.Helper()
	return &lifeOfAJob{WithT: gomega.NewWithT(t), tb: t, world: newPorts(), plan: planOf(t, box), stored: website(t, spec)}
}

// cycle runs the plan once and gives what was done, but for the marks of the resource.
func (l *lifeOfAJob) cycle() (*Run, []string) {
	l.tb.Helper()
	r, err := l.world.run(l.plan, l.stored)
	l.Expect(err).NotTo(gomega.HaveOccurred())
	l.stored = r.Stored
	var out []string
	for _, did := range l.world.done() {
		if did != "mark Website/shop" {
			out = append(out, did)
		}
	}
	return r, out
}

// edit changes the spec of the resource.
func (l *lifeOfAJob) edit(spec string) {
	l.tb.Helper()
	next := website(l.tb, spec)
	l.stored.Object["spec"] = next.Object["spec"]
	l.stored.SetGeneration(l.stored.GetGeneration() + 1)
}

// ends lets the Job complete or fail.
func (l *lifeOfAJob) ends(name string, how batchv1.JobConditionType) {
	l.world.edit(name, endJob(string(how)))
}

// goes removes the Job, as its life time or somebody does.
func (l *lifeOfAJob) goes(name string) {
	for _, c := range l.world.list(jobKind, "u1") {
		if c.GetName() == name {
			l.world.remove("gone", c)
		}
	}
	l.world.done()
}

func (l *lifeOfAJob) marked() string { return l.stored.GetAnnotations()[v1alpha1.AnnotationDone] }

func (l *lifeOfAJob) job(name string) *unstructured.Unstructured {
	for _, c := range l.world.list(jobKind, "u1") {
		if c.GetName() == name {
			return c
		}
	}
	return nil
}

func TestAJobThatHasCompletedIsNotRunAgain(t *testing.T) {
	l := newLife(t, keptJob, `{image: a}`)
	_, did := l.cycle()
	l.Expect(did).To(gomega.Equal([]string{"create Job/shop"}))
	ttl := func() any {
		v, _, _ := unstructured.NestedFieldNoCopy(l.job("shop").Object, "spec", "ttlSecondsAfterFinished")
		return v
	}
	l.Expect(ttl()).To(gomega.BeNil(), "it must not go before its end was seen")
	_, did = l.cycle()
	l.Expect(did).To(gomega.BeEmpty())
	l.Expect(l.marked()).To(gomega.BeEmpty())

	l.ends("shop", batchv1.JobComplete)
	_, did = l.cycle()
	l.Expect(did).To(gomega.Equal([]string{"change Job/shop"}), "only now it gets its life time")
	l.Expect(ttl()).To(gomega.Equal(int64(60)))
	l.Expect(l.marked()).To(gomega.MatchRegexp(`^\{"migrate":"[0-9a-f]{16} shop"\}$`))
	l.ends("shop", batchv1.JobComplete)
	_, did = l.cycle()
	l.Expect(did).To(gomega.BeEmpty())

	l.goes("shop")
	r, did := l.cycle()
	l.Expect(did).To(gomega.BeEmpty())
	l.Expect(r.Waits).To(gomega.BeEmpty())

	l.edit(`{image: b}`)
	_, did = l.cycle()
	l.Expect(did).To(gomega.BeEmpty(), "another template is no reason without replace")
}

func TestTheMarkIsWrittenBeforeTheLifeTime(t *testing.T) {
	l := newLife(t, keptJob, `{image: a}`)
	l.cycle()
	l.ends("shop", batchv1.JobComplete)
	boom := apierrors.NewInternalError(context.DeadlineExceeded)
	l.world.mark = func(context.Context, *unstructured.Unstructured, apply.Marks) (*unstructured.Unstructured, error) {
		return nil, boom
	}
	_, err := l.world.run(l.plan, l.stored)
	l.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("deadline")))
	l.Expect(l.world.done()).To(gomega.BeEmpty())
}

func TestACompletedJobWithAnotherTemplateStaysAsItIs(t *testing.T) {
	l := newLife(t, keptJob, `{image: a}`)
	l.cycle()
	l.ends("shop", batchv1.JobComplete)
	l.cycle()
	l.edit(`{image: b}`)
	_, did := l.cycle()
	l.Expect(did).To(gomega.BeEmpty())
	l.Expect(l.job("shop")).NotTo(gomega.BeNil(), "nor is it pruned")
}

func TestReplace(t *testing.T) {
	l := newLife(t, replacedJob, `{image: a}`)
	l.cycle()
	l.ends("shop", batchv1.JobComplete)
	l.cycle()
	first := l.job("shop").GetUID()
	l.edit(`{image: b}`)
	r, did := l.cycle()
	l.Expect(did).To(gomega.Equal([]string{"delete Job/shop"}))
	l.Expect(r.Waits).To(gomega.ConsistOf(stage.Wait{Reason: v1alpha1.ReasonChildTerminating, Message: `Job "shop" is deleted, to be made again with what is declared now`, Of: "migrate"}))
	r, did = l.cycle()
	l.Expect(did).To(gomega.Equal([]string{"create Job/shop"}))
	l.Expect(r.Waits).To(gomega.BeEmpty())
	l.Expect(l.job("shop").GetUID()).NotTo(gomega.Equal(first))
	_, did = l.cycle()
	l.Expect(did).To(gomega.BeEmpty(), "it runs with what is declared now")

	l.edit(`{image: c}`)
	_, did = l.cycle()
	l.Expect(did).To(gomega.Equal([]string{"delete Job/shop"}), "one that still runs is replaced as well")
	l.cycle()
	l.ends("shop", batchv1.JobComplete)
	l.cycle()
	l.goes("shop")
	_, did = l.cycle()
	l.Expect(did).To(gomega.BeEmpty())
	l.edit(`{image: d}`)
	_, did = l.cycle()
	l.Expect(did).To(gomega.Equal([]string{"create Job/shop"}), "also one that is gone runs again")
}

func TestAJobThatFailedOrWasDeletedBeforeItsEnd(t *testing.T) {
	l := newLife(t, keptJob, `{image: a}`)
	l.cycle()
	l.ends("shop", batchv1.JobFailed)
	_, did := l.cycle()
	l.Expect(did).To(gomega.BeEmpty())
	l.Expect(l.marked()).To(gomega.BeEmpty())
	l.goes("shop")
	_, did = l.cycle()
	l.Expect(did).To(gomega.Equal([]string{"create Job/shop"}))
}

func TestAJobUnderAnotherNameIsAnotherJob(t *testing.T) {
	l := newLife(t, `onReconcile: {jobs: [{name: "migrate-{{ .spec.image }}", image: x}]}`, `{image: a}`)
	l.cycle()
	l.ends("migrate-a", batchv1.JobComplete)
	l.cycle()
	l.goes("migrate-a")
	l.edit(`{image: b}`)
	_, did := l.cycle()
	l.Expect(did).To(gomega.Equal([]string{"create Job/migrate-b"}))
	l.ends("migrate-b", batchv1.JobComplete)
	l.cycle()
	l.edit(`{image: c}`)
	_, did = l.cycle()
	l.Expect(did).To(gomega.Equal([]string{"create Job/migrate-c", "delete Job/migrate-b"}))
}

func TestAJobThatIsMadeOnce(t *testing.T) {
	boxes := map[string]string{
		"onCreate":    `onCreate: {jobs: [{id: migrate, image: "{{ .spec.image }}", ttlSecondsAfterFinished: 60}]}`,
		"onReconcile": `onReconcile: {jobs: [{id: migrate, once: true, image: "{{ .spec.image }}", ttlSecondsAfterFinished: 60}]}`,
		"a manifest": `onReconcile: {resources: [{id: migrate, once: true, manifest: {apiVersion: batch/v1, kind: Job, metadata: {name: shop},
  spec: {ttlSecondsAfterFinished: 60, template: {spec: {restartPolicy: Never, containers: [{name: a, image: "{{ .spec.image }}"}]}}}}}]}`,
		"an overlay": `onReconcile: {jobs: [{id: migrate, once: true, image: "{{ .spec.image }}", spec: {ttlSecondsAfterFinished: 60}}]}`,
	}
	for name, box := range boxes {
		t.Run(name, func(t *testing.T) {
			l := newLife(t, box, `{image: a}`)
			l.cycle()
			l.world.edit("shop", func(c *unstructured.Unstructured) {
				c.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: v1alpha1.FieldManager}})
			})
			l.Expect(l.job("shop").Object["spec"]).NotTo(gomega.HaveKey("ttlSecondsAfterFinished"))
			l.ends("shop", batchv1.JobComplete)
			_, did := l.cycle()
			l.Expect(did).To(gomega.Equal([]string{"expire Job/shop 60"}))
			l.Expect(l.marked()).To(gomega.ContainSubstring(`"migrate":`))
			_, did = l.cycle()
			l.Expect(did).To(gomega.BeEmpty())
			l.goes("shop")
			l.edit(`{}`) // nothing is rendered any more, so that nothing is missing
			_, did = l.cycle()
			l.Expect(did).To(gomega.BeEmpty())
		})
	}
}

// A Job that is made once is done under the name that it had: under another name it is another Job.
func TestAJobThatIsMadeOnceUnderAnotherName(t *testing.T) {
	l := newLife(t, `onReconcile: {jobs: [{id: migrate, once: true, name: "{{ .spec.host }}", image: a, ttlSecondsAfterFinished: 60}]}`, `{host: one}`)
	l.cycle()
	l.ends("one", batchv1.JobComplete)
	l.cycle()
	l.goes("one")
	_, did := l.cycle()
	l.Expect(did).To(gomega.BeEmpty())
	l.edit(`{host: two}`)
	_, did = l.cycle()
	l.Expect(did).To(gomega.Equal([]string{"create Job/two"}))
}

func TestMarksOfJobsThatAreGoneAreDropped(t *testing.T) {
	const perTag = `onReconcile: {jobs: [{id: migrate, forEach: {field: spec.tags, key: "{{ .item }}"}, name: "{{ .item }}", image: x}]}`
	l := newLife(t, perTag, `{tags: [a, b]}`)
	l.cycle()
	l.ends("a", batchv1.JobComplete)
	l.ends("b", batchv1.JobComplete)
	l.cycle()
	l.goes("a")
	_, did := l.cycle()
	l.Expect(did).To(gomega.BeEmpty())
	l.Expect(l.marked()).To(gomega.And(gomega.ContainSubstring(`"migrate#a":`), gomega.ContainSubstring(`"migrate#b":`)))

	l.edit(`{tags: [b]}`)
	l.cycle()
	l.Expect(l.marked()).To(gomega.And(gomega.Not(gomega.ContainSubstring(`"migrate#a":`)), gomega.ContainSubstring(`"migrate#b":`)))
	l.edit(`{tags: [a, b]}`)
	_, did = l.cycle()
	l.Expect(did).To(gomega.Equal([]string{"create Job/a"}), "an item that comes back is a new one")

	l.plan = planOf(t, `onReconcile: {jobs: [{id: migrate, forEach: {field: spec.tags, key: "{{ .item }}"}, name: "{{ .item }}", image: x, when: [{field: spec.tls, equals: true}]}]}`)
	l.cycle()
	l.Expect(l.marked()).To(gomega.ContainSubstring(`"migrate#b":`), "the declaration is still there")
	l.plan = planOf(t, `onReconcile: {configmaps: [{}]}`)
	l.cycle()
	l.Expect(l.marked()).To(gomega.Equal("{}"))
}

// The config map has read the stand-in of the Job before its mark was dropped: nothing but the cycle itself can know of that.
func TestADroppedMarkIsSeenByWhatHasReadIt(t *testing.T) {
	l := newLife(t, `onReconcile:
  jobs: [{id: migrate, forEach: {field: spec.tags, key: "{{ .item }}"}, name: "{{ .item }}", image: x}]
  configmaps: [{data: {ran: '{{ default dict .children.jobs | keys | sortAlpha | join "," }}'}}]`, `{tags: [a, b]}`)
	l.cycle()
	l.ends("a", batchv1.JobComplete)
	l.cycle()
	l.goes("a")
	l.edit(`{tags: [b]}`)
	r, _ := l.cycle()
	l.Expect(r.Inputs.Expires()).To(gomega.Equal(now), "the next cycle is due")
	r, did := l.cycle()
	l.Expect(did).To(gomega.Equal([]string{"change ConfigMap/shop"}))
	l.Expect(r.Inputs.Expires().IsZero()).To(gomega.BeTrue())
}

func TestWhatWaitsForAJobStaysOpenWhenTheJobIsGone(t *testing.T) {
	l := newLife(t, `onReconcile:
  jobs: [{id: migrate, name: "{{ .metadata.name }}-migrate", image: a}]
  ingresses:
  - {name: one, host: a, serviceName: web, servicePort: 80, when: [{field: "{{ jobSucceeded .children.job }}", equals: true}]}
  - {name: two, host: a, serviceName: web, servicePort: 80, when: [{field: children.migrate.status.succeeded, equals: 1}]}
  - {name: three, host: a, serviceName: web, servicePort: 80, when: [{field: "{{ (get .children.jobs \"shop-migrate\").status.succeeded }}", equals: 1}]}`, `{}`)
	r, did := l.cycle()
	l.Expect(did).To(gomega.HaveExactElements("create Job/shop-migrate"))
	l.Expect(r.Waits).To(gomega.HaveLen(3))
	l.ends("shop-migrate", batchv1.JobComplete)
	l.world.edit("shop-migrate", func(c *unstructured.Unstructured) {
		l.Expect(unstructured.SetNestedField(c.Object, int64(1), "status", "succeeded")).To(gomega.Succeed())
	})
	l.cycle()
	l.goes("shop-migrate")
	for _, c := range l.world.list(ingressKind, "u1") {
		l.world.remove("gone", c)
	}
	l.world.done()
	r, did = l.cycle()
	l.Expect(r.Waits).To(gomega.BeEmpty())
	l.Expect(did).To(gomega.ConsistOf("create Ingress/one", "create Ingress/two", "create Ingress/three"))
}

// One of two Jobs that an onCreate has made under two names is noted. Which one it is does not change from cycle to cycle.
func TestOfTwoJobsThatStayOneIsNoted(t *testing.T) {
	l := newLife(t, `onCreate: {jobs: [{id: migrate, name: "migrate-{{ .spec.image }}", image: x}]}`, `{image: b}`)
	l.stored.SetAnnotations(map[string]string{v1alpha1.AnnotationActiveSince: "2026-01-01T00:00:00Z"})
	for _, name := range []string{"migrate-a", "migrate-b"} {
		l.world.put(jobKind, name, "migrate")
		l.ends(name, batchv1.JobComplete)
	}
	l.cycle()
	noted := l.marked()
	l.Expect(noted).NotTo(gomega.BeEmpty())
	for range 3 {
		r, err := l.world.run(l.plan, l.stored)
		l.Expect(err).NotTo(gomega.HaveOccurred())
		l.stored = r.Stored
		l.Expect(l.world.done()).To(gomega.BeEmpty())
		l.Expect(l.marked()).To(gomega.Equal(noted))
	}
	l.Expect(l.job("migrate-a")).NotTo(gomega.BeNil())
	l.Expect(l.job("migrate-b")).NotTo(gomega.BeNil())
}
