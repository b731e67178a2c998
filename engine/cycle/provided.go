package cycle

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/provision"
	"github.com/orkspace/orkestra/engine/value"
)

// calling calls drivers outside of a cycle, which has no slot to leave.
type calling struct {
	next   Callers
	memory provision.Memory
}

// Call implements pipeline.Providers.
func (c *calling) Call(ctx context.Context, call *provision.Call) (provision.Answer, error) {
	return c.next.CallProvider(ctx, call)
}

// Memory implements pipeline.Providers.
func (c *calling) Memory() *provision.Memory { return &c.memory }

// TakeBack implements release.Provided: the box goes, with all that its resources have made. What can't be deleted is left where people have
// asked for that, and an event names it.
func (r *Reconciler) TakeBack(ctx context.Context, resource *unstructured.Unstructured) (done bool, err error) {
	if value.Annotation(resource, v1alpha1.AnnotationProviders) == "" {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	reading := r.Observer.For(client.ObjectKeyFromObject(resource))
	plan := r.Plan()
	run := plan.NewRun(resource, r.Clock.Now(), pipeline.Ports{
		Inventory: r.Inventory, Marker: r.Writer, Kinds: r.Kinds, Observer: reading, Access: reading,
		Providers: &calling{next: r.Caller}, Tokens: r.Tokens,
	})
	done, err = run.Undo(ctx)
	for _, e := range run.Events {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		log.FromContext(ctx).Info("What a provider has made", "resource", resource.GetName(), "event", e.Message)
		if r.Events != nil {
			r.Events.Eventf(run.Stored, nil, kind, e.Reason, "Release", "%s", e.Message)
		}
	}
	return done, err
}
