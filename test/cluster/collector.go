package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
)

const (
	// collectorPeriod is how often the collector looks for kinds that came or went.
	collectorPeriod  = time.Second
	collectorWorkers = 20
)

// runCollector runs the garbage collector of the controller manager as a program of its own. It is the same code, but it
// learns of a new kind within a second; in the controller manager that takes half a minute, and cannot be changed.
func runCollector() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := collect(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "running the garbage collector:", err)
		return 1
	}
	return 0
}

func collect(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("garbage-collector", flag.ContinueOnError)
	kubeconfig := set.String("kubeconfig", "", "the kubeconfig `file`")
	if err := set.Parse(args); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS = -1
	client, clientErr := kubernetes.NewForConfig(config)
	metadataClient, metadataErr := metadata.NewForConfig(config)
	if err := errors.Join(clientErr, metadataErr); err != nil {
		return fmt.Errorf("making the clients: %w", err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	factory := informerfactory.NewInformerFactory(
		informers.NewSharedInformerFactory(client, 0),
		metadatainformer.NewSharedInformerFactory(metadataClient, 0),
	)
	started := make(chan struct{})
	collector, err := garbagecollector.NewGarbageCollector(
		ctx, client, metadataClient, mapper, garbagecollector.DefaultIgnoredResources(), factory, started)
	if err != nil {
		return fmt.Errorf("making the collector: %w", err)
	}
	factory.Start(ctx.Done())
	close(started)
	var running sync.WaitGroup
	running.Go(func() { collector.Sync(ctx, client.Discovery(), collectorPeriod) })
	collector.Run(ctx, collectorWorkers, collectorPeriod)
	running.Wait()
	return nil
}
