// Package install_test installs Orkestra from the chart and from config/default into a real cluster, and runs the manager
// as the installed Deployment says: its arguments, its ServiceAccount and no more rights than that account has. There are
// no containers here, so the manager is a process of this machine.
package install_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/orkspace/orkestra/controllers/drain"
	"github.com/orkspace/orkestra/test/localcluster"
)

const (
	root      = "../.."
	namespace = "orkestra-system"
	// patience is how long any one step may take.
	patience = "60s"
	// withAccount is the installation of the chart as it is, where boxes act as accounts.
	withAccount = "chart with accounts"
)

func TestInstall(t *testing.T) {
	g := NewWithT(t)
	ctx := t.Context()
	cluster, err := localcluster.Start(ctx, localcluster.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(cluster.Stop()).To(Succeed()) })
	kube, err := kubernetes.NewForConfig(cluster.Config())
	g.Expect(err).NotTo(HaveOccurred())

	chart := []string{"template", "orkestra", "charts/orkestra", "--namespace", namespace, "--no-hooks"}
	for name, render := range map[string]func(context.Context, *WithT) string{
		"chart": func(ctx context.Context, g *WithT) string {
			return run(ctx, g, "bin/helm", append(slices.Clone(chart), "--set", "rbac.scope=manager")...) // the sample names no account
		},
		withAccount: func(ctx context.Context, g *WithT) string {
			return run(ctx, g, "bin/helm", append(slices.Clone(chart), "--set", "priorityAndFairness.enabled=true")...)
		},
		"kustomize": func(ctx context.Context, g *WithT) string {
			return run(ctx, g, "bin/orkestra-cluster", "kubectl", "kustomize", "config/default")
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			i := &installation{g: g, cluster: cluster, kube: kube, manifests: render(ctx, g), account: name == withAccount}
			i.install(ctx)
			// Also when the test fails: the other way to install makes objects of the same names.
			t.Cleanup(func() { i.uninstall(context.WithoutCancel(ctx)) })
			manager := i.startManager(ctx, t)
			i.servesTheLeaseFirst(ctx, t)
			if i.account {
				i.servesApart(ctx, t)
			}
			i.serveWebsite(ctx)
			i.drain(ctx, t, name != "kustomize")
			manager.end(g)
		})
	}
	t.Run("chart with the webhook", func(t *testing.T) {
		g := NewWithT(t)
		manifests := run(ctx, g, "bin/helm", append(slices.Clone(chart), "--set", "trust.webhook.enabled=true", "--set", "trust.webhook.failurePolicy=Fail")...)
		i := &installation{g: g, cluster: cluster, kube: kube, manifests: manifests}
		i.install(ctx)
		t.Cleanup(func() { i.uninstall(context.WithoutCancel(ctx)) })
		i.webhook(ctx, t)
	})
}

// run runs a program of the repository and gives what it prints.
func run(ctx context.Context, g *WithT, program string, args ...string) string {
	cmd := exec.CommandContext(ctx, filepath.Join(root, program), args...)
	cmd.Dir = root
	cmd.Path, _ = filepath.Abs(cmd.Path)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	g.Expect(err).NotTo(HaveOccurred(), stderr.String())
	return string(out)
}

// installation is one way to install, rendered.
type installation struct {
	g         *WithT
	cluster   *localcluster.Cluster
	kube      *kubernetes.Clientset
	manifests string
	account   bool // the box of the sample gets an account
}

func (i *installation) install(ctx context.Context) {
	// The chart leaves the namespace to helm install --create-namespace.
	i.kubectl(ctx, "create", "namespace", namespace)
	i.apply(ctx, "apply", i.manifests)
	i.g.Eventually(func() error {
		_, err := i.cluster.Kubectl(ctx, "wait", "--for=condition=Established", "crd", "--all")
		return err
	}).WithTimeout(time.Minute).Should(Succeed())
	i.kubectl(ctx, "wait", "--for=condition=Available", "--timeout="+patience, "-n", namespace, "deployment", "--all")
}

// apply hands manifests to kubectl: files from a pipe keep large ones out of the argument list.
func (i *installation) apply(ctx context.Context, verb, manifests string) {
	file := filepath.Join(os.TempDir(), fmt.Sprintf("orkestra-install-%d.yaml", os.Getpid()))
	i.g.Expect(os.WriteFile(file, []byte(manifests), 0o600)).To(Succeed())
	defer func() { i.g.Expect(os.Remove(file)).To(Succeed()) }()
	args := []string{verb, "-f", file}
	if verb == "apply" {
		// Client-side on purpose: the OperatorBox CRD must be small enough for it.
		args = append(args, "--server-side=false")
	} else {
		args = append(args, "--timeout="+patience) // what holds a deletion up is a finding, not a reason to wait for ever
	}
	i.kubectl(ctx, args...)
}

