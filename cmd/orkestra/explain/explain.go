// Package explain is the command `orkestra explain`, which says what may stand in a declaration.
package explain

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/orkspace/orkestra/cmd/orkestra/arguments"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/engine/autoscale"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/provider"
	"github.com/orkspace/orkestra/engine/suggest"
)

const explainLong = `Say what may stand in a box, above all in the declarations of a resource group's key, such as deployments, and what each
field means.

A path leads to a field of a declaration: deployments.probes.readiness. Any other field of a box has a path, too: that below its
spec (reconciler.hooks.webhook), or one that begins with the kind (operatorbox.status, crdhealth.status.failing). Without a path, all
keys are listed, and the fields of the spec.

The path providers lists the providers that are compiled in, providers.NAME the kinds of one, and providers.NAME.KIND the fields of a kind.

The path autoscale lists what the conditions of spec.autoscale may read. The path operators lists the operators of conditions, and functions the
functions of templates; operators.NAME and functions.NAME lead to one of them, and so does its name alone where no field has it.`

const explainExample = `  # The keys of resource groups
  orkestra explain

  # The fields of a Deployment's declaration
  orkestra explain deployments

  # One field, and those below it
  orkestra explain deployments.probes

  # What a box says of code
  orkestra explain reconciler.hooks

  # An operator of conditions, and a function of templates
  orkestra explain greaterThan
  orkestra explain functions.ternary

  # The names of all fields, with those below them
  orkestra explain services --recursive`

// NewCommand makes the command, which knows the kinds of the providers.
func NewCommand(providers *provider.Registry) *cobra.Command {
	recursive := false
	cmd := &cobra.Command{
		Use:     "explain [KEY[.FIELD]...]",
		Short:   "Say what may stand in a box, and in a declaration",
		Long:    explainLong,
		Example: explainExample,
		Args:    arguments.AtMostOne("KEY[.FIELD]...", "deployments.port"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, beginning string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			// A field may have others below it, so that no space follows.
			return complete(providers, beginning), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := explain(providers, strings.Join(args, ""), recursive)
			if err != nil {
				return err
			}
			if _, err := io.WriteString(cmd.OutOrStdout(), text); err != nil {
				return exit.Failure(fmt.Errorf("writing the answer: %w", err))
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&recursive, "recursive", "R", false, "the names and types of all fields, with those below them")
	return cmd
}

// explain answers for a path; an unknown one is wrong use.
func explain(providers *provider.Registry, path string, recursive bool) (string, error) {
	if path == "" {
		return explainKeys(), nil
	}
	names := strings.Split(path, ".")
	switch {
	case names[0] == keyProviders:
		return explainProviders(providers, names[1:], recursive)
	case names[0] == keyFunctions:
		return explainFunctions(names[1:])
	case names[0] == keyOperators:
		return explainOperators(names[1:])
	case path == keyAutoscale:
		return explainAutoscale(recursive)
	}
	kind, ok := kinds.Lookup(names[0])
	if !ok {
		return explainOther(providers, names, recursive)
	}
	other, otherErr := explainAPI(names, recursive) // a box has a field namespaces, too
	if len(names) == 1 {
		text := explainKind(kind, recursive)
		if otherErr == nil {
			text += fmt.Sprintf("\nA box has a field of this name, too: orkestra explain %s.%s\n", nameSpec, path)
		}
		return text, nil
	}
	found, left, among := kinds.Follow(append(kind.ShortFields(), kind.CommonFields()...), names[1:])
	switch {
	case len(left) == 0:
		return explainField(kind, found, recursive), nil
	case otherErr == nil:
		return other, nil
	default:
		known := append([]string{kind.Key}, names[1:len(names)-len(left)]...)
		return "", unknownField(strings.Join(known, "."), left[0], among)
	}
}

// explainOther answers for a path that begins with no key: with a kind of the API, or a field of a box.
func explainOther(providers *provider.Registry, names []string, recursive bool) (string, error) {
	f, err := findAPI(names)
	switch {
	case f.path == kindBox+"."+nameSpec && names[0] != nameSpec && !strings.EqualFold(names[0], kindBox):
		if text, ok := explainWord(strings.Join(names, ".")); ok {
			return text, nil
		}
		return "", unknownPath(names[0])
	case err != nil:
		return "", err
	case len(f.rest) > 0:
		if _, ok := kinds.Lookup(f.rest[0]); !ok {
			return "", unknownPath(f.rest[0])
		}
		return explain(providers, strings.Join(f.rest, "."), recursive)
	}
	return explainAPI(names, recursive)
}

func unknownField(at, name string, fields []kinds.FieldDoc) error {
	if len(fields) == 0 {
		return fmt.Errorf("%s has no fields", at)
	}
	if name == "" {
		return fmt.Errorf("%s. has no field after its last dot", at)
	}
	names := make([]string, 0, len(fields))
	for _, f := range fields {
		names = append(names, f.Name)
	}
	return fmt.Errorf("%s has no field %q%s", at, name, suggest.DidYouMean(name, names))
}

// explainKeys lists the keys with what they make.
func explainKeys() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, columnGap, ' ', 0)
	writeLine(w, "KEY\tKIND\tAPIVERSION\tNAMESPACED")
	for _, key := range kinds.Keys() {
		kind, _ := kinds.Lookup(key)
		if kind.IsPatch() {
			writeLine(w, "%s\tany\tof its target\tof its kind", key)
			continue
		}
		if kind.GVK.Empty() {
			writeLine(w, "%s\tany\tof its manifest\tof its kind", key)
			continue
		}
		writeLine(w, "%s\t%s\t%s\t%t", key, kind.GVK.Kind, kind.GVK.GroupVersion(), !kind.ClusterScoped)
	}
	_ = w.Flush() // a strings.Builder never fails
	var names []string
	if spec, err := findAPI([]string{nameSpec}); err == nil {
		for _, f := range spec.Fields() {
			names = append(names, f.Name)
		}
	}
	b.WriteString("\nFIELDS OF A BOX:\n")
	writeText(&b, strings.Join(names, ", "))
	return b.String()
}

func writeLine(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, format+"\n", args...) // a strings.Builder never fails
}

// keyAutoscale is the part of a box whose conditions read the load of the box.
const keyAutoscale = "autoscale"

// explainAutoscale answers for autoscale: its fields, and what its conditions may read.
func explainAutoscale(recursive bool) (string, error) {
	text, err := explainAPI([]string{keyAutoscale}, recursive)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(text + "\nFIELDS OF CONDITIONS\n")
	w := tabwriter.NewWriter(&b, 0, 0, columnGap, ' ', 0)
	for _, f := range autoscale.Fields() {
		if f.OfTime {
			writeLine(w, "time.%s\t%s", f.Name, f.Doc)
			continue
		}
		writeLine(w, "status.%s, metrics.%s\t%s", f.Name, f.Name, f.Doc)
	}
	_ = w.Flush() // a strings.Builder never fails
	return b.String(), nil
}
