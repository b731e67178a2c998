package e2e_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/test/fixtures"
)

// world is what one spec has to itself: an API group with the kind Website, a namespace, and boxes.
type world struct {
	id        string
	group     string
	namespace string
}

// newWorld makes a group with its CRD and a namespace, and removes both when the spec ends.
func newWorld(ctx context.Context) *world {
	GinkgoHelper()
	w := newWorldWithoutCRD(ctx)
	Expect(kube.Create(ctx, w.crd())).To(Succeed())
	w.waitEstablished(ctx)
	return w
}

func newWorldWithoutCRD(ctx context.Context) *world {
	GinkgoHelper()
	id := "t" + rand.String(6)
	w := &world{id: id, group: id + ".e2e.test", namespace: id}
	Expect(kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})).To(Succeed())
	DeferCleanup(w.remove)
	return w
}

// crd is the CRD of the world's kind.
func (w *world) crd() *apiextensionsv1.CustomResourceDefinition {
	return fixtures.Website(w.group).CRD()
}

func (w *world) crdName() string { return "websites." + w.group }

func (w *world) waitEstablished(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		g.Expect(kube.Get(ctx, types.NamespacedName{Name: w.crdName()}, crd)).To(Succeed())
		g.Expect(crd.Status.Conditions).To(ContainElement(And(
			HaveField("Type", apiextensionsv1.Established), HaveField("Status", apiextensionsv1.ConditionTrue))))
	}).WithContext(ctx).Should(Succeed())
	// Established comes a moment before the first request is answered.
	Eventually(func() error { return kube.List(ctx, w.list()) }).WithContext(ctx).Should(Succeed())
}

// remove deletes boxes, resources, CRD and namespace of the world, and waits for boxes and resources to be gone. The CRD takes
// seconds to go, which nobody has to wait for.
func (w *world) remove(ctx context.Context) {
	Eventually(func(g Gomega) {
		var boxes v1alpha1.OperatorBoxList
		g.Expect(kube.List(ctx, &boxes)).To(Succeed())
		for i := range boxes.Items {
			if strings.HasPrefix(boxes.Items[i].Name, w.id) && boxes.Items[i].DeletionTimestamp == nil {
				g.Expect(client.IgnoreNotFound(kube.Delete(ctx, &boxes.Items[i]))).To(Succeed())
			}
			g.Expect(boxes.Items[i].Name).NotTo(HavePrefix(w.id))
		}
	}).WithContext(ctx).Should(Succeed())
	Eventually(func(g Gomega) {
		list := w.list()
		err := kube.List(ctx, list)
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			return
		}
		g.Expect(err).NotTo(HaveOccurred())
		for i := range list.Items {
			if list.Items[i].GetDeletionTimestamp() == nil {
				g.Expect(client.IgnoreNotFound(kube.Delete(ctx, &list.Items[i]))).To(Succeed())
			}
		}
		g.Expect(list.Items).To(BeEmpty())
	}).WithContext(ctx).Should(Succeed())
	Expect(client.IgnoreNotFound(kube.Delete(ctx, w.crd()))).To(Succeed())
	Expect(client.IgnoreNotFound(kube.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}))).To(Succeed())
}

// box applies a box whose spec is given as YAML, without spec.crd, and gives its name.
func (w *world) box(ctx context.Context, spec string) string {
	GinkgoHelper()
	return w.boxNamed(ctx, w.id, spec)
}

func (w *world) boxNamed(ctx context.Context, name, spec string) string {
	GinkgoHelper()
	obj := w.boxObject(name, spec)
	Expect(kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("e2e"), client.ForceOwnership)).To(Succeed())
	return name
}

// boxObject is a box as a user would write it: unknown fields and all.
func (w *world) boxObject(name, spec string) *unstructured.Unstructured {
	GinkgoHelper()
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	content := map[string]any{}
	Expect(yaml.Unmarshal([]byte(spec), &content)).To(Succeed())
	if _, ok := content["crd"]; !ok {
		content["crd"] = map[string]any{"name": w.crdName()}
	}
	obj.Object["spec"] = content
	obj.SetAPIVersion(v1alpha1.GroupVersion.String())
	obj.SetKind("OperatorBox")
	obj.SetName(name)
	return obj
}

