package engine

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/constructor"
	"github.com/orkspace/orkestra/engine/discovery"
)

// newCode gives the code of a box with a constructor; nil where it has none. Without its account, a box could only run the code as the manager, and
// does not.
func (b *box) newCode(sending *rest.Config) (*constructor.Code, error) {
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

// firstPause is the time to the second call of a constructor that has failed. It doubles up to the resync of the box.
const firstPause = time.Second

// construct calls the constructor of the box until it gives a reconciler, and says whether there is anything to work with: it is false where ctx
// ends first.
func (b *box) construct(ctx context.Context) bool {
	if b.code == nil {
		return true
	}
	clk := b.engine.config.Clock
	for pause := firstPause; ; pause = min(2*pause, b.plan.Load().Runtime.Resync) {
		err := b.make()
		if err == nil {
			b.setProblem("", nil)
			return true
		}
		b.constructorFailed(err)
		b.turn.Begun() // boxes that come after this one do not wait for it
		select {
		case <-clk.After(pause):
		case <-ctx.Done():
			return false
		}
	}
}

// make calls the constructor once. One that does not return is named as a problem of the box: it can't be ended.
func (b *box) make() error {
	limit := b.engine.config.ReconcileTimeout
	returned := make(chan struct{})
	b.working.Go(func() {
		select {
		case <-returned:
		case <-b.engine.config.Clock.After(limit):
			b.constructorFailed(fmt.Errorf("constructor %s has not returned within %s: nothing of this box is reconciled until it does, or the manager is restarted", b.plan.Load().Constructor.Name, limit))
		}
	})
	defer close(returned)
	return b.code.Make()
}

// constructorFailed says so on the health of the box, in an event, and in the log.
func (b *box) constructorFailed(err error) {
	b.log.Error(err, "Constructor failed")
	if b.engine.config.Events != nil {
		box := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: b.name, UID: b.plan.Load().UID}}
		b.engine.config.Events.Eventf(box, nil, corev1.EventTypeWarning, v1alpha1.ReasonConstructorFailed, "Construct", "%s", err)
	}
	b.setProblem(v1alpha1.ReasonConstructorFailed, err)
	b.engine.config.Notifier.BoxChanged(b.name)
	b.engine.config.Notifier.HealthChanged(b.name, true)
}
