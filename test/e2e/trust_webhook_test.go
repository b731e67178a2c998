package e2e_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

const (
	// judged is the label of boxes that the webhook of a spec judges. The other specs are about what the manager says of mistakes.
	judged = "e2e.test/judged"
	// broken is a spec with a mistake that only the compiler finds, and brokenSays what it says of it.
	broken     = "{onReconcile: {configmaps: [{name: a, data: {a: '{{ .spec.imge }}'}}]}}"
	brokenSays = `spec.onReconcile.configmaps[0].data.a`
)

// judge is a process of `orkestra webhook`, and the configuration that has the API server ask it.
type judge struct {
	*gexec.Session

	world                  *world
	address, probes, files string
	config                 string
	warnings               *heardWarnings
	client                 client.Client // hears the warnings
}

// heardWarnings collects those of the API server.
type heardWarnings struct {
	mu  sync.Mutex
	all []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *heardWarnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, text)
}

// heard gives the warnings since the last call.
func (w *heardWarnings) heard() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.all
	w.all = nil
	return all
}

// newJudge gives one that is not started, with a configuration that asks it about the boxes of the world.
func (w *world) newJudge(ctx context.Context, policy admissionregistrationv1.FailurePolicyType, bundle []byte) *judge {
	GinkgoHelper()
	j := &judge{world: w, address: freeAddress(), probes: freeAddress(), files: GinkgoT().TempDir(), config: w.id, warnings: &heardWarnings{}}
	config := cluster.Config()
	config.WarningHandler = j.warnings
	var err error
	j.client, err = client.New(rest.CopyConfig(config), client.Options{Scheme: scheme, Mapper: kube.RESTMapper()})
	Expect(err).NotTo(HaveOccurred())
	none, url := admissionregistrationv1.SideEffectClassNone, "https://"+j.address+"/compile"
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: j.config},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "first.e2e.test", SideEffects: &none, AdmissionReviewVersions: []string{"v1"}, FailurePolicy: &policy, TimeoutSeconds: new(int32(10)),
			ClientConfig:   admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: bundle},
			ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{judged: w.id}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{"orkestra.orkspace.io"}, APIVersions: []string{"v1alpha1"}, Resources: []string{"operatorboxes"},
				},
			}},
		}},
	}
	Expect(kube.Create(ctx, configuration)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		Expect(client.IgnoreNotFound(kube.Delete(ctx, configuration))).To(Succeed())
	})
	return j
}

// start starts the process and waits until it is ready.
func (j *judge) start(ctx context.Context, args ...string) {
	GinkgoHelper()
	command := exec.Command(built.path(), append([]string{
		"webhook", "--kubeconfig", cluster.Kubeconfig(), "--bind-address", j.address, "--metrics-bind-address", "0",
		"--health-probe-bind-address", j.probes, "--log-format", "text",
	}, args...)...)
	var err error
	j.Session, err = gexec.Start(command, GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	process := j.Session
	DeferCleanup(func() { process.Kill().Wait() })
	(&replica{probes: j.probes}).ready(ctx)
}

// end tells the process to end, and waits for that.
func (j *judge) end() {
	GinkgoHelper()
	Eventually(j.Signal(syscall.SIGTERM)).Should(gexec.Exit(0))
}

// box is a box that the webhook judges.
func (j *judge) box(name, spec string) *unstructured.Unstructured {
	box := j.world.boxObject(name, spec)
	box.SetLabels(map[string]string{judged: j.world.id})
	return box
}

// try asks what becomes of a box, and makes none.
func (j *judge) try(ctx context.Context, spec string) error {
	return j.client.Create(ctx, j.box(j.world.id+"-try", spec), client.DryRunAll)
}

// asked waits until the API server asks under a name.
func (j *judge) asked(ctx context.Context, name string) {
	GinkgoHelper()
	Eventually(j.try).WithContext(ctx).WithArguments(ctx, broken).Should(MatchError(ContainSubstring(`"` + name + `" denied the request: `)))
}

// set changes the configuration.
func (j *judge) set(ctx context.Context, change func(*admissionregistrationv1.ValidatingWebhook)) {
	GinkgoHelper()
	Expect(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		config := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		if err := kube.Get(ctx, apitypes.NamespacedName{Name: j.config}, config); err != nil {
			return err
		}
		change(&config.Webhooks[0])
		return kube.Update(ctx, config)
	})).To(Succeed())
}