// running waits until a box's current spec is compiled and runs.
func (w *world) running(ctx context.Context, name string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		box := getBox(ctx, g, name)
		g.Expect(box.Status.ObservedGeneration).To(Equal(box.Generation))
		g.Expect(boxCondition(box, v1alpha1.ConditionReady)).To(HaveField("Status", metav1.ConditionTrue))
	}).WithContext(ctx).Should(Succeed())
}

func getBox(ctx context.Context, g Gomega, name string) *v1alpha1.OperatorBox {
	box := &v1alpha1.OperatorBox{}
	g.Expect(kube.Get(ctx, types.NamespacedName{Name: name}, box)).To(Succeed())
	return box
}

func boxCondition(box *v1alpha1.OperatorBox, kind string) *metav1.Condition {
	return meta.FindStatusCondition(box.Status.Conditions, kind)
}

func getHealth(ctx context.Context, g Gomega, name string) *v1alpha1.CRDHealth {
	health := &v1alpha1.CRDHealth{}
	g.Expect(kube.Get(ctx, types.NamespacedName{Name: name}, health)).To(Succeed())
	return health
}

// website applies a resource whose spec is given as YAML.
func (w *world) website(ctx context.Context, name, spec string) *unstructured.Unstructured {
	GinkgoHelper()
	obj := w.ref(name)
	content := map[string]any{}
	Expect(yaml.Unmarshal([]byte(spec), &content)).To(Succeed())
	obj.Object["spec"] = content
	Expect(kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("e2e"), client.ForceOwnership)).To(Succeed())
	return obj
}

// ref is a resource by name.
func (w *world) ref(name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetAPIVersion(w.group + "/v1")
	obj.SetKind("Website")
	obj.SetNamespace(w.namespace)
	obj.SetName(name)
	return obj
}

func (w *world) list() *unstructured.UnstructuredList {
	l := &unstructured.UnstructuredList{}
	l.SetAPIVersion(w.group + "/v1")
	l.SetKind("WebsiteList")
	return l
}

func (w *world) get(ctx context.Context, g Gomega, name string) *unstructured.Unstructured {
	obj := w.ref(name)
	g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
	return obj
}

var condition = fixtures.Condition

// settled waits until a resource is Ready, and nothing is under way, for its current generation.
func (w *world) settled(ctx context.Context, name string) *unstructured.Unstructured {
	GinkgoHelper()
	var obj *unstructured.Unstructured
	Eventually(func(g Gomega) {
		obj = w.get(ctx, g, name)
		observed, _, err := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(observed).To(Equal(obj.GetGeneration()))
		g.Expect(condition(obj, v1alpha1.ConditionReady).Status).To(Equal(metav1.ConditionTrue), "%v", obj.Object["status"])
		g.Expect(condition(obj, v1alpha1.ConditionReconciling).Status).To(Equal(metav1.ConditionFalse), "%v", obj.Object["status"])
	}).WithContext(ctx).Should(Succeed())
	return obj
}

// shows waits until a condition of a resource has a status, a reason and a message that holds a text.
func (w *world) shows(ctx context.Context, name, kind string, status metav1.ConditionStatus, reason, text string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(condition(w.get(ctx, g, name), kind)).To(And(
			HaveField("Status", status), HaveField("Reason", reason), HaveField("Message", ContainSubstring(text))))
	}).WithContext(ctx).Should(Succeed())
}

// child reads an object in the world's namespace.
func (w *world) child(ctx context.Context, g Gomega, obj client.Object, name string) {
	g.Expect(kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: name}, obj)).To(Succeed())
}

// deployment makes a Deployment in the world's namespace, of no Pods.
func (w *world) deployment(ctx context.Context, name string, labels map[string]string) *appsv1.Deployment {
	GinkgoHelper()
	pods := map[string]string{"app": name}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: labels}}
	d.Spec.Replicas = new(int32(0))
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: pods}
	d.Spec.Template.Labels = pods
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "example.com/nothing"}}
	Expect(kube.Create(ctx, d)).To(Succeed())
	return d
}

// gone waits until an object of the world's namespace does not exist.
func (w *world) gone(ctx context.Context, obj client.Object, name string) {
	GinkgoHelper()
	Eventually(func() bool {
		return apierrors.IsNotFound(kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: name}, obj))
	}).WithContext(ctx).Should(BeTrue(), "%s is gone", name)
}
