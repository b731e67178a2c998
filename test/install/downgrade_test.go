package install_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/test/localcluster"
)

// TestDowngradeByHelm goes from a newer chart to this one as docs/operations.md says, and by `helm rollback`, against which that page warns. The newer
// chart has another CRD of boxes.
func TestDowngradeByHelm(t *testing.T) {
	g := NewWithT(t)
	ctx := t.Context()
	cluster, err := localcluster.Start(ctx, localcluster.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(cluster.Stop()).To(Succeed()) })
	former, newer := filepath.Join(root, "charts", "orkestra"), filepath.Join(t.TempDir(), "orkestra")
	g.Expect(os.CopyFS(newer, os.DirFS(former))).To(Succeed())
	crds := filepath.Join(newer, "templates", "crds.yaml")
	text, err := os.ReadFile(crds)
	g.Expect(err).NotTo(HaveOccurred())
	changed := regexp.MustCompile(`(?m)^( *orkestra\.orkspace\.io/schema:) .*$`).ReplaceAll(text, []byte("$1 newer"))
	changed = bytes.ReplaceAll(changed, []byte("\n              suspend:\n"), []byte("\n              later:\n                type: string\n              suspend:\n"))
	g.Expect(changed).NotTo(Equal(text))
	g.Expect(os.WriteFile(crds, changed, 0o600)).To(Succeed())

	helm := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(ctx, filepath.Join(root, "bin", "helm"), append(args, "--namespace", namespace)...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig())
		out, err := cmd.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(out))
	}
	shows := func(schema, later string) {
		t.Helper()
		crd := see(ctx, g, cluster, "get", "crd", "operatorboxes.orkestra.orkspace.io", "-o", `jsonpath={.metadata.annotations.orkestra\.orkspace\.io/schema}`)
		g.Expect(crd).To(Equal(schema))
		// The API server begins to serve a changed CRD a moment after it has taken it.
		g.Eventually(func() string {
			return see(ctx, g, cluster, "get", "operatorbox", "later", "-o", "jsonpath={.spec.later}")
		}).WithTimeout(time.Minute).Should(Equal(later))
	}

	helm("install", "orkestra", former, "--create-namespace")
	schema := see(ctx, g, cluster, "get", "crd", "operatorboxes.orkestra.orkspace.io", "-o", `jsonpath={.metadata.annotations.orkestra\.orkspace\.io/schema}`)
	helm("upgrade", "orkestra", newer)
	box := "{apiVersion: orkestra.orkspace.io/v1alpha1, kind: OperatorBox, metadata: {name: later}, spec: {later: x, suspend: true, crd: {name: as.example.com}}}"
	g.Eventually(func() error {
		_, err := cluster.KubectlApply(ctx, box)
		return err
	}).WithTimeout(time.Minute).Should(Succeed())
	shows("newer", "x")

	helm("upgrade", "orkestra", former, "--set", "crds.install=false")
	shows("newer", "x")
	helm("upgrade", "orkestra", newer, "--set", "crds.install=true")
	shows("newer", "x")
	helm("rollback", "orkestra", "1")
	shows(schema, "")
}

// see runs kubectl, and gives what it prints.
func see(ctx context.Context, g *WithT, cluster *localcluster.Cluster, args ...string) string {
	out, err := cluster.Kubectl(ctx, args...)
	g.Expect(err).NotTo(HaveOccurred())
	return out
}