// write writes a certificate and its key where the process reads them.
func (j *judge) write(certificate, key []byte) {
	GinkgoHelper()
	Expect(os.WriteFile(filepath.Join(j.files, "tls.key"), key, 0o600)).To(Succeed())
	Expect(os.WriteFile(filepath.Join(j.files, "tls.crt"), certificate, 0o600)).To(Succeed())
}

// served is the serial number of the certificate that the process serves.
func (j *judge) served(ctx context.Context) (string, error) {
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	conn, err := dialer.DialContext(ctx, "tcp", j.address)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if c, ok := conn.(*tls.Conn); ok {
		return c.ConnectionState().PeerCertificates[0].SerialNumber.String(), nil
	}
	return "", errors.New("no TLS")
}

// newCertificate is one for the address of the process, which is its own authority.
func newCertificate() (certificate, key []byte) {
	GinkgoHelper()
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	Expect(err).NotTo(HaveOccurred())
	return certificate, key
}

// asking sends boxes with a mistake until it is stopped, and gives all answers that are not the webhook's.
func (j *judge) asking(ctx context.Context) (stop func() (asked int, others []error)) {
	ctx, cancel := context.WithCancel(ctx)
	count, others, done := 0, []error(nil), make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			err := j.try(ctx, broken)
			if ctx.Err() != nil {
				return
			}
			count++
			if !apierrors.IsInvalid(err) {
				others = append(others, err)
			}
		}
	}()
	return func() (int, []error) {
		cancel()
		<-done
		return count, others
	}
}

