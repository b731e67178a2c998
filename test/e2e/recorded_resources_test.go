package e2e_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// Conditions of a resource, as summary gives them.
const (
	isReady    = "Ready=True ReconcileSucceeded"
	hasFailed  = "Ready=False ReconcileError"
	isSettled  = "Reconciling=False Settled"
	notStalled = "Stalled=False NotStalled"
	allIsWell  = isReady + ", " + isSettled + ", " + notStalled
)

// open makes the world of a scene. Its CRD says, as docs/how-to/flux.md advises, that a new resource has not been reconciled.
func (s *stage) open(ctx context.Context) {
	GinkgoHelper()
	s.world = newWorldWithoutCRD(ctx)
	s.install(ctx)
}

func (s *stage) install(ctx context.Context) {
	GinkgoHelper()
	crd := s.crd()
	schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	status := schema.Properties["status"]
	status.Default = &apiextensionsv1.JSON{Raw: []byte(`{"observedGeneration":-1}`)}
	schema.Properties["status"] = status
	Expect(kube.Create(ctx, crd)).To(Succeed())
	s.waitEstablished(ctx)
}

// site applies a box, and a resource for it.
func (s *stage) site(ctx context.Context, box, name, spec string) client.Object {
	GinkgoHelper()
	s.running(ctx, s.box(ctx, box))
	return s.website(ctx, name, spec)
}

// stalls records a resource that a box stalls for a reason.
func (s *stage) stalls(ctx context.Context, record, reason, box, spec string) {
	GinkgoHelper()
	obj := s.site(ctx, "{"+box+"}", record, spec)
	s.record(ctx, record, obj, "observed, "+hasFailed+", "+isSettled+", Stalled=True "+reason)
}

var resourceScenes = map[string]scene{
	"resources that nobody has looked at": {
		records: []string{"website-new", "website-new-without-default"},
		play: func(ctx context.Context, s *stage) {
			s.open(ctx)
			s.record(ctx, "website-new", s.website(ctx, "web", `{image: "nginx:1"}`), "unseen")
			s.world = newWorld(ctx)
			s.record(ctx, "website-new-without-default", s.website(ctx, "web", `{image: "nginx:1"}`), "silent")
		},
	},
	"resources whose CRD has no place for a generation": {
		records: []string{"website-no-generation"},
		play: func(ctx context.Context, s *stage) {
			s.world = newWorldWithoutCRD(ctx)
			crd := s.crd()
			delete(crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties, "observedGeneration")
			Expect(kube.Create(ctx, crd)).To(Succeed())
			s.waitEstablished(ctx)
			s.record(ctx, "website-no-generation", s.site(ctx, `{onReconcile: {configmaps: [{data: {a: b}}]}}`, "web", `{}`), "silent, "+allIsWell)
		},
	},
	"resources that are on their way": {
		records: []string{
			"website-gate", "website-gate-not-ready", "website-cross", "website-children", "website-retrying", "website-terminating-child",
		},
		play: onTheirWay,
	},
	"resources that are there, or stand still": {
		records: []string{
			"website-ready", "website-paused", "website-paused-changed", "website-paused-new", "website-paused-stalled", "website-changed",
		},
		play: settledAndPaused,
	},
	"resources that somebody must mend": {
		records: []string{
			"website-validation-failed", "website-template-error", "website-condition-error", "website-invalid-child", "website-admission-denied",
			"website-not-owned", "website-duplicate-child", "website-budget-exceeded", "website-external-failed", "website-child-failed",
			"website-child-failed-not-ready",
		},
		play: toBeMended,
	},
	"resources that are being deleted": {
		records: []string{"website-deleting", "website-cleanup-failed"},
		play: func(ctx context.Context, s *stage) {
			s.open(ctx)
			for _, d := range []struct{ record, job, state string }{
				{"website-deleting", endless, "Ready=False Deleting, Reconciling=True Deleting, " + notStalled},
				{"website-cleanup-failed", failing, hasFailed + ", " + isSettled + ", Stalled=True CleanupFailed"},
			} {
				obj := s.site(ctx, `{onDelete: {jobs: [`+job("bye", d.job)+`]}}`, d.record, `{}`)
				s.settled(ctx, d.record)
				Expect(kube.Delete(ctx, obj)).To(Succeed())
				s.record(ctx, d.record, obj, "deleted, observed, "+d.state)
				s.annotate(ctx, d.record, v1alpha1.AnnotationSkipCleanup, "true")
				s.vanished(ctx, d.record)
			}
		},
	},
}

