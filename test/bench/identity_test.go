package bench_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/orkspace/orkestra/test/bench/baseline"
)

// installed gives a configuration that authenticates as a process in a Pod does, and the name of its user: by the token of a ServiceAccount, whose rights the API server looks up. The
// certificate of an administrator, which a local cluster gives, is asked for no right, so that every account would seem dear beside it.
func (p *plane) installed(b *testing.B) (config *rest.Config, user string) {
	b.Helper()
	config = p.cluster.Config()
	kube, err := kubernetes.NewForConfig(config)
	must(b, err)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{GenerateName: "installed-", Namespace: "default"}}
	account, err = kube.CoreV1().ServiceAccounts(account.Namespace).Create(b.Context(), account, metav1.CreateOptions{})
	must(b, err)
	_, err = kube.RbacV1().ClusterRoleBindings().Create(b.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}, metav1.CreateOptions{})
	must(b, err)
	lifetime := int64((24 * time.Hour).Seconds()) // a process would renew it; of an hour, which is usual, it ends within long benchmarks
	token, err := kube.CoreV1().ServiceAccounts(account.Namespace).CreateToken(b.Context(), account.Name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &lifetime}}, metav1.CreateOptions{})
	must(b, err)
	config.BearerToken = token.Status.Token
	config.CertData, config.KeyData, config.CertFile, config.KeyFile = nil, nil, "", ""
	return config, fmt.Sprintf("system:serviceaccount:%s:%s", account.Namespace, account.Name)
}

// startBaseline runs the controller that is written by hand in this process.
func (w *world) startBaseline(b *testing.B, kind string) *racer {
	b.Helper()
	config, user := w.installed(b)
	requests := &tally{all: map[string]int{}}
	config.Wrap(requests.wrap)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: w.kube.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&corev1.ConfigMap{}: {Label: labels.SelectorFromSet(labels.Set{baseline.LabelManaged: "true"})},
		}},
	})
	must(b, err)
	reconciler := &baseline.Reconciler{
		Client: mgr.GetClient(), Kind: schema.GroupVersionKind{Group: "noise.example.com", Version: "v1", Kind: kind},
	}
	if kind == "Handheld" {
		reconciler.Holder = &baseline.Holder{Client: mgr.GetClient(), Events: mgr.GetEventRecorder("baseline")}
	}
	must(b, reconciler.SetupWithManager(mgr, baseline.Workers))
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	b.Cleanup(func() {
		cancel()
		must(b, <-done)
	})
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		b.Fatal("the caches of the baseline do not fill")
	}
	return &racer{kind: kind, user: user, tally: requests}
}
