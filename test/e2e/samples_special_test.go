package e2e_test

import (
	"context"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// at reads what stands at a path of keys and positions; nil where there is nothing.
func at(v any, path string) any {
	for step := range strings.SplitSeq(path, ".") {
		switch node := v.(type) {
		case map[string]any:
			v = node[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(node) {
				return nil
			}
			v = node[i]
		default:
			return nil
		}
	}
	return v
}

func podLabels(workload, instance string) map[string]any {
	return map[string]any{v1alpha1.LabelAppName: workload, v1alpha1.LabelAppInstance: instance}
}

func missing(ctx context.Context, o *unstructured.Unstructured) bool {
	return apierrors.IsNotFound(kube.Get(ctx, client.ObjectKeyFromObject(o), o.DeepCopy()))
}

// giveAddress plays the cloud that gives a Service of type LoadBalancer its address.
func giveAddress(name string) func(context.Context, *life) {
	return func(ctx context.Context, _ *life) {
		GinkgoHelper()
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: samplesNamespace, Name: name}}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.10"}]}}}`))
		Eventually(func() error { return kube.Status().Patch(ctx, service, patch) }).WithContext(ctx).Should(Succeed())
	}
}

// giveVolumes plays the storage of a cluster: a volume for each of these claims.
func giveVolumes(claims ...string) func(context.Context, *life) {
	return func(ctx context.Context, _ *life) {
		GinkgoHelper()
		for _, claim := range claims {
			volume := &corev1.PersistentVolume{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "sample-"},
				Spec: corev1.PersistentVolumeSpec{
					Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("100Gi")},
					AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
					PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere"}},
					ClaimRef:                      &corev1.ObjectReference{Namespace: samplesNamespace, Name: claim},
				},
			}
			Expect(kube.Create(ctx, volume)).To(Succeed())
			DeferCleanup(func(ctx context.Context) {
				bound := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: samplesNamespace, Name: claim}}
				Expect(client.IgnoreNotFound(kube.Delete(ctx, bound))).To(Succeed())
				Expect(client.IgnoreNotFound(kube.Delete(ctx, volume))).To(Succeed())
			})
		}
	}
}

// passwordStays deletes a Postgres and makes it again: password and data are those of the first one.
func passwordStays(ctx context.Context, l *life) {
	GinkgoHelper()
	read := func() (*corev1.Secret, *corev1.PersistentVolumeClaim) {
		GinkgoHelper()
		secret, claim := &corev1.Secret{}, &corev1.PersistentVolumeClaim{}
		Expect(kube.Get(ctx, client.ObjectKey{Namespace: samplesNamespace, Name: "orders-credentials"}, secret)).To(Succeed())
		Expect(kube.Get(ctx, client.ObjectKey{Namespace: samplesNamespace, Name: "data-orders-0"}, claim)).To(Succeed())
		return secret, claim
	}
	secret, claim := read()
	Expect(secret.Data["password"]).To(HaveLen(32))
	l.remove(ctx, l.resource)
	l.apply(ctx, l.resource)
	l.settled(ctx)
	again, sameClaim := read()
	Expect(again.UID).To(Equal(secret.UID))
	Expect(again.Data).To(Equal(secret.Data))
	Expect(sameClaim.UID).To(Equal(claim.UID))
	Expect(sameClaim.Status.Phase).To(Equal(corev1.ClaimBound))
}

// expires lets the time of a preview run out.
func expires(ctx context.Context, l *life) {
	GinkgoHelper()
	children := l.children(ctx, Default)
	l.patch(ctx, l.resource, `{"spec":{"ttl":"1s"}}`)
	Eventually(func(g Gomega) {
		now := get(ctx, g, l.resource)
		g.Expect(at(now.Object, "status.phase")).To(Equal("Expired"))
		g.Expect(at(now.Object, "status.url")).To(BeNil())
		for name, child := range children {
			g.Expect(missing(ctx, child)).To(BeTrue(), name)
		}
	}).WithContext(ctx).Should(Succeed())
	l.quiet(ctx)
}