func onTheirWay(ctx context.Context, s *stage) {
	s.open(ctx)
	const gated = `onReconcile: {configmaps: [` + lever + `, {name: "{{ .metadata.name }}-gated", data: {a: b},
		when: [{field: "children.lever.metadata.annotations['lever']", equals: "on"}]}]}`
	obj := s.site(ctx, `{`+gated+`}`, "website-gate", `{}`)
	s.record(ctx, "website-gate", obj, "observed, "+isReady+", Reconciling=True WaitingForGate, "+notStalled)
	obj = s.site(ctx, `{status: {ready: Current}, `+gated+`}`, "website-gate-not-ready", `{}`)
	s.record(ctx, "website-gate-not-ready", obj, "observed, Ready=False WaitingForGate, Reconciling=True WaitingForGate, "+notStalled)

	obj = s.site(ctx, `{cross: [{name: settings, apiVersion: v1, kind: ConfigMap, selector: {name: absent}}],
		onReconcile: {configmaps: [{data: {a: "{{ .cross.settings.data.a }}"}}]}}`, "website-cross", `{}`)
	s.record(ctx, "website-cross", obj, "observed, "+isReady+", Reconciling=True WaitingForCross, "+notStalled)

	obj = s.site(ctx, `{onReconcile: {configmaps: [{data: {a: b}, readyWhen: [{field: "object.metadata.annotations['done']", exists: true}]}]}}`,
		"website-children", `{}`)
	s.record(ctx, "website-children", obj, "observed, "+isReady+", Reconciling=True ChildrenNotCurrent, "+notStalled)

	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"services": resource.MustParse("0")}},
	}
	Expect(kube.Create(ctx, quota)).To(Succeed())
	Eventually(func(g Gomega) {
		s.child(ctx, g, quota, "none")
		g.Expect(quota.Status.Hard).NotTo(BeEmpty())
	}).WithContext(ctx).Should(Succeed())
	obj = s.site(ctx, `{onReconcile: {services: [{port: 80, selector: {a: b}}]}}`, "website-retrying", `{}`)
	s.record(ctx, "website-retrying", obj, "observed, "+hasFailed+", Reconciling=True Retrying, "+notStalled)

	obj = s.site(ctx, `{onReconcile: {configmaps: [{data: {a: b}}]}}`, "website-terminating-child", `{}`)
	s.settled(ctx, "website-terminating-child")
	c := s.configMapOf(ctx, "website-terminating-child")
	s.merge(ctx, c, `{"metadata":{"finalizers":["e2e.test/hold"]}}`)
	Expect(kube.Delete(ctx, c)).To(Succeed())
	s.record(ctx, "website-terminating-child", obj, "observed, "+isReady+", Reconciling=True ChildTerminating, "+notStalled)
	s.merge(ctx, c, `{"metadata":{"finalizers":null}}`)
}

func settledAndPaused(ctx context.Context, s *stage) {
	const paused = ", Reconciling=False Paused, " + notStalled
	const box = `validation: {rules: [{field: spec.replicas, operator: lte, value: "10"}]}, onReconcile: {configmaps: [{data: {a: b}}]}`
	s.open(ctx)
	ready := s.site(ctx, "{"+box+"}", "website-ready", `{mode: a}`)
	s.record(ctx, "website-ready", ready, "observed, "+allIsWell)

	obj := s.website(ctx, "website-paused", `{mode: a}`)
	s.settled(ctx, "website-paused")
	s.annotate(ctx, "website-paused", v1alpha1.AnnotationPaused, "true")
	s.record(ctx, "website-paused", obj, "observed, "+isReady+paused)

	obj = s.website(ctx, "website-paused-changed", `{mode: a}`)
	s.settled(ctx, "website-paused-changed")
	s.annotate(ctx, "website-paused-changed", v1alpha1.AnnotationPaused, "true")
	s.website(ctx, "website-paused-changed", `{mode: b}`)
	s.record(ctx, "website-paused-changed", obj, "behind, "+isReady+paused)

	fresh := s.ref("website-paused-new")
	fresh.SetAnnotations(map[string]string{v1alpha1.AnnotationPaused: "true"})
	Expect(kube.Create(ctx, fresh)).To(Succeed())
	s.record(ctx, "website-paused-new", fresh, "observed, Ready=False Paused"+paused)

	const invalid = ", Stalled=True ValidationFailed"
	obj = s.website(ctx, "website-paused-stalled", `{replicas: 11}`)
	s.fails(ctx, "website-paused-stalled", v1alpha1.ReasonValidationFailed, "")
	s.annotate(ctx, "website-paused-stalled", v1alpha1.AnnotationPaused, "true")
	s.record(ctx, "website-paused-stalled", obj, "observed, "+hasFailed+", Reconciling=False Paused"+invalid)

	obj = s.website(ctx, "website-changed", `{mode: a}`)
	s.settled(ctx, "website-changed")
	s.box(ctx, `{suspend: true, `+box+`}`)
	boxShows(ctx, s.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonSuspended, "")
	s.website(ctx, "website-changed", `{mode: b}`)
	s.record(ctx, "website-changed", obj, "behind, "+allIsWell)
}

