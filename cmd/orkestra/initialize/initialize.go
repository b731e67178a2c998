// Package initialize is the command `orkestra init`, which makes an operator of the name of a kind, or of manifests.
package initialize

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apivalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/files"
	"github.com/orkspace/orkestra/cmd/orkestra/importer/draft"
	"github.com/orkspace/orkestra/cmd/orkestra/initialize/derive"
	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/engine/provider"
)

const long = `Make an operator: a CRD, the role that the manager needs, a box, a resource for each instance that is given, and what that
renders. Of a kind's name alone, it is a Deployment with a Service, to go on from.

  --from FILE        manifests of one instance: a file, a directory, or - for standard input, such as what "helm template"
                     prints. Given twice or more, what differs between the instances becomes fields of the CRD.
  --chart CHART      the same of a chart, which "helm template" renders once for each --values. It is to be on the PATH.

A text that differs only by the names of the instances reads the name of the resource. An object that some instances do not
have gets a field that switches it. Of one instance, images, numbers of replicas and hosts become fields.

What is made is compiled as "orkestra validate" does it, and rendered as "orkestra render" does it: what comes out is to be
what was given. What is left out, and what was guessed, is told on standard error with file, line and field. Nothing is
applied.

Without -o, all but what is rendered is printed, ready to apply. With it, a folder gets crd.yaml, role.yaml, box.yaml, and
for each instance resource.yaml and expected.yaml, with its name where there are several.

The exit code is 0 when all of it compiles and renders what was given, 1 when not or when something can't be read, and 2 for
wrong use.`

const example = `  # To begin with
  orkestra init Website -o website/

  # Of the manifests of two instances
  orkestra init Website --from shop.yaml --from blog.yaml -o website/

  # Of a chart, with the values of two instances
  orkestra init Website --chart ./chart --values shop.yaml --values blog.yaml -o website/

  # Of one that is somewhere else
  helm template shop oci://registry.example.com/web -f shop.yaml | orkestra init Website --from - --name shop`

// flags are those of the command.
type flags struct {
	group, version        string
	from, values, names   []string
	chart, namespace, out string
	recursive, force      bool
	allowGranting         bool
	providers             *provider.Registry
	now                   func() time.Time
}

