package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("Rollback of names that come from the spec", func() {
	It("deletes nothing that may have to come back", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.box(ctx, `rollback: {trigger: {consecutiveFailures: 5}}
onReconcile:
  configmaps:
  - {id: cfg, name: "{{ .metadata.name }}-{{ .spec.image }}", data: {image: "{{ .spec.image }}"}}
  - {id: gate, name: gate, data: {a: b}}
  services:
  - name: "{{ .metadata.name }}-second"
    port: "{{ .spec.port }}"
    selector: {app: web}
    when: [{field: "children.gate.metadata.annotations['open']", equals: "{{ .spec.image }}"}]
`)
		open := func(image string) {
			GinkgoHelper()
			Eventually(func(g Gomega) { w.child(ctx, g, w.configMap("gate"), "gate") }).WithContext(ctx).Should(Succeed())
			w.merge(ctx, w.configMap("gate"), `{"metadata":{"annotations":{"open":"`+image+`"}}}`)
		}
		w.running(ctx, name)
		w.labeled(ctx, "web", goodSteps, "one")
		open("good")
		w.settled(ctx, "web")
		Eventually(func(g Gomega) { g.Expect(w.snapshots(ctx, g)).To(HaveLen(1)) }).WithContext(ctx).Should(Succeed())
		var before, after corev1.ConfigMap
		w.child(ctx, Default, &before, "web-good")

		By("changing the name: the cycles end without an error while something is waited for")
		w.labeled(ctx, "web", badSteps, "two")
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonWaitingForGate, "annotations['open']")
		w.child(ctx, Default, &corev1.ConfigMap{}, "web-bad")
		w.child(ctx, Default, &after, "web-good")
		Expect(after.UID).To(Equal(before.UID), "the new generation may still fail")
		open("bad")
		w.rolledBack(ctx, "web", "the children are those of generation 1")
		w.child(ctx, Default, &after, "web-good")
		Expect(after.UID).To(Equal(before.UID), "what it held is still there")
		w.gone(ctx, &corev1.ConfigMap{}, "web-bad")

		By("mending the spec: what the new generation does not declare goes when it has succeeded")
		w.labeled(ctx, "web", `{image: "better", port: 81}`, "three")
		open("better")
		w.settled(ctx, "web")
		w.gone(ctx, &corev1.ConfigMap{}, "web-good")
	})
})