// showsOutcomes checks that a training that ends well, one that fails and one that runs can be told apart.
func showsOutcomes(ctx context.Context, l *life) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		now := get(ctx, g, l.resource)
		g.Expect(at(now.Object, "status.phase")).To(Equal("Succeeded"))
		g.Expect(at(now.Object, "status.succeeded")).To(Equal(int64(2)))
		g.Expect(condition(now, "Complete").Status).To(Equal(metav1.ConditionTrue))
	}).WithContext(ctx).Should(Succeed())

	By("a training that finds no node: it runs, and when its time is over it has failed")
	other := l.resource.DeepCopy()
	other.SetName("stuck")
	change(other.Object, map[string]any{"image": "registry.example.com/ml/train:3.1.0", "nodeSelector": map[string]any{"disk": "none"}, "retries": int64(0)}, "spec")
	l.apply(ctx, other)
	DeferCleanup(func(ctx context.Context) { l.remove(ctx, other) })
	shows := func(phase string, complete metav1.ConditionStatus, reason string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			now := get(ctx, g, other)
			g.Expect(at(now.Object, "status.phase")).To(Equal(phase))
			g.Expect(condition(now, "Complete")).To(And(HaveField("Status", complete), HaveField("Reason", reason)))
		}).WithContext(ctx).Should(Succeed())
	}
	shows("Running", metav1.ConditionFalse, "Running")
	l.patch(ctx, other, `{"spec":{"deadlineSeconds":1}}`)
	shows("Failed", metav1.ConditionFalse, "Failed")
	Expect(at(get(ctx, Default, other).Object, "status.message")).To(ContainSubstring("longer than specified deadline"))
	l.remove(ctx, other)

	By("installing PodMonitors: the training gets one")
	crd := &unstructured.Unstructured{}
	Expect(yaml.Unmarshal([]byte(podMonitors), &crd.Object)).To(Succeed())
	l.apply(ctx, crd)
	DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, crd))).To(Succeed()) })
	Eventually(func(g Gomega) {
		// Nobody tells when a kind is installed. Without this the next resync would see it.
		now := get(ctx, g, l.resource)
		l.patch(ctx, now, `{"metadata":{"annotations":{"`+v1alpha1.AnnotationReconcileAt+`":"`+now.GetResourceVersion()+`"}}}`)
		monitor := l.children(ctx, g)["PodMonitor/digits"]
		g.Expect(monitor).NotTo(BeNil())
		g.Expect(at(monitor.Object, "spec.podMetricsEndpoints.0.port")).To(Equal("metrics"))
	}).WithContext(ctx).WithPolling(300 * time.Millisecond).Should(Succeed())
	l.drifts(ctx)
}

// podMonitors is as much of the CRD of PodMonitors as it takes.
const podMonitors = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: podmonitors.monitoring.coreos.com
spec:
  group: monitoring.coreos.com
  scope: Namespaced
  names: {plural: podmonitors, singular: podmonitor, kind: PodMonitor}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// followsSource changes the Secret that is copied, and takes away what lets the copier into a namespace.
func followsSource(ctx context.Context, l *life) {
	GinkgoHelper()
	l.patch(ctx, l.besides[0], `{"data":{"token":"bmV3","user":"Ym90"}}`)
	Eventually(func(g Gomega) {
		copied := l.children(ctx, g)["Secret/copies-b/registry-token"]
		g.Expect(copied).NotTo(BeNil())
		g.Expect(copied.Object["data"]).To(Equal(map[string]any{"token": "bmV3", "user": "Ym90"}))
	}).WithContext(ctx).Should(Succeed())
	l.quiet(ctx)

	l.patch(ctx, l.besides[2], `{"metadata":{"annotations":{"`+v1alpha1.AnnotationAllowFrom+`":"ci"}}}`)
	Eventually(func(g Gomega) {
		g.Expect(condition(get(ctx, g, l.resource), v1alpha1.ConditionReconciling)).To(And(
			HaveField("Status", metav1.ConditionTrue), HaveField("Reason", v1alpha1.ReasonNamespaceWithdrawn),
			HaveField("Message", ContainSubstring(`"copies-b" does not let resources of "default" in any more`))))
	}).WithContext(ctx).Should(Succeed())
	l.patch(ctx, l.besides[2], `{"metadata":{"annotations":{"`+v1alpha1.AnnotationAllowFrom+`":"*"}}}`)
	l.settled(ctx)
}
