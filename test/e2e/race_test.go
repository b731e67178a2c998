package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("What no watch tells", func() {
	var (
		w     *world
		other string
		far   *corev1.ConfigMap
	)
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		other = w.anotherNamespace(ctx)
		far = &corev1.ConfigMap{}
		far.Namespace, far.Name = other, w.namespace+"-web"
	})
	// boxWith has a child in another namespace, which the garbage collector does not know of.
	boxWith := func(fields string) string {
		return fmt.Sprintf(`{onReconcile: {services: [{port: 80, selector: {a: b}}],
			configmaps: [{id: far, name: "{{ .metadata.namespace }}-{{ .metadata.name }}", namespace: %s, data: {a: b}%s}]}}`, other, fields)
	}

	DescribeTable("does not keep from deleting a child that somebody has changed", func(ctx context.Context, fields string, trigger func(context.Context)) {
		watches := newStreams()
		replaceManager(via(watches.wrap))
		w.running(ctx, w.box(ctx, boxWith(fields)))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		watches.pause("/configmaps", "")
		DeferCleanup(watches.resume)
		w.merge(ctx, far, `{"data":{"a":"theirs"}}`)
		trigger(ctx)
		Eventually(func(g Gomega) {
			err := kube.Get(ctx, client.ObjectKeyFromObject(far), far)
			if fields == "" {
				g.Expect(err).To(MatchError(ContainSubstring("not found")))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(far.Labels).NotTo(HaveKey(v1alpha1.LabelOwnerUID))
		}).WithContext(ctx).Should(Succeed())
	},
		Entry("with its resource", "", func(ctx context.Context) { w.removed(ctx, "web") }),
		Entry("with its declaration", "", func(ctx context.Context) { w.box(ctx, `{onReconcile: {services: [{port: 80, selector: {a: b}}]}}`) }),
		Entry("or from letting it go", ", deletionPolicy: Orphan", func(ctx context.Context) { w.removed(ctx, "web") }),
	)

	It("does not keep from making a child anew that somebody has deleted", func(ctx context.Context) {
		watches := newStreams()
		replaceManager(via(watches.wrap))
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{data: {key: "{{ .spec.mode }}"}}]}}`))
		w.website(ctx, "web", `{mode: first}`)
		w.settled(ctx, "web")
		watches.pause("/configmaps", "")
		DeferCleanup(watches.resume)
		Expect(kube.Delete(ctx, w.configMap("web"))).To(Succeed())
		w.website(ctx, "web", `{mode: second}`)
		w.hasData(ctx, "web", map[string]string{"key": "second"})
	})

	It("is what the garbage collector has missed: it is deleted after a minute", longest, func(ctx context.Context) {
		const account = "orkestra-e2e-collects"
		impersonate := func(s *settings) {
			s.config.Impersonate = rest.ImpersonationConfig{UserName: account, Groups: []string{"system:masters"}}
		}
		replaceManager(impersonate)
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{data: {a: b}}]}}`))
		for _, name := range []string{"before", "after", "left"} {
			w.website(ctx, name, `{}`)
			w.settled(ctx, name)
		}
		w.onlyDeletedBy(ctx, account)
		Expect(kube.Delete(ctx, w.ref("left"), client.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
		w.vanished(ctx, "left")
		w.removed(ctx, "before")
		replaceManager(impersonate)
		w.running(ctx, w.id)
		w.removed(ctx, "after")
		for _, name := range []string{"before", "after", "left"} {
			Expect(kube.Get(ctx, client.ObjectKeyFromObject(w.configMap(name)), &corev1.ConfigMap{})).To(Succeed(), "%s", name)
		}
		for _, name := range []string{"before", "after"} {
			Eventually(func() error { return kube.Get(ctx, client.ObjectKeyFromObject(w.configMap(name)), &corev1.ConfigMap{}) }).
				WithTimeout(3*time.Minute).WithContext(ctx).Should(MatchError(ContainSubstring("not found")), name)
		}
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(w.configMap("left")), &corev1.ConfigMap{})).To(Succeed(), "it was to stay")
	})

	It("makes no child for a resource whose deletion overtakes its finalizer", func(ctx context.Context) {
		var looks, writes atomic.Int64
		// The API server can do so: it decides about a deletion by the finalizers that it has read before.
		overtaken := func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				about := strings.HasSuffix(r.URL.Path, "/websites/web")
				switch {
				case about && r.Method == http.MethodGet:
					looks.Add(1)
				case strings.HasSuffix(r.URL.Path, "/"+far.Name) && r.Method != http.MethodGet:
					writes.Add(1)
				}
				response, err := next.RoundTrip(r)
				if about && r.Method == http.MethodPatch && err == nil {
					err = w.vanishes(ctx, "web")
				}
				return response, err
			})
		}
		replaceManager(via(overtaken))
		w.running(ctx, w.box(ctx, boxWith("")))
		w.website(ctx, "web", `{}`)
		w.vanished(ctx, "web")
		Eventually(looks.Load).WithContext(ctx).Should(BeNumerically(">", 0))
		w.website(ctx, "another", `{}`)
		w.settled(ctx, "another")
		Expect(writes.Load()).To(BeZero())
	})
})

// onlyDeletedBy has nobody else delete ConfigMaps in the world's namespace until the spec ends.
func (w *world) onlyDeletedBy(ctx context.Context, user string) {
	GinkgoHelper()
	policy, binding := denying(w, metav1.StatusReasonForbidden)
	policy.Spec.MatchConstraints.ResourceRules[0].Operations = []admissionv1.OperationType{admissionv1.Delete}
	policy.Spec.Validations[0].Expression = fmt.Sprintf("request.userInfo.username == '%s'", user)
	for _, obj := range []client.Object{policy, binding} {
		Expect(kube.Create(ctx, obj)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, obj)).To(Succeed()) })
	}
	probe := w.configMap("probe")
	Expect(kube.Create(ctx, probe)).To(Succeed())
	Eventually(func() error { return kube.Delete(ctx, probe, client.DryRunAll) }).WithContext(ctx).Should(MatchError(ContainSubstring("denied")))
}

// vanishes deletes a resource whatever holds it.
func (w *world) vanishes(ctx context.Context, name string) error {
	if err := kube.Patch(ctx, w.ref(name), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); client.IgnoreNotFound(err) != nil {
		return err
	}
	return client.IgnoreNotFound(kube.Delete(ctx, w.ref(name)))
}
