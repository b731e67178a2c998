// Package status is the command `orkestra status`, which says how each declaration stands for a resource.
package status

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/orkspace/orkestra/cmd/orkestra/arguments"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/output"
	"github.com/orkspace/orkestra/cmd/orkestra/session"
	"github.com/orkspace/orkestra/controllers/inspect"
)

const long = `Say what each declaration of a box has come to for one resource: its child, its state, whether its gate is open, and why not.

The API server is asked, with the rights of the kubeconfig's user, for the resource, its box, and the children, which are found by
their labels. It works without a manager, and says when none is at work. Nothing is written.

The declarations are those of the revision that runs. What is not known here is shown as Unknown: what depends on the answers of
external calls, which are not made, and on objects that you may not read. What Secrets hold is never shown.

States: Ready, Completed, Progressing, Failed and Terminating are those of a child. Missing: nothing keeps the child from being
made. Waiting: something else must happen first. Off: the resource has not asked for it. Error: it can't be evaluated.
Undeclared: no declaration, or no item of its loop, stands for the child any more.

The exit code is 0 when the resource is ready, 1 when it is not, or when nobody knows whether it is, and 2 for wrong use. Nobody
knows it of a resource of a constructor whose status has no condition Ready. Of an object of others that no box selects it is 0.`

const example = `  # What has become of a resource
  orkestra status website/hello -n team-a

  # With the places in the box, and what the gates want and have
  orkestra status website/hello -o wide

  # For a program to read
  orkestra status websites.demo.example.com/hello -o json`

// flags are those of `orkestra status`.
type flags struct {
	session.Flags

	format string
	now    func() time.Time
}

// answer is what is printed as JSON and YAML.
type answer struct {
	*inspect.Resource

	// Manager says whether one is at work.
	Manager session.Manager `json:"manager"`

	now time.Time // by the API server's clock
}

// NewCommand makes the command with a clock.
func NewCommand(now func() time.Time) *cobra.Command {
	f := &flags{now: now}
	cmd := &cobra.Command{
		Use:               "status KIND/NAME",
		Short:             "Say how each declaration stands for a resource",
		Long:              long,
		Example:           example,
		ValidArgsFunction: f.Complete(session.Offer{Resources: true, Most: 1}),
		Args:              arguments.One("KIND/NAME", "website/hello"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
	f.Bind(cmd)
	cmd.Flags().StringVarP(&f.format, "output", "o", "", "json, wide or yaml; default: a table")
	return cmd
}

func (f *flags) run(ctx context.Context, arg string, out io.Writer) error {
	write, ok := formats[f.format]
	if !ok {
		return fmt.Errorf("--output %q: wanted json, wide or yaml", f.format)
	}
	kind, name, err := session.Split(arg)
	if err != nil {
		return err
	}
	a, err := f.ask(ctx, kind, name)
	if err != nil {
		return exit.Failure(err)
	}
	if err := write(out, a); err != nil {
		return exit.Failure(fmt.Errorf("writing the answer: %w", err))
	}
	if !a.Ready && !a.Unselected {
		return exit.ErrNo
	}
	return nil
}

func (f *flags) ask(ctx context.Context, kind, name string) (*answer, error) {
	i, err := f.New(ctx, f.now())
	if err != nil {
		return nil, err
	}
	target, err := i.Resolve(kind, name)
	if err != nil {
		return nil, err
	}
	resource, err := i.Resource(ctx, target)
	if err != nil {
		return nil, err
	}
	return &answer{Resource: resource, Manager: i.Manager(ctx), now: i.Now()}, nil
}

// formats are the values of --output.
var formats = map[string]func(io.Writer, *answer) error{
	"":          func(w io.Writer, a *answer) error { return a.write(w, false) },
	output.Wide: func(w io.Writer, a *answer) error { return a.write(w, true) },
	output.JSON: func(w io.Writer, a *answer) error { return output.WriteJSON(w, a) },
	output.YAML: func(w io.Writer, a *answer) error { return output.WriteYAML(w, a) },
}

// write says in the first line how the resource is, and then how its declarations are.
func (a *answer) write(w io.Writer, wide bool) error {
	var b strings.Builder
	b.WriteString(output.Plain(a.Headline()) + "\n")
	if a.Revision != "" {
		fmt.Fprintf(&b, "Box: %s, revision %s\n", a.Box, a.Revision)
	}
	for _, made := range a.Provided {
		b.WriteString(output.Plain("Made by a provider: "+made) + "\n")
	}
	for _, line := range append([]string{a.Manager.Message}, a.Notes...) {
		if line != "" {
			b.WriteString(output.Plain(line) + "\n")
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil || len(a.Declarations) == 0 {
		return err
	}
	rows := [][]string{{"DECLARATION", "CHILD", "STATE", "GATE", "AGE", "REASON"}}
	if wide {
		rows = [][]string{{"DECLARATION", "CHILD", "STATE", "GATE", "WANTED", "ACTUAL", "AGE", "PATH", "REASON"}}
	}
	for _, d := range a.Declarations {
		child := "-"
		if d.Name != "" {
			child = d.Kind + "/" + d.Name
		}
		row := []string{d.Declaration, child, string(d.State), cmp.Or(d.Gate.State, "-")}
		if wide {
			row = append(row, cmp.Or(d.Gate.Wanted, "-"), cmp.Or(d.Gate.Actual, "-"), age(a.now, d.Created), cmp.Or(d.Path, "-"), d.Reason)
		} else {
			row = append(row, age(a.now, d.Created), d.Reason)
		}
		rows = append(rows, row)
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	return output.Table(w, rows)
}

func age(now time.Time, created *metav1.Time) string {
	if created == nil {
		return "-"
	}
	return duration.HumanDuration(now.Sub(created.Time))
}
