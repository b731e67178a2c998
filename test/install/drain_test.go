package install_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// drain has the manager let go of a box and its resource before the uninstall: with the hook of the chart, as its Job says and
// with no more rights than its account has, or by the command, which is all that other ways to uninstall have. No containers
// run here, so the Job is a process of this machine.
func (i *installation) drain(ctx context.Context, t *testing.T, hook bool) {
	t.Helper()
	sample := filepath.Join(root, "config", "samples", "website")
	i.apply(ctx, "apply", i.box())
	i.kubectl(ctx, "apply", "-f", filepath.Join(sample, "website.yaml"))
	i.kubectl(ctx, "wait", "--for=create", "--timeout="+patience, "service/hello")
	// The Service may be that of the resource before, which the garbage collector has not deleted yet.
	i.g.Eventually(func() string { return i.finalizers(ctx, "website/hello") }).WithTimeout(time.Minute).Should(ContainSubstring(v1alpha1.Finalizer))

	args, kubeconfig := []string{"drain"}, i.cluster.Kubeconfig()
	if hook {
		args, kubeconfig = i.hook(ctx, t)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(root, "bin", "orkestra"), append(args, "--kubeconfig", kubeconfig)...)
	cmd.Env = append(os.Environ(), "POD_NAMESPACE="+namespace)
	out, err := cmd.CombinedOutput()
	i.g.Expect(err).NotTo(HaveOccurred(), string(out))
	i.g.Expect(string(out)).To(And(ContainSubstring("operatorbox/website: drained"), Not(ContainSubstring("forbidden"))))
	i.g.Expect(i.finalizers(ctx, "website/hello")).To(BeEmpty())
	i.g.Expect(i.finalizers(ctx, "operatorbox/website")).To(BeEmpty())
	i.kubectl(ctx, "get", "service/hello")
	i.kubectl(ctx, "delete", "website/hello", "operatorbox/website", "--timeout="+patience)
}

func (i *installation) finalizers(ctx context.Context, object string) string {
	return i.kubectl(ctx, "get", object, "-o", "jsonpath={.metadata.finalizers}")
}

// hook applies what the chart's hook consists of, but for its Job, and gives the Job's arguments and a kubeconfig of its account.
func (i *installation) hook(ctx context.Context, t *testing.T) (args []string, kubeconfig string) {
	t.Helper()
	rendered := run(ctx, i.g, "bin/helm", "template", "orkestra", "charts/orkestra", "--namespace", namespace, "--show-only", "templates/drain.yaml")
	var rights bytes.Buffer
	job := &batchv1.Job{}
	for document := range strings.SplitSeq(rendered, "\n---\n") {
		if strings.Contains(document, "\nkind: Job\n") {
			i.g.Expect(yaml.Unmarshal([]byte(document), job)).To(Succeed())
			continue
		}
		rights.WriteString("\n---\n" + document)
	}
	i.apply(ctx, "apply", rights.String())
	t.Cleanup(func() { i.apply(context.WithoutCancel(ctx), "delete", rights.String()) })
	pod := job.Spec.Template.Spec
	return pod.Containers[0].Args, i.kubeconfig(ctx, t, pod.ServiceAccountName)
}
