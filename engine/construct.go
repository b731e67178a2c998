package engine

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/constructor"
	"github.com/orkspace/orkestra/engine/discovery"
	"github.com/orkspace/orkestra/engine/value"
)

// newCode gives the code of a box with a constructor; nil where it has none. Without its account, a box could only run the code as the manager, and
// does not.
func newCode(b *box, sending *rest.Config) (*constructor.Code, error) {
	plan, e := b.plan.Load(), b.engine
	if plan.Constructor == nil || plan.AccountProblem.Reason != "" {
		return nil, nil //nolint:nilnil // there is none
	}
	return constructor.New(constructor.Config{
		Box: b.name, Code: plan.Constructor, Kind: plan.CRD.Kind, Namespaced: plan.CRD.Namespaced, Resources: b.resources, Objects: e.writable, Rights: b.observer,
		REST: sending, HTTP: b.clients.http, Mapper: discovery.MapperOf(plan.CRD, e.config.Mapper), Scheme: e.config.Code.Scheme(), Recorder: b.clients.events,
		Log: b.log, Timeout: RequestTimeout, Panicked: b.panicked,
	})
}

// construct calls the constructor of the box, if it has one, and says whether there is anything to work with: it is false where ctx ends first. What
// fails is shown on the box, whose status sends an event, on its health, and in the log.
func construct(ctx context.Context, b *box) bool {
	if b.clients.constructed == nil {
		return true
	}
	config := b.engine.config
	failed := func(err error) {
		b.log.Error(value.Loggable(err), "Constructor failed")
		b.setProblem(v1alpha1.ReasonConstructorFailed, err)
		config.Notifier.BoxChanged(b.name)
		config.Notifier.HealthChanged(b.name, true)
		b.turn.Begun() // boxes that come after this one do not wait for it
	}
	made := b.clients.constructed.Construct(ctx, constructor.Making{
		Clock: config.Clock, Limit: config.ReconcileTimeout, Most: func() time.Duration { return b.plan.Load().Runtime.Resync }, Failed: failed,
	})
	if made {
		b.setProblem("", nil)
	}
	return made
}

// codeChanged queues the resources that control an object which changed, in the boxes whose code lists its kind.
func codeChanged(boxes []*box, kind schema.GroupVersionKind, objects ...*unstructured.Unstructured) {
	for _, b := range boxes {
		code := b.clients.constructed
		if code == nil || !code.Lists(kind) {
			continue
		}
		for _, one := range objects {
			if key, controlled := code.OwnerOf(one); controlled {
				b.cycles.Wake(key)
			}
		}
	}
}
