package main

import (
	"fmt"
	"os"
	"path/filepath"
	_ "time/tzdata" // time zones of CronJobs

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubectl's plugins for a cluster that is not ours
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // the JSON log format
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // the version metric
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	"sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

// runComponent runs the upstream program that the arguments name: by the name of the binary (a link called kubectl) or by
// the first argument. ok is false if they name none.
func runComponent(args []string) (code int, ok bool) {
	run := component(filepath.Base(args[0]))
	if run == nil {
		if len(args) < 2 {
			return 0, false
		}
		if run = component(args[1]); run == nil {
			return 0, false
		}
		args = args[1:]
	}
	os.Args = args // upstream reads it
	return run(), true
}

func component(name string) func() int {
	switch name {
	case "etcd":
		return runEtcd
	case "kube-apiserver":
		return func() int { return cli.Run(apiserver.NewAPIServerCommand()) }
	case "kube-controller-manager":
		return func() int { return cli.Run(controllermanager.NewControllerManagerCommand()) }
	case "kube-scheduler":
		return func() int { return cli.Run(scheduler.NewSchedulerCommand()) }
	case "garbage-collector":
		return runCollector
	case "kwok":
		return runKwok
	case "kubectl":
		return runKubectl
	}
	return nil
}

func runEtcd() int {
	etcdmain.Main(os.Args)
	return 0
}

func runKubectl() int {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err) // prints as kubectl does, and exits
	}
	return 0
}

func runKwok() int {
	flags := pflag.NewFlagSet("kwok", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	// Kubernetes registers global flags when it is linked in, which cobra hands to every command; its version flag breaks kwok's.
	pflag.CommandLine = pflag.NewFlagSet("kwok", pflag.ContinueOnError)
	ctx, _ := log.InitFlags(signals.SetupSignalContext(), flags)
	ctx, err := config.InitFlags(ctx, flags)
	if err != nil {
		fmt.Fprintln(os.Stderr, "reading the configuration:", err)
		return 1
	}
	command := kwok.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(flags)
	if err := command.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "running kwok:", err)
		return 1
	}
	return 0
}
