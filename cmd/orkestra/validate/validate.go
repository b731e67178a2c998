// Package validate is the command `orkestra validate`, and compiles the boxes of files for other commands.
package validate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/cluster"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/files"
	"github.com/orkspace/orkestra/cmd/orkestra/output"
	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/controllers/validation"
	"github.com/orkspace/orkestra/engine/hook"
	"github.com/orkspace/orkestra/engine/provider"
)

const validateLong = `Compile OperatorBoxes as the manager does, and print every mistake with its path and the nearest valid name.

What templates and conditions read is checked against the schema of the box's CRD. That comes from the files given by -f
and --crd, from the box's own crd.definition, or with --cluster from the API server. Where no schema is found, the rest of
the box is still checked, and a note says so.

Whether a function that a box names is there, and takes the type that the box says, is checked by a manager of one's own that has
functions: run its validate. Elsewhere a note says that it is not known.

` + ClusterHelp + ` That no other box of the cluster serves the same CRD is
checked by validate alone (rights: list on boxes; without it a note says that this is not known).

Other objects in the files are ignored. Templates of Helm and overlays of Kustomize are not expanded: pipe their output in.

The exit code is 0 when every box is valid, 1 when one is not, and 2 for wrong use.`

// ClusterHelp says what --cluster reads for every command that compiles boxes.
const ClusterHelp = `With --cluster the API server is asked, with the rights of the kubeconfig's user, not the manager's: for the
CustomResourceDefinitions that no file holds (rights: get, and list to suggest a name), and by discovery for the kinds that
it serves. It is checked then that the CRD is there and serves the box's version, that every path is in its schema, which
kinds are not installed yet, and which of them have no namespaces. Nothing is written. What the manager may do is not
checked: the box's status says it once it is applied.`

const validateExample = `  # A box and the CRD that it serves
  orkestra validate -f box.yaml --crd crd.yaml

  # Everything below a directory, for a program to read
  orkestra validate -R -f deploy/ -o json

  # What Helm makes, with the schemas of the current cluster
  helm template ./chart | orkestra validate -f - --cluster`

// Flags are those of every command that compiles boxes of files.
type Flags struct {
	// Files hold boxes.
	Files []string
	// CRDs are files that hold CRDs.
	CRDs []string
	// Recursive says that directories are gone into.
	Recursive bool
	// Format is the value of --output.
	Format string
	// Providers are those that are compiled in; nil: what a manager has is not known.
	Providers *provider.Registry

	code          *hook.Registry // the functions that are compiled in; nil: what a manager has is not known
	asksCluster   bool
	server        cluster.Flags
	allowGranting bool
	externalOnly  []string
}

