// Command orkestra runs the manager, and checks boxes without one.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/orkspace/orkestra/cmd/orkestra/audit"
	"github.com/orkspace/orkestra/cmd/orkestra/drain"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/explain"
	"github.com/orkspace/orkestra/cmd/orkestra/manager"
	"github.com/orkspace/orkestra/cmd/orkestra/rbac"
	"github.com/orkspace/orkestra/cmd/orkestra/render"
	"github.com/orkspace/orkestra/cmd/orkestra/status"
	"github.com/orkspace/orkestra/cmd/orkestra/tree"
	"github.com/orkspace/orkestra/cmd/orkestra/validate"
	"github.com/orkspace/orkestra/cmd/orkestra/version"
	"github.com/orkspace/orkestra/cmd/orkestra/webhook"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := exit.Run(ctx, newRoot(), os.Args[1:])
	stop()
	os.Exit(code)
}

func newRoot() *cobra.Command {
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
	root.AddCommand(audit.NewCommand(time.Now), drain.NewCommand(), explain.NewCommand(), manager.NewCommand(), rbac.NewCommand(), render.NewCommand(),
		status.NewCommand(time.Now), tree.NewCommand(time.Now), validate.NewCommand(), version.NewCommand(), webhook.NewCommand())
	return root
}
