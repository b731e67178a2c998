package operatorbox

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
)

// Claims says which box runs a CRD: the one that claimed it first, until it is deleted or names another. The claims of a
// former process are read from CRDHealth. It is safe for concurrent use.
type Claims struct {
	client client.Client
	clock  clock.PassiveClock
	mu     sync.Mutex
	held   map[string]claim // by CRD; guarded by mu
}

type claim struct {
	box   string
	since time.Time
}

// NewClaims gives a store without claims.
func NewClaims(c client.Client, clk clock.PassiveClock) *Claims {
	return &Claims{client: c, clock: clk, held: map[string]claim{}}
}

// Take claims a CRD for a box, and gives the name of the box that holds it.
func (c *Claims) Take(ctx context.Context, box *v1alpha1.OperatorBox, crd string) (holder string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if held, ok := c.held[crd]; ok {
		return held.box, nil
	}
	first, err := c.first(ctx, box, crd)
	if err != nil {
		return "", err
	}
	c.held[crd] = first
	return first.box, nil
}

// first finds who may claim a CRD that nobody holds: the box that held it when the last process ended, else the oldest box.
func (c *Claims) first(ctx context.Context, box *v1alpha1.OperatorBox, crd string) (claim, error) {
	var boxes v1alpha1.OperatorBoxList
	if err := c.client.List(ctx, &boxes); err != nil {
		return claim{}, fmt.Errorf("listing boxes: %w", err)
	}
	var healths v1alpha1.CRDHealthList
	if err := c.client.List(ctx, &healths); err != nil {
		return claim{}, fmt.Errorf("listing CRDHealths: %w", err)
	}
	claimed := map[string]time.Time{}
	for i := range healths.Items {
		if at := healths.Items[i].Status.ClaimedAt; at != nil && healths.Items[i].Spec.CRD.Name == crd {
			claimed[healths.Items[i].Name] = at.Time
		}
	}
	candidates := slices.DeleteFunc(boxes.Items, func(b v1alpha1.OperatorBox) bool {
		// A box that is being deleted claims nothing new. A claim that it has it keeps until its resources are let go.
		_, holds := claimed[b.Name]
		return crds.NameOf(&b) != crd || b.DeletionTimestamp != nil && (!holds || !controllerutil.ContainsFinalizer(&b, v1alpha1.Finalizer))
	})
	if len(candidates) == 0 {
		candidates = append(candidates, *box)
	}
	slices.SortFunc(candidates, func(a, b v1alpha1.OperatorBox) int {
		atA, okA := claimed[a.Name]
		atB, okB := claimed[b.Name]
		if okA != okB {
			return map[bool]int{true: -1, false: 1}[okA]
		}
		return cmp.Or(atA.Compare(atB), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	winner := candidates[0].Name
	since, known := claimed[winner]
	if !known {
		since = c.clock.Now()
	}
	return claim{box: winner, since: since}, nil
}

// Since says when a box claimed its CRD; zero: it holds none. One that is about to give up another holds two for a moment:
// its CRD is the one that it claimed last.
func (c *Claims) Since(box string) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	var last time.Time
	for _, held := range c.held {
		if held.box == box && held.since.After(last) {
			last = held.since
		}
	}
	return last
}

// Holder is the box that holds a CRD, or "".
func (c *Claims) Holder(crd string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held[crd].box
}

// Release gives up what a box holds, and names the CRDs that are free then.
func (c *Claims) Release(box string) []string { return c.Keep(box, "") }

// Keep gives up what a box holds beside one CRD, and names the CRDs that are free then.
func (c *Claims) Keep(box, only string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var freed []string
	for _, crd := range slices.Sorted(maps.Keys(c.held)) {
		if c.held[crd].box == box && crd != only {
			delete(c.held, crd)
			freed = append(freed, crd)
		}
	}
	return freed
}
