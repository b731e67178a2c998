package actions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/output"
	"github.com/orkspace/orkestra/cmd/orkestra/session"
	"github.com/orkspace/orkestra/controllers/act"
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
	if _, err := i.Box(ctx, name); err != nil {
		return exit.Failure(err)
	}
	hand := i.Hand()
	to, back, err := f.target(ctx, hand, name)
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

// target is the revision that --to-revision names, else the newest that changes something, with what it changes. One that was kept while the box was
// suspended changes nothing else: whether it is stays as it is.
func (f *rollback) target(ctx context.Context, hand *act.Hand, box string) (*api.Revision, *api.Return, error) {
	kept, err := hand.FormerSpecs(ctx, box)
	if err != nil {
		return nil, nil, err
	}
	if f.to != "" {
		to, err := pick(kept.Revisions, box, f.to)
		if err != nil {
			return nil, nil, err
		}
		back, err := hand.Return(ctx, box, to.Name)
		return to, back, err
	}
	for n := range kept.Revisions {
		back, err := hand.Return(ctx, box, kept.Revisions[n].Name)
		if err != nil || len(back.Changes) > 0 {
			return &kept.Revisions[n], back, err
		}
	}
	if n := len(kept.Revisions); n > 1 {
		return nil, nil, fmt.Errorf("OperatorBox %q: the %d revisions that are kept differ in spec.suspend alone, which going back leaves as it is; orkestra suspend and orkestra resume change it", box, n)
	}
	return nil, nil, fmt.Errorf("OperatorBox %q: no revision is kept but for the spec of today", box)
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
