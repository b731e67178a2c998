package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// storageClass makes a class of which nothing provides volumes, and gives its name.
func (w *world) storageClass(ctx context.Context, expands bool) string {
	GinkgoHelper()
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: w.id}, Provisioner: "e2e.test/none",
		AllowVolumeExpansion: &expands, VolumeBindingMode: new(storagev1.VolumeBindingImmediate),
	}
	Expect(kube.Create(ctx, class)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, class))).To(Succeed()) })
	return class.Name
}

// bind gives the claim "web" a volume, and waits until it has it.
func (w *world) bind(ctx context.Context, class, size string) {
	GinkgoHelper()
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: w.id},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere"}},
			ClaimRef:                      &corev1.ObjectReference{Namespace: w.namespace, Name: "web"},
			StorageClassName:              class,
		},
	}
	Expect(kube.Create(ctx, volume)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, volume))).To(Succeed()) })
	Eventually(func(g Gomega) {
		claim := &corev1.PersistentVolumeClaim{}
		w.child(ctx, g, claim, "web")
		g.Expect(claim.Status.Phase).To(Equal(corev1.ClaimBound))
	}).WithContext(ctx).Should(Succeed())
}

// claims starts a box with a volume claim of the size that spec.mode says, and makes "web" with 1Gi.
func (w *world) claims(ctx context.Context, class string) {
	GinkgoHelper()
	w.running(ctx, w.box(ctx, `{resync: 24h, onReconcile: {pvcs: [{storage: "{{ .spec.mode }}", storageClassName: `+class+`}]}}`))
	w.website(ctx, "web", `{mode: 1Gi}`)
	Eventually(func(g Gomega) {
		w.child(ctx, g, &corev1.PersistentVolumeClaim{}, "web")
	}).WithContext(ctx).Should(Succeed())
}

// hasSize waits until the claim "web" asks for a size.
func (w *world) hasSize(ctx context.Context, size string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		claim := &corev1.PersistentVolumeClaim{}
		w.child(ctx, g, claim, "web")
		g.Expect(claim.Spec.Resources.Requests.Storage().String()).To(Equal(size))
	}).WithContext(ctx).Should(Succeed())
}

var _ = Describe("The size of a volume claim", func() {
	It("can't be changed while the claim is Pending, and grows when it is Bound", func(ctx context.Context) {
		w := newWorld(ctx)
		class := w.storageClass(ctx, true)
		w.claims(ctx, class)
		w.website(ctx, "web", `{mode: 2048Mi}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidChild,
			`applying PersistentVolumeClaim "web": spec.resources.requests.storage can't be changed from "1Gi" to "2048Mi"; `+
				`the claim is Pending and holds no data yet: delete it to have it made again, or wait until it is Bound to let it grow`)
		w.bind(ctx, class, "1Gi")
		w.hasSize(ctx, "2Gi")
		w.settled(ctx, "web")
	})

	It("follows when a Pending claim is deleted, as its status says", func(ctx context.Context) {
		w := newWorld(ctx)
		w.claims(ctx, w.storageClass(ctx, true))
		w.website(ctx, "web", `{mode: 500Mi}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidChild,
			`from "1Gi" to "500Mi"; the claim is Pending and holds no data yet: delete it to have it made again`)
		Expect(kube.Delete(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"}})).To(Succeed())
		w.hasSize(ctx, "500Mi")
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionFalse, "NotStalled", "")
	})

	It("never gets smaller", func(ctx context.Context) {
		w := newWorld(ctx)
		class := w.storageClass(ctx, true)
		w.claims(ctx, class)
		w.bind(ctx, class, "1Gi")
		w.settled(ctx, "web")
		w.website(ctx, "web", `{mode: 500Mi}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidChild,
			`spec.resources.requests.storage can't be changed from "1Gi" to "500Mi"; `+
				`a volume never gets smaller: declare at least the size that it has, or give the claim another name`)
		w.website(ctx, "web", `{mode: 1Gi}`)
		w.settled(ctx, "web")
	})

	It("grows only where the StorageClass allows it", func(ctx context.Context) {
		w := newWorld(ctx)
		class := w.storageClass(ctx, false)
		w.claims(ctx, class)
		w.bind(ctx, class, "1Gi")
		w.settled(ctx, "web")
		w.website(ctx, "web", `{mode: 2Gi}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonAdmissionDenied,
			`applying PersistentVolumeClaim "web": it can't grow: set allowVolumeExpansion: true on its StorageClass, or give the claim another name`)
	})
})
