// Program controllers has those parts of Argo CD that apply what is in Git, the store that they share, and a look into that, in one binary.
//
//	controllers application-controller [flags]
//	controllers repo-server [flags]
//	controllers redis ADDRESS
//	controllers tree ADDRESS APPLICATION
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alicebob/miniredis/v2"
	controller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	"github.com/spf13/cobra"
)

func main() {
	if err := run(); err != nil {
		os.Exit(1)
	}
}

// run runs the command that the arguments name, until it ends or is told to; what is wrong is printed.
func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	redis := &cobra.Command{
		Use: "redis ADDRESS", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return serveRedis(c.Context(), args[0]) },
	}
	tree := &cobra.Command{
		Use: "tree ADDRESS APPLICATION", Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error { return printTree(c.OutOrStdout(), args[0], args[1]) },
	}
	root := &cobra.Command{Use: "controllers", SilenceUsage: true}
	root.AddCommand(named("application-controller", controller.NewCommand()), named("repo-server", reposerver.NewCommand()), redis, tree)
	return root.ExecuteContext(ctx)
}

// named gives a command another name.
func named(name string, c *cobra.Command) *cobra.Command {
	c.Use = name
	return c
}

// serveRedis keeps in memory what Argo CD keeps in Redis, until the context ends.
func serveRedis(ctx context.Context, address string) error {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(address); err != nil {
		return fmt.Errorf("listening at %s: %w", address, err)
	}
	defer server.Close()
	<-ctx.Done()
	return nil
}
