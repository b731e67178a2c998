package certificates

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// DefaultValidity is how long a certificate is valid: it is renewed after two thirds of that.
const DefaultValidity = 90 * 24 * time.Hour

// Options say what is kept, and where.
type Options struct {
	// Secret holds the certificates. It must exist, and may be empty: who may create Secrets in a namespace can get a token of every
	// account there, so the process may not.
	Secret types.NamespacedName
	// Configuration is the name of the ValidatingWebhookConfiguration that is to trust them.
	Configuration string
	// Names are the DNS names and addresses under which the API server asks.
	Names []string
	// Validity of a certificate. Default: DefaultValidity.
	Validity time.Duration
	// Clock tells the time. Default: the real one.
	Clock clock.PassiveClock
}

// writer is the field manager of what the process writes. Without one it would be the name of the binary, orkestra, which is the manager's:
// the policy marks refuses it to everybody else.
const writer = client.FieldOwner("orkestra-webhook")

// Keeper keeps certificates in a Secret, has a configuration trust them, and serves the one that is to be served. Several processes may do
// so for the same Secret: the one that comes second at a write reads again. It is safe for concurrent use.
type Keeper struct {
	options Options
	renewal renewal
	client  client.Client
	live    client.Reader
	served  atomic.Pointer[tls.Certificate]
	trusted atomic.Bool
}

// NewKeeper gives one that SetupWithManager starts.
func NewKeeper(o Options) *Keeper {
	if o.Validity == 0 {
		o.Validity = DefaultValidity
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return &Keeper{options: o, renewal: renewal{names: o.Names, validity: o.Validity}}
}

// GetCertificate implements what tls.Config asks for.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if served := k.served.Load(); served != nil {
		return served, nil
	}
	return nil, errors.New("there is no certificate yet")
}

// Ready says why the certificate can't be served yet, or is not trusted.
func (k *Keeper) Ready(*http.Request) error {
	if !k.trusted.Load() {
		return fmt.Errorf("no certificate of Secret %s is trusted by ValidatingWebhookConfiguration %q yet", k.options.Secret, k.options.Configuration)
	}
	return nil
}

// Watched gives what the cache of a manager may hold of the two kinds: the two objects, since the process may read no others.
func (k *Keeper) Watched() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&corev1.Secret{}: {
			Namespaces: map[string]cache.Config{k.options.Secret.Namespace: {}}, Field: fields.OneTermEqualSelector("metadata.name", k.options.Secret.Name),
		},
		&admissionregistrationv1.ValidatingWebhookConfiguration{}: {Field: fields.OneTermEqualSelector("metadata.name", k.options.Configuration)},
	}
}

// SetupWithManager has a manager whose cache holds what Watched says run it.
func (k *Keeper) SetupWithManager(mgr ctrl.Manager) error {
	k.client, k.live = mgr.GetClient(), mgr.GetAPIReader()
	one := func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: k.options.Secret}}
	}
	err := ctrl.NewControllerManagedBy(mgr).Named("certificates").For(&corev1.Secret{}).
		Watches(&admissionregistrationv1.ValidatingWebhookConfiguration{}, handler.EnqueueRequestsFromMapFunc(one)).Complete(k)
	if err != nil {
		return fmt.Errorf("adding the keeper of certificates: %w", err)
	}
	return nil
}

// Reconcile implements reconcile.Reconciler. It reads from the API server, and the configuration first: so a process that has seen an older
// Secret than another can't take back what that one has written to the configuration.
func (k *Keeper) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	config, err := k.configuration(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	secret := &corev1.Secret{}
	if err := k.live.Get(ctx, k.options.Secret, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return reconcile.Result{}, fmt.Errorf("there is no Secret %s: make it again, empty, as the chart does", k.options.Secret)
		}
		return reconcile.Result{}, fmt.Errorf("reading Secret %s: %w", k.options.Secret, err)
	}
	now := k.options.Clock.Now()
	kept, again, err := k.renewal.advance(readState(secret.Data), trustedBy(config), now)
	if err != nil {
		return reconcile.Result{}, err
	}
	if data := kept.data(); !same(secret.Data, data) {
		secret.Data = data
		if err := k.client.Update(ctx, secret, writer); err != nil {
			return retried(err, "writing Secret "+k.options.Secret.String())
		}
		ctrl.LoggerFrom(ctx).Info("Certificates written", "served until", kept.served.leaf.NotAfter, "next", kept.next != nil)
	}
	if config != nil && trust(config, kept.bundle) {
		if err := k.client.Update(ctx, config, writer); err != nil {
			return retried(err, fmt.Sprintf("writing ValidatingWebhookConfiguration %q", config.Name))
		}
	}
	k.served.Store(kept.served.served)
	k.trusted.Store(config != nil)
	return reconcile.Result{RequeueAfter: max(again.Sub(now), time.Second)}, nil
}

// retried has a write that came second be done again after another look.
func retried(err error, doing string) (reconcile.Result, error) {
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: time.Millisecond}, nil
	}
	return reconcile.Result{}, fmt.Errorf("%s: %w", doing, err)
}

// configuration gives the configuration; nil where there is none, which is no reason not to serve.
func (k *Keeper) configuration(ctx context.Context) (*admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	err := k.live.Get(ctx, types.NamespacedName{Name: k.options.Configuration}, config)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // see the comment above
	}
	if err != nil {
		return nil, fmt.Errorf("reading ValidatingWebhookConfiguration %q: %w", k.options.Configuration, err)
	}
	return config, nil
}

// trustedBy is the bundle that all webhooks of a configuration trust; nil where they differ.
func trustedBy(config *admissionregistrationv1.ValidatingWebhookConfiguration) []byte {
	if config == nil || len(config.Webhooks) == 0 {
		return nil
	}
	bundle := config.Webhooks[0].ClientConfig.CABundle
	for i := range config.Webhooks {
		if !bytes.Equal(config.Webhooks[i].ClientConfig.CABundle, bundle) {
			return nil
		}
	}
	return bundle
}

// trust has all webhooks of a configuration trust a bundle, and says whether that changes it.
func trust(config *admissionregistrationv1.ValidatingWebhookConfiguration, bundle []byte) (changed bool) {
	for i := range config.Webhooks {
		if !bytes.Equal(config.Webhooks[i].ClientConfig.CABundle, bundle) {
			config.Webhooks[i].ClientConfig.CABundle, changed = bundle, true
		}
	}
	return changed
}
