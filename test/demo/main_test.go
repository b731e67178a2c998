package main

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/test/localcluster"
)

// TestTheDemoInAClusterThatIsThere: it takes the cluster of a kubeconfig, leaves nothing behind in it, and does not touch one that has
// Orkestra or the sample.
func TestTheDemoInAClusterThatIsThere(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	g := NewWithT(t)
	t.Chdir("../..")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cluster, err := localcluster.Start(ctx, localcluster.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { g.Expect(cluster.Stop()).To(Succeed()) }()
	kinds := []string{"get", "crd,namespace,clusterrole,deployment,service,ingress", "-A", "-o", "name"}
	before, err := cluster.Kubectl(ctx, kinds...)
	g.Expect(err).NotTo(HaveOccurred())

	g.Expect(run(ctx, cluster.Kubeconfig())).To(Succeed())
	after, err := cluster.Kubectl(ctx, kinds...)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(after).To(Equal(before), "the demo left something, or took something")

	_, err = cluster.Kubectl(ctx, "apply", "-f", samples+"/crd.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(run(ctx, cluster.Kubeconfig())).To(MatchError(And(
		ContainSubstring("has customresourcedefinition.apiextensions.k8s.io/websites.demo.example.com already"), ContainSubstring("use a cluster without Orkestra"))))
	_, err = cluster.Kubectl(ctx, "get", "crd", "websites.demo.example.com")
	g.Expect(err).NotTo(HaveOccurred(), "what was there is not the demo's to delete")
}
