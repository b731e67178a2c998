// Package wait is the command `orkestra wait`, which waits until boxes and resources are as somebody wants them.
package wait

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/cmd/orkestra/arguments"
	"github.com/orkspace/orkestra/cmd/orkestra/cluster"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/output"
	"github.com/orkspace/orkestra/cmd/orkestra/session"
	"github.com/orkspace/orkestra/controllers/inspect"
)

const long = `Wait until boxes and resources have a condition, exist, or are gone.

Without --for it is the condition Ready. A condition counts when it speaks of the newest generation. Several --for are waited for one after
the other. KIND may be any kind that the cluster has: crdhealth/shop has the condition Healthy.

Who waits for Ready need not wait for the timeout where an object goes no further by itself: it ends when its condition Stalled is True.
It ends at once, too, where the CRD leaves no room for the condition of a box, such as one without a status subresource.
What is not met in time while no manager is at work is an error that says so, too.

Rights: get, list and watch on the object. The exit code is 0 when all is as wanted, 1 when it is not in time, and 2 for wrong use.`

const example = `  # A resource, after kubectl apply
  orkestra wait website/hello -n team-a --timeout 2m

  # A box
  orkestra wait shop

  # Other conditions
  orkestra wait crdhealth/shop --for condition=Healthy
  orkestra wait website/hello --for condition=RolledBack=False
  orkestra wait website/hello --for delete`

// flags are those of `orkestra wait`.
type flags struct {
	session.Flags

	wanted  []string
	timeout time.Duration
	now     func() time.Time
}

// NewCommand makes the command with a clock.
func NewCommand(now func() time.Time) *cobra.Command {
	f := &flags{now: now}
	cmd := &cobra.Command{
		Use:               "wait BOX|KIND/NAME...",
		Short:             "Wait until boxes and resources are ready, or gone",
		Long:              long,
		Example:           example,
		ValidArgsFunction: f.Complete(session.Offer{Boxes: true, Resources: true}),
		Args:              arguments.Some("BOX or KIND/NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args, cmd.OutOrStdout())
		},
	}
	f.Bind(cmd)
	cmd.Flags().StringArrayVar(&f.wanted, "for", []string{"condition=Ready"}, "condition=TYPE, condition=TYPE=STATUS, create or delete; repeatable")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 30*time.Second, "how long to wait for all; 0: look once; negative: for ever")
	offered := []string{"condition=Ready", "condition=Healthy", "condition=RolledBack", forCreate, forDelete}
	if err := cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions(offered, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // only a wrong name of the flag could fail here, which every test would show
	}
	return cmd
}

func (f *flags) run(ctx context.Context, args []string, out io.Writer) error {
	wanted, err := session.Parse(args)
	if err != nil {
		return err
	}
	goals := make([]goal, 0, len(f.wanted))
	for _, text := range f.wanted {
		g, err := parse(text)
		if err != nil {
			return err
		}
		goals = append(goals, g)
	}
	s, err := f.Session()
	if err != nil {
		return exit.Failure(err)
	}
	i, err := s.Inspector(ctx, f.now())
	if err != nil {
		return exit.Failure(err)
	}
	watching, err := s.Watching()
	if err != nil {
		return exit.Failure(err)
	}
	asking := context.WithoutCancel(ctx) // who asks why has waited in vain, and the time is over
	w := &waiter{client: watching, once: f.timeout == 0, timeout: f.timeout, away: func() string { return f.away(asking, s) }}
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.timeout)
		defer cancel()
	}
	var failed []error
	for _, one := range wanted {
		target, err := i.Find(one)
		for n := 0; err == nil && n < len(goals); n++ {
			if err = w.wait(ctx, target, goals[n], unwritten(ctx, i, target, goals[n])); err == nil {
				_, err = fmt.Fprintf(out, "%s/%s: %s is met\n", strings.ToLower(target.Kind.Kind), target.Name, goals[n])
			}
		}
		failed = append(failed, err)
	}
	return exit.Failure(errors.Join(failed...))
}

// away says that no manager is at work; empty: one is, or that is not known. It asks anew: much time may have gone by.
func (f *flags) away(ctx context.Context, s *session.Session) string {
	i, err := s.Inspector(ctx, f.now())
	if err != nil {
		return ""
	}
	if m := i.Manager(ctx); m.State == session.ManagerAway {
		return m.Message
	}
	return ""
}

// waiter waits for one thing after the other.
type waiter struct {
	client  client.WithWatch
	once    bool // look, and do not wait
	timeout time.Duration
	away    func() string // why nobody works on what is waited for; empty: somebody does
}

// vain is the error of what is not as it is to be, with why nobody makes it so.
func (w *waiter) vain(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if away := w.away(); away != "" {
		text += ". " + output.Plain(away)
	}
	return errors.New(text)
}

// wait waits until an object is as it is to be. The error says how it is instead. never says why nobody writes the condition; empty: somebody may.
func (w *waiter) wait(ctx context.Context, t inspect.Target, g goal, never string) error {
	about := fmt.Sprintf("%s %q", t.Kind.Kind, strings.TrimPrefix(t.Namespace+"/"+t.Name, "/"))
	var last *unstructured.Unstructured
	look := func() (done bool, err error) {
		met, hopeless, how := g.met(last)
		switch how = output.Plain(how); {
		case met:
			return true, nil
		case last == nil && g.condition != "":
			return true, fmt.Errorf("%s not found", about)
		case never != "" && conditionOf(last, g.condition) == nil:
			return true, fmt.Errorf("%s can't show the condition %s: %s; orkestra status %s/%s says how it fares", about, g.condition, never, strings.ToLower(t.Kind.Kind), t.Name)
		case hopeless:
			return true, fmt.Errorf("%s goes no further by itself: %s", about, how)
		case w.once:
			return true, w.vain("%s: %s is not met: %s", about, g, how)
		default:
			return false, nil
		}
	}
	synced := false
	object := cluster.Follow{
		Client: w.client, Kind: t.Kind,
		Options: []client.ListOption{client.InNamespace(t.Namespace), client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", t.Name)}},
		Synced:  func() (bool, error) { synced = true; return look() },
	}
	err := object.Run(ctx, func(obj *unstructured.Unstructured, gone bool) (bool, error) {
		if obj.GetName() != t.Name {
			return false, nil
		}
		if last = obj; gone {
			last = nil
		}
		if !synced {
			return false, nil
		}
		return look()
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
		_, _, how := g.met(last)
		return w.vain("%s: timed out after %s waiting for %s: %s", about, w.timeout, g, output.Plain(how))
	}
	return err
}
