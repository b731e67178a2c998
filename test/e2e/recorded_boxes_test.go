package e2e_test

import (
	"context"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// boxOf and healthOf name a box and its CRDHealth.
func boxOf(name string) *v1alpha1.OperatorBox {
	return &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func healthOf(name string) *v1alpha1.CRDHealth {
	return &v1alpha1.CRDHealth{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// recordOf records a box, or its CRDHealth where the name of the recording begins with that.
func (s *stage) recordOf(ctx context.Context, box, record, state string) {
	GinkgoHelper()
	if strings.HasPrefix(record, "crdhealth-") {
		s.record(ctx, record, healthOf(box), state)
		return
	}
	s.record(ctx, record, boxOf(box), state)
}

// calm are the conditions of something that does not do what it should, does not try, and is not held up by a mistake either.
func calm(reason string) string {
	return "Ready=False " + reason + ", Reconciling=False " + reason + ", Stalled=False " + reason
}

// underWay and mistaken are the conditions of a box that goes on by itself, and of one that somebody must mend.
func underWay(reason string) string {
	return "observed, Ready=False " + reason + ", Reconciling=True " + reason + ", " + notStalled
}

func mistaken(reason string) string {
	return "observed, Ready=False " + reason + ", " + isSettled + ", Stalled=True " + reason
}

// awaits and standsStill are the same of a CRDHealth.
func awaits(state, reason string) string {
	return "observed, " + state + ", Ready=False " + reason + ", Reconciling=True " + reason + ", Stalled=False " + reason
}

func standsStill(state, reason string) string {
	return "observed, " + state + ", Ready=False " + reason + ", Reconciling=False " + reason + ", Stalled=True " + reason
}

const (
	runs      = "observed, Ready=True Running, " + isSettled + ", " + notStalled
	isHealthy = "observed, Healthy, Ready=True Healthy, Reconciling=False Healthy, Stalled=False Healthy"
	wrongBox  = `{onReconcile: {configmaps: [{data: {a: "{{ .spec.nothing }}"}}]}}`
)

var boxScenes = map[string]scene{
	"a box from its beginning to its end": {
		records: []string{
			"operatorbox-new", "crdhealth-new", "operatorbox-crd-missing", "crdhealth-pending", "operatorbox-starting", "crdhealth-starting",
			"operatorbox-running", "crdhealth-healthy", "operatorbox-degraded", "crdhealth-degraded", "operatorbox-changed",
			"operatorbox-suspended", "crdhealth-suspended", "operatorbox-deleting", "crdhealth-box-deleting", "operatorbox-crd-gone", "crdhealth-stopped",
		},
		play: lifeOfBox,
	},
	"boxes with mistakes": {
		records: []string{
			"operatorbox-compile-failed", "crdhealth-compile-failed", "operatorbox-compile-failed-runs", "crdhealth-compile-failed-runs",
			"operatorbox-claimed", "crdhealth-claimed", "operatorbox-version-not-served", "operatorbox-crd-not-owned",
		},
		play: mistakenBoxes,
	},
	"what the manager may not do": {
		records: []string{"operatorbox-forbidden", "crdhealth-forbidden", "website-forbidden"},
		play:    forbiddenBoxes,
	},
}

func lifeOfBox(ctx context.Context, s *stage) {
	s.world = newWorldWithoutCRD(ctx)
	manager.stop()
	s.box(ctx, atMostTen)
	s.recordOf(ctx, s.id, "operatorbox-new", "unseen")
	Expect(kube.Create(ctx, &v1alpha1.CRDHealth{
		ObjectMeta: metav1.ObjectMeta{Name: s.id}, Spec: v1alpha1.CRDHealthSpec{CRD: v1alpha1.CRDName{Name: s.crdName()}},
	})).To(Succeed())
	s.recordOf(ctx, s.id, "crdhealth-new", "unseen")

	d := startBlocked(func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, s.group+"/v1/websites") }) //nolint:contextcheck // a manager has a context of its own
	d.shut()
	s.recordOf(ctx, s.id, "operatorbox-crd-missing", underWay(v1alpha1.ReasonCRDMissing))
	s.recordOf(ctx, s.id, "crdhealth-pending", awaits("Pending", v1alpha1.ReasonCRDMissing))
	s.install(ctx)
	s.recordOf(ctx, s.id, "operatorbox-starting", underWay(v1alpha1.ReasonStarting))
	s.recordOf(ctx, s.id, "crdhealth-starting", awaits("Starting", v1alpha1.ReasonStarting))
	d.open()
	s.recordOf(ctx, s.id, "operatorbox-running", runs)
	s.recordOf(ctx, s.id, "crdhealth-healthy", isHealthy)

	for _, name := range []string{"a", "b", "c"} {
		s.website(ctx, name, `{replicas: 11}`)
	}
	s.recordOf(ctx, s.id, "crdhealth-degraded", standsStill("Degraded", v1alpha1.ReasonDegraded))
	s.recordOf(ctx, s.id, "operatorbox-degraded", runs)

	manager.stop()
	s.box(ctx, "suspend: true"+atMostTen)
	s.recordOf(ctx, s.id, "operatorbox-changed", "behind, Ready=True Running, "+isSettled+", "+notStalled)
	replaceManager() //nolint:contextcheck // a manager has a context of its own
	s.recordOf(ctx, s.id, "operatorbox-suspended", "observed, Ready=False Suspended, "+isSettled+", "+notStalled)
	s.recordOf(ctx, s.id, "crdhealth-suspended", "observed, Suspended, "+calm(v1alpha1.ReasonSuspended))
	for _, name := range []string{"a", "b", "c"} {
		s.removed(ctx, name)
	}
	endOfBox(ctx, s)
}

// endOfBox deletes a box while a resource of it can't be let go, and takes the CRD from another one.
func endOfBox(ctx context.Context, s *stage) {
	s.box(ctx, `{onDelete: {jobs: [`+job("bye", endless)+`]}}`)
	s.running(ctx, s.id)
	s.website(ctx, "last", `{}`)
	s.settled(ctx, "last")
	Expect(kube.Delete(ctx, s.ref("last"))).To(Succeed())
	s.cleaning(ctx, "last", "last-bye")
	deleteBox(ctx, s.id)
	boxShows(ctx, s.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDeletionBlocked, s.namespace+"/last")
	s.recordOf(ctx, s.id, "operatorbox-deleting", "deleted, "+underWay(v1alpha1.ReasonDeletionBlocked))
	Eventually(func(g Gomega) {
		g.Expect(healthCondition(getHealth(ctx, g, s.id), v1alpha1.ConditionReady)).To(HaveField("Message", ContainSubstring("/last")))
	}).WithContext(ctx).Should(Succeed())
	s.recordOf(ctx, s.id, "crdhealth-box-deleting", "observed, Stopped, "+calm(v1alpha1.ReasonDeletionBlocked))
	s.annotate(ctx, "last", v1alpha1.AnnotationSkipCleanup, "true")
	boxGone(ctx, s.id)

	s.running(ctx, s.box(ctx, oneMap(1, "x")))
	s.deleteCRD(ctx)
	s.recordOf(ctx, s.id, "operatorbox-crd-gone", underWay(v1alpha1.ReasonCRDMissing))
	s.recordOf(ctx, s.id, "crdhealth-stopped", awaits("Stopped", v1alpha1.ReasonCRDMissing))
}

func mistakenBoxes(ctx context.Context, s *stage) {
	s.open(ctx)
	s.box(ctx, wrongBox)
	s.recordOf(ctx, s.id, "operatorbox-compile-failed", mistaken(v1alpha1.ReasonCompileFailed))
	s.recordOf(ctx, s.id, "crdhealth-compile-failed", standsStill("Pending", v1alpha1.ReasonCompileFailed))
	s.running(ctx, s.box(ctx, oneMap(1, "x")))
	s.box(ctx, wrongBox)
	s.recordOf(ctx, s.id, "operatorbox-compile-failed-runs", mistaken(v1alpha1.ReasonCompileFailed))
	s.recordOf(ctx, s.id, "crdhealth-compile-failed-runs",
		"observed, Healthy, Ready=True Healthy, Reconciling=False Healthy, Stalled=True "+v1alpha1.ReasonCompileFailed)

	second := s.boxNamed(ctx, s.id+"-second", oneMap(1, "x"))
	s.recordOf(ctx, second, "operatorbox-claimed", mistaken(v1alpha1.ReasonCRDClaimed))
	s.recordOf(ctx, second, "crdhealth-claimed", standsStill("Stopped", v1alpha1.ReasonCRDClaimed))
	deleteBox(ctx, second)
	boxGone(ctx, second)

	s.box(ctx, `{crd: {name: `+s.crdName()+`, version: v9}, onReconcile: {configmaps: [{data: {a: b}}]}}`)
	s.recordOf(ctx, s.id, "operatorbox-version-not-served", mistaken(v1alpha1.ReasonCRDVersionNotServed))
	deleteBox(ctx, s.id)
	boxGone(ctx, s.id)

	s.box(ctx, `{crd: {definition: {group: `+s.group+`, scope: Namespaced, names: {plural: websites, kind: Website},
		versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}}`)
	s.recordOf(ctx, s.id, "operatorbox-crd-not-owned", mistaken(v1alpha1.ReasonCRDNotOwned))
}

func forbiddenBoxes(ctx context.Context, s *stage) {
	s.open(ctx)
	_, err := cluster.Kubectl(ctx, "apply", "-f", "../../config/default/namespace.yaml")
	Expect(err).NotTo(HaveOccurred())
	_, err = cluster.Kubectl(ctx, "apply", "-k", "../../config/rbac")
	Expect(err).NotTo(HaveOccurred())
	replaceManager(func(set *settings) { //nolint:contextcheck // a manager has a context of its own
		set.config.Impersonate.UserName = "system:serviceaccount:orkestra-system:orkestra"
	})
	s.box(ctx, `{onReconcile: {resources: [{manifest: {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, endpoints: [{addresses: [192.0.2.1], hostname: "{{ .spec.mode }}"}]}}]}}`)
	s.recordOf(ctx, s.id, "operatorbox-forbidden", mistaken(v1alpha1.ReasonForbidden))
	s.recordOf(ctx, s.id, "crdhealth-forbidden", standsStill("Pending", v1alpha1.ReasonForbidden))

	grant := func(name string, groups, resources []string) *rbacv1.ClusterRole {
		GinkgoHelper()
		role := &rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: s.id + name, Labels: map[string]string{"orkestra.orkspace.io/aggregate-to-manager": "true"}},
			Rules:      []rbacv1.PolicyRule{{APIGroups: groups, Resources: resources, Verbs: []string{"*"}}},
		}
		Expect(kube.Create(ctx, role)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, role))).To(Succeed()) })
		return role
	}
	grant("-websites", []string{s.group}, []string{"websites", "websites/status", "websites/finalizers"})
	endpointslices := grant("-endpointslices", []string{"discovery.k8s.io"}, []string{"endpointslices"})
	s.running(ctx, s.id)
	s.website(ctx, "web", `{mode: a}`)
	s.settled(ctx, "web")
	Expect(kube.Delete(ctx, endpointslices)).To(Succeed())
	Eventually(func(g Gomega) {
		_, err := cluster.Kubectl(ctx, "auth", "can-i", "patch", "endpointslices", "-n", s.namespace, "--as", "system:serviceaccount:orkestra-system:orkestra")
		g.Expect(err).To(HaveOccurred())
	}).WithContext(ctx).Should(Succeed())
	obj := s.website(ctx, "web", `{mode: b}`)
	s.record(ctx, "website-forbidden", obj, "observed, "+hasFailed+", "+isSettled+", Stalled=True Forbidden")
}
