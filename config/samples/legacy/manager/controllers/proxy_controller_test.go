package controllers

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1 "example.com/legacy/api/v1"
)

// The tests of a reconciler stay as they are, too.
func TestADeploymentIsMade(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	proxy := &v1.Proxy{ObjectMeta: metav1.ObjectMeta{Name: "edge", Namespace: "default"}, Spec: v1.ProxySpec{Upstream: "http://shop", Replicas: 2}}
	r := NewProxyReconciler(fake.NewClientBuilder().WithScheme(scheme).WithObjects(proxy).WithStatusSubresource(proxy).Build(), scheme)
	request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "edge"}}
	for range 2 { // the first call adds the finalizer
		if _, err := r.Reconcile(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	d := &appsv1.Deployment{}
	if err := r.Get(t.Context(), request.NamespacedName, d); err != nil || *d.Spec.Replicas != 2 {
		t.Errorf("got %v, %v", d.Spec.Replicas, err)
	}
}
