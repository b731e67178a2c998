// Package render is the command `orkestra render`: it runs the plan of a box on objects in memory.
package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/files"
	"github.com/orkspace/orkestra/cmd/orkestra/output"
	"github.com/orkspace/orkestra/cmd/orkestra/validate"
	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/controllers/rendering"
	"github.com/orkspace/orkestra/engine/provider"
)

const renderLong = `Print what the cluster would get for a resource: the same plan as in the manager, run on objects in memory.

The resource is handled as the API server would handle it: the schema of its CRD fills in defaults and finds mistakes. Then
the plan runs until nothing changes any more. Nothing is written anywhere.

What a cluster would add is given by --with: the state of children (their status opens gates), other objects that the box
reads, the answers of external calls and of the webhook, and the outputs of providers. Answers stand in a document with
nothing but these keys:

  external:
    quota: {status: 200, body: {limit: 5}}
  webhook:
    children: [{id: plan, object: {apiVersion: v1, kind: ConfigMap, metadata: {name: plan}}}]
  providers:
    assets: {url: "https://assets.example.com"}

A webhook is not called. Without its answer, what it would make is not known, and is not printed. apiVersion, kind and uid of
an answer may be left out.

` + validate.ClusterHelp + `
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

// flags are those of `orkestra render`.
type flags struct {
	validate.Flags

	resources, with []string
	status          bool
	now             func() time.Time
}

// NewCommand makes the command. providers are those that are compiled in; nil: what a manager has is not known.
func NewCommand(providers *provider.Registry) *cobra.Command {
	f := &flags{Flags: validate.Flags{Providers: providers}, now: time.Now}
	cmd := &cobra.Command{
		Use:     "render -f FILENAME -r FILENAME",
		Short:   "Print the children that a resource would get",
		Long:    renderLong,
		Example: renderExample,
		Args:    f.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	if err := f.bind(cmd); err != nil {
		// As for validate: only a wrong name of a flag could fail here.
		panic(err)
	}
	return cmd
}

func (f *flags) bind(cmd *cobra.Command) error {
	fs := cmd.Flags()
	fs.StringSliceVarP(&f.resources, "resource", "r", nil, "files or directories that hold resources; -: standard input (repeatable)")
	fs.StringSliceVar(&f.with, "with", nil, "files or directories that hold what a cluster has besides: children, other objects, answers (repeatable)")
	fs.BoolVar(&f.status, "status", false, "print each resource with its status, too")
	return errors.Join(
		f.Bind(cmd, "for CRDs that no file holds, its kinds, and what the box reads", output.YAML, []string{output.YAML, output.JSON}),
		cmd.MarkFlagRequired("resource"),
		cmd.MarkFlagFilename("resource", "yaml", "yml", "json"),
		cmd.MarkFlagFilename("with", "yaml", "yml", "json"),
	)
}

func (f *flags) run(ctx context.Context, in io.Reader, out, notes io.Writer) error {
	write, ok := formats[f.Format]
	if !ok {
		return fmt.Errorf("--output %q: wanted yaml or json", f.Format)
	}
	v, err := f.Validator(in, rand.NewChaCha8([32]byte{})) // a fixed seed, so that two runs print the same
	if err != nil {
		return err
	}
	resources, with, err := f.readResources(in)
	if err != nil {
		return err
	}
	if err := v.Compile(ctx, notes); err != nil {
		return err
	}
	if len(v.Boxes) == 0 {
		return fmt.Errorf("no OperatorBox in %s", files.Spoken(f.Files))
	}
	all := &rendering.Rendering{Validator: v.Validator, Words: words, Now: f.now()}
	served, others, err := all.Served(resources)
	if err != nil {
		return exit.Failure(err)
	}
	if err := writeLines(notes, notServed(others)...); err != nil {
		return exit.Failure(err)
	}
	if err := all.CheckAnswers(ctx, with); err != nil {
		return exit.Failure(err)
	}
	if all.Known, err = all.ReadState(slices.Concat(with, others)); err != nil {
		return exit.Failure(err)
	}
	printed, failed := &results{status: f.status}, false
	for _, doc := range served {
		ok, err := printed.resource(ctx, all, doc, notes)
		if err != nil {
			return exit.Failure(err)
		}
		failed = failed || !ok
	}
	if err := write(out, printed.objects, printed.patches); err != nil {
		return exit.Failure(fmt.Errorf("writing the objects: %w", err))
	}
	if failed {
		return exit.ErrNo
	}
	return nil
}

// readResources reads the documents of -r and --with.
func (f *flags) readResources(in io.Reader) (resources, with []input.Document, err error) {
	uses := 0
	for _, names := range [][]string{f.Files, f.CRDs, f.resources, f.with} {
		if slices.Contains(names, files.Stdin) {
			uses++
		}
	}
	if uses > 1 {
		return nil, nil, errors.New("standard input is given to more than one flag")
	}
	if resources, err = files.Read(f.resources, f.Recursive, in); err != nil {
		return nil, nil, fmt.Errorf("reading -r: %w", err)
	}
	if with, err = files.Read(f.with, f.Recursive, in); err != nil {
		return nil, nil, fmt.Errorf("reading --with: %w", err)
	}
	resources = slices.DeleteFunc(resources, func(d input.Document) bool { return d.Wrong == nil && len(d.Content) == 0 })
	for _, doc := range slices.Concat(resources, with) {
		if doc.Wrong != nil {
			return nil, nil, exit.Failure(fmt.Errorf("%s:%d: %s", doc.File, doc.Wrong.Line, doc.Wrong.Message))
		}
	}
	if len(resources) == 0 {
		return nil, nil, fmt.Errorf("no resource in %s", strings.Join(f.resources, ", "))
	}
	return resources, with, nil
}

// formats are the values of --output. Patches stand apart: each holds only the fields that are set of an object that must exist.
var formats = map[string]func(w io.Writer, objects, patches []*unstructured.Unstructured) error{output.YAML: writeYAML, output.JSON: writeJSON}

func writeYAML(w io.Writer, objects, patches []*unstructured.Unstructured) error {
	var b bytes.Buffer
	for i, obj := range slices.Concat(objects, patches) {
		if i > 0 {
			b.WriteString("---\n")
		}
		if i >= len(objects) {
			b.WriteString("# A patch: these fields are set of an object of others, which must exist.\n")
		}
		if err := output.WriteYAML(&b, obj.Object); err != nil {
			return err
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

func writeJSON(w io.Writer, objects, patches []*unstructured.Unstructured) error {
	list := map[string]any{"apiVersion": "v1", "kind": "List", "items": contents(objects)}
	if len(patches) > 0 {
		list["patches"] = contents(patches)
	}
	return output.WriteJSON(w, list)
}

func contents(objects []*unstructured.Unstructured) []any {
	out := make([]any, 0, len(objects))
	for _, obj := range objects {
		out = append(out, obj.Object)
	}
	return out
}
