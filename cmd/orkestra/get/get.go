// Package get is the command `orkestra get`, which lists boxes, or their resources, and how each fares.
package get

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/cmd/orkestra/cluster"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/output"
	"github.com/orkspace/orkestra/cmd/orkestra/session"
)

const long = `List boxes, or the resources of a kind that boxes serve, with how each fares.

The states of boxes are those of their CRDHealth: Pending, Starting, Healthy, Degraded, Suspended, Stopped. Those of resources: Deleting,
Paused, RolledBack, Failing, Waiting, Ready; Unknown where nobody has said yet. Of objects of others that a box selects, their own
conditions are shown: "orkestra status" says what the box makes of one.

Where no manager is at work, tables have a line on standard error that says so: what is shown may be old.

Without an argument, all boxes are listed. KIND is a kind as kubectl takes it: plural, singular, short name, with or without version and
group.

Rights: list on boxes and CRDHealths, list on the resources, get on the CRD; with --watch also watch. What is named is read by its name,
for which get is enough; the resources of a box that is named by --box need no right to list boxes. The exit code is 0, also where there are
none; 1 when something could not be read, or a name is not there; and 2 for wrong use.`

const example = `  # All boxes
  orkestra get

  # The resources of one kind, in all namespaces, with what they say
  orkestra get websites -A -o wide

  # As they change
  orkestra get websites -n team-a --watch

  # Those that fail, by a program
  orkestra get websites -A -o json | jq '.items[] | select(.state == "Failing")'`

// flags are those of `orkestra get`.
type flags struct {
	session.Flags

	format, box string
	all, watch  bool
	now         func() time.Time
}

// NewCommand makes the command with a clock.
func NewCommand(now func() time.Time) *cobra.Command {
	f := &flags{now: now}
	cmd := &cobra.Command{
		Use:               "get [boxes|KIND] [NAME...]",
		Short:             "List boxes, or their resources, and how each fares",
		Long:              long,
		Example:           example,
		ValidArgsFunction: f.CompleteKinds(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.Bind(cmd)
	output.Bind(cmd, &f.format, output.JSON, output.Wide, output.YAML)
	cmd.Flags().BoolVarP(&f.all, "all-namespaces", "A", false, "the resources of all namespaces")
	cmd.Flags().StringVar(&f.box, "box", "", "the resources of this box alone, where several serve the kind")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "show what changes, too, until the process is told to stop")
	cmd.MarkFlagsMutuallyExclusive("all-namespaces", "namespace")
	if err := cmd.RegisterFlagCompletionFunc("box", f.Complete(session.Offer{Boxes: true})); err != nil {
		panic(err) // only a wrong name of the flag could fail here, which every test would show
	}
	return cmd
}

// What boxes are called here, beside what kubectl takes.
const (
	wordBox   = "box"
	wordBoxes = "boxes"
)

// words splits the arguments into a kind and names: KIND NAME..., or KIND/NAME....
func words(args []string) (kind string, names []string, err error) {
	if len(args) == 0 {
		return wordBoxes, nil, nil
	}
	if !strings.Contains(args[0], "/") {
		kind, names = args[0], args[1:]
		if at := slices.IndexFunc(names, func(name string) bool { return name == "" || strings.Contains(name, "/") }); at >= 0 || kind == "" {
			return "", nil, fmt.Errorf("%q: wanted KIND and names, or KIND/NAME", strings.Join(args, " "))
		}
		return kind, names, nil
	}
	for _, arg := range args {
		k, name, err := session.Split(arg)
		switch {
		case err != nil:
			return "", nil, err
		case kind != "" && k != kind:
			return "", nil, fmt.Errorf("%q: wanted objects of one kind, %s", arg, kind)
		}
		kind, names = k, append(names, name)
	}
	return kind, names, nil
}

func (f *flags) run(ctx context.Context, args []string, out, notes io.Writer) error {
	if err := output.Check(f.format, output.JSON, output.Wide, output.YAML); err != nil {
		return err
	}
	kind, names, err := words(args)
	if err != nil {
		return err
	}
	if f.all && len(names) > 0 {
		return errors.New("a resource can't be named with --all-namespaces: say its namespace by -n")
	}
	i, err := f.New(ctx, f.now())
	if err != nil {
		return exit.Failure(err)
	}
	f.now = i.ServerTime(f.now)
	shelf, said, err := f.shelf(ctx, i, kind)
	if err != nil {
		return exit.Failure(err)
	}
	for _, note := range said {
		_, _ = fmt.Fprintln(notes, output.Plain(note)) // what there is follows
	}
	if f.format == "" || f.format == output.Wide {
		if message := i.Manager(ctx).Message; message != "" {
			_, _ = fmt.Fprintln(notes, output.Plain(message)) // what is shown may be old
		}
	}
	p := &printer{flags: f, shelf: shelf, names: names, out: out, notes: notes, lines: map[string]line{}}
	if f.watch {
		return exit.Failure(p.follow(ctx, i))
	}
	return exit.Failure(p.list(ctx, i.Client()))
}

// shelf knows the objects of one sort, and how they are shown.
type shelf interface {
	// follows are the objects that are read.
	follows() []cluster.Follow
	// put takes an object as it is now, and gives what is shown that it changes; false: nothing.
	put(obj *unstructured.Unstructured, gone bool) (line, bool)
	// header of the columns.
	header(wide bool) []string
	// none says that there are none.
	none() string
	// absent is the error of a name that is not there.
	absent(name string) error
}

// line is what is shown of an object.
type line struct {
	key, name string
	value     any // as JSON and YAML
	gone      bool
	cells     func(now time.Time, wide bool) []string
}

// shelf finds out what a kind is, and what else there is to know of it.
func (f *flags) shelf(ctx context.Context, i *session.Inspector, kind string) (s shelf, notes []string, err error) {
	if kind == wordBox || kind == wordBoxes {
		kind = "operatorboxes"
	}
	target, err := i.Resolve(kind, "")
	switch {
	case err != nil:
		return nil, nil, err
	case !session.IsBox(target):
		found, notes, err := newResources(ctx, i, target, f.box, f.all)
		return found, notes, err
	case f.box != "":
		return nil, nil, errors.New("--box is for the resources of a box: name their kind, or a box by orkestra get boxes " + f.box)
	default:
		all, _ := i.Boxes() // without them there is nothing to suggest
		return newBoxes(all...), nil, nil
	}
}
