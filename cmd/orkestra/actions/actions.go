// Package actions has the commands that do something to boxes and their resources: they do what the Control Center does, by the same code.
package actions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orkspace/orkestra/cmd/orkestra/arguments"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/session"
	"github.com/orkspace/orkestra/controllers/act"
	"github.com/orkspace/orkestra/engine/web/api"
)

// rightsAndCodes is said of each of the commands.
const rightsAndCodes = `

It is written with the rights of the kubeconfig's user: patch on the object, and what the policies ask of who changes a box. A box
that Argo CD or Flux applies from Git is not written: change it there.

The exit code is 0 when all was done, 1 when something was not, and 2 for wrong use.`

// verb is a command that does one thing to the objects that its arguments name.
type verb struct {
	name, args, short, long, example string
	// onBox and onResource are what is done to each; empty: nothing can be.
	onBox, onResource api.ActionName
	// instead says what to do with what nothing is done to.
	instead string
}

var verbs = []verb{
	{
		name: string(api.Suspend), args: "BOX...", short: "Stop boxes, and keep what they have made", onBox: api.Suspend, instead: "a resource is paused: orkestra pause %s",
		long:    "Stop boxes: nothing of their resources is made or corrected until they are resumed. What they have made stays, and deletions are still served.",
		example: "  orkestra suspend shop",
	},
	{
		name: string(api.Resume), args: "BOX|KIND/NAME...", short: "Have suspended boxes and paused resources go on", onBox: api.Resume, onResource: api.Resume,
		long:    "Have boxes go on that are suspended, and resources that are paused.",
		example: "  # A box\n  orkestra resume shop\n\n  # A resource\n  orkestra resume website/hello -n team-a",
	},
	{
		name: string(api.Pause), args: "KIND/NAME...", short: "Leave resources as they are, until they are resumed", onResource: api.Pause, instead: "a box is suspended: orkestra suspend %s",
		long:    "Leave resources as they are: nothing of them is made or corrected until they are resumed. A deletion is still served.",
		example: "  orkestra pause website/hello -n team-a",
	},
	{
		name: string(api.Reconcile), args: "KIND/NAME...", short: "Reconcile resources now", onResource: api.Reconcile,
		instead: "a box reconciles its resources by itself when it changes; name one as KIND/NAME",
		long: "Reconcile resources now, instead of when something changes or the next resync comes. One that is paused, or rolled back, is not: resume it, or\n" +
			"release it. \"orkestra wait\" waits until one is ready.",
		example: "  orkestra reconcile website/hello -n team-a",
	},
	{
		name: string(api.Release), args: "KIND/NAME...", short: "Try resources again that are rolled back", onResource: api.Release,
		instead: "a resource is released, which its box has rolled back; name it as KIND/NAME. A box goes back by orkestra rollback %s",
		long:    "Try the specs of resources again that their box has rolled back.",
		example: "  orkestra release website/hello -n team-a",
	},
}

// NewCommands makes the commands with a clock.
func NewCommands(now func() time.Time) []*cobra.Command {
	all := []*cobra.Command{newRevisions(now), newRollback(now)}
	for _, v := range verbs {
		all = append(all, v.command(now))
	}
	return all
}

func (v verb) command(now func() time.Time) *cobra.Command {
	f := &session.Flags{}
	cmd := &cobra.Command{
		Use:               v.name + " " + v.args,
		Short:             v.short,
		Long:              v.long + rightsAndCodes,
		Example:           v.example,
		ValidArgsFunction: f.Complete(session.Offer{Boxes: v.onBox != "", Resources: v.onResource != ""}),
		Args:              arguments.Some(v.args),
		RunE: func(cmd *cobra.Command, args []string) error {
			wanted, err := session.Parse(args)
			if err != nil {
				return err
			}
			for _, a := range wanted {
				if a.Kind == "" && v.onBox == "" {
					return v.misses(a.Name)
				}
			}
			return exit.Failure(v.run(cmd.Context(), f, wanted, now(), cmd.OutOrStdout()))
		},
	}
	f.Bind(cmd)
	return cmd
}

// misses is the error of an object to which the command does nothing.
func (v verb) misses(arg string) error {
	instead := v.instead
	if strings.Contains(instead, "%s") {
		instead = fmt.Sprintf(instead, arg)
	}
	return fmt.Errorf("%q: %s", arg, instead)
}

// run does it to one after the other. One that fails holds up none.
func (v verb) run(ctx context.Context, f *session.Flags, wanted []session.Argument, now time.Time, out io.Writer) error {
	i, err := f.New(ctx, now)
	if err != nil {
		return err
	}
	hand := i.Hand()
	var failed []error
	for _, a := range wanted {
		said, err := v.do(ctx, i, hand, a)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if _, err := fmt.Fprintln(out, said); err != nil {
			return fmt.Errorf("writing the answer: %w", err)
		}
	}
	return errors.Join(failed...)
}

// do does it to one, and says what comes of it.
func (v verb) do(ctx context.Context, i *session.Inspector, hand *act.Hand, a session.Argument) (string, error) {
	target, err := i.Find(a)
	if err != nil {
		return "", err
	}
	var done *api.Done
	switch {
	case session.IsBox(target) && v.onBox != "":
		box, err := i.Box(ctx, target.Name)
		if err != nil {
			return "", err
		}
		if done, err = hand.ActOnBox(ctx, box.Name, v.onBox, api.Order{UID: string(box.UID)}); err != nil {
			return "", err
		}
	case !session.IsBox(target) && v.onResource != "":
		box, live, err := i.BoxOf(ctx, target)
		if err != nil {
			return "", err
		}
		if done, err = hand.ActOnResource(ctx, box.Name, target.Namespace, target.Name, v.onResource, api.Order{UID: string(live.GetUID())}); err != nil {
			return "", err
		}
	case session.IsBox(target):
		return "", v.misses(target.Name)
	default:
		return "", v.misses(a.Kind + "/" + a.Name)
	}
	return sentence(strings.ToLower(target.Kind.Kind)+"/"+target.Name, done.Message), nil
}

// sentence says of which object a message is.
func sentence(subject, message string) string {
	if rest, about := strings.CutPrefix(message, "It "); about {
		return subject + " " + rest
	}
	return subject + ": " + message
}