var _ = Describe("Rollback with onRollback", func() {
	It("runs its groups with the snapshot as .previous, and prunes what they made when the hold ends", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.box(ctx, `
rollback:
  trigger: {consecutiveFailures: 3}
  onRollback:
    configmaps:
    - name: "{{ .metadata.name }}-report"
      data:
        was: "{{ .previous.spec.image }}"
        is: "{{ .spec.image }}"
        team: "{{ index .previous.metadata.labels \"team\" }}"
        generation: "{{ .previous.metadata.generation }}"
    - id: fallback
      name: "{{ .metadata.name }}-first"
      data: {image: "{{ .previous.spec.image }}", by: onRollback}
`+steps)
		w.running(ctx, name)
		w.labeled(ctx, "web", goodSteps, "one")
		w.settled(ctx, "web")
		w.labeled(ctx, "web", badSteps, "two")
		w.rolledBack(ctx, "web", "generation 2 failed in onReconcile; onRollback has run, with generation 1 as .previous; held")
		w.firstHolds(ctx, "web", "good", "onRollback")
		var report corev1.ConfigMap
		w.child(ctx, Default, &report, "web-report")
		Expect(report.Data).To(Equal(map[string]string{"was": "good", "is": "bad", "team": "one", "generation": "1"}))
		Expect(report.OwnerReferences).To(HaveLen(1))

		By("changing what it made by hand")
		report.Data["was"] = "drift"
		Expect(kube.Update(ctx, &report)).To(Succeed())
		Eventually(func(g Gomega) {
			w.child(ctx, g, &report, "web-report")
			g.Expect(report.Data).To(HaveKeyWithValue("was", "good"))
		}).WithContext(ctx).Should(Succeed())

		By("mending the spec")
		w.labeled(ctx, "web", `{image: "better", port: 81}`, "three")
		w.settled(ctx, "web")
		w.firstHolds(ctx, "web", "better", "three")
		w.gone(ctx, &corev1.ConfigMap{}, "web-report")
	})

	It("runs them for errors that may pass, when there are enough within the time", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.box(ctx, `
rollback:
  trigger: {consecutiveFailures: 4, within: 10m}
  onRollback: {configmaps: [{name: "{{ .metadata.name }}-report", data: {was: "{{ .previous.spec.image }}"}}]}
onReconcile:
  resources:
  - when: [{field: spec.mode, equals: fail}]
    manifest: {apiVersion: example.com/v1, kind: Unknown, metadata: {name: x}}
`)
		w.running(ctx, name)
		w.website(ctx, "web", `{image: good}`)
		w.settled(ctx, "web")
		w.website(ctx, "web", `{image: good, mode: fail}`)
		w.rolledBack(ctx, "web", "generation 2 failed in onReconcile; onRollback has run, with generation 1 as .previous")
		var report corev1.ConfigMap
		w.child(ctx, Default, &report, "web-report")
		Expect(report.Data).To(HaveKeyWithValue("was", "good"))
		Eventually(func(g Gomega) {
			g.Expect(getHealth(ctx, g, name).Status).To(And(HaveField("FailureCount", BeEquivalentTo(4)),
				HaveField("Rollback", HaveValue(HaveField("Reason", "ConsecutiveFailures")))))
		}).WithContext(ctx).Should(Succeed())
	})
})