// NewCommand makes the command. code and providers are what is compiled in; nil: what a manager has is not known. Neither is it where code has no
// function: then this is not the manager that boxes with code are for.
func NewCommand(code *hook.Registry, providers *provider.Registry) *cobra.Command {
	f := &Flags{Providers: providers}
	if len(code.HookNames())+len(code.ConstructorNames()) > 0 {
		f.code = code
	}
	cmd := &cobra.Command{
		Use:     "validate -f FILENAME",
		Short:   "Check OperatorBoxes and print every mistake",
		Long:    validateLong,
		Example: validateExample,
		Args:    f.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	if err := f.Bind(cmd, "for CRDs that no file holds, and for its kinds", output.Text, formatNames()); err != nil {
		// The flags are written below: this can't fail at run time unless a name is wrong, which every test would show.
		panic(err)
	}
	return cmd
}

// Bind gives the flags to a command. clusterReads says what --cluster is for.
func (f *Flags) Bind(cmd *cobra.Command, clusterReads, standard string, formats []string) error {
	fs := cmd.Flags()
	fs.StringSliceVarP(&f.Files, "filename", "f", nil, "files or directories that hold boxes; -: standard input (repeatable)")
	fs.StringSliceVar(&f.CRDs, "crd", nil, "files or directories that hold CRDs; -: standard input (repeatable)")
	fs.BoolVarP(&f.Recursive, "recursive", "R", false, "go into the directories below those given by -f and --crd")
	fs.BoolVar(&f.asksCluster, "cluster", false, "ask the API server, as the kubeconfig's user, "+clusterReads)
	fs.StringVar(&f.server.Kubeconfig, "kubeconfig", "", "with --cluster: where the API server is; default: KUBECONFIG, else the default kubeconfig, else in-cluster")
	fs.StringVar(&f.server.Context, "context", "", "with --cluster: context of the kubeconfig")
	fs.StringVarP(&f.Format, "output", "o", standard, strings.Join(formats, ", "))
	fs.BoolVar(&f.allowGranting, "allow-granting-kinds", false, "as the manager's flag: boxes may make roles, bindings, webhooks and CRDs")
	fs.StringSliceVar(&f.externalOnly, "external-only", nil, "as the manager's flag: with it, the host of a URL may come from a template")
	return errors.Join(
		cmd.MarkFlagRequired("filename"),
		cmd.MarkFlagFilename("filename", "yaml", "yml", "json"),
		cmd.MarkFlagFilename("crd", "yaml", "yml", "json"),
		cmd.MarkFlagFilename("kubeconfig"),
		cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)),
	)
}

// NoArgs refuses files that are given without -f: often a shell has made several of one pattern.
func (f *Flags) NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("give files with -f: %s -f %s", cmd.CommandPath(), strings.Join(slices.Concat(f.Files, args), " -f "))
}

func (f *Flags) run(ctx context.Context, in io.Reader, out, notes io.Writer) error {
	write, ok := formats[f.Format]
	if !ok {
		return fmt.Errorf("--output %q: wanted %s", f.Format, strings.Join(formatNames(), ", "))
	}
	v, err := f.Validator(in, nil)
	if err != nil {
		return err
	}
	if v.Server != nil {
		v.ClusterBoxes = v.Server.Boxes
	}
	results, err := v.Validate(ctx)
	if err != nil {
		return exit.Failure(err)
	}
	if len(results) == 0 {
		return v.noBox()
	}
	return report(results, write, out, notes)
}

// Validator checks the boxes of files.
type Validator struct {
	*validation.Validator

	// Server is asked for what no file holds; nil: none is.
	Server *cluster.Cluster

	files []string // those of -f
}

// Validator reads the files, and gives what checks the boxes in them. Values that are drawn at random come from random; nil: from the
// system's source.
func (f *Flags) Validator(in, random io.Reader) (*Validator, error) {
	if !f.asksCluster && f.server != (cluster.Flags{}) {
		return nil, errors.New("--kubeconfig and --context go with --cluster")
	}
	docs, crds, err := f.read(in)
	if err != nil {
		return nil, err
	}
	o := validation.Options{
		Docs: docs, CRDs: crds, Random: random, Code: f.code, Providers: f.Providers, AllowGranting: f.allowGranting, Restricted: func(*v1alpha1.OperatorBox) bool { return len(f.externalOnly) > 0 },
		GiveCRD: "give --crd or --cluster",
	}
	if len(f.CRDs) > 0 { // a CRD that is not among them is a mistake
		o.NoCRD = "no file of --crd holds this CRD"
	}
	v := &Validator{files: f.Files}
	if f.asksCluster {
		if v.Server, err = f.server.Connect(); err != nil {
			return nil, exit.Failure(err)
		}
		o.Cluster, o.Kinds, o.AllKinds, o.NoCRD = v.Server, v.Server.Client.RESTMapper(), true, "neither the cluster nor a file of -f or --crd has this CRD"
	}
	if v.Validator, err = validation.New(o); err != nil {
		return nil, exit.Failure(err)
	}
	return v, nil
}