func (i *installation) kubectl(ctx context.Context, args ...string) string {
	out, err := i.cluster.Kubectl(ctx, args...)
	if err != nil && strings.Contains(err.Error(), "AlreadyExists") {
		return out
	}
	i.g.Expect(err).NotTo(HaveOccurred())
	return out
}

// process is one of a Deployment.
type process struct {
	cmd *exec.Cmd
	log *bytes.Buffer
}

// startManager runs the manager with the installed arguments, as the installed account.
func (i *installation) startManager(ctx context.Context, t *testing.T) *process {
	t.Helper()
	deployments, err := i.kube.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	i.g.Expect(err).NotTo(HaveOccurred())
	i.g.Expect(deployments.Items).To(HaveLen(1))
	return i.start(ctx, t, deployments.Items[0].Name)
}

// start runs the process of a Deployment with its arguments and its account, and waits until it is ready. The further arguments win.
func (i *installation) start(ctx context.Context, t *testing.T, name string, further ...string) *process {
	t.Helper()
	deployment, err := i.kube.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
	i.g.Expect(err).NotTo(HaveOccurred())
	probes := freeAddress(ctx, i.g)
	args := slices.Clone(deployment.Spec.Template.Spec.Containers[0].Args)
	args = append(args, "--kubeconfig", i.kubeconfig(ctx, t, deployment.Spec.Template.Spec.ServiceAccountName), "--health-probe-bind-address", probes,
		"--metrics-bind-address", freeAddress(ctx, i.g), "--log-format", "text")
	args = append(args, further...)
	cmd := exec.CommandContext(ctx, root+"/bin/orkestra", args...)
	cmd.Env = append(os.Environ(), "POD_NAMESPACE="+namespace)
	p := &process{cmd: cmd, log: &bytes.Buffer{}}
	cmd.Stdout, cmd.Stderr = p.log, p.log
	i.g.Expect(cmd.Start()).To(Succeed())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // of a test that failed before its end
		if t.Failed() {
			t.Log(p.log.String())
		}
	})
	// What the Pod of helm test runs, but for the name of the Service.
	i.g.Expect(run(ctx, i.g, "bin/orkestra", "probe", "http://"+probes+"/readyz", "--timeout="+patience)).To(ContainSubstring("is ready"))
	return p
}

func freeAddress(ctx context.Context, g *WithT) string {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { g.Expect(l.Close()).To(Succeed()) }()
	return l.Addr().String()
}

