package certificates

import (
	"crypto/x509"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/cert"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/orkspace/orkestra/test/fixtures"
)

const (
	day  = 24 * time.Hour
	name = "orkestra-webhook.orkestra-system.svc"
)

func start() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

func every90Days() renewal { return renewal{names: []string{name, "127.0.0.1"}, validity: 90 * day} }

// verify checks a served pair as a client does that trusts a bundle.
func verify(p *pair, bundle []byte, now time.Time) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	_, err := p.leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	return err
}

// An API server may be slow to learn of a bundle: what is served is trusted by today's bundle and by that of some days ago.
func TestNoClientMeetsACertificateThatItDoesNotTrust(t *testing.T) {
	g := NewWithT(t)
	r, s, now := every90Days(), state{}, start()
	s, _, err := r.advance(s, nil, now)
	g.Expect(err).NotTo(HaveOccurred())
	slow, served := s.bundle, map[string]bool{}
	for range 400 {
		old := s.bundle
		var again time.Time
		s, again, err = r.advance(readState(s.data()), s.bundle, now)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(again).To(BeTemporally(">", now))
		g.Expect(verify(s.served, s.bundle, now)).To(Succeed(), "%s", now)
		g.Expect(verify(s.served, slow, now)).To(Succeed(), "%s, by the bundle of before", now)
		g.Expect(s.served.leaf.NotAfter).To(BeTemporally(">", now.Add(19*day)), "well before the end")
		served[string(s.served.certificate)] = true
		slow, now = old, now.Add(day)
	}
	g.Expect(len(served)).To(BeNumerically(">=", 5), "renewed again and again")
	trusted, err := cert.ParseCertsPEM(s.bundle)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(trusted)).To(BeNumerically("<=", 3), "what is no longer valid is dropped")
}

func TestWhatIsServed(t *testing.T) {
	g := NewWithT(t)
	r := every90Days()
	first, _, err := r.advance(state{}, nil, start())
	g.Expect(err).NotTo(HaveOccurred())
	renewing, again, err := r.advance(first, first.bundle, start().Add(60*day))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(renewing.served).To(Equal(first.served))
	g.Expect(renewing.next).NotTo(BeNil())
	g.Expect(again).To(BeTemporally("==", start().Add(69*day)))
	same := r
	same.names = []string{"other.svc"}
	for name, tc := range map[string]struct {
		renewal renewal
		state   state
		trusted []byte
		now     time.Time
		served  *pair // nil: a new one
		next    bool
	}{
		"the same, before it is time":                 {r, first, first.bundle, start().Add(59 * day), first.served, false},
		"the same, while the next one is not trusted": {r, renewing, first.bundle, start().Add(80 * day), first.served, true},
		"the same, while it was not trusted for long": {r, renewing, renewing.bundle, start().Add(68 * day), first.served, true},
		"the next one": {r, renewing, renewing.bundle, start().Add(69 * day), renewing.next, false},
		"the next one, where the first one has ended":       {r, renewing, nil, start().Add(91 * day), renewing.next, false},
		"a new one, where both have ended":                  {r, renewing, renewing.bundle, start().Add(200 * day), nil, false},
		"a new one for other names":                         {same, renewing, renewing.bundle, start(), nil, false},
		"a new one, where the Secret holds something else":  {r, readState(map[string][]byte{keyServed: []byte("a"), keyBundle: []byte("b")}), nil, start(), nil, false},
		"a new one, where the key is that of another":       {r, readState(map[string][]byte{keyServed: first.served.certificate, keyOfServed: renewing.next.key}), nil, start(), nil, false},
		"a new one, where the authority is that of another": {r, readState(map[string][]byte{keyServed: mixed(g, first.served, renewing.next), keyOfServed: first.served.key}), nil, start(), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, _, err := tc.renewal.advance(tc.state, tc.trusted, tc.now)
			g.Expect(err).NotTo(HaveOccurred())
			if tc.served != nil {
				g.Expect(got.served.certificate).To(Equal(tc.served.certificate))
			} else {
				g.Expect(got.served.certificate).NotTo(Or(Equal(first.served.certificate), Equal(renewing.next.certificate)))
				g.Expect(got.served.fits(tc.renewal.names, tc.now)).To(BeTrue())
			}
			g.Expect(got.next != nil).To(Equal(tc.next))
			g.Expect(has(got.bundle, got.served.authority)).To(BeTrue())
		})
	}
}

// Two processes that start at the same time serve the same certificate in the end.
func TestTwoProcessesAgree(t *testing.T) {
	g := NewWithT(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "orkestra-system", Name: "certificates"}}
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "webhook"}, Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: "a.b"}},
	}
	kube := fake.NewClientBuilder().WithScheme(fixtures.Scheme()).WithObjects(secret, config).Build()
	clock := testingclock.NewFakePassiveClock(start())
	keeper := func(live client.Reader) *Keeper {
		k := NewKeeper(Options{Secret: types.NamespacedName{Namespace: secret.Namespace, Name: secret.Name}, Configuration: config.Name, Names: []string{name}, Clock: clock})
		k.client, k.live = kube, live
		return k
	}
	stale := fake.NewClientBuilder().WithScheme(fixtures.Scheme()).WithObjects(secret, config).Build()
	first, second := keeper(kube), keeper(stale)
	_, err := first.GetCertificate(nil)
	g.Expect(err).To(MatchError("there is no certificate yet"))
	g.Expect(first.Ready(nil)).To(MatchError(ContainSubstring("is trusted by ValidatingWebhookConfiguration")))
	_, err = first.Reconcile(t.Context(), reconcile.Request{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(first.Ready(nil)).To(Succeed())
	result, err := second.Reconcile(t.Context(), reconcile.Request{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(Equal(time.Millisecond), "it came second, and looks again")
	g.Expect(second.Ready(nil)).NotTo(Succeed())
	second.live = kube
	_, err = second.Reconcile(t.Context(), reconcile.Request{})
	g.Expect(err).NotTo(HaveOccurred())
	a, err := first.GetCertificate(nil)
	g.Expect(err).NotTo(HaveOccurred())
	b, err := second.GetCertificate(nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(a.Certificate).To(Equal(b.Certificate))
	g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(config), config)).To(Succeed())
	g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(secret), secret)).To(Succeed())
	g.Expect(config.Webhooks[0].ClientConfig.CABundle).To(Equal(secret.Data[keyBundle]))

	version := secret.ResourceVersion
	_, err = second.Reconcile(t.Context(), reconcile.Request{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(secret), secret)).To(Succeed())
	g.Expect(secret.ResourceVersion).To(Equal(version), "nothing is written where nothing is to be done")

	g.Expect(kube.Delete(t.Context(), secret)).To(Succeed())
	_, err = first.Reconcile(t.Context(), reconcile.Request{})
	g.Expect(err).To(MatchError("there is no Secret orkestra-system/certificates: make it again, empty, as the chart does"))
	_, err = first.GetCertificate(nil)
	g.Expect(err).NotTo(HaveOccurred(), "it goes on with what it has")
}

// mixed is the certificate of one pair with the authority of another.
func mixed(g Gomega, a, b *pair) []byte {
	encoded, err := cert.EncodeCertificates(a.leaf, b.authority)
	g.Expect(err).NotTo(HaveOccurred())
	return encoded
}
