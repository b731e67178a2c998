package e2e_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// freeAddress is an address of this machine at which nobody listens.
func freeAddress() string {
	GinkgoHelper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	address := l.Addr().String()
	Expect(l.Close()).To(Succeed())
	return address
}

// fetch gives the status and the body of an answer.
func fetch(ctx context.Context, url, token string) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	// The manager signs its own certificate.
	httpClient := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer httpClient.CloseIdleConnections()
	response, err := httpClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), errors.Join(err, response.Body.Close())
}

// tokenOf makes an account and a token of it.
func (w *world) tokenOf(ctx context.Context, account string) string {
	GinkgoHelper()
	Expect(kube.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: account}})).To(Succeed())
	token, err := cluster.Kubectl(ctx, "create", "token", account, "--namespace", w.namespace)
	Expect(err).NotTo(HaveOccurred())
	return strings.TrimSpace(token)
}

var _ = Describe("The manager's process", func() {
	It("answers probes, and those who may read metrics, works, and ends when it is told to", func(ctx context.Context) {
		w := newWorld(ctx)
		replaceManager()
		manager.stop()
		binary := filepath.Join(GinkgoT().TempDir(), "orkestra")
		out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "../../cmd/orkestra").CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(out))
		metrics, probes := freeAddress(), freeAddress()
		command := exec.Command(binary, "manager", "--kubeconfig", cluster.Kubeconfig(), "--namespace", w.namespace,
			"--metrics-bind-address", metrics, "--health-probe-bind-address", probes, "--shutdown-timeout", "10s")
		process, err := gexec.Start(command, GinkgoWriter, GinkgoWriter)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { process.Kill().Wait() })

		By("probing it")
		for _, path := range []string{"/healthz", "/readyz"} {
			Eventually(func(g Gomega) {
				code, body, err := fetch(ctx, "http://"+probes+path, "")
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(code).To(Equal(http.StatusOK), body)
			}).WithContext(ctx).Should(Succeed())
		}
		w.running(ctx, w.box(ctx, oneMap(3, "good")))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")

		By("reading metrics as nobody, as somebody, and as somebody who may")
		url := "https://" + metrics + "/metrics"
		Eventually(func(g Gomega) {
			code, body, err := fetch(ctx, url, "")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(code).To(Equal(http.StatusUnauthorized), body)
		}).WithContext(ctx).Should(Succeed())
		code, body, err := fetch(ctx, url, w.tokenOf(ctx, "somebody"))
		Expect(err).NotTo(HaveOccurred())
		Expect(code).To(Equal(http.StatusForbidden), body)

		reader := &rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: w.id + "-metrics"},
			Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
		}
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: reader.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: reader.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: "prometheus"}},
		}
		for _, obj := range []client.Object{reader, binding} {
			Expect(kube.Create(ctx, obj)).To(Succeed())
			DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, obj))).To(Succeed()) })
		}
		token := w.tokenOf(ctx, "prometheus")
		Eventually(func(g Gomega) {
			code, body, err := fetch(ctx, url, token)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(code).To(Equal(http.StatusOK), body)
			for _, series := range []string{
				`orkestra_reconcile_total{box="` + w.id + `",result="success"}`,
				`orkestra_reconcile_duration_seconds_count{box="` + w.id + `"}`,
				`orkestra_queue_depth{box="` + w.id + `"} 0`,
				`orkestra_workers_wanted{box="` + w.id + `"} 3`,
				`orkestra_resources{box="` + w.id + `",state="total"} 1`,
				`orkestra_resources{box="` + w.id + `",state="ready"} 1`,
				`orkestra_health_state{box="` + w.id + `",state="Healthy"} 1`,
				`orkestra_children_total{action="created",box="` + w.id + `"} 1`,
				`orkestra_panics_total{box="` + w.id + `"} 0`,
				`orkestra_leader 1`,
				`orkestra_build_info{commit="`,
			} {
				g.Expect(body).To(ContainSubstring(series))
			}
		}).WithContext(ctx).Should(Succeed())

		By("telling it to stop")
		process.Signal(syscall.SIGTERM)
		Eventually(process, patience).Should(gexec.Exit(0))
		Expect(process.Err).To(gbytes.Say(`"msg":"Starting"`))

		By("starting another one, which gets the lease at once")
		second, err := gexec.Start(exec.Command(binary, command.Args[1:]...), GinkgoWriter, GinkgoWriter)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { second.Kill().Wait() })
		w.website(ctx, "after", `{}`)
		w.settled(ctx, "after")
		second.Signal(syscall.SIGTERM)
		Eventually(second, patience).Should(gexec.Exit(0))
	})
})
