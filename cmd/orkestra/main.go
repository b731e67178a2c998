// Command orkestra runs the manager, and checks boxes without one. Its exit codes are 0: fine, 1: the answer is no,
// 2: wrong use.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// The exit codes.
const (
	exitNo    = 1
	exitUsage = 2
)

// errNo says that the command ran and that its answer is no; what there is to say has been printed.
var errNo = errors.New("no")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string) int {
	root := newRoot() //nolint:contextcheck // cobra hands the context to each command
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var failed *failure
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errNo):
		return exitNo
	case errors.As(err, &failed):
		root.PrintErrln("error:", err)
		return exitNo
	default:
		root.PrintErrln("error:", err)
		root.PrintErrf("See '%s --help'.\n", root.CommandPath())
		return exitUsage
	}
}

// failure is an error of a command that was used rightly.
type failure struct{ err error }

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "orkestra",
		Short:         "Turn YAML into Kubernetes operators",
		Long:          "Orkestra turns an OperatorBox, a YAML object, into a running Kubernetes operator for a CRD.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version,
		// No Args: cobra then says of an unknown command what was meant, before it stumbles over that command's flags.
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.AddCommand(newDrainCommand(), newExplainCommand(), newManagerCommand(), newRenderCommand(), newValidateCommand(), newVersionCommand())
	return root
}
