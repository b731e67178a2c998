// Package audit is the command `orkestra audit`, which says which boxes have more than they should have.
package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/output"
	"github.com/orkspace/orkestra/cmd/orkestra/session"
)

const long = `Judge the boxes that are there as the admission policies of Orkestra judge those that are written today: boxes from before the
policies, and restored ones, were never judged.

Of each box it says as whom it acts, and finds fault where its account is missing, was replaced, is in another namespace than those of
--box-namespaces, or lacks rights that the box needs; where it names none, with --require-service-account; where another box runs its
CRD; and where a policy is missing that the manager relies on. Give the flags that the manager has; without --box-namespaces, what
the manager says in the status of a box counts.

Who wrote a box is not known for certain. With --as, it says of each box whether this user could write it today: as in kubectl, for the
groups of --as-group.

Resources are counted by the validation rules that the API server could enforce (spec.admission), with -n those of one namespace: those
that break one stay, and their next change is refused once the rules are enforced.

The API server is asked with the rights of the kubeconfig's user, who may read boxes, CRDs, ServiceAccounts and resources, and create
subjectaccessreviews. What could not be asked is said. Nothing is written.

The exit code is 0 when nothing was found, 1 when something was found or could not be asked, and 2 for wrong use.`

const example = `  # All boxes, for a manager that lets boxes use the accounts of two namespaces
  orkestra audit --require-service-account --box-namespaces team-a,team-b

  # Which boxes could somebody of team A write?
  orkestra audit --as jane --as-group team-a`

// flags are those of `orkestra audit`.
type flags struct {
	session.Flags

	format        string
	boxNamespaces []string
	required      bool
	user          string
	groups        []string
	now           func() time.Time
}

// answer is what is printed as JSON and YAML.
type answer struct {
	// As is the user of whom it was asked which boxes they could write.
	As string `json:"as,omitempty"`
	// Notes are what could not be asked.
	Notes []string `json:"notes,omitempty"`
	// Items are the boxes.
	Items []*box `json:"items"`
}

// NewCommand makes the command with a clock.
func NewCommand(now func() time.Time) *cobra.Command {
	f := &flags{now: now}
	cmd := &cobra.Command{
		Use:     "audit [BOX...]",
		Short:   "Say which boxes have more than they should have",
		Long:    long,
		Example: example,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args, cmd.OutOrStdout())
		},
	}
	f.Bind(cmd)
	fs := cmd.Flags()
	fs.StringVarP(&f.format, "output", "o", "", "json or yaml; default: a table")
	fs.StringSliceVar(&f.boxNamespaces, "box-namespaces", nil, "namespace whose ServiceAccounts boxes may act as; repeatable; default: what the manager says in the status of a box")
	fs.BoolVar(&f.required, "require-service-account", false, "find fault with boxes that name no account")
	fs.StringVar(&f.user, "as", "", "say of each box whether this user could write it")
	fs.StringArrayVar(&f.groups, "as-group", nil, "group of the user of --as; repeatable")
	return cmd
}

func (f *flags) run(ctx context.Context, names []string, out io.Writer) error {
	write, err := output.Writer(f.format, func(out io.Writer, a *answer) error { return a.write(out) })
	if err != nil {
		return err
	}
	if f.user == "" && len(f.groups) > 0 {
		return errors.New("--as-group: wanted with --as, which names the user")
	}
	a, err := f.ask(ctx, names)
	if err != nil {
		return exit.Failure(err)
	}
	if err := write(out, a); err != nil {
		return exit.Failure(fmt.Errorf("writing the answer: %w", err))
	}
	if len(a.Notes) > 0 || a.faulty() > 0 {
		return exit.ErrNo
	}
	return nil
}

// ask judges the boxes of these names; all where there are none.
func (f *flags) ask(ctx context.Context, names []string) (*answer, error) {
	i, err := f.New(ctx, f.now())
	if err != nil {
		return nil, err
	}
	boxes, err := wantedOf(ctx, i, names)
	if err != nil {
		return nil, err
	}
	j := newJudge(ctx, i, f)
	a := &answer{As: f.user, Items: []*box{}}
	for n := range boxes {
		a.Items = append(a.Items, j.judge(&boxes[n]))
	}
	a.Notes = j.notes
	return a, nil
}

// wantedOf reads the boxes of these names, each once and by the right to get it; all where there are no names.
func wantedOf(ctx context.Context, i *session.Inspector, names []string) ([]v1alpha1.OperatorBox, error) {
	if len(names) == 0 {
		return i.Boxes()
	}
	var boxes []v1alpha1.OperatorBox
	for n, name := range names {
		if slices.Contains(names[:n], name) {
			continue
		}
		box, err := i.Box(ctx, name)
		if err != nil {
			return nil, err
		}
		boxes = append(boxes, *box)
	}
	slices.SortFunc(boxes, func(a, b v1alpha1.OperatorBox) int { return strings.Compare(a.Name, b.Name) })
	return boxes, nil
}

// faulty is the number of boxes of which something was found.
func (a *answer) faulty() int {
	found := 0
	for _, b := range a.Items {
		if len(b.Findings) > 0 {
			found++
		}
	}
	return found
}

// write says in the first line how many boxes there are, and has a row for each finding.
func (a *answer) write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d with findings\n", output.Count(len(a.Items), "box", "boxes"), a.faulty())
	for _, note := range a.Notes {
		b.WriteString(output.Plain(note) + "\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil || len(a.Items) == 0 {
		return err
	}
	rows := [][]string{{"BOX", "CRD", "ACTS AS", "BREAKING", "FINDING"}}
	for _, item := range a.Items {
		row := []string{item.Name, item.CRD, item.ActsAs, item.counted()}
		if len(item.Findings) == 0 {
			rows = append(rows, append(row, "-"))
		}
		for n, found := range item.Findings {
			if n > 0 {
				row = []string{item.Name, "", "", ""}
			}
			rows = append(rows, append(row, found.Reason+": "+found.Message))
		}
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	return output.Table(w, rows)
}
