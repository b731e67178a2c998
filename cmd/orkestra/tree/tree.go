// Package tree is the command `orkestra tree`, which shows boxes, their resources, and what has become of these.
package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/arguments"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/output"
	"github.com/orkspace/orkestra/cmd/orkestra/session"
	"github.com/orkspace/orkestra/controllers/inspect"
)

const long = `Show boxes, their resources, the children of these, and what belongs to the children, such as Pods.

Without an argument all boxes are shown, with the resources of all namespaces, or with -n of one; with the name of a box, that box alone.
The API server is asked, with the rights of the kubeconfig's user. It works without a manager, and says when none is at work. Nothing is
written.

What belongs to a child is found by owner references: ReplicaSets, Pods, Jobs and EndpointSlices; a child that is itself a resource
of a box is shown with its own children. An object that a resource patches is shown, too: True where the patch stands.

The exit code is 0 when every resource is ready, 1 when one is not, or nobody knows whether it is, and 2 for wrong use.`

const example = `  # Everything
  orkestra tree

  # One box
  orkestra tree shop

  # One resource, down to its Pods
  orkestra tree website/hello -n team-a`

// flags are those of `orkestra tree`.
type flags struct {
	session.Flags

	format string
	now    func() time.Time
}

// answer is what is printed as JSON and YAML.
type answer struct {
	// Manager says whether one is at work.
	Manager session.Manager `json:"manager"`
	// Notes are what could not be read.
	Notes []string `json:"notes,omitempty"`
	// Items are the boxes.
	Items []*node `json:"items"`

	now        time.Time // by the API server's clock
	incomplete bool      // resources could not be read, so that nobody knows whether they are ready
}

// NewCommand makes the command with a clock.
func NewCommand(now func() time.Time) *cobra.Command {
	f := &flags{now: now}
	cmd := &cobra.Command{
		Use:               "tree [BOX|KIND/NAME]",
		Short:             "Show boxes, their resources and the children of these",
		Long:              long,
		Example:           example,
		ValidArgsFunction: f.Complete(session.Offer{Boxes: true, Resources: true, Most: 1}),
		Args:              arguments.AtMostOne("BOX or KIND/NAME", "website/hello"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args, cmd.OutOrStdout())
		},
	}
	f.Bind(cmd)
	cmd.Flags().StringVarP(&f.format, "output", "o", "", "json or yaml; default: a tree")
	return cmd
}

func (f *flags) run(ctx context.Context, args []string, out io.Writer) error {
	write, err := output.Writer(f.format, func(out io.Writer, a *answer) error { return a.draw(out) })
	if err != nil {
		return err
	}
	wanted, err := session.Parse(args)
	if err != nil {
		return err
	}
	a, err := f.ask(ctx, wanted)
	if err != nil {
		return exit.Failure(err)
	}
	if err := write(out, a); err != nil {
		return exit.Failure(fmt.Errorf("writing the answer: %w", err))
	}
	if a.incomplete || slices.ContainsFunc(a.Items, func(box *node) bool {
		return slices.ContainsFunc(box.Children, func(resource *node) bool { return resource.Ready != yes && resource.Ready != none })
	}) {
		return exit.ErrNo
	}
	return nil
}

// ask asks for one box or one resource, or where none is wanted for all of all boxes.
func (f *flags) ask(ctx context.Context, wanted []session.Argument) (*answer, error) {
	i, err := f.New(ctx, f.now())
	if err != nil {
		return nil, err
	}
	g := &builder{Inspector: i, shown: map[string]bool{}, listed: map[listKey]*listResult{}}
	a := &answer{Manager: i.Manager(ctx), Items: []*node{}, now: i.Now()}
	for _, one := range wanted {
		target, err := i.Find(one)
		switch {
		case err != nil:
			return nil, err
		case session.IsBox(target):
			box, err := i.Box(ctx, target.Name)
			if err != nil {
				return nil, err
			}
			f.add(ctx, a, g, box)
		default:
			if err := a.addResource(ctx, g, target); err != nil {
				return nil, err
			}
		}
	}
	if len(wanted) == 0 {
		boxes, err := i.Boxes()
		if err != nil {
			return nil, err
		}
		if len(boxes) == 0 {
			return nil, errors.New("there are no OperatorBoxes")
		}
		for n := range boxes {
			f.add(ctx, a, g, &boxes[n])
		}
	}
	a.Notes = append(a.Notes, g.notes()...)
	return a, nil
}

// addResource adds one resource below its box.
func (a *answer) addResource(ctx context.Context, g *builder, target inspect.Target) error {
	resource, err := g.Resource(ctx, target)
	if err != nil {
		return err //nolint:wrapcheck // it names the resource
	}
	box := &node{Kind: kindBox, Name: resource.Box}
	if found := g.box(ctx, resource.Box); found != nil {
		box = boxNode(found)
	}
	box.Children = []*node{g.resource(ctx, resource)}
	a.Items, a.Notes = append(a.Items, box), append(a.Notes, resource.Notes...)
	return nil
}

// add adds a box with its resources.
func (f *flags) add(ctx context.Context, a *answer, g *builder, of *v1alpha1.OperatorBox) {
	box := boxNode(of)
	resources, err := g.Resources(ctx, of, f.Namespace)
	if err != nil {
		a.incomplete = true
		a.Notes = append(a.Notes, fmt.Sprintf("The resources of OperatorBox %q are not known%s: %v", of.Name, narrower(err), err))
	}
	for _, r := range resources {
		box.Children = append(box.Children, g.resource(ctx, r))
		a.Notes = append(a.Notes, prefixed(r)...)
	}
	a.Items = append(a.Items, box)
}

// prefixed are the notes of one resource among many.
func prefixed(r *inspect.Resource) []string {
	out := make([]string, 0, len(r.Notes))
	for _, note := range r.Notes {
		out = append(out, fmt.Sprintf("%s %s: %s", r.Kind, r.Name, note))
	}
	return out
}

// narrower says what may help whom the cluster tells nothing of all namespaces.
func narrower(err error) string {
	if apierrors.IsForbidden(err) {
		return " (-n asks for one namespace)"
	}
	return ""
}
