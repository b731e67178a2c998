package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("The page on rollback", func() {
	It("works as it is written", func(ctx context.Context) {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", "how-to", "rollback.md"))
		Expect(err).NotTo(HaveOccurred())
		blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
		Expect(len(blocks)).To(BeNumerically(">=", 3))
		kubectl := func(args string) string {
			GinkgoHelper()
			out, err := cluster.Kubectl(ctx, strings.Fields(args)...)
			Expect(err).NotTo(HaveOccurred(), out)
			GinkgoWriter.Println("kubectl", args, "\n"+out)
			return out
		}
		apply := func(n int) {
			GinkgoHelper()
			out, err := cluster.KubectlApply(ctx, blocks[n][1])
			Expect(err).NotTo(HaveOccurred(), out)
		}
		DeferCleanup(func(ctx context.Context) {
			for _, what := range []string{"page/home", "operatorbox/page", "crd/pages.docs.example.com"} {
				_, err := cluster.Kubectl(ctx, "delete", "--ignore-not-found", what)
				Expect(err).NotTo(HaveOccurred())
			}
		})
		apply(0)
		kubectl("wait operatorbox page --for=condition=Ready --timeout=60s")
		apply(1)
		kubectl("wait page home --for=condition=Ready --timeout=60s")
		Expect(kubectl("get controllerrevisions -n orkestra-system -l orkestra.orkspace.io/snapshot")).To(ContainSubstring("home-"))
		apply(2)
		kubectl("wait page home --for=condition=RolledBack --timeout=60s")
		Expect(kubectl("get configmap home-text -o jsonpath={.data.text}")).To(Equal("welcome"))
		Eventually(func() string { return kubectl("describe page home") }).WithContext(ctx).Should(And(
			MatchRegexp(`(?m)Message: +onReconcile: applying Service "home": .*Invalid value: 70000.*\n +Observed Generation: +2\n +Reason: +ReconcileError\n +Status: +False\n +Type: +Ready$`),
			MatchRegexp(`(?m)Message: +onReconcile: applying .*; held: edit the spec, change the box, or set the annotation orkestra.orkspace.io/reconcile-at to a new value\n +Observed Generation: +2\n +Reason: +Held\n +Status: +True\n +Type: +Stalled$`),
			MatchRegexp(`(?m)Message: +generation 2 failed in onReconcile; the children are those of generation 1; held: .*\n +Observed Generation: +2\n +Reason: +RolledBack\n +Status: +True\n +Type: +RolledBack$`),
			MatchRegexp(`Warning +RolledBack .* generation 2 failed in onReconcile; the children are those of generation 1; onReconcile: applying Service "home"`),
			MatchRegexp(`Text: +welcome back`)))

		kubectl(`patch page home --type=merge -p {"spec":{"port":8080}}`)
		kubectl("wait page home --for=condition=Ready --timeout=60s")
		Expect(kubectl("get configmap home-text -o jsonpath={.data.text}")).To(Equal("welcome back"))
		page := &unstructured.Unstructured{}
		page.SetAPIVersion("docs.example.com/v1")
		page.SetKind("Page")
		Expect(uncached().Get(ctx, client.ObjectKey{Namespace: "default", Name: "home"}, page)).To(Succeed())
		Expect(page.GetAnnotations()).NotTo(HaveKey(v1alpha1.AnnotationRolledBack))
	})
})
