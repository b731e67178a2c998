// Package generate is the command `orkestra generate`, which writes the Go code that a manager of one's own consists of.
package generate

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/validate"
)

const long = `Write the registry of a manager of your own: Go code that links the functions and types that boxes name in
spec.reconciler.hooks, spec.reconciler.constructor and spec.apiTypes.

The folder of -o gets ` + registryFile + `, which is written anew by each run and changes only when the boxes do. Where no
file of the folder has a main function, it gets main.go too, with a Dockerfile beside it: these are yours from then on, and
are never written again. What go.mod replaces by a folder elsewhere is not in an image that is built of its own folder, and
a note says so. The lines that "go get" is to be called with are printed where go.mod lacks a module.

Packages are imported under the alias that the box gives, or under one that is derived from their path. A name that is
taken, by another package or by the code of the folder, gets a number behind it. A package of apiTypes must have the
function AddToScheme, as those of kubebuilder and Kubernetes do.

Boxes are checked by their schema alone: "orkestra validate" says what else is wrong with them.`

const example = `  # A manager for all boxes of a folder
  orkestra generate registry -f boxes/ -o ./manager

  # What a chart makes
  helm template ./chart | orkestra generate registry -f - -o .`

// NewCommand makes the command.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Write Go code for a manager of your own",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help() //nolint:wrapcheck // the standard output is closed
		},
	}
	cmd.AddCommand(newRegistryCommand())
	return cmd
}

// flags are those of `orkestra generate registry`.
type flags struct {
	validate.Flags

	folder string
}

func newRegistryCommand() *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:     "registry -f FILENAME -o FOLDER",
		Short:   "Write the registry of the Go functions that boxes name",
		Long:    long,
		Example: example,
		Args:    f.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	fs := cmd.Flags()
	fs.StringSliceVarP(&f.Files, "filename", "f", nil, "files or directories that hold boxes; -: standard input (repeatable)")
	fs.BoolVarP(&f.Recursive, "recursive", "R", false, "go into the directories below those given by -f")
	fs.StringVarP(&f.folder, "output", "o", "", "folder of the program; it is made where there is none")
	for _, name := range []string{"filename", "output"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			// The flags are written above: only a wrong name could fail here, which every test would show.
			panic(err)
		}
	}
	return cmd
}

func (f *flags) run(ctx context.Context, in io.Reader, out, notes io.Writer) error {
	dir, err := readFolder(f.folder)
	if err != nil {
		return exit.Failure(err)
	}
	v, err := f.Validator(in, nil)
	if err != nil {
		return err //nolint:wrapcheck // it says what it did
	}
	c := newCode(dir)
	if err := v.Read(ctx, notes, c.take); err != nil {
		return err //nolint:wrapcheck // it says what it did
	}
	n := newNames(dir.declared, c.aliases)
	files, err := c.files(n)
	if err != nil {
		return exit.Failure(err)
	}
	for _, r := range dir.outside {
		n.notes = append(n.notes, fmt.Sprintf("go.mod replaces %s by %s, outside of its own folder: an image of that folder alone is built after \"go mod vendor\"", r.module, r.folder))
	}
	for _, note := range n.notes {
		if _, err := fmt.Fprintf(notes, "note: %s\n", note); err != nil {
			return exit.Failure(fmt.Errorf("writing the notes: %w", err))
		}
	}
	if err := dir.write(files, out); err != nil {
		return exit.Failure(err)
	}
	if _, err := fmt.Fprintln(out, c.summary()); err != nil {
		return exit.Failure(fmt.Errorf("writing what was done: %w", err))
	}
	return exit.Failure(c.next(out))
}
