// Package e2e_test runs Orkestra against a real API server: one file per promise, each spec with an API group and a
// namespace of its own. Several processes share the specs: each has a cluster and a manager, and nothing here is shared
// between them. Nothing sleeps or asserts durations; what must come about is waited for by Eventually, with one timeout
// for all.
package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers"
	"github.com/orkspace/orkestra/test/fixtures"
	"github.com/orkspace/orkestra/test/localcluster"
)

// patience is how long anything may take. It is long because machines are slow, not because anything here should be.
const patience = 60 * time.Second

// longest marks what takes longest. It runs first, so that the other processes don't wait for it in the end.
const longest = SpecPriority(1)

// computes marks what reaches a limit of computation. Under the race detector that takes minutes.
var computes = Label("computes")

// ownNamespace is that of the manager: revisions of boxes are kept there.
const ownNamespace = "orkestra-system"

var (
	cluster *localcluster.Cluster
	kube    client.Client // reads past every cache
	scheme  = fixtures.Scheme()
	manager *process

	auditLog string // the file in which the API server notes each request
)

func TestE2E(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "e2e")
}

var _ = BeforeSuite(func(ctx context.Context) {
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	log.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))

	folder, err := os.MkdirTemp("", "orkestra-e2e-audit-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(os.RemoveAll(folder)).To(Succeed()) })
	auditLog = filepath.Join(folder, "audit.log")
	cluster, err = localcluster.Start(ctx, localcluster.Options{AuditLog: auditLog})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(cluster.Stop()).To(Succeed()) })
	kube, err = client.New(cluster.Config(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	_, err = cluster.Kubectl(ctx, "apply", "--server-side", "-f", filepath.Join("..", "..", "config", "crd", "bases"))
	Expect(err).NotTo(HaveOccurred())
	// kubectl wait fails at once on a CRD that has no conditions yet.
	Eventually(func() error {
		_, err := cluster.Kubectl(ctx, "wait", "--for=condition=Established", "crd/operatorboxes."+v1alpha1.GroupName, "crd/crdhealths."+v1alpha1.GroupName)
		return err
	}).WithContext(ctx).Should(Succeed())
	Expect(kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ownNamespace}})).To(Succeed())
	policies(ctx)
	manager = startManager(cluster.Config())
	DeferCleanup(func() { manager.stop() })
})

// process is a manager in this process.
type process struct {
	requests *requestLog
	registry *prometheus.Registry
	cancel   context.CancelFunc
	done     chan error
}

// settings are the options of a manager that a spec may change.
type settings struct {
	config   *rest.Config
	manager  ctrl.Options
	orkestra controllers.Options
}

// startManager starts a manager as `orkestra manager` would, but for ports and leader election.
func startManager(config *rest.Config, changes ...func(*settings)) *process {
	p := &process{requests: &requestLog{}, registry: prometheus.NewRegistry(), done: make(chan error, 1)}
	config.UserAgent = managerAgent
	config.Wrap(p.requests.wrap)
	s := &settings{
		config: config,
		manager: ctrl.Options{
			Controller: ctrlconfig.Controller{SkipNameValidation: new(true)}, // several managers run in this process, one after the other
			Scheme:     scheme, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
			Logger: log.Log, NewClient: controllers.NewClient, NewCache: controllers.NewCache,
		},
		orkestra: controllers.Options{
			Namespace:     ownNamespace,
			Registry:      p.registry,
			Providers:     providersOfTests(),
			ExternalAllow: []string{"127.0.0.1"}, // where specs have their services
		},
	}
	for _, change := range changes {
		change(s)
	}
	mgr, err := ctrl.NewManager(config, s.manager)
	Expect(err).NotTo(HaveOccurred())
	Expect(controllers.Setup(mgr, s.orkestra)).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	go func() {
		defer GinkgoRecover()
		p.done <- mgr.Start(ctx)
	}()
	return p
}

// stop ends the manager and waits for it.
func (p *process) stop() {
	if p.cancel == nil {
		return
	}
	p.cancel()
	p.wait()
}

// wait waits for the end of a manager that was told to stop.
func (p *process) wait() {
	p.cancel = nil
	var err error
	Eventually(p.done).Should(Receive(&err))
	Expect(err).NotTo(HaveOccurred())
}

// evaluations counts the cycles that a box has evaluated, from the series that the manager exports.
func (p *process) evaluations(g Gomega, box string) float64 {
	families, err := p.registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	total := 0.0
	for _, f := range families {
		if f.GetName() != "orkestra_reconcile_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["box"] == box && labels["result"] != "skipped" {
				total += m.GetCounter().GetValue()
			}
		}
	}
	return total
}
