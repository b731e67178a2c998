// Package claims knows which box runs a CRD.
package claims

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
)

// Store says which box runs a CRD: the one that claimed it first, until it is deleted or names another. The claims of a
// former process are read from CRDHealth. A kind of others is shared by the boxes that serve some of its objects, and is not claimed with
// them by one that would be its operator. It is safe for concurrent use.
type Store struct {
	client client.Client
	clock  clock.PassiveClock
	mu     sync.Mutex
	held   map[key]claim // guarded by mu
}

// key is what a claim is for: a CRD as a whole, or a share of it.
type key struct {
	crd   string
	share string // the box that shares it; empty: the whole
}

// keyOf is what a box claims of a CRD.
func keyOf(box *v1alpha1.OperatorBox, crd string) key {
	if crds.OthersName(box) == "" {
		return key{crd: crd}
	}
	return key{crd: crd, share: box.Name}
}

type claim struct {
	box   string
	since time.Time
}

// NewStore gives a store without claims.
func NewStore(c client.Client, clk clock.PassiveClock) *Store {
	return &Store{client: c, clock: clk, held: map[key]claim{}}
}

// Take claims a CRD for a box, and gives the name of the box that holds it.
func (c *Store) Take(ctx context.Context, box *v1alpha1.OperatorBox, crd string) (holder string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := keyOf(box, crd)
	if held, ok := c.held[own]; ok {
		return held.box, nil
	}
	if holder := c.inTheWay(own); holder != "" {
		return holder, nil
	}
	first, since, err := c.first(ctx, box, crd)
	if err != nil {
		return "", err
	}
	if theirs := keyOf(first, crd); own.share == "" || theirs.share == "" {
		c.held[theirs] = claim{box: first.Name, since: since(first.Name)}
		return first.Name, nil
	}
	c.held[own] = claim{box: box.Name, since: since(box.Name)}
	return box.Name, nil
}

// inTheWay names a box that holds the whole of which a share is wanted, or a share of what is wanted as a whole, the first by name; empty:
// there is none.
func (c *Store) inTheWay(wanted key) string {
	var holders []string
	for held, of := range c.held {
		if held.crd == wanted.crd && (held.share == "") != (wanted.share == "") {
			holders = append(holders, of.box)
		}
	}
	slices.Sort(holders)
	return strings.Join(holders[:min(1, len(holders))], "")
}

// first finds who may claim a CRD that nobody holds: the box that held it when the last process ended, else the oldest box. since says from
// when on a box has held it.
func (c *Store) first(ctx context.Context, box *v1alpha1.OperatorBox, crd string) (first *v1alpha1.OperatorBox, since func(box string) time.Time, err error) {
	var boxes v1alpha1.OperatorBoxList
	if err := c.client.List(ctx, &boxes, crds.Named(crd)); err != nil {
		return nil, nil, fmt.Errorf("listing boxes: %w", err)
	}
	var healths v1alpha1.CRDHealthList
	if err := c.client.List(ctx, &healths, client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, fmt.Errorf("listing CRDHealths: %w", err)
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
	return &candidates[0], func(box string) time.Time {
		if at, known := claimed[box]; known {
			return at
		}
		return c.clock.Now()
	}, nil
}

// Since says when a box claimed its CRD; zero: it holds none. One that is about to give up another holds two for a moment:
// its CRD is the one that it claimed last.
func (c *Store) Since(box string) time.Time {
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

// Holder is the box that holds a CRD as a whole, or "".
func (c *Store) Holder(crd string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held[key{crd: crd}].box
}

// Holds says whether a box holds a CRD, or a share of it.
func (c *Store) Holds(box, crd string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held[key{crd: crd}].box == box || c.held[key{crd: crd, share: box}].box == box
}

// Release gives up what a box holds, and names the CRDs that are free then.
func (c *Store) Release(box string) []string { return c.Keep(box, "") }

// Keep gives up what a box holds beside one CRD, and names the CRDs that are free then.
func (c *Store) Keep(box, only string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var freed []string
	for held, of := range c.held {
		if of.box == box && held.crd != only {
			delete(c.held, held)
			freed = append(freed, held.crd)
		}
	}
	slices.Sort(freed)
	return freed
}
