package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
)

const validateLong = `Compile OperatorBoxes as the manager does, and print every mistake with its path and the nearest valid name.

What templates and conditions read is checked against the schema of the box's CRD. That comes from the files given by -f
and --crd, from the box's own crd.definition, or with --cluster from the API server. Where no schema is found, the rest of
the box is still checked, and a note says so.

` + clusterHelp + `

Other objects in the files are ignored. Templates of Helm and overlays of Kustomize are not expanded: pipe their output in.

The exit code is 0 when every box is valid, 1 when one is not, and 2 for wrong use.`

// clusterHelp says what --cluster reads for every command that compiles boxes.
const clusterHelp = `With --cluster the API server is asked, with the rights of the kubeconfig's user, not the manager's: for the
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

// validateFlags are the flags of `orkestra validate`.
type validateFlags struct {
	files, crds         []string
	recursive           bool
	cluster             bool
	kubeconfig, context string
	output              string
	allowGranting       bool
	externalOnly        []string
}

func newValidateCommand() *cobra.Command {
	f := &validateFlags{}
	cmd := &cobra.Command{
		Use:     "validate -f FILENAME",
		Short:   "Check OperatorBoxes and print every mistake",
		Long:    validateLong,
		Example: validateExample,
		Args:    f.noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	if err := f.bind(cmd); err != nil {
		// The flags are written below: this can't fail at run time unless a name is wrong, which every test would show.
		panic(err)
	}
	return cmd
}

func (f *validateFlags) bind(cmd *cobra.Command) error {
	return f.bindBoxes(cmd, "for CRDs that no file holds, and for its kinds", formatText, formatNames())
}

// bindBoxes are the flags of every command that compiles boxes. clusterReads says what --cluster is for.
func (f *validateFlags) bindBoxes(cmd *cobra.Command, clusterReads, standard string, formats []string) error {
	fs := cmd.Flags()
	fs.StringSliceVarP(&f.files, "filename", "f", nil, "files or directories that hold boxes; -: standard input (repeatable)")
	fs.StringSliceVar(&f.crds, "crd", nil, "files or directories that hold CRDs; -: standard input (repeatable)")
	fs.BoolVarP(&f.recursive, "recursive", "R", false, "go into the directories below those given by -f and --crd")
	fs.BoolVar(&f.cluster, "cluster", false, "ask the API server, as the kubeconfig's user, "+clusterReads)
	fs.StringVar(&f.kubeconfig, "kubeconfig", "", "with --cluster: where the API server is; default: KUBECONFIG, else the default kubeconfig, else in-cluster")
	fs.StringVar(&f.context, "context", "", "with --cluster: context of the kubeconfig")
	fs.StringVarP(&f.output, "output", "o", standard, strings.Join(formats, ", "))
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

// noArgs refuses files that are given without -f: often a shell has made several of one pattern.
func (f *validateFlags) noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("give files with -f: %s -f %s", cmd.CommandPath(), strings.Join(slices.Concat(f.files, args), " -f "))
}

func (f *validateFlags) run(ctx context.Context, in io.Reader, out, notes io.Writer) error {
	write, ok := formats[f.output]
	if !ok {
		return fmt.Errorf("--output %q: wanted %s", f.output, strings.Join(formatNames(), ", "))
	}
	if err := f.checkCluster(); err != nil {
		return err
	}
	v, docs, err := f.validator(in)
	if err != nil {
		return err
	}
	results := v.crds.wrong
	for _, doc := range docs {
		result, err := v.document(ctx, doc)
		if err != nil {
			return &failure{err}
		}
		if result != nil {
			results = append(results, *result)
		}
	}
	if len(results) == 0 {
		return fmt.Errorf("no OperatorBox in %s", spoken(f.files))
	}
	return report(results, write, out, notes)
}

// checkCluster refuses flags that have no effect.
func (f *validateFlags) checkCluster() error {
	if !f.cluster && (f.kubeconfig != "" || f.context != "") {
		return errors.New("--kubeconfig and --context go with --cluster")
	}
	return nil
}

// validator reads the files, and gives what checks the boxes in them.
func (f *validateFlags) validator(in io.Reader) (*validator, []document, error) {
	docs, crds, err := f.read(in)
	if err != nil {
		return nil, nil, err
	}
	v := &validator{crds: crds, allowGranting: f.allowGranting, externalOnly: len(f.externalOnly) > 0, known: newKnownBoxes(), docs: docs,
		crdsGiven: len(f.crds) > 0}
	if err := f.connect(v); err != nil {
		return nil, nil, &failure{err}
	}
	if v.schema, err = newBoxSchema(); err != nil {
		return nil, nil, &failure{fmt.Errorf("reading the schema of OperatorBox: %w", err)}
	}
	return v, docs, nil
}

// read reads the documents of -f, and the CRDs of all files.
func (f *validateFlags) read(in io.Reader) ([]document, *crdSet, error) {
	if slices.Contains(f.files, stdinName) && slices.Contains(f.crds, stdinName) {
		return nil, nil, errors.New("standard input is given to both -f and --crd")
	}
	docs, err := readDocuments(f.files, f.recursive, in)
	if err != nil {
		return nil, nil, fmt.Errorf("reading -f: %w", err)
	}
	crdDocs, err := readDocuments(f.crds, f.recursive, in)
	if err != nil {
		return nil, nil, fmt.Errorf("reading --crd: %w", err)
	}
	if len(f.crds) > 0 && !slices.ContainsFunc(crdDocs, func(d document) bool { return d.isCRD() || d.wrong != nil }) {
		return nil, nil, fmt.Errorf("no CustomResourceDefinition in %s", spoken(f.crds))
	}
	crds := newCRDSet()
	for _, doc := range slices.Concat(docs, crdDocs) {
		crds.add(doc)
	}
	for _, doc := range crdDocs {
		if doc.wrong != nil {
			crds.wrong = append(crds.wrong, doc.unreadable())
		}
	}
	return docs, crds, nil
}

// connect gives the validator what only an API server knows.
func (f *validateFlags) connect(v *validator) error {
	v.mapper = v.crds.mapper()
	if !f.cluster {
		return nil
	}
	c, err := newCluster(f.kubeconfig, f.context)
	if err != nil {
		return err
	}
	v.cluster = c
	v.allKinds = true
	v.mapper = meta.FirstHitRESTMapper{MultiRESTMapper: meta.MultiRESTMapper{v.mapper, c.client.RESTMapper()}}
	return nil
}

// report prints the results and gives errNo if one of them is a no.
func report(results []boxResult, write printer, out, notes io.Writer) error {
	var b strings.Builder
	for _, r := range results {
		if r.schemaNote != "" {
			fmt.Fprintf(&b, "%s: %s: note: %s\n", r.File, r.subject, r.schemaNote)
		}
	}
	b.WriteString(summary(results) + "\n")
	if err := write(out, results); err != nil {
		return &failure{fmt.Errorf("writing the results: %w", err)}
	}
	if _, err := io.WriteString(notes, b.String()); err != nil {
		return &failure{fmt.Errorf("writing the summary: %w", err)}
	}
	if slices.ContainsFunc(results, func(r boxResult) bool { return !r.Valid }) {
		return errNo
	}
	return nil
}

func formatNames() []string {
	return slices.Sorted(maps.Keys(formats))
}
