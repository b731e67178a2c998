// Package ui is the command `orkestra ui`, which serves the Control Center to one person, on loopback.
package ui

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/cmd/orkestra/arguments"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/session"
	"github.com/orkspace/orkestra/engine/web"
	"github.com/orkspace/orkestra/engine/web/ui"
)

const long = `Serve a page that shows boxes, their resources, and what keeps them from being ready.

The page reads with the rights of the kubeconfig's user, and works without a manager. It is served on loopback only, and lets in who
opens the address that is printed: that has a secret. It writes to the cluster when you ask for an action, and confirm it.

It is served until the process is told to stop.`

const example = `  # At a free port
  orkestra ui

  # At an address that stays the same
  orkestra ui --port 8080 --context production`

// flags are those of `orkestra ui`.
type flags struct {
	session.Flags

	port int
}

// NewCommand makes the command.
func NewCommand() *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:     "ui",
		Short:   "Serve a page that shows boxes and their resources",
		Long:    long,
		Example: example,
		Args:    arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.port < 0 || f.port > 65535 {
				return fmt.Errorf("--port %d: wanted 0, for any free port, to 65535", f.port)
			}
			if err := f.run(cmd.Context(), cmd.OutOrStdout()); err != nil {
				return exit.Failure(err)
			}
			return nil
		},
	}
	f.Bind(cmd)
	cmd.Flags().IntVar(&f.port, "port", 0, "port of loopback at which the page is served; 0: any that is free")
	return cmd
}

func (f *flags) run(ctx context.Context, out io.Writer) error {
	connected, err := f.Session()
	if err != nil {
		return err
	}
	source, err := newSource(ctx, connected)
	if err != nil {
		return err
	}
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(f.port)))
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	pages := web.New(web.Config{Source: source, Actor: connected.Hand(source.Own, source.Clock), Files: ui.Files(), Clock: clock.RealClock{}, Log: logr.Discard()})
	guard := web.NewLoopback(listener.Addr().String(), dated(pages, source.Clock))
	if _, err := fmt.Fprintf(out, "The Control Center is at\n\n  %s\n\nIt reads with your rights, and does what you confirm, until Ctrl-C.\n", guard.Address()); err != nil {
		return fmt.Errorf("printing the address: %w", err)
	}
	return web.Serve(ctx, listener, guard, nil, func(ctx context.Context) { pages.Run(ctx); source.run(ctx) })
}

// dated dates all answers by the API server's clock: the page tells ages by the Date, and all times that it shows are the cluster's.
func dated(next http.Handler, clk clock.PassiveClock) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", clk.Now().UTC().Format(http.TimeFormat))
		next.ServeHTTP(w, r)
	})
}
