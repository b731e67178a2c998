// Command manager is the operators of test/bench/baseline as a process, so that its processor time and memory can be compared with those of
// Orkestra: three ConfigMaps for each Handwritten, and what a Website stands for.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/orkspace/orkestra/test/bench/baseline"
)

func main() {
	flags := flag.NewFlagSet("baseline", flag.ExitOnError) // controller-runtime has a flag --kubeconfig of its own
	kubeconfig := flags.String("kubeconfig", "", "where the API server is")
	namespace := flags.String("namespace", "default", "where the lease is")
	websites := flags.Bool("websites", false, "serve Websites, and not the kind with three ConfigMaps")
	holds := flags.Bool("holds", false, "put a finalizer on each resource, and tell in an event when it is ready")
	_ = flags.Parse(os.Args[1:]) // it ends the process where something is wrong
	log.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *kubeconfig, *namespace, *websites, *holds)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, namespace string, websites, holds bool) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS = -1 // the API server says who waits, as for Orkestra
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, autoscalingv2.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("making the scheme: %w", err)
		}
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		LeaderElection: true, LeaderElectionID: "baseline", LeaderElectionNamespace: namespace, LeaderElectionReleaseOnCancel: true,
		Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Cache:  cache.Options{ByObject: baseline.Cached(labels.SelectorFromSet(labels.Set{baseline.LabelManaged: "true"}))},
	})
	if err != nil {
		return fmt.Errorf("making the manager: %w", err)
	}
	var holder *baseline.Holder
	if holds {
		holder = &baseline.Holder{Client: mgr.GetClient(), Events: mgr.GetEventRecorder("baseline")}
	}
	if websites {
		err = (&baseline.Websites{Client: mgr.GetClient(), Holder: holder}).SetupWithManager(mgr, baseline.Workers)
	} else {
		kind := schema.GroupVersionKind{Group: "noise.example.com", Version: "v1", Kind: "Handwritten"}
		err = (&baseline.Reconciler{Client: mgr.GetClient(), Kind: kind, Holder: holder}).SetupWithManager(mgr, baseline.Workers)
	}
	if err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("running the manager: %w", err)
	}
	return nil
}
