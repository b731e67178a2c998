package actions

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/orkspace/orkestra/cmd/orkestra/arguments"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/output"
	"github.com/orkspace/orkestra/cmd/orkestra/session"
	"github.com/orkspace/orkestra/engine/revision"
	"github.com/orkspace/orkestra/engine/suggest"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/view"
)

const revisionsLong = `Show the specs that are kept of a box, the newest first: those that it has run.

CHANGES counts the fields that a revision has otherwise than the one before it; -o wide names them. With --revision the spec of one is
printed. "orkestra rollback" has the box go back to one.

Rights: get on the box, and list and get on controllerrevisions in the manager's namespace. The exit code is 0, 1 when something could
not be read, and 2 for wrong use.`

const revisionsExample = `  orkestra revisions shop

  # With what each has changed
  orkestra revisions shop -o wide

  # The spec of one
  orkestra revisions shop --revision 3`

// revisions are the flags of `orkestra revisions`.
type revisions struct {
	session.Flags

	format, revision string
	now              func() time.Time
}

func newRevisions(now func() time.Time) *cobra.Command {
	f := &revisions{now: now}
	cmd := &cobra.Command{
		Use:               "revisions BOX",
		Aliases:           []string{"history"},
		Short:             "Show the specs that are kept of a box",
		Long:              revisionsLong,
		Example:           revisionsExample,
		Args:              oneBox,
		ValidArgsFunction: f.Complete(session.Offer{Boxes: true, Most: 1}),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), boxName(args), cmd.OutOrStdout())
		},
	}
	f.Bind(cmd)
	cmd.Flags().StringVar(&f.revision, "revision", "", "print the spec of this one, by its name or number")
	output.Bind(cmd, &f.format, output.JSON, output.Wide, output.YAML)
	return cmd
}

// oneBox refuses any but one argument that names a box.
func oneBox(cmd *cobra.Command, args []string) error {
	if err := arguments.One("BOX", "")(cmd, args); err != nil {
		return err
	}
	if name := boxName(args); name == "" || strings.Contains(name, "/") {
		return fmt.Errorf("%q: wanted the name of a box", args[0])
	}
	return nil
}

// boxName takes operatorbox/NAME, as kubectl prints it, for NAME.
func boxName(args []string) string {
	kind, name, found := strings.Cut(args[0], "/")
	switch strings.ToLower(kind) {
	case "operatorbox", "operatorboxes", "obox", "operatorbox.orkestra.orkspace.io", "operatorboxes.orkestra.orkspace.io":
		if found {
			return name
		}
	}
	return args[0]
}

func (f *revisions) run(ctx context.Context, box string, out io.Writer) error {
	if err := output.Check(f.format, output.JSON, output.Wide, output.YAML); err != nil {
		return err
	}
	if f.revision != "" && f.format == output.Wide {
		return fmt.Errorf("--output %q: wanted json or yaml with --revision", f.format)
	}
	i, err := f.New(ctx, f.now())
	if err != nil {
		return exit.Failure(err)
	}
	f.now = i.ServerTime(f.now)
	live, err := i.Box(ctx, box)
	if err != nil {
		return exit.Failure(err)
	}
	kept, err := i.Revisions().List(ctx, box)
	if err != nil {
		return exit.Failure(err)
	}
	all := view.Revisions(kept, live.Status.Revision)
	if f.revision == "" {
		return exit.Failure(f.write(out, all))
	}
	picked, err := pick(all, box, f.revision)
	if err != nil {
		return exit.Failure(err)
	}
	spec, err := i.Revisions().Read(ctx, box, revision.Ref{Name: picked.Name})
	if err != nil {
		return exit.Failure(err)
	}
	if f.format == output.JSON {
		return exit.Failure(output.WriteJSON(out, spec))
	}
	return exit.Failure(output.WriteYAML(out, spec))
}

func (f *revisions) write(out io.Writer, all []api.Revision) error {
	switch f.format {
	case output.JSON:
		return output.WriteJSON(out, map[string]any{"items": all})
	case output.YAML:
		return output.WriteYAML(out, map[string]any{"items": all})
	}
	rows := [][]string{{"REVISION", "NAME", "CURRENT", "AGE", "CHANGES"}}
	for n, r := range all {
		current := ""
		if r.Current {
			current = "*"
		}
		first := []string{strconv.FormatInt(r.Number, 10), r.Name, current, duration.HumanDuration(f.now().Sub(r.Created))}
		changes := r.Changes
		switch {
		case n == len(all)-1:
			changes = []string{"-"} // nobody knows what was before it
		case f.format != output.Wide:
			changes = []string{strconv.Itoa(len(changes))}
		}
		for line, change := range changes {
			if line > 0 {
				first = []string{"", "", "", ""}
			}
			rows = append(rows, append(first, change))
		}
		if len(changes) == 0 {
			rows = append(rows, append(first, "-"))
		}
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(out, "None is kept: the box has not run yet.")
		return err
	}
	return output.Table(out, rows)
}

// pick finds a revision by its name or number.
func pick(all []api.Revision, box, wanted string) (*api.Revision, error) {
	names := make([]string, 0, len(all))
	for n := range all {
		if all[n].Name == wanted || strconv.FormatInt(all[n].Number, 10) == wanted {
			return &all[n], nil
		}
		names = append(names, all[n].Name)
	}
	hint := cmp.Or(suggest.DidYouMean(wanted, names), "; see orkestra revisions "+box)
	return nil, fmt.Errorf("OperatorBox %q: no revision %q is kept%s", box, wanted, hint)
}