func toBeMended(ctx context.Context, s *stage) {
	s.open(ctx)
	s.stalls(ctx, "website-validation-failed", v1alpha1.ReasonValidationFailed,
		`validation: {rules: [{field: spec.replicas, operator: lte, value: "10", message: at most ten}]}`, `{replicas: 11}`)
	s.stalls(ctx, "website-template-error", v1alpha1.ReasonTemplateError, `onReconcile: {configmaps: [{data: {a: "{{ .spec.mode }}"}}]}`, `{}`)
	s.stalls(ctx, "website-condition-error", v1alpha1.ReasonConditionError,
		`onReconcile: {configmaps: [{data: {a: b}, when: [{field: spec.memory, greaterThan: "{{ .spec.mode }}"}]}]}`, `{memory: 5, mode: many}`)
	s.stalls(ctx, "website-invalid-child", v1alpha1.ReasonInvalidChild,
		`onReconcile: {services: [{port: "{{ .spec.port }}", selector: {a: b}}]}`, `{port: 70000}`)

	taken := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "website-not-owned"}}
	Expect(kube.Create(ctx, taken)).To(Succeed())
	s.stalls(ctx, "website-not-owned", v1alpha1.ReasonNotOwned, `onReconcile: {configmaps: [{data: {a: b}}]}`, `{}`)
	s.stalls(ctx, "website-duplicate-child", v1alpha1.ReasonDuplicateChild,
		`onReconcile: {configmaps: [{id: one, name: "{{ .spec.mode }}", data: {a: b}}, {id: two, name: same, data: {a: b}}]}`, `{mode: same}`)
	s.stalls(ctx, "website-budget-exceeded", v1alpha1.ReasonBudgetExceeded,
		`onReconcile: {configmaps: [{data: {a: "{{ range $i := until 200 }}{{ range $j := until 200 }}x{{ end }}{{ end }}"}}]}`, `{}`)
	s.stalls(ctx, "website-external-failed", v1alpha1.ReasonExternalFailed,
		`external: [{name: quota, url: "https://quota.example.com/v1", auth: {type: Bearer, secretRef: {name: absent, key: token}}}],
		onReconcile: {configmaps: [{data: {a: "{{ .external.quota.limit }}"}}]}`, `{}`)

	policy, binding := denying(s.world, metav1.StatusReasonForbidden)
	Expect(kube.Create(ctx, policy)).To(Succeed())
	Expect(kube.Create(ctx, binding)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		Expect(client.IgnoreNotFound(kube.Delete(ctx, binding))).To(Succeed())
		Expect(client.IgnoreNotFound(kube.Delete(ctx, policy))).To(Succeed())
	})
	Eventually(func() error {
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "probe"}, Data: map[string]string{"value": "forbidden"}}
		return kube.Create(ctx, probe, client.DryRunAll)
	}).WithContext(ctx).Should(HaveOccurred(), "the policy is in force")
	s.stalls(ctx, "website-admission-denied", v1alpha1.ReasonAdmissionDenied, `onReconcile: {configmaps: [{data: {value: "{{ .spec.mode }}"}}]}`, `{mode: forbidden}`)

	for ready, record := range map[string]string{"Reconciled": "website-child-failed", "Current": "website-child-failed-not-ready"} {
		obj := s.site(ctx, fmt.Sprintf(`{onReconcile: {jobs: [{image: "busybox:1", %s}]}, status: {ready: %s}}`, failing, ready), record, `{}`)
		s.record(ctx, record, obj, "observed, Ready=False ChildFailed, "+isSettled+", Stalled=True ChildFailed")
	}
}
