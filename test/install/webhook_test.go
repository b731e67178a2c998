package install_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	webhookName = "orkestra-webhook"
	// hookName is that of the webhook in the configuration of the chart, as the API server writes it into its answers.
	hookName = `"compile.orkestra.orkspace.io"`
)

// webhook runs orkestra webhook as the chart installs it: the API server asks by the configuration of the chart, verifies the certificate for
// the name of the Service with the authority that the process has written there, and the rights of the installed account suffice.
func (i *installation) webhook(ctx context.Context, t *testing.T) {
	t.Helper()
	address := freeAddress(ctx, i.g)
	i.reach(ctx, address)
	metrics := freeAddress(ctx, i.g)
	webhook := i.start(ctx, t, webhookName, "--bind-address", address, "--metrics-bind-address", metrics)
	i.verifies(ctx, metrics)
	i.kubectl(ctx, "apply", "-f", filepath.Join(root, "config", "samples", "website", "crd.yaml"))
	good := i.box()
	i.g.Expect(good).To(ContainSubstring("{{ .spec."))
	// What only the compiler finds: kubectl prints the causes of a refusal, and leaves out who refuses.
	bad := strings.ReplaceAll(good, "{{ .spec.", "{{ .spec.no")

	i.g.Eventually(i.try).WithContext(ctx).WithArguments(bad).WithTimeout(time.Minute).Should(MatchError(And(
		ContainSubstring("spec.onReconcile.deployments[0].image: "), ContainSubstring("spec.noimage: no such field in the CRD's schema"))))
	i.g.Expect(i.try(ctx, good)).To(Succeed())

	// Where no webhook answers, the policy Fail refuses what would be judged. What would not be judged is not asked for.
	i.apply(ctx, "apply", good)
	webhook.end(i.g)
	unanswered := MatchError(ContainSubstring("failed calling webhook " + hookName))
	i.g.Expect(i.try(ctx, strings.Replace(good, "name: website", "name: another", 1))).To(unanswered)
	_, err := i.cluster.Kubectl(ctx, "patch", "operatorbox/website", "--type=merge", "-p", `{"spec":{"workers":2}}`)
	i.g.Expect(err).To(unanswered)
	i.kubectl(ctx, "annotate", "operatorbox/website", "team=a")
	i.kubectl(ctx, "delete", "operatorbox/website", "--timeout="+patience)
}

// verifies reads metrics as the chart's ServiceMonitor has Prometheus do: who answers is known by the authority in the Secret. Without a token
// there are none.
func (i *installation) verifies(ctx context.Context, address string) {
	secret, err := i.kube.CoreV1().Secrets(namespace).Get(ctx, webhookName+"-certificate", metav1.GetOptions{})
	i.g.Expect(err).NotTo(HaveOccurred())
	trusted := x509.NewCertPool()
	i.g.Expect(trusted.AppendCertsFromPEM(secret.Data["ca.crt"])).To(BeTrue())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, ServerName: webhookName + "." + namespace + ".svc"}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/metrics", http.NoBody)
	i.g.Expect(err).NotTo(HaveOccurred())
	response, err := transport.RoundTrip(request)
	i.g.Expect(err).NotTo(HaveOccurred())
	i.g.Expect(response.Body.Close()).To(Succeed())
	i.g.Expect(response.StatusCode).To(Equal(http.StatusUnauthorized))
}

// reach has the API server find the webhook at an address of this machine. No Pod has an address here, and nothing forwards what is sent to a
// Service, so the Service becomes a name for the machine, and the configuration names the port at which the process listens. All else is as the
// chart gives it.
func (i *installation) reach(ctx context.Context, address string) {
	host, port, err := net.SplitHostPort(address)
	i.g.Expect(err).NotTo(HaveOccurred())
	i.kubectl(ctx, "delete", "service", webhookName, "-n", namespace)
	i.kubectl(ctx, "create", "service", "externalname", webhookName, "--external-name", host, "-n", namespace)
	i.kubectl(ctx, "patch", "validatingwebhookconfiguration", webhookName, "--type=json",
		"-p", `[{"op":"replace","path":"/webhooks/0/clientConfig/service/port","value":`+port+`}]`)
}

// try asks the API server what becomes of a box, and makes none.
func (i *installation) try(ctx context.Context, box string) error {
	file, err := os.CreateTemp("", "orkestra-install-*.yaml")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	if _, err := file.WriteString(box); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	_, err = i.cluster.Kubectl(ctx, "create", "--dry-run=server", "-f", file.Name())
	return err
}