// NewCommand makes the command. Providers are those that are compiled in; nil: what a manager has is not known.
func NewCommand(providers *provider.Registry, now func() time.Time) *cobra.Command {
	f := &flags{providers: providers, now: now}
	cmd := &cobra.Command{
		Use:     "init KIND",
		Short:   "Make an operator of a kind's name, or of manifests",
		Long:    long,
		Example: example,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("wanted the kind that the operator is to serve: %s Website", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args[0], cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.group, "group", "example.com", "API group of the kind")
	fs.StringVar(&f.version, "version", "v1alpha1", "API version of the kind")
	fs.StringArrayVar(&f.from, "from", nil, "file or directory with the manifests of an instance; -: standard input (repeatable)")
	fs.StringVar(&f.chart, "chart", "", "chart that \"helm template\" renders")
	fs.StringArrayVar(&f.values, "values", nil, "with --chart: file with the values of an instance (repeatable)")
	fs.StringArrayVar(&f.names, "name", nil, "name of an instance, in the order of --from or --values; default: what the manifests say, and with --chart that of the file of values (repeatable)")
	fs.StringVarP(&f.namespace, "namespace", "n", "", "namespace of the resources, where the manifests say none")
	fs.BoolVarP(&f.recursive, "recursive", "R", false, "go into the directories below those given by --from")
	fs.StringVarP(&f.out, "output", "o", "", "folder to write to; it is made where there is none")
	fs.BoolVar(&f.force, "force", false, "with -o: replace files that are there")
	fs.BoolVar(&f.allowGranting, "allow-granting-kinds", false, "as the manager's flag: boxes may make roles, bindings, webhooks and CRDs")
	if err := errors.Join(cmd.MarkFlagFilename("from", "yaml", "yml", "json"), cmd.MarkFlagFilename("values", "yaml", "yml"), cmd.MarkFlagDirname("output")); err != nil {
		// The flags are written above: this can't fail at run time unless a name is wrong, which every test would show.
		panic(err)
	}
	return cmd
}

const flagFrom = "--from"

// kindName is what a kind is called.
var kindName = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,62}$`)

// check refuses flags that do not go together.
func (f *flags) check(kind string) error {
	instances, flag := len(f.from), flagFrom
	if f.chart != "" {
		instances, flag = max(1, len(f.values)), "--values"
	}
	switch {
	case !kindName.MatchString(kind):
		return fmt.Errorf("KIND %q: wanted one word with a capital first letter, such as Website", kind)
	case len(apivalidation.IsDNS1123Subdomain(f.group)) > 0 || !strings.Contains(f.group, "."):
		return fmt.Errorf("--group %q: wanted a domain name, such as example.com", f.group)
	case len(apivalidation.IsDNS1035Label(f.version)) > 0:
		return fmt.Errorf("--version %q: wanted a version, such as v1alpha1", f.version)
	case f.chart != "" && len(f.from) > 0:
		return errors.New("--chart and --from don't go together: one of them says what there is")
	case f.chart == "" && len(f.values) > 0:
		return errors.New("--values goes with --chart: manifests have their values already")
	case len(f.names) > max(instances, 1):
		return fmt.Errorf("--name is given %d times, and %s %d times", len(f.names), flag, instances)
	case len(slices.DeleteFunc(slices.Clone(f.from), func(from string) bool { return from != files.Stdin })) > 1:
		return errors.New("standard input is given to --from twice")
	case f.force && f.out == "":
		return errors.New("--force goes with -o: without a folder nothing is replaced")
	}
	for _, name := range f.names {
		if len(apivalidation.IsDNS1123Subdomain(name)) > 0 {
			return fmt.Errorf("--name %q: wanted the name of a resource: small letters, digits, . and -", name)
		}
	}
	if f.namespace != "" && len(apivalidation.IsDNS1123Label(f.namespace)) > 0 {
		return fmt.Errorf("--namespace %q: wanted the name of a namespace", f.namespace)
	}
	return nil
}

func (f *flags) run(ctx context.Context, kind string, in io.Reader, out, notes io.Writer) error {
	if err := f.check(kind); err != nil {
		return err
	}
	m := &made{Draft: &draft.Draft{}, flags: f, kind: derive.Kind{Group: f.group, Version: f.version, Name: kind}}
	instances, err := f.instances(ctx, in)
	if err != nil {
		return err
	}
	if instances == nil {
		m.resources = derive.Begin(m.Draft, m.kind, f.first())
	} else {
		m.translate(instances)
	}
	if err := m.compile(ctx); err != nil {
		return exit.Failure(err)
	}
	return m.write(out, notes)
}

// first is the name of the resource that is made of a kind's name alone.
func (f *flags) first() derive.Instance {
	first := derive.Instance{Name: "hello", Namespace: f.namespace}
	if len(f.names) > 0 {
		first.Name = f.names[0]
	}
	return first
}

// instances reads the manifests; nil: none are given.
func (f *flags) instances(ctx context.Context, in io.Reader) ([]derive.Instance, error) {
	if f.chart != "" {
		return f.rendered(ctx)
	}
	var out []derive.Instance
	for i, from := range f.from {
		if err := isChart(from); err != nil {
			return nil, err
		}
		docs, err := files.Read([]string{from}, f.recursive, in)
		if err != nil {
			return nil, fmt.Errorf("reading --from: %w", err)
		}
		if len(docs) == 0 {
			return nil, fmt.Errorf("no manifest in %s", files.Spoken([]string{from}))
		}
		out = append(out, f.instance(i, docs, ""))
	}
	return out, nil
}

// instance is the one of a place among the flags.
func (f *flags) instance(i int, docs []input.Document, name string) derive.Instance {
	if i < len(f.names) {
		name = f.names[i]
	}
	return derive.Instance{Name: name, Namespace: f.namespace, Docs: docs}
}
