package providers

import (
	"context"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
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

// place is what one test has to itself: an API group with the kind Website, a namespace, and a box.
type place struct {
	*plane

	id string
}

// place makes one, and removes it when the test ends.
func (p *plane) place(t *testing.T) *place {
	t.Helper()
	w := &place{plane: p, id: "t" + rand.String(6)}
	g, ctx := gomega.NewWithT(t), t.Context()
	g.Expect(p.kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.id}})).To(gomega.Succeed())
	crd := fixtures.Website(w.group()).CRD()
	g.Expect(p.kube.Create(ctx, crd)).To(gomega.Succeed())
	t.Cleanup(func() { w.remove(crd) })
	eventually(t, func(g gomega.Gomega) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(w.resource("").GroupVersionKind())
		g.Expect(p.kube.List(ctx, list)).To(gomega.Succeed())
	})
	return w
}

func (w *place) group() string { return w.id + ".providers.test" }

// remove takes everything away by force: no manager runs any more.
func (w *place) remove(crd client.Object) {
	ctx := context.Background()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(w.resource("").GroupVersionKind())
	_ = w.kube.List(ctx, list)
	all := []client.Object{&v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: w.id}}}
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	all = append(all, crd, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.id}})
	for _, obj := range all {
		_ = w.kube.Delete(ctx, obj)
		_ = w.kube.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	}
}

func (w *place) resource(name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetAPIVersion(w.group() + "/v1")
	obj.SetKind("Website")
	obj.SetNamespace(w.id)
	obj.SetName(name)
	return obj
}

func (w *place) apply(t *testing.T, obj *unstructured.Unstructured, spec string) {
	t.Helper()
	g := gomega.NewWithT(t)
	content := map[string]any{}
	g.Expect(yaml.Unmarshal([]byte(spec), &content)).To(gomega.Succeed(), spec)
	obj.Object["spec"] = content
	g.Expect(w.kube.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("test"), client.ForceOwnership)).To(gomega.Succeed())
}

// running waits until a box runs by its spec.
func (p *plane) running(t *testing.T, name string) *v1alpha1.OperatorBox {
	t.Helper()
	box := &v1alpha1.OperatorBox{}
	eventually(t, func(g gomega.Gomega) {
		g.Expect(p.kube.Get(t.Context(), types.NamespacedName{Name: name}, box)).To(gomega.Succeed())
		g.Expect(box.Status.ObservedGeneration).To(gomega.Equal(box.Generation))
		g.Expect(meta.FindStatusCondition(box.Status.Conditions, v1alpha1.ConditionReady)).To(gomega.HaveField("Status", metav1.ConditionTrue), "%v", box.Status.Conditions)
	})
	return box
}

// box applies the box, given as YAML without its CRD, and waits until it runs.
func (w *place) box(t *testing.T, spec string) {
	t.Helper()
	w.declare(t, spec)
	w.running(t, w.id)
}

// declare applies the box.
func (w *place) declare(t *testing.T, spec string) {
	t.Helper()
	box := &unstructured.Unstructured{Object: map[string]any{}}
	box.SetAPIVersion(v1alpha1.GroupVersion.String())
	box.SetKind("OperatorBox")
	box.SetName(w.id)
	w.apply(t, box, "crd: {name: websites."+w.group()+"}\n"+spec)
}

func (w *place) read(t *testing.T, g gomega.Gomega) *v1alpha1.OperatorBox {
	t.Helper()
	box := &v1alpha1.OperatorBox{}
	g.Expect(w.kube.Get(t.Context(), types.NamespacedName{Name: w.id}, box)).To(gomega.Succeed())
	return box
}

// website applies a resource.
func (w *place) website(t *testing.T, name, spec string) {
	t.Helper()
	w.apply(t, w.resource(name), spec)
}

// secret makes a Secret, or changes it.
func (w *place) secret(t *testing.T, name string, data map[string]string) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.id, Name: name}, StringData: data}
	err := w.kube.Create(t.Context(), secret)
	if apierrors.IsAlreadyExists(err) {
		err = w.kube.Update(t.Context(), secret)
	}
	gomega.NewWithT(t).Expect(err).NotTo(gomega.HaveOccurred())
}

var condition = fixtures.Condition

// settled waits until a resource is Ready and nothing is under way, and fills in what it is then.
func (p *plane) settled(t *testing.T, obj *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	eventually(t, func(g gomega.Gomega) {
		g.Expect(p.kube.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)).To(gomega.Succeed())
		observed, _, _ := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
		g.Expect(observed).To(gomega.Equal(obj.GetGeneration()))
		g.Expect(condition(obj, v1alpha1.ConditionReady)).To(gomega.HaveField("Status", metav1.ConditionTrue), "%v", obj.Object["status"])
		g.Expect(condition(obj, v1alpha1.ConditionReconciling)).To(gomega.HaveField("Status", metav1.ConditionFalse), "%v", obj.Object["status"])
	})
	return obj
}

// settled waits for the resource of a name.
func (w *place) settled(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	return w.plane.settled(t, w.resource(name))
}

// shows waits until a condition of a resource has a status, a reason, and a message that holds all texts.
func (w *place) shows(t *testing.T, name, kind string, status metav1.ConditionStatus, reason string, texts ...string) *unstructured.Unstructured {
	t.Helper()
	obj := w.resource(name)
	eventually(t, func(g gomega.Gomega) {
		g.Expect(w.kube.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)).To(gomega.Succeed())
		found := condition(obj, kind)
		g.Expect(found).To(gomega.And(gomega.HaveField("Status", status), gomega.HaveField("Reason", reason)), "%v", obj.Object["status"])
		for _, text := range texts {
			g.Expect(found.Message).To(gomega.ContainSubstring(text))
		}
	})
	return obj
}

// delete asks for the deletion of a resource.
func (w *place) delete(t *testing.T, name string) {
	t.Helper()
	gomega.NewWithT(t).Expect(w.kube.Delete(t.Context(), w.resource(name))).To(gomega.Succeed())
}

// vanished waits until a resource is gone.
func (w *place) vanished(t *testing.T, name string) {
	t.Helper()
	eventually(t, func(g gomega.Gomega) {
		obj := w.resource(name)
		err := w.kube.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)
		g.Expect(apierrors.IsNotFound(err)).To(gomega.BeTrue(), "%v", obj.Object["status"])
	})
}
