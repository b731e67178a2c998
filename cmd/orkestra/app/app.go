// Package app is the orkestra binary as a library: a main.go of one's own is a few lines, and links what the boxes of its managers name.
package app

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/orkspace/orkestra/cmd/orkestra/actions"
	"github.com/orkspace/orkestra/cmd/orkestra/audit"
	"github.com/orkspace/orkestra/cmd/orkestra/drain"
	"github.com/orkspace/orkestra/cmd/orkestra/events"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/explain"
	"github.com/orkspace/orkestra/cmd/orkestra/generate"
	"github.com/orkspace/orkestra/cmd/orkestra/get"
	"github.com/orkspace/orkestra/cmd/orkestra/importer"
	"github.com/orkspace/orkestra/cmd/orkestra/initialize"
	"github.com/orkspace/orkestra/cmd/orkestra/manager"
	"github.com/orkspace/orkestra/cmd/orkestra/probe"
	"github.com/orkspace/orkestra/cmd/orkestra/rbac"
	"github.com/orkspace/orkestra/cmd/orkestra/render"
	"github.com/orkspace/orkestra/cmd/orkestra/schema"
	"github.com/orkspace/orkestra/cmd/orkestra/status"
	"github.com/orkspace/orkestra/cmd/orkestra/tree"
	"github.com/orkspace/orkestra/cmd/orkestra/ui"
	"github.com/orkspace/orkestra/cmd/orkestra/validate"
	"github.com/orkspace/orkestra/cmd/orkestra/version"
	"github.com/orkspace/orkestra/cmd/orkestra/wait"
	"github.com/orkspace/orkestra/cmd/orkestra/webhook"
	"github.com/orkspace/orkestra/engine/hook"
	"github.com/orkspace/orkestra/engine/provider"
)

// Options are what is compiled in.
type Options struct {
	// Code has the Go functions that boxes may name in spec.reconciler. Default: none.
	Code *hook.Registry
	// Providers make what boxes declare in spec.providers. Default: none.
	Providers *provider.Registry
}

// Main runs the command that the arguments of the process name, until it ends or the process is told to stop, and ends the process with its
// code: 0, 1 for a failure, 2 for wrong use.
func Main(o Options) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	root := NewCommand(o)
	code := exit.Run(ctx, root, Called(root, os.Args))
	stop()
	os.Exit(code)
}

// The names under which kubectl looks for a plugin, and for what completes its arguments.
const (
	pluginName   = "kubectl-orkestra"
	completeName = "kubectl_complete-orkestra"
)

// Called gives the arguments of a command by those of its process. As a plugin of kubectl, it shows the name that people have typed; as what kubectl asks
// for completions, it completes.
func Called(root *cobra.Command, process []string) []string {
	if len(process) == 0 {
		return nil
	}
	as := strings.TrimSuffix(filepath.Base(process[0]), ".exe")
	if as == pluginName || as == completeName {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl orkestra"}
	}
	if as == completeName {
		return slices.Concat([]string{cobra.ShellCompRequestCmd}, process[1:])
	}
	return process[1:]
}

// NewCommand makes the command with all that are below it.
func NewCommand(o Options) *cobra.Command {
	root := &cobra.Command{
		Use:           "orkestra",
		Short:         "Turn YAML into Kubernetes operators",
		Long:          "Orkestra turns an OperatorBox, a YAML object, into a running Kubernetes operator for a CRD.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version.Get().Version,
		// No Args: cobra then says of an unknown command what was meant, before it stumbles over that command's flags.
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.AddCommand(actions.NewCommands(time.Now)...)
	root.AddCommand(
		audit.NewCommand(time.Now), drain.NewCommand(), events.NewCommand(time.Now), explain.NewCommand(o.Providers), generate.NewCommand(), get.NewCommand(time.Now),
		importer.NewCommand(o.Providers), initialize.NewCommand(o.Providers, time.Now), manager.NewCommand(o.Code, o.Providers), probe.NewCommand(), rbac.NewCommand(o.Providers), render.NewCommand(o.Providers),
		schema.NewCommand(), status.NewCommand(time.Now), tree.NewCommand(time.Now), ui.NewCommand(), ui.NewMCPCommand(), validate.NewCommand(o.Code, o.Providers), version.NewCommand(),
		wait.NewCommand(time.Now), webhook.NewCommand(o.Providers),
	)
	return root
}
