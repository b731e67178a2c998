// Package importer is the command `orkestra import`, which makes boxes of what other tools have for them.
package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/files"
	"github.com/orkspace/orkestra/cmd/orkestra/importer/draft"
	"github.com/orkspace/orkestra/cmd/orkestra/importer/katalog"
	"github.com/orkspace/orkestra/cmd/orkestra/importer/kro"
	"github.com/orkspace/orkestra/cmd/orkestra/output"
	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/engine/provider"
)

const long = `Make OperatorBoxes of the files of other tools, and print them:

  Katalog                   the format of earlier versions of Orkestra: a box for each of its CRDs. A document that is one
                            operatorBox alone is read, too. The CRDs that it names are given by -f or --crd.
  ResourceGraphDefinition   of kro (kro.run/v1alpha1): a CRD, of its SimpleSchema, and a box.

What has no equivalent is left out, and told on standard error with file, line, field and reason; in what is printed, a
comment stands in its place. What is printed is compiled as "orkestra validate" does it. Nothing is applied.

The exit code is 0 when all that is printed compiles, 1 when something does not or can't be read, and 2 for wrong use.`

const example = `  # A definition of kro
  orkestra import -f graph.yaml > box.yaml

  # A Katalog, with the CRD that it names
  orkestra import -f katalog.yaml --crd crd.yaml > boxes.yaml

  # What a cluster has
  kubectl get resourcegraphdefinitions -o yaml | orkestra import -f -`

// flags are those of the command.
type flags struct {
	files, crds   []string
	recursive     bool
	allowGranting bool
	providers     *provider.Registry
}

// NewCommand makes the command. Providers are those that are compiled in; nil: what a manager has is not known.
func NewCommand(providers *provider.Registry) *cobra.Command {
	f := &flags{providers: providers}
	cmd := &cobra.Command{
		Use:     "import -f FILENAME",
		Short:   "Make boxes of a Katalog, or of kro's definitions",
		Long:    long,
		Example: example,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return fmt.Errorf("give files with -f: %s -f %s", cmd.CommandPath(), strings.Join(slices.Concat(f.files, args), " -f "))
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	fs := cmd.Flags()
	fs.StringSliceVarP(&f.files, "filename", "f", nil, "files or directories that hold Katalogs or definitions; -: standard input (repeatable)")
	fs.StringSliceVar(&f.crds, "crd", nil, "files or directories that hold CRDs; -: standard input (repeatable)")
	fs.BoolVarP(&f.recursive, "recursive", "R", false, "go into the directories below those given by -f and --crd")
	fs.BoolVar(&f.allowGranting, "allow-granting-kinds", false, "as the manager's flag: boxes may make roles, bindings, webhooks and CRDs")
	err := errors.Join(cmd.MarkFlagRequired("filename"), cmd.MarkFlagFilename("filename", "yaml", "yml", "json"), cmd.MarkFlagFilename("crd", "yaml", "yml", "json"))
	if err != nil {
		// The flags are written above: this can't fail at run time unless a name is wrong, which every test would show.
		panic(err)
	}
	return cmd
}

func (f *flags) run(ctx context.Context, in io.Reader, out, notes io.Writer) error {
	if slices.Contains(f.files, files.Stdin) && slices.Contains(f.crds, files.Stdin) {
		return errors.New("standard input is given to both -f and --crd")
	}
	docs, err := files.Read(f.files, f.recursive, in)
	if err != nil {
		return fmt.Errorf("reading -f: %w", err)
	}
	given, err := files.Read(f.crds, f.recursive, in)
	if err != nil {
		return fmt.Errorf("reading --crd: %w", err)
	}
	if len(f.crds) > 0 && !slices.ContainsFunc(given, func(d input.Document) bool { return d.IsCRD() || d.Wrong != nil }) {
		return fmt.Errorf("no CustomResourceDefinition in %s", files.Spoken(f.crds))
	}
	if !slices.ContainsFunc(docs, func(d input.Document) bool { return d.Wrong != nil || katalog.Is(d) || kro.Is(d) }) {
		return fmt.Errorf("no %s and no %s in %s", katalog.Kind, kro.Kind, files.Spoken(f.files))
	}
	i := newImport(docs, given)
	giveCRD := "give --crd"
	if len(f.crds) > 0 {
		giveCRD = "no file of -f or --crd holds this CRD"
	}
	compiled, err := i.Compile(ctx, draft.Options{CRDs: i.crds, GiveCRD: giveCRD, AllowGranting: f.allowGranting, Providers: f.providers})
	if err != nil {
		return exit.Failure(err)
	}
	i.notes = compiled.Notes
	return i.print(out, notes)
}

// imported is an import under way.
type imported struct {
	*draft.Draft

	crds  *input.CRDs // those that are given
	files []string    // in the order in which they are read
	notes []string    // of the compiler
}

// newImport translates documents. Given may hold CRDs.
func newImport(docs, given []input.Document) *imported {
	i := &imported{Draft: &draft.Draft{}, crds: input.NewCRDs()}
	var known []katalog.CRD
	for _, doc := range slices.Concat(docs, given) {
		if !slices.Contains(i.files, doc.File) {
			i.files = append(i.files, doc.File)
		}
		i.crds.Add(doc)
		if crd := i.crds.Named(doc.Name()); doc.IsCRD() && crd != nil {
			known = append(known, katalog.CRD{File: doc.File, CustomResourceDefinition: crd})
		}
		i.Unreadable(doc)
	}
	for _, doc := range docs {
		switch {
		case doc.Wrong != nil || doc.IsCRD():
		case katalog.Is(doc):
			katalog.Translate(i.Draft, doc, known)
		case kro.Is(doc):
			kro.Translate(i.Draft, doc)
		default:
			i.Say(doc, doc.Kind(), "kind", fmt.Sprintf("left out: only %s and %s are translated", katalog.Kind, kro.Kind), false)
		}
	}
	i.distinct()
	return i
}

// distinct leaves out what has the name of something before it.
func (i *imported) distinct() {
	seen := map[string]*draft.Object{}
	i.Objects = slices.DeleteFunc(i.Objects, func(o *draft.Object) bool {
		id := o.Kind() + "/" + o.Name()
		before, twice := seen[id]
		if !twice {
			seen[id] = o
			return false
		}
		where := before.Source.Mistake(before.Origin("metadata.name"), "")
		o.Fail("", o.Origin("metadata.name"), fmt.Sprintf("left out: %s:%d makes the %s %q, too", before.Source.File, where.Line, o.Kind(), o.Name()))
		return true
	})
}

// print writes the objects, and to notes what there is to say about them.
func (i *imported) print(out, notes io.Writer) error {
	i.Sort(i.files)
	text, err := i.Write()
	if err == nil {
		_, err = out.Write(text)
	}
	if err != nil {
		return exit.Failure(fmt.Errorf("writing what is imported: %w", err))
	}
	if _, err := io.WriteString(notes, i.told()); err != nil {
		return exit.Failure(fmt.Errorf("writing the remarks: %w", err))
	}
	if i.Wrong() > 0 {
		return exit.ErrNo
	}
	return nil
}

// told is what there is to say, and a summary.
func (i *imported) told() string {
	boxes := 0
	for _, o := range i.Objects {
		if o.Kind() != input.KindCRD {
			boxes++
		}
	}
	return i.Told(i.notes, output.Count(boxes, "box", "boxes"), output.Count(len(i.Objects)-boxes, "CRD", "CRDs"))
}