// read reads the documents of -f, and the CRDs of all files.
func (f *Flags) read(in io.Reader) ([]input.Document, *input.CRDs, error) {
	if slices.Contains(f.Files, files.Stdin) && slices.Contains(f.CRDs, files.Stdin) {
		return nil, nil, errors.New("standard input is given to both -f and --crd")
	}
	docs, err := files.Read(f.Files, f.Recursive, in)
	if err != nil {
		return nil, nil, fmt.Errorf("reading -f: %w", err)
	}
	crdDocs, err := files.Read(f.CRDs, f.Recursive, in)
	if err != nil {
		return nil, nil, fmt.Errorf("reading --crd: %w", err)
	}
	if len(f.CRDs) > 0 && !slices.ContainsFunc(crdDocs, func(d input.Document) bool { return d.IsCRD() || d.Wrong != nil }) {
		return nil, nil, fmt.Errorf("no CustomResourceDefinition in %s", files.Spoken(f.CRDs))
	}
	crds := input.NewCRDs()
	for _, doc := range slices.Concat(docs, crdDocs) {
		crds.Add(doc)
	}
	for _, doc := range crdDocs {
		if doc.Wrong != nil {
			crds.Refuse(doc, *doc.Wrong)
		}
	}
	return docs, crds, nil
}

// Compile compiles the boxes of -f, which are then in v.Boxes. Their mistakes are printed as validate prints them; the error is
// exit.ErrNo then.
func (v *Validator) Compile(ctx context.Context, notes io.Writer) error {
	results, err := v.Validate(ctx)
	if err != nil {
		return exit.Failure(err)
	}
	if slices.ContainsFunc(results, func(r validation.Result) bool { return !r.Valid }) {
		return report(results, printText, notes, notes)
	}
	return nil
}

// noBox says that the files hold no box, and what makes one of what they hold.
func (v *Validator) noBox() error {
	for _, doc := range v.Docs {
		if kind := doc.Kind(); kind == "Katalog" || kind == "ResourceGraphDefinition" { // what orkestra import reads
			return fmt.Errorf("no OperatorBox in %s: `orkestra import -f %s` makes one of %s %q", files.Spoken(v.files), doc.File, kind, doc.Name())
		}
	}
	return fmt.Errorf("no OperatorBox in %s", files.Spoken(v.files))
}

// Read checks the boxes of -f by the schema of boxes, and by take in place of the compiler, which is given each that can be decoded. Mistakes
// are printed as validate prints them; the error is exit.ErrNo then.
func (v *Validator) Read(ctx context.Context, notes io.Writer, take func(*v1alpha1.OperatorBox) field.ErrorList) error {
	v.Instead = take
	results, err := v.Validate(ctx)
	if err != nil {
		return exit.Failure(err)
	}
	if len(results) == 0 {
		return v.noBox()
	}
	results = slices.DeleteFunc(results, func(r validation.Result) bool { return r.Valid })
	if len(results) == 0 {
		return nil
	}
	if err := printText(notes, results); err != nil {
		return exit.Failure(fmt.Errorf("writing the mistakes: %w", err))
	}
	return exit.ErrNo
}

// report prints the results and gives exit.ErrNo if one of them is a no.
func report(results []validation.Result, write printer, out, notes io.Writer) error {
	var b strings.Builder
	for _, r := range results {
		if r.SchemaNote != "" {
			fmt.Fprintf(&b, "%s: %s: note: %s\n", r.File, r.Subject, r.SchemaNote)
		}
	}
	b.WriteString(summary(results) + "\n")
	if err := write(out, results); err != nil {
		return exit.Failure(fmt.Errorf("writing the results: %w", err))
	}
	if _, err := io.WriteString(notes, b.String()); err != nil {
		return exit.Failure(fmt.Errorf("writing the summary: %w", err))
	}
	if slices.ContainsFunc(results, func(r validation.Result) bool { return !r.Valid }) {
		return exit.ErrNo
	}
	return nil
}

func formatNames() []string {
	return slices.Sorted(maps.Keys(formats))
}
