// Package drain is the command that has Orkestra let go of everything before an uninstall.
package drain

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/arguments"
	"github.com/orkspace/orkestra/cmd/orkestra/cluster"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	draining "github.com/orkspace/orkestra/controllers/drain"
)

const long = `Have Orkestra let go of everything, so that nothing is stranded when it is uninstalled.

The manager takes its finalizer and its marks off all resources and boxes, finishes the deletions that are under way, and takes
hold of nothing any more. Children stay as they are, and so do resources, boxes and CRDs. The command waits until no resource
and no box is held, and prints how far that is.

What is asked for stands in the annotation ` + v1alpha1.AnnotationDrain + ` of the Lease ` + draining.LeaseName + ` in the
manager's namespace. --undo takes it off again: the manager marks the resources again, and their children are not touched.
Installing Orkestra again, with a ServiceAccount that is made anew, does so too.

--force does without a manager: it takes the finalizers off all resources of all boxes, and off the boxes, with the rights of
the caller. Deletions that are under way then end without onDelete. It refuses while a manager leads that was not drained: that
one would put the finalizers back.

The exit code is 0 when nothing is held any more, 1 when something is, and 2 for wrong use.`

const example = `  # Before an uninstall; the chart's hook does this by itself
  orkestra drain

  # Go on instead
  orkestra drain --undo

  # The manager is gone already, and has left finalizers
  orkestra drain --force`

// flags are those of `orkestra drain`.
type flags struct {
	server      cluster.Flags
	namespace   string
	timeout     time.Duration
	force, undo bool
}

// NewCommand makes the command.
func NewCommand() *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:     "drain",
		Short:   "Let go of all resources and boxes before an uninstall",
		Long:    long,
		Example: example,
		Args:    arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.server.Kubeconfig, "kubeconfig", "", "where the API server is; default: KUBECONFIG, else the default kubeconfig, else in-cluster")
	fs.StringVar(&f.server.Context, "context", "", "context of the kubeconfig")
	fs.StringVarP(&f.namespace, "namespace", "n", "", "the manager's namespace; default: POD_NAMESPACE, else orkestra-system")
	fs.DurationVar(&f.timeout, "timeout", 5*time.Minute, "how long to wait; 0: for ever")
	fs.BoolVar(&f.force, "force", false, "take the finalizers off without a manager")
	fs.BoolVar(&f.undo, "undo", false, "have the manager go on")
	cmd.MarkFlagsMutuallyExclusive("force", "undo")
	return cmd
}

func (f *flags) run(ctx context.Context, out io.Writer) error {
	if f.timeout < 0 {
		return fmt.Errorf("--timeout %s: wanted a duration such as 5m, or 0", f.timeout)
	}
	d, err := f.drainer(out)
	if err != nil {
		return exit.Failure(err)
	}
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.timeout)
		defer cancel()
	}
	do := d.drain
	switch {
	case f.undo:
		do = d.undo
	case f.force:
		do = d.force
	}
	if err := do(ctx); err != nil {
		return exit.Failure(err)
	}
	return nil
}

// drainer drains one installation.
type drainer struct {
	config *rest.Config // of the client
	client client.Client
	lease  types.NamespacedName
	out    io.Writer
	said   map[string]string // what was last printed, by what it was about
}

func (f *flags) drainer(out io.Writer) (*drainer, error) {
	c, config, err := f.server.Client()
	if err != nil {
		return nil, err
	}
	return &drainer{
		config: config, client: c, out: out, said: map[string]string{},
		lease: types.NamespacedName{Namespace: cluster.ManagerNamespace(f.namespace), Name: draining.LeaseName},
	}, nil
}

// say prints what is new about something.
func (d *drainer) say(about, what string) {
	if d.said[about] == what {
		return
	}
	d.said[about] = what
	_, _ = fmt.Fprintf(d.out, "%s: %s\n", about, what) // what can't be printed is no reason to stop
}

// boxes gives all boxes; installed is false where the cluster does not know the kind.
func (d *drainer) boxes(ctx context.Context) (boxes []v1alpha1.OperatorBox, installed bool, err error) {
	var list v1alpha1.OperatorBoxList
	err = d.client.List(ctx, &list)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		_, _ = fmt.Fprintln(d.out, "The cluster has no OperatorBoxes: there is nothing to let go of.")
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("listing OperatorBoxes: %w", err)
	}
	return list.Items, true, nil
}

// undo takes the annotation off the Lease.
func (d *drainer) undo(ctx context.Context) error {
	lease, err := d.readLease(ctx)
	if err != nil {
		return err
	}
	if _, asked := lease.Annotations[v1alpha1.AnnotationDrain]; !asked {
		_, _ = fmt.Fprintf(d.out, "Lease %q asks for no drain: there is nothing to undo.\n", d.lease)
		return nil
	}
	if err := d.annotate(ctx, nil); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(d.out, "A manager goes on: it marks the resources again.")
	return nil
}

// readLease gives an empty Lease where there is none.
func (d *drainer) readLease(ctx context.Context) (*coordinationv1.Lease, error) {
	lease := &coordinationv1.Lease{}
	if err := d.client.Get(ctx, d.lease, lease); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading Lease %q: %w", d.lease, err)
	}
	return lease, nil
}

// annotate asks for a drain, or with nil for none. Managers without leader election have no Lease; then it is made.
func (d *drainer) annotate(ctx context.Context, value any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationDrain: value}}})
	if err != nil {
		return fmt.Errorf("encoding an annotation: %w", err)
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: d.lease.Namespace, Name: d.lease.Name}}
	err = d.client.Patch(ctx, lease, client.RawPatch(types.MergePatchType, patch))
	if apierrors.IsNotFound(err) && value != nil {
		lease.Annotations = map[string]string{v1alpha1.AnnotationDrain: v1alpha1.True}
		err = d.client.Create(ctx, lease)
		if apierrors.IsAlreadyExists(err) {
			return d.annotate(ctx, value)
		}
	}
	if err != nil {
		return fmt.Errorf("annotating Lease %q (is -n the manager's namespace?): %w", d.lease, err)
	}
	return nil
}
