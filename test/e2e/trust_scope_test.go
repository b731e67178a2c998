package e2e_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// chartManager replaces the manager by one that has the rights that the chart gives it by default, and no others.
func chartManager(ctx context.Context) {
	GinkgoHelper()
	chartRights(ctx)
	replaceManager(asChart) //nolint:contextcheck // a manager outlives the node that starts it
}

// chartRights applies the roles that the chart makes, with flags for helm.
func chartRights(ctx context.Context, flags ...string) {
	GinkgoHelper()
	root := filepath.Join("..", "..")
	rendered, err := exec.CommandContext(ctx, filepath.Join(root, "bin", "helm"), append([]string{"template", "orkestra", filepath.Join(root, "charts", "orkestra"),
		"--namespace", ownNamespace, "--show-only", "templates/rbac.yaml"}, flags...)...).Output()
	Expect(err).NotTo(HaveOccurred(), "bin/helm renders the chart")
	file := filepath.Join(GinkgoT().TempDir(), "rbac.yaml")
	Expect(os.WriteFile(file, rendered, 0o600)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		_, err := cluster.Kubectl(ctx, "delete", "--ignore-not-found", "-f", file)
		Expect(err).NotTo(HaveOccurred())
	})
	_, err = cluster.Kubectl(ctx, "apply", "-f", file)
	Expect(err).NotTo(HaveOccurred())
}

// asChart has a manager act as the account that the chart makes for it.
func asChart(s *settings) {
	s.config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + ownNamespace + ":orkestra", Groups: []string{
		"system:serviceaccounts", "system:serviceaccounts:" + ownNamespace, "system:authenticated",
	}}
}

// feeds gives the manager what its caches need for the worlds, as people do for their CRDs.
func feeds(ctx context.Context, worlds []*audit) {
	GinkgoHelper()
	rules := []rbacv1.PolicyRule{may("scheduling.k8s.io", "priorityclasses", "list", "watch")}
	for _, w := range worlds {
		rules = append(rules, may(w.group, "websites", "get", "list", "watch", "patch"))
	}
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: worlds[0].id + "-feeds", Labels: map[string]string{"orkestra.orkspace.io/aggregate-to-manager": "true"}},
		Rules:      rules,
	}
	Expect(kube.Create(ctx, role)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, role))).To(Succeed()) })
}

// reads makes what the fragments of a box read, and an account without any right.
func (a *audit) reads(ctx context.Context) {
	GinkgoHelper()
	a.far = a.anotherNamespace(ctx)
	a.account = bare(ctx, a.id)
	for _, obj := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "settings", Labels: map[string]string{"pick": "me"}}, Data: map[string]string{"a": "b"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "quota"}, StringData: map[string]string{"token": "t"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "web-adopted"}, Data: map[string]string{"a": "theirs"}},
	} {
		Expect(kube.Create(ctx, obj)).To(Succeed())
	}
}

var _ = Describe("With the chart's rights for the manager, and for each box the rules that it requires,", longest, func() {
	It("boxes of all sorts live and go, and no request is refused", func(ctx context.Context) {
		seed := uint64(GinkgoRandomSeed())
		rng := rand.New(rand.NewPCG(seed, seed))
		GinkgoWriter.Printf("fragments are dealt by seed %d\n", seed)
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
		DeferCleanup(service.Close)
		chartManager(ctx)

		const boxes = 30
		names := slices.Sorted(maps.Keys(fragments))
		rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		var all []*audit
		for i := range boxes {
			a := &audit{url: service.URL, world: newWorld(ctx)}
			for j, name := range names {
				if j%boxes == i%len(names) || rng.IntN(8) == 0 {
					a.fragments = append(a.fragments, name)
				}
			}
			GinkgoWriter.Printf("box %s: %s\n", a.id, strings.Join(a.fragments, ", "))
			a.reads(ctx)
			all = append(all, a)
		}
		feeds(ctx, all)
		each := func(text string, do func(a *audit)) {
			By(text)
			for _, a := range all {
				do(a)
			}
		}
		each("applying boxes whose accounts have nothing", func(a *audit) { a.box(ctx, a.spec()) })
		each("giving what each asks for", func(a *audit) { a.account.bound(ctx, requires(ctx, a.id, a.account)...) })
		each("which then runs", func(a *audit) { a.running(ctx, a.id) })
		since := auditedUntilNow()
		each("making resources", func(a *audit) { a.writes(ctx, "one") })
		each("which settle", func(a *audit) { a.settled(ctx, "web"); a.settled(ctx, "second") })
		each("changing them, and deleting children", func(a *audit) {
			a.writes(ctx, "two")
			Expect(kube.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(a.namespace), client.MatchingLabels{v1alpha1.LabelBox: a.id})).To(Succeed())
		})
		each("which settle", func(a *audit) { a.settled(ctx, "web"); a.settled(ctx, "second") })
		each("deleting them", func(a *audit) { Expect(kube.Delete(ctx, a.ref("second"))).To(Succeed()) })
		each("which go, but for what somebody else has to take off", func(a *audit) {
			Eventually(func(g Gomega) {
				obj := a.ref("second")
				err := kube.Get(ctx, client.ObjectKeyFromObject(obj), obj)
				g.Expect(client.IgnoreNotFound(err)).To(Succeed())
				g.Expect(err == nil && slices.Contains(obj.GetFinalizers(), v1alpha1.Finalizer)).To(BeFalse(), "%v", obj.Object["status"])
			}).WithContext(ctx).Should(Succeed())
		})
		each("deleting boxes", func(a *audit) {
			Expect(kube.Delete(ctx, &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: a.id}})).To(Succeed())
		})
		each("which go", func(a *audit) {
			Eventually(func() bool {
				return apierrors.IsNotFound(kube.Get(ctx, types.NamespacedName{Name: a.id}, &v1alpha1.OperatorBox{}))
			}).WithContext(ctx).Should(BeTrue(), a.id)
		})
		for _, e := range auditedOf(since, func(line string) bool { return strings.Contains(line, `"code":403`) }) {
			Fail("refused: " + e.String())
		}
	}, NodeTimeout(patience*8))
})
