package flux

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	base "github.com/orkspace/orkestra/test/plane"
)

// system is the namespace of the release.
const system = "orkestra-system"

// run runs what a Deployment of the release says: its arguments, and no more rights than its account has. The Pods of the cluster are simulated: they
// are Ready, and nothing runs in them.
func (w *world) run(t *testing.T, binary, name string) *base.Program {
	t.Helper()
	var deployment appsv1.Deployment
	base.Eventually(t, "there is the Deployment "+name, func() error {
		text, err := w.Cluster.Kubectl(t.Context(), "get", "deployment", name, "-n", system, "-o", "json")
		if err == nil {
			err = json.Unmarshal([]byte(text), &deployment)
		}
		return err
	})
	pod := deployment.Spec.Template.Spec
	args := append(slices.Clone(pod.Containers[0].Args), "--kubeconfig", w.kubeconfig(t, pod.ServiceAccountName), "--metrics-bind-address", "0", "--health-probe-bind-address", "0")
	for _, flag := range []string{"--web-bind-address", "--bind-address"} {
		if slices.ContainsFunc(pod.Containers[0].Args, func(arg string) bool { return strings.HasPrefix(arg, flag+"=") }) {
			args = append(args, flag, base.FreeAddress(t))
		}
	}
	t.Setenv("POD_NAMESPACE", system)
	return base.Start(t, binary, args...)
}

// kubeconfig is that of a ServiceAccount of the release.
func (w *world) kubeconfig(t *testing.T, account string) string {
	t.Helper()
	var token string
	base.Eventually(t, "the account "+account+" has a token", func() (err error) {
		token, err = w.Cluster.Kubectl(t.Context(), "create", "token", account, "-n", system)
		return err
	})
	config, c := clientcmdapi.NewConfig(), w.Cluster.Config()
	config.Clusters["local"] = &clientcmdapi.Cluster{Server: c.Host, CertificateAuthorityData: c.CAData, CertificateAuthority: c.CAFile}
	config.AuthInfos[account] = &clientcmdapi.AuthInfo{Token: strings.TrimSpace(token)}
	config.Contexts["local"] = &clientcmdapi.Context{Cluster: "local", AuthInfo: account}
	config.CurrentContext = "local"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// schedule says whether new Pods get a node. One without a node stays Pending, and is the test's to run.
func (w *world) schedule(t *testing.T, on bool) {
	t.Helper()
	w.Kubectl(t, "patch", w.Kubectl(t, "get", "nodes", "-o", "name"), "-p", fmt.Sprintf(`{"spec":{"unschedulable":%t}}`, !on))
}

// hook waits for a Pod of the Job that drains, does what it says with the rights of its account, and says how that ended, as a kubelet would. It gives what
// was printed, and whether it has succeeded.
func (w *world) hook(t *testing.T, binary string) (printed string, drained bool) {
	t.Helper()
	var pods corev1.PodList
	base.Eventually(t, "the hook of the uninstall has a Pod that waits", func() error {
		err := json.Unmarshal([]byte(w.Kubectl(t, "get", "pods", "-n", system, "-l", "job-name=orkestra-drain", "--field-selector=status.phase=Pending", "-o", "json")), &pods)
		if err == nil && len(pods.Items) != 1 {
			err = fmt.Errorf("%d Pods, wanted one", len(pods.Items))
		}
		return err
	})
	pod := pods.Items[0]
	command := exec.CommandContext(t.Context(), binary, append(pod.Spec.Containers[0].Args, "--kubeconfig", w.kubeconfig(t, pod.Spec.ServiceAccountName))...)
	text, err := command.CombinedOutput()
	phase := corev1.PodSucceeded
	if err != nil {
		phase = corev1.PodFailed
	}
	w.Kubectl(t, "patch", "pod", pod.Name, "-n", system, "--subresource=status", "--type=merge", "-p", fmt.Sprintf(`{"status":{"phase":%q}}`, phase))
	return string(text), err == nil
}
