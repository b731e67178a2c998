package actions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/output"
	"github.com/orkspace/orkestra/cmd/orkestra/session"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/web/api"
)

const rollbackLong = `Have a box go back to a spec that is kept of it, and print what changes.

Without --to-revision it is the newest that differs from the spec of today: the one before it, or, of a box whose spec does not run,
the one that still does. Whether the box is suspended stays as it is. As which account a box acts, and which CRD it serves, is never
changed by this.

Nothing is written if somebody changes the box meanwhile.` + rightsAndCodes

const rollbackExample = `  # What would change
  orkestra rollback shop --dry-run

  # To the spec before this one
  orkestra rollback shop

  # To a certain one
  orkestra rollback shop --to-revision 3`

// rollback are the flags of `orkestra rollback`.
type rollback struct {
	session.Flags

	format, to string
	dryRun     bool
	now        func() time.Time
}

func newRollback(now func() time.Time) *cobra.Command {
	f := &rollback{now: now}
	cmd := &cobra.Command{
		Use:               "rollback BOX",
		Short:             "Have a box go back to a former spec",
		Long:              rollbackLong,
		Example:           rollbackExample,
		Args:              oneBox,
		ValidArgsFunction: f.Complete(session.Offer{Boxes: true, Most: 1}),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), boxName(args), cmd.OutOrStdout())
		},
	}
	f.Bind(cmd)
	cmd.Flags().StringVar(&f.to, "to-revision", "", "the revision to go back to, by its name or number; default: the newest that differs from the spec of today")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "print what would change, and write nothing")
	output.Bind(cmd, &f.format, output.JSON, output.YAML)
	return cmd
}

func (f *rollback) run(ctx context.Context, name string, out io.Writer) error {
	write, err := output.Writer(f.format, writeReturn)
	if err != nil {
		return err
	}
	i, err := f.New(ctx, f.now())
	if err != nil {
		return exit.Failure(err)
	}
	box, err := i.Box(ctx, name)
	if err != nil {
		return exit.Failure(err)
	}
	hand := i.Hand()
	kept, err := hand.FormerSpecs(ctx, name)
	if err != nil {
		return exit.Failure(err)
	}
	to, err := f.target(kept.Revisions, box)
	if err != nil {
		return exit.Failure(err)
	}
	back, err := hand.Return(ctx, name, to.Name)
	if err != nil {
		return exit.Failure(err)
	}
	if err := write(out, back); err != nil {
		return exit.Failure(fmt.Errorf("writing the answer: %w", err))
	}
	if back.Why != "" {
		return exit.Failure(errors.New(back.Why))
	}
	if f.dryRun {
		return nil
	}
	done, err := hand.ActOnBox(ctx, name, api.GoBack, api.Order{UID: back.UID, Revision: to.Name, Generation: back.Generation})
	if err != nil || f.format != "" {
		return exit.Failure(err)
	}
	_, err = fmt.Fprintf(out, "%s: revision %d, %s\n", sentence("operatorbox/"+name, done.Message), to.Number, to.Name)
	return exit.Failure(err)
}

// target is the revision that --to-revision names, else the newest that is not the spec of today.
func (f *rollback) target(all []api.Revision, box *v1alpha1.OperatorBox) (*api.Revision, error) {
	if f.to != "" {
		return pick(all, box.Name, f.to)
	}
	today := box.DeepCopy()
	today.Spec.Suspend = false // as what runs is kept
	now := boxspec.Revision(today)
	for n := range all {
		if all[n].Name != now {
			return &all[n], nil
		}
	}
	return nil, fmt.Errorf("OperatorBox %q: no revision is kept but for the spec of today", box.Name)
}

// writeReturn prints the fields that change, as a difference.
func writeReturn(out io.Writer, r *api.Return) error {
	var b strings.Builder
	lines := func(mark string, value *string) {
		if value == nil {
			return
		}
		for line := range strings.Lines(*value) {
			b.WriteString(mark + " " + output.Plain(strings.TrimSuffix(line, "\n")) + "\n")
		}
	}
	for _, c := range r.Changes {
		b.WriteString(output.Plain(c.Field) + "\n")
		lines("-", c.Before)
		lines("+", c.After)
	}
	if r.More > 0 {
		fmt.Fprintf(&b, "and %s\n", output.Count(r.More, "more field", "more fields"))
	}
	_, err := io.WriteString(out, b.String())
	return err
}