// kubeconfig is that of a ServiceAccount.
func (i *installation) kubeconfig(ctx context.Context, t *testing.T, account string) string {
	t.Helper()
	token, err := i.kube.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	i.g.Expect(err).NotTo(HaveOccurred())
	config := i.cluster.Config()
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["local"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData, CertificateAuthority: config.CAFile}
	kubeconfig.AuthInfos["manager"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	kubeconfig.Contexts["local"] = &clientcmdapi.Context{Cluster: "local", AuthInfo: "manager"}
	kubeconfig.CurrentContext = "local"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	i.g.Expect(clientcmd.WriteToFile(*kubeconfig, file)).To(Succeed())
	return file
}

// serveWebsite applies the Website sample. The box first lacks the rights over websites and says so; the sample's
// ClusterRole grants them, and the box goes on by itself.
func (i *installation) serveWebsite(ctx context.Context) {
	sample := filepath.Join(root, "config", "samples", "website")
	i.kubectl(ctx, "apply", "-f", filepath.Join(sample, "crd.yaml"))
	if i.account {
		i.kubectl(ctx, "create", "serviceaccount", "website", "--namespace", namespace)
	}
	i.apply(ctx, "apply", i.box())
	i.kubectl(ctx, "wait", "--for=condition=PermissionsGranted=False", "--timeout="+patience, "operatorbox/website")
	message := i.kubectl(ctx, "get", "operatorbox/website", "-o", `jsonpath={.status.conditions[?(@.type=="PermissionsGranted")].message}`)
	i.g.Expect(message).To(ContainSubstring("get/list/patch/watch websites.demo.example.com"))

	i.kubectl(ctx, "apply", "-f", filepath.Join(sample, "clusterrole.yaml"))
	if i.account {
		i.apply(ctx, "apply", i.rights(ctx))
	}
	i.kubectl(ctx, "wait", "--for=condition=Ready", "--timeout="+patience, "operatorbox/website")
	i.kubectl(ctx, "wait", "--for=condition=PoliciesInstalled", "--timeout="+patience, "operatorbox/website")
	i.kubectl(ctx, "apply", "-f", filepath.Join(sample, "website.yaml"))
	i.kubectl(ctx, "wait", "--for=create", "--timeout="+patience, "service/hello")
	i.kubectl(ctx, "wait", `--for=jsonpath={.status.conditions[?(@.type=="Reconciling")].reason}=WaitingForGate`, "--timeout="+patience, "website/hello")
	i.kubectl(ctx, "patch", "service/hello", "--subresource=status", "--type=merge", "-p", `{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.10"}]}}}`)
	i.kubectl(ctx, "wait", `--for=jsonpath={.status.conditions[?(@.type=="Reconciling")].status}=False`, "--timeout="+patience, "website/hello")
	i.kubectl(ctx, "wait", "--for=condition=Healthy", "--timeout="+patience, "crdhealth/website")

	i.kubectl(ctx, "delete", "website/hello", "--timeout="+patience)
	i.kubectl(ctx, "delete", "operatorbox/website", "--timeout="+patience)
}

// box is the box of the sample; with an account where the manager makes no children of its own.
func (i *installation) box() string {
	text, err := os.ReadFile(filepath.Join(root, "config", "samples", "website", "box.yaml"))
	i.g.Expect(err).NotTo(HaveOccurred())
	if !i.account {
		return string(text)
	}
	return strings.Replace(string(text), "\nspec:\n", "\nspec:\n  serviceAccountRef: {name: website, namespace: "+namespace+"}\n", 1)
}

// rights are the account of the sample's box and its roles, as users make them.
func (i *installation) rights(ctx context.Context) string {
	sample := filepath.Join("config", "samples", "website")
	return run(ctx, i.g, "bin/orkestra", "rbac", "-f", filepath.Join(sample, "box.yaml"), "--crd", filepath.Join(sample, "crd.yaml"), "--account", namespace+"/website")
}

// servesTheLeaseFirst checks that the API server takes the account's requests for the lease for those of a leader election.
func (i *installation) servesTheLeaseFirst(ctx context.Context, t *testing.T) {
	t.Helper()
	i.servedBy(ctx, t, "orkestra-leader-election", "/apis/coordination.k8s.io/v1/namespaces/"+namespace+"/leases/"+drain.LeaseName, "")
}

// servesApart checks that what the manager asks for, for itself and as the account of a box, has seats of its own.
func (i *installation) servesApart(ctx context.Context, t *testing.T) {
	t.Helper()
	i.servedBy(ctx, t, "orkestra", "/apis/orkestra.orkspace.io/v1alpha1/operatorboxes", "")
	i.servedBy(ctx, t, "orkestra", "/api/v1/namespaces/"+namespace+"/configmaps", "system:serviceaccount:"+namespace+":website")
}

// servedBy checks which FlowSchema the API server finds for a request of the manager's account; impersonated, if not empty, is as whom it asks.
func (i *installation) servedBy(ctx context.Context, t *testing.T, name, path, impersonated string) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", i.kubeconfig(ctx, t, "orkestra"))
	i.g.Expect(err).NotTo(HaveOccurred())
	config.Impersonate.UserName = impersonated
	transport, err := rest.TransportFor(config)
	i.g.Expect(err).NotTo(HaveOccurred())
	i.g.Eventually(func(g Gomega) {
		schema, err := i.kube.FlowcontrolV1().FlowSchemas().Get(ctx, name, metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+path, http.NoBody)
		g.Expect(err).NotTo(HaveOccurred())
		res, err := transport.RoundTrip(req)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(res.Body.Close()).To(Succeed())
		g.Expect(res.Header.Get(flowcontrolv1.ResponseHeaderMatchedFlowSchemaUID)).To(BeEquivalentTo(schema.UID), "%s %s", res.Status, path)
	}).WithTimeout(time.Minute).Should(Succeed())
}

// end ends the process as a kubelet would.
func (p *process) end(g *WithT) {
	g.Expect(p.cmd.Process.Signal(syscall.SIGTERM)).To(Succeed())
	g.Expect(p.cmd.Wait()).To(Succeed(), p.log.String())
	g.Expect(p.log.String()).NotTo(ContainSubstring("forbidden"), "the installed rights suffice")
}

// uninstall removes what was installed, and the sample's CRD.
func (i *installation) uninstall(ctx context.Context) {
	i.kubectl(ctx, "delete", "-f", filepath.Join(root, "config", "samples", "website", "crd.yaml"),
		"-f", filepath.Join(root, "config", "samples", "website", "clusterrole.yaml"), "--ignore-not-found", "--timeout="+patience)
	if i.account {
		i.apply(ctx, "delete", i.rights(ctx))
	}
	i.apply(ctx, "delete", i.manifests)
	// kubectl waits until it is gone.
	i.kubectl(ctx, "delete", "namespace", namespace, "--ignore-not-found", "--timeout="+patience)
}
