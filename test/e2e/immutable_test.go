package e2e_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// fixed is a child whose declaration reads spec.mode where Kubernetes changes nothing: a becomes b.
type fixed struct {
	apiVersion, kind string
	group            string // %s is where `replace: true` goes
	says             string // what the status says of the field
	advice           string // what it says is to be done
}

func (f fixed) box(replace string) string {
	return "{resync: 24h, onReconcile: {" + strings.ReplaceAll(f.group, "%s", replace) + "}}"
}

// liveUID waits for a child that is not on its way, and gives its UID.
func (w *world) liveUID(ctx context.Context, f fixed) types.UID {
	GinkgoHelper()
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion(strings.ReplaceAll(f.apiVersion, "GROUP", w.group))
	obj.SetKind(f.kind)
	Eventually(func(g Gomega) {
		w.child(ctx, g, obj, "web")
		g.Expect(obj.GetDeletionTimestamp()).To(BeNil())
	}).WithContext(ctx).Should(Succeed())
	return obj.GetUID()
}

// shops is a CRD with a field that a rule of its author makes immutable.
func (w *world) shops(ctx context.Context) {
	GinkgoHelper()
	crd := w.crd()
	crd.Name = "shops." + w.group
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "shops", Singular: "shop", Kind: "Shop", ListKind: "ShopList"}
	mode := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["mode"]
	mode.XValidations = apiextensionsv1.ValidationRules{{Rule: "self == oldSelf", Message: "mode stays"}}
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["mode"] = mode
	Expect(kube.Create(ctx, crd)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, crd))).To(Succeed()) })
}