var _ = Describe("The webhook that compiles boxes", func() {
	It("refuses what does not compile, with the words of the manager, and warns of what the manager notes", func(ctx context.Context) {
		w := newWorld(ctx)
		certificate, key := newCertificate()
		j := w.newJudge(ctx, admissionregistrationv1.Fail, certificate)
		j.write(certificate, key)
		j.start(ctx, "--cert-dir", j.files)
		j.asked(ctx, "first.e2e.test")

		By("a mistake that the manager finds, too")
		old := w.boxObject(w.id, broken)
		Expect(kube.Create(ctx, old)).To(Succeed())
		var words string
		Eventually(func(g Gomega) {
			compiled := boxCondition(getBox(ctx, g, w.id), v1alpha1.ConditionCompiled)
			g.Expect(compiled).To(HaveField("Status", metav1.ConditionFalse))
			words = compiled.Message
		}).WithContext(ctx).Should(Succeed())
		Expect(words).To(ContainSubstring(brokenSays))
		err := j.try(ctx, broken)
		Expect(err).To(MatchError(ContainSubstring(words)))
		status := apierrors.APIStatus(nil)
		Expect(errors.As(err, &status)).To(BeTrue())
		Expect(status.Status().Details.Causes).To(ConsistOf(HaveField("Field", brokenSays)))

		By("what is no mistake")
		j.warnings.heard()
		Expect(j.try(ctx, oneMap(1, "good"))).To(Succeed())
		Expect(j.warnings.heard()).To(BeEmpty())
		Expect(j.try(ctx, "{crd: {name: later.e2e.test}}")).To(Succeed())
		Expect(j.warnings.heard()).To(ContainElement(ContainSubstring(`"later.e2e.test" does not exist`)))
		Expect(j.try(ctx, "{crd: {name: later.e2e.test}, dependsOn: [{name: "+w.id+"-try}]}")).To(MatchError(ContainSubstring("a box can't depend on itself")), "the rest of it is checked")

		By("a box from before")
		w.merge(ctx, old, `{"metadata":{"labels":{"`+judged+`":"`+w.id+`"}}}`)
		w.merge(ctx, old, `{"metadata":{"annotations":{"team":"a"}}}`)
		somebody := &user{client: kube}
		Expect(somebody.merge(ctx, old, `{"spec":{"workers":2}}`)).To(MatchError(ContainSubstring(brokenSays)))
		Expect(somebody.merge(ctx, old, `{"spec":{"onReconcile":null}}`)).To(Succeed(), "it is mended")
		Expect(kube.Delete(ctx, old)).To(Succeed())
		Eventually(func() bool { return apierrors.IsNotFound(kube.Get(ctx, client.ObjectKeyFromObject(old), old)) }).WithContext(ctx).Should(BeTrue())

		j.end()
	})

	It("serves a new certificate while it is asked, and where it is away the failure policy decides", func(ctx context.Context) {
		w := newWorld(ctx)
		first, firstKey := newCertificate()
		second, secondKey := newCertificate()
		j := w.newJudge(ctx, admissionregistrationv1.Fail, first)
		j.write(first, firstKey)
		j.start(ctx, "--cert-dir", j.files)
		j.asked(ctx, "first.e2e.test")
		before, err := j.served(ctx)
		Expect(err).NotTo(HaveOccurred())

		stop := j.asking(ctx)
		j.set(ctx, func(hook *admissionregistrationv1.ValidatingWebhook) {
			hook.Name, hook.ClientConfig.CABundle = "both.e2e.test", append(append([]byte{}, first...), second...)
		})
		j.asked(ctx, "both.e2e.test")
		j.write(second, secondKey)
		Eventually(j.served).WithContext(ctx).WithArguments(ctx).ShouldNot(Equal(before))
		j.set(ctx, func(hook *admissionregistrationv1.ValidatingWebhook) {
			hook.Name, hook.ClientConfig.CABundle = "second.e2e.test", second
		})
		j.asked(ctx, "second.e2e.test")
		asked, others := stop()
		Expect(asked).To(BeNumerically(">", 0))
		Expect(others).To(BeEmpty())

		By("ending it")
		j.end()
		Expect(j.try(ctx, oneMap(1, "good"))).To(MatchError(ContainSubstring(`failed calling webhook "second.e2e.test"`)))
		ignore := admissionregistrationv1.Ignore
		j.set(ctx, func(hook *admissionregistrationv1.ValidatingWebhook) { hook.FailurePolicy = &ignore })
		Eventually(j.try).WithContext(ctx).WithArguments(ctx, broken).Should(Succeed())
	})

	It("renews its own certificate while it is asked, and two of it agree", func(ctx context.Context) {
		w := newWorld(ctx)
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "certificates"}}
		Expect(kube.Create(ctx, secret)).To(Succeed())
		j := w.newJudge(ctx, admissionregistrationv1.Fail, nil)
		other := *j
		other.address, other.probes = freeAddress(), freeAddress()
		flags := []string{
			"--namespace", w.namespace, "--certificate-secret", secret.Name, "--webhook-configuration", j.config, "--certificate-names", "127.0.0.1",
			"--certificate-validity", "40s",
		}
		j.start(ctx, flags...)
		other.start(ctx, flags...)
		j.asked(ctx, "first.e2e.test")
		before, err := j.served(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(other.served(ctx)).To(Equal(before))

		stop := j.asking(ctx)
		Eventually(j.served).WithContext(ctx).WithArguments(ctx).ShouldNot(Equal(before))
		after, err := j.served(ctx)
		Expect(err).NotTo(HaveOccurred())
		Eventually(other.served).WithContext(ctx).WithArguments(ctx).Should(Equal(after))
		By("having the API server connect anew")
		j.set(ctx, func(hook *admissionregistrationv1.ValidatingWebhook) { hook.Name = "second.e2e.test" })
		j.asked(ctx, "second.e2e.test")
		asked, others := stop()
		Expect(asked).To(BeNumerically(">", 0))
		Expect(others).To(BeEmpty())

		By("having the bundle taken away")
		j.set(ctx, func(hook *admissionregistrationv1.ValidatingWebhook) {
			hook.Name, hook.ClientConfig.CABundle = "third.e2e.test", nil
		})
		j.asked(ctx, "third.e2e.test")
		other.end()
		j.end()
	})
})
