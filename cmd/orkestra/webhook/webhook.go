// Package webhook is the command `orkestra webhook`, which compiles boxes at admission.
package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/orkspace/orkestra/cmd/orkestra/arguments"
	"github.com/orkspace/orkestra/cmd/orkestra/cluster"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/process"
	"github.com/orkspace/orkestra/cmd/orkestra/version"
	"github.com/orkspace/orkestra/controllers"
	"github.com/orkspace/orkestra/controllers/certificates"
	"github.com/orkspace/orkestra/controllers/webhook"
	"github.com/orkspace/orkestra/engine/provider"
)

const long = `Answer the API server's question whether a box that is applied compiles, until the process is told to stop.

A box that the manager would refuse is refused where it is applied, with the same words; what the manager would note is a
warning. A ValidatingWebhookConfiguration has the API server ask: the chart makes it, with trust.webhook.enabled.`

// flags are those of `orkestra webhook`.
type flags struct {
	process.Flags

	address       string
	namespace     string
	certDir       string
	secret        string
	configuration string
	names         []string
	validity      time.Duration
	allowGranting bool
	egress        process.Egress
	providers     *provider.Registry
}

// NewCommand makes the command. providers are those that are compiled in; nil: what a manager has is not known.
func NewCommand(providers *provider.Registry) *cobra.Command {
	f := &flags{providers: providers}
	cmd := &cobra.Command{
		Use:   "webhook",
		Short: "Compile boxes where they are applied",
		Long:  long,
		Args:  arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context())
		},
	}
	f.bind(cmd)
	return cmd
}

func (f *flags) bind(cmd *cobra.Command) {
	fs := cmd.Flags()
	f.Bind(fs)
	fs.StringVar(&f.address, "bind-address", ":9443", "where boxes are judged, at "+webhook.Path)
	fs.StringVar(&f.certDir, "cert-dir", "", "where tls.crt and tls.key are, as cert-manager makes them; they are read anew when they change")
	fs.StringVar(&f.namespace, "namespace", "", "with --certificate-secret: where the Secret is; default: POD_NAMESPACE, else orkestra-system")
	fs.StringVar(&f.secret, "certificate-secret", "", "in place of --cert-dir: Secret in which the process keeps certificates that it signs itself; it must exist, and may be empty")
	fs.StringVar(&f.configuration, "webhook-configuration", "", "with --certificate-secret: ValidatingWebhookConfiguration that is to trust them")
	fs.StringSliceVar(&f.names, "certificate-names", nil, "with --certificate-secret: DNS name or address under which the API server asks; repeatable")
	fs.DurationVar(&f.validity, "certificate-validity", certificates.DefaultValidity, "with --certificate-secret: how long a certificate is valid; it is renewed after two thirds of that")
	fs.BoolVar(&f.allowGranting, "allow-granting-kinds", false, "as the manager's flag: boxes may make roles, bindings, webhooks and CRDs")
	f.egress.BindLimits(fs)
}

func (f *flags) run(ctx context.Context) error {
	logger, err := f.Logger()
	if err != nil {
		return err
	}
	log.SetLogger(logger)
	keeper, err := f.keeper()
	if err != nil {
		return err
	}
	options, err := f.options(logger, keeper)
	if err != nil {
		return err
	}
	config, err := f.Server.Config()
	if err != nil {
		return exit.Failure(err)
	}
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return exit.Failure(fmt.Errorf("making the webhook: %w", err))
	}
	if err := f.setup(mgr, keeper); err != nil {
		return exit.Failure(err)
	}
	logger.Info("Starting", "version", version.Get().Version, "commit", version.Get().Commit)
	if err := mgr.Start(ctx); err != nil {
		return exit.Failure(fmt.Errorf("running the webhook: %w", err))
	}
	return nil
}

// keeper gives what keeps certificates; nil where files hold one.
func (f *flags) keeper() (*certificates.Keeper, error) {
	if f.certDir != "" {
		if f.secret != "" || f.configuration != "" || len(f.names) > 0 {
			return nil, errors.New("--cert-dir goes without --certificate-secret, --webhook-configuration and --certificate-names")
		}
		return nil, nil //nolint:nilnil // see the comment above
	}
	if f.secret == "" || f.configuration == "" || len(f.names) == 0 {
		return nil, errors.New("give --cert-dir, or --certificate-secret, --webhook-configuration and --certificate-names: the API server asks by HTTPS alone")
	}
	if f.validity < minValidity {
		return nil, fmt.Errorf("--certificate-validity %s: wanted at least %s", f.validity, minValidity)
	}
	return certificates.NewKeeper(certificates.Options{
		Secret:        types.NamespacedName{Namespace: cluster.ManagerNamespace(f.namespace), Name: f.secret},
		Configuration: f.configuration, Names: f.names, Validity: f.validity,
	}), nil
}

// minValidity leaves API servers some seconds to learn of a new authority.
const minValidity = 30 * time.Second

func (f *flags) setup(mgr ctrl.Manager, keeper *certificates.Keeper) error {
	if keeper != nil {
		if err := keeper.SetupWithManager(mgr); err != nil {
			return err
		}
		if err := mgr.AddReadyzCheck("certificate", keeper.Ready); err != nil {
			return fmt.Errorf("adding /readyz: %w", err)
		}
	}
	o := webhook.Options{AllowGrantingKinds: f.allowGranting, ExternalOnly: f.egress.Only, Providers: f.providers}
	var err error
	if o.EgressRules, err = f.egress.Rules(); err != nil {
		return err
	}
	if err := webhook.Setup(mgr, o); err != nil {
		return err
	}
	if err := f.ServePprof(mgr); err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("adding /healthz: %w", err)
	}
	return nil
}

func (f *flags) options(logger logr.Logger, keeper *certificates.Keeper) (ctrl.Options, error) {
	host, port, err := splitAddress(f.address)
	if err != nil {
		return ctrl.Options{}, err
	}
	metrics := f.Metrics()
	tlsOptions := []func(*tls.Config){process.WithoutHTTP2}
	kept := cache.Options{DefaultTransform: cache.TransformStripManagedFields()}
	if keeper != nil {
		// Metrics, too: their Service is the same, and who reads them can verify by the Secret who answers.
		served := func(c *tls.Config) { c.GetCertificate = keeper.GetCertificate }
		tlsOptions, metrics.TLSOpts = append(tlsOptions, served), append(metrics.TLSOpts, served)
		kept.ByObject = keeper.Watched()
	}
	return ctrl.Options{
		Scheme: cluster.Scheme(), Logger: logger, Metrics: metrics, NewClient: controllers.NewClient, NewCache: controllers.NewCache, Cache: kept,
		HealthProbeBindAddress: f.ProbeAddress,
		WebhookServer:          ctrlwebhook.NewServer(ctrlwebhook.Options{Host: host, Port: port, CertDir: f.certDir, TLSOpts: tlsOptions}),
	}, nil
}

// splitAddress gives the host, which may be empty, and the port of --bind-address.
func splitAddress(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("--bind-address %q: wanted [HOST]:PORT, such as :9443", address)
	}
	return host, port, nil
}
