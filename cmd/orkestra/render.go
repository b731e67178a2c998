package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const renderLong = `Print what the cluster would get for a resource: the same plan as in the manager, run on objects in memory.

The resource is handled as the API server would handle it: the schema of its CRD fills in defaults and finds mistakes. Then
the plan runs until nothing changes any more. Nothing is written anywhere.

What a cluster would add is given by --with: the state of children (their status opens gates), other objects that the box
reads, and the answers of external calls. Answers stand in a document with nothing but the key "external":

  external:
    quota: {status: 200, body: {limit: 5}}

` + clusterHelp + `
It is also asked for what the box reads and --with does not give: objects of cross, Secrets of calls, Namespaces (rights:
get, list). Children are not read: give them by --with.

Values that a cluster would draw at random are drawn from a fixed source, so that two runs print the same. Notes on what
the resource waits for, and on its conditions, go to standard error.

The exit code is 0 when everything could be rendered, 1 when the box or the resource has a mistake, and 2 for wrong use.`

const renderExample = `  # A box, its CRD and a resource
  orkestra render -f box.yaml --crd crd.yaml -r website.yaml

  # With the children as a cluster has them, so that later phases open
  kubectl get deploy,svc -l orkestra-owner=shop -o yaml > seen.yaml
  orkestra render -f box.yaml --crd crd.yaml -r website.yaml --with seen.yaml

  # What a change of the box would change
  orkestra render -f box.yaml --cluster -r website.yaml | kubectl diff -f -`

// renderFlags are the flags of `orkestra render`.
type renderFlags struct {
	validateFlags

	resources, with []string
	status          bool
	now             func() time.Time
}

func newRenderCommand() *cobra.Command {
	f := &renderFlags{now: time.Now}
	cmd := &cobra.Command{
		Use:     "render -f FILENAME -r FILENAME",
		Short:   "Print the children that a resource would get",
		Long:    renderLong,
		Example: renderExample,
		Args:    f.noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	if err := f.bindRender(cmd); err != nil {
		// As for validate: only a wrong name of a flag could fail here.
		panic(err)
	}
	return cmd
}

func (f *renderFlags) bindRender(cmd *cobra.Command) error {
	fs := cmd.Flags()
	fs.StringSliceVarP(&f.resources, "resource", "r", nil, "files or directories that hold resources; -: standard input (repeatable)")
	fs.StringSliceVar(&f.with, "with", nil, "files or directories that hold what a cluster has besides: children, other objects, external answers (repeatable)")
	fs.BoolVar(&f.status, "status", false, "print each resource with its status, too")
	return errors.Join(f.bindBoxes(cmd, "for CRDs that no file holds, its kinds, and what the box reads", formatYAML, []string{formatYAML, formatJSON}), cmd.MarkFlagRequired("resource"), cmd.MarkFlagFilename("resource", "yaml", "yml", "json"),
		cmd.MarkFlagFilename("with", "yaml", "yml", "json"))
}

func (f *renderFlags) run(ctx context.Context, in io.Reader, out, notes io.Writer) error {
	write, ok := objectFormats[f.output]
	if !ok {
		return fmt.Errorf("--output %q: wanted yaml or json", f.output)
	}
	if err := f.checkCluster(); err != nil {
		return err
	}
	v, docs, err := f.validator(in)
	if err != nil {
		return err
	}
	resources, with, err := f.readResources(in)
	if err != nil {
		return err
	}
	v.random = rand.NewChaCha8([32]byte{})
	if err := f.compile(ctx, v, docs, notes); err != nil {
		return err
	}
	all := &rendering{boxes: v.plans, mapper: v.mapper, crds: v.crds, cluster: v.cluster, now: f.now()}
	served, others, err := all.served(resources, notes)
	if err != nil {
		return &failure{err}
	}
	if all.known, err = readState(slices.Concat(with, others), v.mapper); err != nil {
		return &failure{err}
	}
	failed := false
	for _, doc := range served {
		ok, err := all.resource(ctx, doc, f.status, notes)
		if err != nil {
			return &failure{err}
		}
		failed = failed || !ok
	}
	if err := write(out, all.objects); err != nil {
		return &failure{fmt.Errorf("writing the objects: %w", err)}
	}
	if failed {
		return errNo
	}
	return nil
}

// compile compiles the boxes of -f. Their mistakes are printed as validate prints them.
func (f *renderFlags) compile(ctx context.Context, v *validator, docs []document, notes io.Writer) error {
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
	if slices.ContainsFunc(results, func(r boxResult) bool { return !r.Valid }) {
		return report(results, func(_ io.Writer, results []boxResult) error { return printText(notes, results) }, notes, notes)
	}
	if len(v.plans) == 0 {
		return fmt.Errorf("no OperatorBox in %s", spoken(f.files))
	}
	return nil
}

// readResources reads the documents of -r and --with.
func (f *renderFlags) readResources(in io.Reader) (resources, with []document, err error) {
	uses := 0
	for _, names := range [][]string{f.files, f.crds, f.resources, f.with} {
		if slices.Contains(names, stdinName) {
			uses++
		}
	}
	if uses > 1 {
		return nil, nil, errors.New("standard input is given to more than one flag")
	}
	if resources, err = readDocuments(f.resources, f.recursive, in); err != nil {
		return nil, nil, fmt.Errorf("reading -r: %w", err)
	}
	if with, err = readDocuments(f.with, f.recursive, in); err != nil {
		return nil, nil, fmt.Errorf("reading --with: %w", err)
	}
	resources = slices.DeleteFunc(resources, func(d document) bool { return d.wrong == nil && len(d.content) == 0 })
	for _, doc := range slices.Concat(resources, with) {
		if doc.wrong != nil {
			return nil, nil, &failure{fmt.Errorf("%s:%d: %s", doc.file, doc.wrong.Line, doc.wrong.Message)}
		}
	}
	if len(resources) == 0 {
		return nil, nil, fmt.Errorf("no resource in %s", strings.Join(f.resources, ", "))
	}
	return resources, with, nil
}
