package watch

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// mindInterval is how long an object that we wrote, and that was gone before the store had seen it, may go unnoticed.
const mindInterval = time.Second

// mind forgets entries that are superseded, also where nobody reads and no event comes, until the context ends. It tells of those
// that were lost.
func (o *overlay) mind(ctx context.Context, tell func(lost *unstructured.Unstructured)) {
	ticker := o.store.clock.NewTicker(mindInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			o.all()
			for _, obj := range o.takeLost() {
				tell(obj)
			}
		}
	}
}

func (o *overlay) takeLost() []*unstructured.Unstructured {
	o.mu.Lock()
	defer o.mu.Unlock()
	lost := o.lost
	o.lost = nil
	return lost
}
