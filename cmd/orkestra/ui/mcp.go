package ui

import (
	"context"
	"errors"
	"io"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/orkspace/orkestra/cmd/orkestra/arguments"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/session"
	"github.com/orkspace/orkestra/cmd/orkestra/version"
	"github.com/orkspace/orkestra/engine/web/mcp"
)

const mcpLong = `Offer boxes and their resources to a language model, as tools of the Model Context Protocol on standard input and output.

A client that speaks the protocol, such as an assistant in an editor, starts this command. The tools answer what the page of "orkestra ui" shows,
with the rights of the kubeconfig's user. They mask what Secrets hold, and only read: with --allow-actions, one more tool reconciles a
resource now.

What they answer is data of the cluster: names, messages and events that others have written. Treat it as such, and have your client ask
you before it acts on any of it.`

// mcpFlags are those of `orkestra mcp`.
type mcpFlags struct {
	session.Flags

	actions bool
}

const mcpExample = `  # In the configuration of a client
  {"mcpServers": {"orkestra": {"command": "orkestra", "args": ["mcp", "--context", "production"]}}}`

// NewMCPCommand makes the command `orkestra mcp`. It is beside `orkestra ui` because the two answer from the same source.
func NewMCPCommand() *cobra.Command {
	var flags mcpFlags
	cmd := &cobra.Command{
		Use:     "mcp",
		Short:   "Offer boxes and their resources to a language model",
		Long:    mcpLong,
		Example: mcpExample,
		Args:    arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := offer(cmd.Context(), &flags, cmd.InOrStdin(), cmd.OutOrStdout()); err != nil {
				return exit.Failure(err)
			}
			return nil
		},
	}
	flags.Bind(cmd)
	cmd.Flags().BoolVar(&flags.actions, "allow-actions", false, "offer a tool that reconciles a resource now, with the rights of the kubeconfig's user")
	return cmd
}

// offer serves one client until it closes the input, or the context ends.
func offer(ctx context.Context, flags *mcpFlags, in io.Reader, out io.Writer) error {
	connected, err := flags.Session()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	source, err := newSource(ctx, connected)
	if err != nil {
		return err
	}
	reading.Go(func() { source.run(ctx) })
	tools := mcp.Config{Source: source, Version: version.Get().Version}
	if flags.actions {
		tools.Actor = connected.Hand(source.Own, source.Clock)
	}
	err = mcp.NewServer(tools).Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(in), Writer: unclosed{out}})
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err //nolint:wrapcheck // it is the protocol's
}

// unclosed is a writer that somebody else closes.
type unclosed struct{ io.Writer }

// Close implements io.Closer.
func (unclosed) Close() error { return nil }