var _ = Describe("What a rollback leaves alone", func() {
	It("runs no Job again, draws no value anew, and makes no call that changes something", func(ctx context.Context) {
		w := newWorld(ctx)
		called := newService()
		w.running(ctx, w.box(ctx, `
rollback: {trigger: {consecutiveFailures: 3}}
external:
- {name: told, method: POST, url: "`+called.url+`/told", body: "{{ .spec.image }}"}
onReconcile:
  configmaps:
  - {name: "{{ .metadata.name }}-first", data: {image: "{{ .spec.image }}", by: "{{ index .metadata.labels \"team\" }}"}}
  secrets:
  - {name: drawn, once: true, data: {password: "{{ randAlphaNum 20 }}"}}
  jobs:
  - {id: run, name: job, image: "{{ .spec.image }}", replace: true}
  ingresses:
  - {name: late, host: "{{ .spec.host }}", serviceName: a, servicePort: 80, when: [{field: children.configmap.data.image, equals: "{{ .spec.image }}"}]}
`))
		w.labeled(ctx, "web", `{image: good, host: good.example.com}`, "one")
		w.done(ctx, "web", "run")
		w.settled(ctx, "web")
		var drawn, after corev1.Secret
		w.child(ctx, Default, &drawn, "drawn")

		w.labeled(ctx, "web", `{image: bad, host: "not a host"}`, "two")
		w.rolledBack(ctx, "web", "generation 2 failed in onReconcile")
		w.firstHolds(ctx, "web", "good", "one")
		Expect(called.requests()).To(HaveExactElements(HaveSuffix(" good"), HaveSuffix(" bad")), "the rollback tells nobody")
		w.child(ctx, Default, &after, "drawn")
		Expect(after).To(And(HaveField("UID", drawn.UID), HaveField("Data", drawn.Data)))
		var jobs batchv1.JobList
		Expect(kube.List(ctx, &jobs, client.InNamespace(w.namespace))).To(Succeed())
		Expect(jobs.Items).To(BeEmpty(), "the attempt has deleted the Job to run it again, and the rollback does not run it")

		w.labeled(ctx, "web", `{image: good, host: good.example.com}`, "three")
		w.settled(ctx, "web")
		Expect(kube.List(ctx, &jobs, client.InNamespace(w.namespace))).To(Succeed())
		Expect(jobs.Items).To(BeEmpty(), "a Job that has completed is done for what it ran with")
	})

	It("runs no Job again where another one has completed since", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
rollback: {trigger: {consecutiveFailures: 3}}
onReconcile:
  jobs:
  - {id: run, name: job, image: "{{ .spec.image }}", replace: true, labels: {image: "{{ .spec.image }}"}}
  services:
  - name: late
    port: "{{ .spec.port }}"
    selector: {app: web}
    when: [{field: children.run.metadata.labels.image, equals: "{{ .spec.image }}"}, {field: children.run.status.succeeded, equals: 1}]
`))
		w.labeled(ctx, "web", goodSteps, "one")
		w.done(ctx, "web", "run")
		w.settled(ctx, "web")
		w.labeled(ctx, "web", badSteps, "two")
		w.rolledBack(ctx, "web", "generation 2 failed in onReconcile")
		w.annotate(ctx, "web", "example.com/note", "look again")
		mark := manager.requests.mark()
		Eventually(func(g Gomega) { g.Expect(manager.skipped(g, w.id)).To(BeNumerically(">", 0)) }).WithContext(ctx).Should(Succeed())
		Expect(manager.requests.writes(mark, "/jobs")).To(BeEmpty())
		var job batchv1.Job
		w.child(ctx, Default, &job, "job")
		Expect(job.Labels).To(HaveKeyWithValue("image", "bad"), "what it did can't be undone, and is not done again")
		Expect(job.DeletionTimestamp).To(BeNil())
	})

	It("keeps the snapshots of cluster-scoped resources in the manager's namespace", func(ctx context.Context) {
		w := newWorldWithoutCRD(ctx)
		crd := w.crd()
		crd.Spec.Scope = apiextensionsv1.ClusterScoped
		Expect(kube.Create(ctx, crd)).To(Succeed())
		w.waitEstablished(ctx)
		w.running(ctx, w.box(ctx, `{rollBackOnError: true, onReconcile: {namespaces: [{name: "{{ .metadata.name }}-space"}]}}`))
		obj := w.ref(w.id)
		obj.SetNamespace("")
		fresh := uncached()
		Expect(fresh.Create(ctx, obj)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(fresh.Delete(ctx, obj))).To(Succeed()) })
		Eventually(func(g Gomega) {
			var list appsv1.ControllerRevisionList
			g.Expect(kube.List(ctx, &list, client.InNamespace(ownNamespace), client.MatchingLabels{v1alpha1.LabelOwnerUID: string(obj.GetUID())})).To(Succeed())
			g.Expect(list.Items).To(HaveLen(1))
			g.Expect(list.Items[0].OwnerReferences).To(BeEmpty())
		}).WithContext(ctx).Should(Succeed())
	})

	It("prunes no snapshot where ControllerRevisions are children too", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
rollBackOnError: true
onReconcile:
  resources:
  - manifest: {apiVersion: apps/v1, kind: ControllerRevision, metadata: {name: mine}, revision: 7, data: {image: "{{ .spec.image }}"}}
`))
		w.labeled(ctx, "web", `{image: a}`, "one")
		w.settled(ctx, "web")
		Eventually(func(g Gomega) { g.Expect(w.snapshots(ctx, g)).To(HaveLen(1)) }).WithContext(ctx).Should(Succeed())
		snapshot := w.snapshots(ctx, Default)[0]
		Expect(snapshot.Labels).To(HaveLen(3))
		Expect(snapshot.OwnerReferences).To(BeEmpty())

		By("declaring nothing any more: the child goes, and the snapshots stay")
		w.box(ctx, `{rollBackOnError: true}`)
		w.running(ctx, w.id)
		w.settled(ctx, "web")
		mine := snapshot.DeepCopy()
		w.gone(ctx, mine, "mine")
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(&snapshot), mine)).To(Succeed())
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonReconcileSucceeded, "")
	})
})
