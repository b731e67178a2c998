package watch

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/cache"

	"github.com/orkspace/orkestra/engine/packed"
	"github.com/orkspace/orkestra/engine/value"
)

// TestWhatACacheHoldsIsCounted: it is what the store has, whatever came and went.
func TestWhatACacheHoldsIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { cacheIsCounted(t, NewWithT(t)) })
}

func cacheIsCounted(t *testing.T, g *WithT) {
	t.Helper()
	tracked := &ages{all: map[string]func() (time.Duration, int64, int64){}}
	client := newClient(child("a", "one", "1", "u1"), child("a", "two", "1", "u1"))
	i := newInformer(Config{Client: client, Log: logr.Discard(), Gauges: tracked}, informerOptions{
		resource: cups, handler: (&ResourceEvents{}).handler(), trim: trimResource,
	})
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	i.start(ctx, &group)
	as := func(n int) {
		t.Helper()
		synctest.Wait()
		stored := i.shared.GetStore().List()
		var bytes int64
		for _, item := range stored {
			bytes += value.Size(item.(*packed.Object).Unpack().Object)
		}
		objects, counted := tracked.held(cups.GroupResource().String())
		g.Expect(stored).To(HaveLen(n))
		g.Expect(objects).To(BeEquivalentTo(n))
		g.Expect(counted).To(Equal(bytes))
	}
	as(2)
	create(t, client, child("a", "three", "2", "u1"))
	as(3)
	longer := child("a", "three", "3", "u1")
	longer.SetAnnotations(map[string]string{"a": "much longer than before"})
	update(t, client, longer)
	as(3)
	remove(t, client, child("a", "one", "1", "u1"))
	as(2)

	told := guarded{informer: i, next: cache.ResourceEventHandlerFuncs{}}
	gone := i.shared.GetStore().List()[0]
	before, _ := tracked.held(cups.GroupResource().String())
	told.OnDelete(cache.DeletedFinalStateUnknown{Obj: gone})
	after, _ := tracked.held(cups.GroupResource().String())
	g.Expect(after).To(Equal(before-1), "an end that was missed is one")
	cancel()
	group.Wait()
	g.Expect(tracked.all).To(BeEmpty(), "gone with the informer")
}
