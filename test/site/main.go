// Command site makes a website of the pages for users, or shows it on this machine: docs/design/site.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("site", flag.ContinueOnError)
	from := flags.String("root", ".", "the `folder` of the repository")
	out := flags.String("out", ".site", "the `folder` to write to; a site that is in it is replaced")
	port := flags.Int("serve", 0, "show the site on this `port` of this machine until Ctrl-C, and write nothing")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case flags.NArg() > 0:
		return fmt.Errorf("what does %q mean? There are only flags", flags.Arg(0))
	}
	root, err := os.OpenRoot(*from)
	if err != nil {
		return fmt.Errorf("opening the repository: %w", err)
	}
	defer root.Close() //nolint:errcheck // it was read only
	files, err := build(root.FS())
	if err != nil {
		return err
	}
	if *port != 0 {
		return serve(ctx, files, *port)
	}
	if err := write(*out, files); err != nil {
		return err
	}
	fmt.Printf("%s has %d files\n", *out, len(files))
	return nil
}
