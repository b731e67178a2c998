package apply

import (
	"context"
	"errors"
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// DryRun asks the API server what it would answer to writes. Nothing is stored, neither there nor in the cache. It runs the code of
// Writer with another client and cache, and so sends nothing where a Writer would send nothing.
type DryRun struct{ writer *Writer }

// DryRun gives a dry run of the writer.
func (w *Writer) DryRun() *DryRun {
	client := *w.client
	client.dryRun = []string{metav1.DryRunAll}
	return &DryRun{writer: &Writer{Lives: w.Lives, store: store{client: &client, cache: unchanged{w.cache}}, comparer: w.comparer, normal: w.normal}}
}

// isDry says that nothing is stored.
func (c *Client) isDry() bool { return len(c.dryRun) > 0 }

// unchanged is a cache that is not told of writes: they did not happen.
type unchanged struct{ Cache }

// Wrote does nothing.
func (unchanged) Wrote(schema.GroupVersionKind, *unstructured.Unstructured) {}

// Gone does nothing.
func (unchanged) Gone(schema.GroupVersionKind, *unstructured.Unstructured) {}

// Apply asks for a child. Nothing is done, so the action is None, or Terminating.
func (d *DryRun) Apply(ctx context.Context, owner Owner, child Child) (Outcome, error) {
	out, err := d.writer.Apply(ctx, owner, child)
	return asked(out, child.Object, err)
}

// Keep asks for a living child that is made once.
func (d *DryRun) Keep(ctx context.Context, owner Owner, child Child, live *unstructured.Unstructured) (Outcome, error) {
	out, err := d.writer.Keep(ctx, owner, child, live)
	return asked(out, live, err)
}

// Expire does nothing: a Job that has completed may always go.
func (*DryRun) Expire(_ context.Context, job *unstructured.Unstructured, _ int64) (Outcome, error) {
	return Outcome{Action: None, Object: job}, nil
}

// Delete asks for the deletion of a child.
func (d *DryRun) Delete(ctx context.Context, child *unstructured.Unstructured) error {
	return d.writer.Delete(ctx, child)
}

// Orphan does nothing: labels of ours can always be taken off.
func (*DryRun) Orphan(context.Context, Owner, *unstructured.Unstructured) error { return nil }

// Mark gives the resource as it would be, and asks nobody: marks are written whatever a dry run comes to.
func (*DryRun) Mark(_ context.Context, resource *unstructured.Unstructured, marks Marks) (*unstructured.Unstructured, error) {
	marked := resource.DeepCopy()
	annotations := marked.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, marks.Annotations)
	marked.SetAnnotations(annotations)
	return marked, nil
}

// Finish does nothing.
func (*DryRun) Finish(context.Context, *unstructured.Unstructured, []string) error { return nil }

// Gone asks nobody: the resource is taken for one that is there.
func (*DryRun) Gone(context.Context, *unstructured.Unstructured) (bool, error) { return false, nil }

// asked gives the outcome of a dry run: that nothing was done, or the refusal. A question that could not be asked is no refusal.
func asked(out Outcome, obj *unstructured.Unstructured, err error) (Outcome, error) {
	if err != nil && !unasked(err) {
		return Outcome{}, err
	}
	switch {
	case err != nil, out.Object == nil:
		return Outcome{Action: None, Object: obj}, nil //nolint:nilerr // nobody could be asked
	case out.Action == Terminating:
		return out, nil
	default:
		return Outcome{Action: None, Object: out.Object}, nil
	}
}

// unasked says whether an error comes from the dry run alone, and a real write could succeed: an earlier child of the same cycle would
// have made the namespace or the kind, or a webhook has side effects, so that the API server does not call it in a dry run.
func unasked(err error) bool {
	var answer apierrors.APIStatus
	switch {
	case meta.IsNoMatchError(err):
		return true
	case !errors.As(err, &answer):
		return false
	case apierrors.IsNotFound(err):
		details := answer.Status().Details
		return details != nil && details.Kind == "namespaces"
	default:
		return apierrors.IsBadRequest(err) && strings.Contains(answer.Status().Message, "does not support dry run")
	}
}
