package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

// example gives a box spec that a page of how-to shows, by its place among the page's YAML.
func example(page string, n int) string {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "how-to", page))
	Expect(err).NotTo(HaveOccurred())
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	Expect(len(blocks)).To(BeNumerically(">", n))
	return blocks[n][1]
}

var _ = Describe("The examples of how-to", func() {
	It("make a Service again that gets an address", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, example("immutable-fields.md", 0)))
		w.website(ctx, "web", `{image: "nginx:1"}`)
		w.settled(ctx, "web")
		before, after := &corev1.Service{}, &corev1.Service{}
		w.child(ctx, Default, before, "web")
		Expect(before.Spec.ClusterIP).To(Equal(corev1.ClusterIPNone))
		w.website(ctx, "web", `{image: "nginx:1", host: web.example.com}`)
		Eventually(func(g Gomega) {
			w.child(ctx, g, after, "web")
			g.Expect(after.Spec.ClusterIP).NotTo(Or(BeEmpty(), Equal(corev1.ClusterIPNone)))
			g.Expect(after.UID).NotTo(Equal(before.UID))
		}).WithContext(ctx).Should(Succeed())
		w.settled(ctx, "web")
	})
})
