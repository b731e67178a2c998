// Package events is the command `orkestra events`, which shows what has happened to a resource and its children, or to a box.
package events

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/cmd/orkestra/arguments"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/output"
	"github.com/orkspace/orkestra/cmd/orkestra/session"
	"github.com/orkspace/orkestra/controllers/center"
	"github.com/orkspace/orkestra/controllers/inspect"
	"github.com/orkspace/orkestra/engine/web/api"
)

const long = `Show the events about a resource and its children, or about a box and its health, the newest last.

At most 50 are shown, of the namespace of the resource. Those of a box are in the namespace default. The API server forgets events, as a
rule after an hour.

Rights: get on the object, what "orkestra status" needs to find the children, and list on events; with --watch also watch on events, and get on
what they speak of. The exit code is 0, also where there are none; 1 when something could not be read, and 2 for wrong use.`

const example = `  # Of a resource and its children
  orkestra events website/hello -n team-a

  # Of a box, as they come
  orkestra events shop --watch

  # What went wrong
  orkestra events website/hello --types Warning`

// flags are those of `orkestra events`.
type flags struct {
	session.Flags

	format string
	types  []string
	watch  bool
	now    func() time.Time
}

// NewCommand makes the command with a clock.
func NewCommand(now func() time.Time) *cobra.Command {
	f := &flags{now: now}
	cmd := &cobra.Command{
		Use:               "events BOX|KIND/NAME",
		Short:             "Show what has happened to a resource and its children, or to a box",
		Long:              long,
		Example:           example,
		Args:              arguments.One("BOX or KIND/NAME", "website/hello"),
		ValidArgsFunction: f.Complete(session.Offer{Boxes: true, Resources: true, Most: 1}),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.Bind(cmd)
	output.Bind(cmd, &f.format, output.JSON, output.YAML)
	cmd.Flags().StringSliceVar(&f.types, "types", nil, "show events of these types alone: Normal, Warning; default: all")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "show those that come, too, until the process is told to stop")
	return cmd
}

// subject is what the events are about.
type subject struct {
	center.About

	namespace string
	resource  types.UID // whose children that come later belong to it; empty for a box
	notes     []string
}

func (f *flags) run(ctx context.Context, args []string, out, notes io.Writer) error {
	if err := output.Check(f.format, output.JSON, output.YAML); err != nil {
		return err
	}
	for n, t := range f.types {
		at := slices.IndexFunc([]string{corev1.EventTypeNormal, corev1.EventTypeWarning}, func(known string) bool { return strings.EqualFold(known, t) })
		if at < 0 {
			return fmt.Errorf("--types %q: wanted Normal or Warning", t)
		}
		f.types[n] = []string{corev1.EventTypeNormal, corev1.EventTypeWarning}[at]
	}
	wanted, err := session.Parse(args)
	if err != nil {
		return err
	}
	i, err := f.New(ctx, f.now())
	if err != nil {
		return exit.Failure(err)
	}
	f.now = i.ServerTime(f.now)
	about, err := subjectOf(ctx, i, wanted[0])
	if err != nil {
		return exit.Failure(err)
	}
	for _, note := range about.notes {
		if _, err := fmt.Fprintln(notes, output.Plain(note)); err != nil {
			return exit.Failure(fmt.Errorf("writing a note: %w", err))
		}
	}
	if f.watch {
		watching, err := i.Watching()
		if err != nil {
			return exit.Failure(err)
		}
		return exit.Failure(f.follow(ctx, watching, about, out))
	}
	found, note, err := center.NewEvents(i.Client(), clock.RealClock{}).Of(ctx, about.namespace, about.About)
	if err != nil {
		return exit.Failure(err)
	}
	found = slices.DeleteFunc(found, func(e api.Event) bool { return !f.shows(e) })
	slices.Reverse(found)
	if note != "" {
		_, _ = fmt.Fprintln(notes, note) // what there is stands above
	}
	return exit.Failure(f.write(out, notes, found))
}

func (f *flags) shows(e api.Event) bool { return len(f.types) == 0 || slices.Contains(f.types, e.Type) }

func subjectOf(ctx context.Context, i *session.Inspector, wanted session.Argument) (*subject, error) {
	target, err := i.Find(wanted)
	if err != nil {
		return nil, err
	}
	if session.IsBox(target) {
		box, err := i.Box(ctx, target.Name)
		if err != nil {
			return nil, err
		}
		about := &subject{About: center.About{UIDs: map[types.UID]bool{box.UID: true}}}
		health, err := i.Health(ctx, box.Name)
		switch {
		case err == nil:
			about.UIDs[health.UID] = true
		case !apierrors.IsNotFound(err): // nobody has said yet how it fares
			about.notes = append(about.notes, "The events about its health are not known: "+inspect.Message(err))
		}
		return about, nil
	}
	resource, err := i.Resource(ctx, target)
	if err != nil {
		return nil, err
	}
	return &subject{About: center.AboutResource(resource), namespace: target.Namespace, resource: resource.UID(), notes: resource.Notes}, nil
}

// list is what is printed as JSON and YAML.
type list struct {
	Items []api.Event `json:"items"`
}

func (f *flags) write(out, notes io.Writer, found []api.Event) error {
	switch {
	case f.format == output.JSON:
		return output.WriteJSON(out, list{found})
	case f.format == output.YAML:
		return output.WriteYAML(out, list{found})
	case len(found) == 0:
		_, err := fmt.Fprintln(notes, "No events found.")
		return err
	}
	rows := [][]string{header}
	for _, e := range found {
		rows = append(rows, f.row(e))
	}
	return output.Table(out, rows)
}

var header = []string{"LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"}

func (f *flags) row(e api.Event) []string {
	seen := duration.HumanDuration(f.now().Sub(e.Time))
	if e.Count > 1 {
		seen += fmt.Sprintf(" (x%d)", e.Count)
	}
	return []string{seen, e.Type, e.Reason, e.Object, e.Message}
}