var _ = Describe("What Kubernetes can't change in place", func() {
	const orReplace = "; set replace: true to delete the "

	DescribeTable("is named with the way out, and is made again with replace", func(ctx context.Context, f fixed) {
		w := newWorld(ctx)
		if f.kind == "Shop" {
			w.shops(ctx)
		}
		f.group = strings.ReplaceAll(f.group, "GROUP", w.group)
		w.running(ctx, w.box(ctx, f.box("")))
		w.website(ctx, "web", `{mode: a}`)
		first := w.liveUID(ctx, f)
		if f.kind != "PersistentVolumeClaim" { // nothing provides a volume of this class
			w.settled(ctx, "web")
		}

		w.website(ctx, "web", `{mode: b}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidChild, f.says)
		advice := f.advice
		if advice == "" {
			advice = orReplace + f.kind + " and make it again, or give it another name"
		}
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidChild, advice)
		Expect(w.liveUID(ctx, f)).To(Equal(first))
		if f.advice != "" {
			return
		}

		w.running(ctx, w.box(ctx, f.box(", replace: true")))
		w.settled(ctx, "web")
		second := w.liveUID(ctx, f)
		Expect(second).NotTo(Equal(first))

		By("changing it once more, and back")
		for _, mode := range []string{"a", "b"} {
			w.website(ctx, "web", `{mode: `+mode+`}`)
			w.settled(ctx, "web")
			third := w.liveUID(ctx, f)
			Expect(third).NotTo(Equal(second))
			second = third
		}
		w.lookedAt(ctx, "web")
		nothingSent(ctx, w, "web")
		Expect(w.liveUID(ctx, f)).To(Equal(second))
	},
		Entry("a Service that is headless no more", fixed{"v1", "Service",
			`services: [{selector: {}, port: 80, headless: "{{ eq .spec.mode \"a\" }}" %s}]`,
			`applying Service "web": spec.clusterIP can't be changed from "None" to an address`, ""}),
		Entry("a Service that gets headless", fixed{"v1", "Service",
			`services: [{selector: {}, port: 80, headless: "{{ eq .spec.mode \"b\" }}" %s}]`,
			`" to "None"`, ""}),
		Entry("the selector of a Deployment", fixed{"apps/v1", "Deployment",
			`deployments: [{image: "nginx:1", replicas: 0, podLabels: {tier: "{{ .spec.mode }}"}, spec: {selector: {matchLabels: {tier: "{{ .spec.mode }}"}}} %s}]`,
			`applying Deployment "web": spec.selector.matchLabels.tier can't be changed from "a" to "b"`, ""}),
		Entry("the Service of a StatefulSet", fixed{"apps/v1", "StatefulSet",
			`statefulsets: [{image: "nginx:{{ .spec.mode }}", replicas: 0, serviceName: "{{ .spec.mode }}" %s}]`,
			`applying StatefulSet "web": spec.serviceName can't be changed from "a" to "b"; set`, ""}),
		Entry("the type of a Secret", fixed{"v1", "Secret",
			`secrets: [{type: "e2e/{{ .spec.mode }}", data: {key: hidden} %s}]`,
			`applying Secret "web": type can't be changed from "e2e/a" to "e2e/b"`, ""}),
		Entry("an immutable ConfigMap", fixed{"v1", "ConfigMap",
			`configmaps: [{immutable: true, data: {key: "{{ .spec.mode }}"} %s}]`,
			`applying ConfigMap "web": data.key can't be changed; set`, ""}),
		Entry("a field that a rule of a CRD holds", fixed{"GROUP/v1", "Shop",
			`resources: [{manifest: {apiVersion: GROUP/v1, kind: Shop, metadata: {name: "{{ .metadata.name }}"}, spec: {mode: "{{ .spec.mode }}"}} %s}]`,
			`applying Shop "web": spec.mode can't be changed to "b"`, ""}),
		Entry("a volume claim, which is never made again", fixed{"v1", "PersistentVolumeClaim",
			`pvcs: [{storage: 1Gi, storageClassName: "{{ .spec.mode }}"}]`,
			`applying PersistentVolumeClaim "web": spec.storageClassName can't be changed from "a" to "b"`,
			"; the claim is Pending and holds no data yet: delete it to have it made again, or give it another name"}),
	)

	It("leaves the pods and the volumes of a StatefulSet, which the new one takes over", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{onReconcile: {statefulsets: [{replace: true, image: "nginx:1", replicas: 1, serviceName: "{{ .spec.mode }}",
			volumeClaimTemplates: [{metadata: {name: data}, spec: {resources: {requests: {storage: 1Gi}}}}]}]}}`))
		w.website(ctx, "web", `{mode: a}`)
		pod, claim := &corev1.Pod{}, &corev1.PersistentVolumeClaim{}
		Eventually(func(g Gomega) { // the pod waits for a volume, which nothing provides
			w.child(ctx, g, pod, "web-0")
			w.child(ctx, g, claim, "data-web-0")
		}).WithContext(ctx).Should(Succeed())

		w.website(ctx, "web", `{mode: b}`)
		after, claimAfter := &corev1.Pod{}, &corev1.PersistentVolumeClaim{}
		Eventually(func(g Gomega) {
			newer := &appsv1.StatefulSet{}
			w.child(ctx, g, newer, "web")
			g.Expect(newer.Spec.ServiceName).To(Equal("b"))
			w.child(ctx, g, after, "web-0")
			g.Expect(metav1.GetControllerOf(after)).To(HaveField("UID", newer.UID))
		}).WithContext(ctx).Should(Succeed())
		Expect(after.UID).To(Equal(pod.UID), "the same pod")
		w.child(ctx, Default, claimAfter, "data-web-0")
		Expect(claimAfter.UID).To(Equal(claim.UID))
	})

	It("shows what is being replaced while something holds it", func(ctx context.Context) {
		w := newWorld(ctx)
		f := fixed{apiVersion: "v1", kind: "Service", group: `services: [{selector: {}, port: 80, headless: "{{ eq .spec.mode \"a\" }}", replace: true}]`}
		w.running(ctx, w.box(ctx, f.box("")))
		w.website(ctx, "web", `{mode: a}`)
		w.settled(ctx, "web")
		first := w.liveUID(ctx, f)
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"}}
		w.merge(ctx, service, `{"metadata":{"finalizers":["e2e.test/hold"]}}`)
		w.website(ctx, "web", `{mode: b}`)
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonChildTerminating, `Service "web" is being deleted; it is made again when it is gone`)
		w.merge(ctx, service, `{"metadata":{"finalizers":null}}`)
		w.settled(ctx, "web")
		Expect(w.liveUID(ctx, f)).NotTo(Equal(first))
	})

	It("is replaced where a box with rollback asks first, and back again where the new generation fails", func(ctx context.Context) {
		w := newWorld(ctx)
		f := fixed{apiVersion: "v1", kind: "Service"}
		w.running(ctx, w.box(ctx, `{resync: 24h, status: {ready: Current}, rollback: {trigger: {}}, onReconcile: {
			services: [{port: 80, headless: "{{ eq .spec.mode \"a\" }}", replace: true}],
			deployments: [{image: "{{ .spec.image }}", replicas: "{{ .spec.replicas }}", nodeSelector: {nowhere: "true"}, spec: {progressDeadlineSeconds: 1}}]}}`))
		w.website(ctx, "web", `{mode: a, image: good, replicas: 0}`)
		w.settled(ctx, "web")
		Eventually(func(g Gomega) { g.Expect(w.snapshots(ctx, g)).To(HaveLen(1)) }).WithContext(ctx).Should(Succeed())
		first := w.liveUID(ctx, f)

		w.website(ctx, "web", `{mode: b, image: good, replicas: 0}`)
		w.settled(ctx, "web")
		second := w.liveUID(ctx, f)
		Expect(second).NotTo(Equal(first))
		Eventually(func(g Gomega) { g.Expect(w.snapshots(ctx, g)).To(HaveLen(2)) }).WithContext(ctx).Should(Succeed())

		w.website(ctx, "web", `{mode: a, image: bad, replicas: 1}`)
		w.rolledBack(ctx, "web", "failed by a child; the children are those of generation 2; held")
		Eventually(func(g Gomega) {
			service := &corev1.Service{}
			w.child(ctx, g, service, "web")
			g.Expect(service.Spec.ClusterIP).NotTo(Or(BeEmpty(), Equal(corev1.ClusterIPNone)))
			g.Expect(service.UID).NotTo(Equal(second))
		}).WithContext(ctx).Should(Succeed())
	})

	DescribeTable("replaces nothing that is refused for another reason", func(ctx context.Context, spec, reason, says string, prepare func(context.Context, *world)) {
		w := newWorld(ctx)
		f := fixed{apiVersion: "apps/v1", kind: "Deployment"}
		w.running(ctx, w.box(ctx, `{resync: 24h, onReconcile: {deployments: [{replace: true, image: "nginx:1", replicas: "{{ .spec.replicas }}", spec: {selector: {matchLabels: {tier: "{{ .spec.mode }}"}}}, podLabels: {tier: "{{ .spec.mode }}"}}]}}`))
		w.website(ctx, "web", `{replicas: 0, mode: a}`)
		w.settled(ctx, "web")
		first := w.liveUID(ctx, f)
		prepare(ctx, w)
		w.website(ctx, "web", spec)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, reason, says)
		Expect(w.liveUID(ctx, f)).To(Equal(first))
	},
		Entry("bad content", `{replicas: -1, mode: a}`, v1alpha1.ReasonInvalidChild, "spec.replicas: Invalid value: -1", func(context.Context, *world) {}),
		Entry("bad content beside a field that can't be changed", `{replicas: -1, mode: b}`, v1alpha1.ReasonInvalidChild, "spec.replicas: Invalid value: -1", func(context.Context, *world) {}),
		Entry("a policy that uses the API server's words", `{replicas: 3, mode: a}`, v1alpha1.ReasonAdmissionDenied, "denied request: spec.selector: field is immutable",
			func(ctx context.Context, w *world) {
				policy, binding := denying(w, metav1.StatusReasonInvalid)
				policy.Spec.MatchConstraints.ResourceRules[0].Resources = []string{"deployments"}
				policy.Spec.MatchConstraints.ResourceRules[0].APIGroups = []string{"apps"}
				policy.Spec.MatchConstraints.ResourceRules[0].Operations = []admissionv1.OperationType{admissionv1.Update}
				policy.Spec.Validations = []admissionv1.Validation{{Expression: "object.spec.replicas < 3", Message: "spec.selector: field is immutable", Reason: new(metav1.StatusReasonInvalid)}}
				Expect(kube.Create(ctx, policy)).To(Succeed())
				Expect(kube.Create(ctx, binding)).To(Succeed())
				DeferCleanup(func(ctx context.Context) {
					Expect(kube.Delete(ctx, binding)).To(Succeed())
					Expect(kube.Delete(ctx, policy)).To(Succeed())
				})
				Eventually(func() error {
					web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"}}
					return kube.Patch(ctx, web, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":3}}`)), client.DryRunAll)
				}).WithContext(ctx).Should(MatchError(ContainSubstring("denied request")), "the policy is in force")
			}),
	)
})
