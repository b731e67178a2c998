package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// breaks has a manager's requests fail that match, while it is on. Dry runs pass.
type breaks struct {
	on    atomic.Bool
	match func(r *http.Request, body string) bool
}

func (b *breaks) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if !b.on.Load() || r.Body == nil || strings.Contains(r.URL.RawQuery, "dryRun") {
			return next.RoundTrip(r)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		if b.match(r, string(body)) {
			return nil, errors.New("the network is broken")
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		return next.RoundTrip(r)
	})
}

var _ = Describe("Rollback under faults", func() {
	It("is finished by the process that takes over", func(ctx context.Context) {
		w := newWorld(ctx)
		broken := &breaks{match: func(r *http.Request, body string) bool {
			return strings.HasSuffix(r.URL.Path, "/web-first") && strings.Contains(body, `"image":"good"`)
		}}
		replaceManager(via(broken.wrap))
		w.running(ctx, w.box(ctx, holding))
		w.labeled(ctx, "web", goodSteps, "one")
		w.settled(ctx, "web")
		broken.on.Store(true)
		w.labeled(ctx, "web", badSteps, "two")
		w.shows(ctx, "web", v1alpha1.ConditionRolledBack, metav1.ConditionFalse, v1alpha1.ReasonRollbackFailed,
			"going back to generation 1: onReconcile: applying ConfigMap")
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonRetrying, "the network is broken")
		w.firstHolds(ctx, "web", "bad", "two")

		By("ending the process: the next one has not seen the failure")
		manager.stop()
		manager = startManager(cluster.Config())
		w.rolledBack(ctx, "web", "generation 2 failed in onReconcile; the children are those of generation 1; held")
		w.firstHolds(ctx, "web", "good", "one")
		Expect(manager.requests.writes(0, "/web-second")).To(BeEmpty(), "it goes on where the other one was, and does not try again what has failed")
	})

	It("tries again by itself with rollBackOnError, when what refuses is out of sight", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.box(ctx, "rollBackOnError: true\nresync: 1s\n"+strings.ReplaceAll(steps, `"{{ .metadata.name }}-second"`, `"{{ .spec.mode }}"`))
		w.running(ctx, name)
		w.labeled(ctx, "web", `{image: good, port: 80, mode: mine}`, "one")
		w.settled(ctx, "web")
		foreign := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "theirs"},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
		Expect(kube.Create(ctx, foreign)).To(Succeed())
		w.labeled(ctx, "web", `{image: other, port: 80, mode: theirs}`, "two")
		w.rolledBack(ctx, "web", "generation 2 failed in onReconcile; the children are those of generation 1; it is tried again by itself")
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonNotOwned, "theirs")
		Eventually(func(g Gomega) {
			g.Expect(manager.metric(g, "orkestra_rollbacks_total", name)).To(BeNumerically(">=", 2))
		}).WithContext(ctx).Should(Succeed())
		w.firstHolds(ctx, "web", "good", "one")
		w.rolledBack(ctx, "web", "generation 2 failed")

		Expect(kube.Delete(ctx, foreign)).To(Succeed())
		w.settled(ctx, "web")
		Eventually(func(g Gomega) { g.Expect(w.notes(ctx, g, "web", v1alpha1.ReasonRecovered)).To(HaveLen(1)) }).WithContext(ctx).Should(Succeed())
		w.warned(ctx, "web", v1alpha1.ReasonRolledBack, "generation 2 failed") // once, however often it was tried
		Expect(w.notes(ctx, Default, "web", v1alpha1.ReasonReconcileError)).To(HaveLen(1))
		w.firstHolds(ctx, "web", "other", "two")
		w.gone(ctx, &corev1.Service{}, "mine")
	})

	It("does not go back from a generation that has succeeded: what fails is outside of the spec", func(ctx context.Context) {
		w := newWorld(ctx)
		broken := &breaks{match: func(r *http.Request, _ string) bool { return strings.HasSuffix(r.URL.Path, "/web-second") }}
		replaceManager(via(broken.wrap))
		w.running(ctx, w.box(ctx, holding))
		w.labeled(ctx, "web", `{image: older, port: 80}`, "one")
		w.settled(ctx, "web")
		w.labeled(ctx, "web", goodSteps, "two")
		w.settled(ctx, "web")
		broken.on.Store(true)
		Expect(kube.Delete(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web-second"}})).To(Succeed())
		w.shows(ctx, "web", v1alpha1.ConditionRolledBack, metav1.ConditionFalse, v1alpha1.ReasonNoSnapshot,
			"generation 2 is itself the last one that succeeded")
		w.firstHolds(ctx, "web", "good", "two")
		broken.on.Store(false)
		w.settled(ctx, "web")
		w.shows(ctx, "web", v1alpha1.ConditionRolledBack, metav1.ConditionFalse, v1alpha1.ReasonSettled, "")
		var second corev1.Service
		w.child(ctx, Default, &second, "web-second")
	})

	It("says that a snapshot can't be kept, which is no failure of the resource", func(ctx context.Context) {
		w := newWorld(ctx)
		broken := &breaks{match: func(r *http.Request, body string) bool {
			return strings.HasSuffix(r.URL.Path, ownNamespace+"/controllerrevisions") && strings.Contains(body, w.namespace)
		}}
		broken.on.Store(true)
		replaceManager(via(broken.wrap))
		w.running(ctx, w.box(ctx, holding))
		w.labeled(ctx, "web", goodSteps, "one")
		w.settled(ctx, "web")
		w.shows(ctx, "web", v1alpha1.ConditionRolledBack, metav1.ConditionFalse, v1alpha1.ReasonSnapshotFailed, "its snapshot could not be kept: writing ControllerRevision")
		broken.on.Store(false)
		w.shows(ctx, "web", v1alpha1.ConditionRolledBack, metav1.ConditionFalse, v1alpha1.ReasonSettled, "")
		Expect(w.snapshots(ctx, Default)).To(HaveLen(1))
	})

	It("says everywhere that the hold is lost when its snapshot is deleted", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.box(ctx, holding)
		w.running(ctx, name)
		w.labeled(ctx, "web", goodSteps, "one")
		w.settled(ctx, "web")
		w.labeled(ctx, "web", badSteps, "two")
		w.rolledBack(ctx, "web", "the children are those of generation 1; held")
		healthShows(ctx, name, func(g Gomega, s v1alpha1.CRDHealthStatus) { g.Expect(s.Rollback).To(HaveField("Active", true)) })
		kept := w.snapshots(ctx, Default)
		Expect(kept).To(HaveLen(1))
		Expect(kube.Delete(ctx, &kept[0])).To(Succeed())
		w.patch(ctx, w.configMapOf(ctx, "web-first"), `{"data":{"image":"by hand"}}`)
		w.shows(ctx, "web", v1alpha1.ConditionRolledBack, metav1.ConditionFalse, v1alpha1.ReasonRollbackFailed, kept[0].Name)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonRollbackFailed, kept[0].Name)
		w.warned(ctx, "web", v1alpha1.ReasonRollbackFailed, kept[0].Name)
		healthShows(ctx, name, func(g Gomega, s v1alpha1.CRDHealthStatus) { g.Expect(s.Rollback).To(HaveField("Active", false)) })
	})

	It("keeps the revision that a held resource was gone back to, whatever the limit of the history", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.box(ctx, "revisionHistoryLimit: 1\n"+holding)
		w.running(ctx, name)
		w.labeled(ctx, "web", goodSteps, "one")
		w.settled(ctx, "web")
		kept := getBox(ctx, Default, name).Status.Revision
		w.labeled(ctx, "web", badSteps, "two")
		w.rolledBack(ctx, "web", "the children are those of generation 1; held")
		for i := range 4 {
			edited := strings.Replace(holding, "selector: {app: web}", fmt.Sprintf("selector: {app: web-%d}", i), 1)
			w.running(ctx, w.box(ctx, "revisionHistoryLimit: 1\n"+edited))
			w.rolledBack(ctx, "web", "under box revision "+getBox(ctx, Default, name).Status.Revision)
			w.labeled(ctx, "other", fmt.Sprintf(`{image: "good-%d", port: 80}`, i), "one")
			w.settled(ctx, "other")
		}
		names := revisionNames(ctx, Default, name)
		Expect(names).To(ContainElement(kept))
		Expect(len(names)).To(BeNumerically("<", 5), "of five; the limit holds for the others")

		By("having another process keep it in place")
		manager.stop()
		manager = startManager(cluster.Config())
		w.patch(ctx, w.configMapOf(ctx, "web-first"), `{"data":{"image":"by hand"}}`)
		w.firstHolds(ctx, "web", "good", "one")
		w.rolledBack(ctx, "web", "the children are those of generation 1")

		By("mending the spec, after which nothing needs it")
		w.labeled(ctx, "web", `{image: better, port: 80}`, "three")
		w.settled(ctx, "web")
		w.running(ctx, w.box(ctx, "revisionHistoryLimit: 1\n"+holding+"\nworkers: 2"))
		Eventually(func(g Gomega) { g.Expect(revisionNames(ctx, g, name)).NotTo(ContainElement(kept)) }).WithContext(ctx).Should(Succeed())
	})

	It("does nothing when the revision of the box is gone, and says which", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.box(ctx, holding)
		w.running(ctx, name)
		w.labeled(ctx, "web", goodSteps, "one")
		w.settled(ctx, "web")
		kept := getBox(ctx, Default, name).Status.Revision
		w.box(ctx, strings.NewReplacer(`"{{ .spec.image }}"`, `"other {{ .spec.image }}"`, `port: "{{ .spec.port }}"`, `port: 81`).Replace(holding))
		w.running(ctx, name)
		w.firstHolds(ctx, "web", "other good", "one")
		w.settled(ctx, "web")
		manager.stop() // it may know the plan still
		for _, s := range w.snapshots(ctx, Default) {
			if !bytes.Contains(s.Data.Raw, []byte(kept)) {
				Expect(kube.Delete(ctx, &s)).To(Succeed())
			}
		}
		Expect(kube.Delete(ctx, &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: ownNamespace, Name: kept}})).To(Succeed())
		manager = startManager(cluster.Config())
		w.labeled(ctx, "web", badSteps, "two")
		w.box(ctx, strings.NewReplacer(`"{{ .spec.image }}"`, `"more {{ .spec.image }}"`).Replace(holding))
		w.shows(ctx, "web", v1alpha1.ConditionRolledBack, metav1.ConditionFalse, v1alpha1.ReasonRollbackFailed, kept)
		Expect(w.get(ctx, Default, "web").GetAnnotations()).NotTo(HaveKey(v1alpha1.AnnotationRolledBack))
		Expect(kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: "web-first"}, &corev1.ConfigMap{})).To(Succeed())
	})
})
