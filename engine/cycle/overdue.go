package cycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// overdueGrace is how long a part of a cycle may take to end once its deadline is over: what heeds its context needs a moment.
const overdueGrace = 5 * time.Second

// tellOverdue sends an event about the resource where a part of a cycle goes on after the deadline of ctx: until it ends, nothing else tells of the
// resource. The caller calls ended when it has ended.
func (c *cycle) tellOverdue(ctx context.Context) (ended func()) {
	about, over, told := c.stored, make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(told)
		if about == nil || c.Events == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return // it is gone, or the process stops
		}
		grace := time.NewTimer(overdueGrace)
		defer grace.Stop()
		select {
		case <-over:
		case <-grace.C:
			c.Events.Eventf(about, nil, corev1.EventTypeWarning, v1alpha1.ReasonOverdue, "Reconcile", "%s", fmt.Sprintf(
				"its reconcile is past the deadline of %s and does not end: what runs in it does not heed its context. It keeps a worker of box %s until it does, or the manager is restarted", c.Timeout, c.Box))
		}
	})
	return func() {
		close(over)
		if !stop() {
			<-told
		}
	}
}
