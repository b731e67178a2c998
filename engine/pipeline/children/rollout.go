package children

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/rollout"
	"github.com/orkspace/orkestra/engine/pipeline/settle"
)

// rollouts are what a cycle knows of loops whose items are changed in turn.
type rollouts struct {
	cycle  *Cycle
	wanted map[*declare.Declaration]int // how many items act in this cycle
	behind map[*declare.Declaration]int // how many items this cycle has not made or changed, though they are declared: they come before those that leave
	// again is how many items this cycle has deleted, to make them again. They stay out of service when they are gone.
	again map[*declare.Declaration]int
	going map[types.UID]bool // children that this cycle has deleted, which the cache may not show yet
}

func newRollouts(c *Cycle) rollouts {
	none := func() map[*declare.Declaration]int { return map[*declare.Declaration]int{} }
	return rollouts{cycle: c, wanted: none(), behind: none(), again: none(), going: map[types.UID]bool{}}
}

// asked is a child that is to be made, changed or deleted.
type asked struct {
	id     string                     // of the item that it is made for; "" where it is not known
	live   *unstructured.Unstructured // nil: it is to be made
	change bool
}

// turns decides which of the children of a loop have their turn, and gives what the others wait for. first is how many items come before them.
func (r rollouts) turns(ctx context.Context, d *declare.Declaration, all []asked, first int) (may []int, behind rollout.InTheWay, err error) {
	c := r.cycle
	if behind.Most, err = rollout.Most(ctx, d, c.Data(d.UsesChildren), r.wanted[d]); err != nil {
		return nil, behind, err
	}
	items, busy, at := make([]rollout.Item, len(all)), first+r.again[d], map[string]int{}
	for i, a := range all {
		if items[i].Change = a.change; a.live != nil {
			at[string(a.live.GetUID())] = i
		}
		if a.id != "" {
			at[a.id] = i // what its name or kind changes from counts as the item, too
		}
	}
	byID := map[*declare.Declaration]map[string]Instance{}
	for _, child := range c.Living.Find(InstanceOf(d)) {
		i, isAsked := at[string(child.GetUID())]
		if !isAsked {
			i, isAsked = at[IDOf(child)]
		}
		_, why, err := c.Living.StateOf(ctx, d, child, byID)
		switch {
		case err != nil:
			return nil, behind, fmt.Errorf("%s %q: %w", child.GetKind(), c.ChildName(child), err)
		case child.GetDeletionTimestamp() != nil || r.going[child.GetUID()]:
			why = "it is being deleted" + settle.HeldBy(child)
		case !isAsked && c.Plan.Rollback != nil && !c.Succeeded && r.leaves(d, child):
			why = "" // it stays while others wait (mayGoBack), so they can't wait for it to go
		case d.ReadyWhen.ReadsMore() && (isAsked && all[i].change || r.leaves(d, child)):
			_, why = settle.Why(d, child) // what is declared now is asked of it when it has that, and of what leaves never
		default:
		}
		if isAsked {
			items[i].Current = why == "" && (items[i].Current || !items[i].There) // of several objects, each counts
			items[i].There = true
		} else if why != "" {
			busy++
		}
		if why != "" && behind.ID == "" {
			behind.ID, behind.What, behind.Why = IDOf(child), fmt.Sprintf("%s %q", child.GetKind(), c.ChildName(child)), why
		}
	}
	if behind.ID == "" {
		behind.What = "those that are made and changed before them"
	}
	return rollout.Next(items, busy, behind.Most, d.Rollout.Descending), behind, nil
}

// inTurn parts what is about to be written into what may be written now and the items that wait for their turn. What others have changed is put
// back at once. The dry run makes nothing that could get current.
func (r rollouts) inTurn(ctx context.Context, writes []*pending) (now, later []*pending, err error) {
	c := r.cycle
	loops := map[*declare.Declaration][]*pending{}
	var order []*declare.Declaration
	for _, w := range writes {
		d := w.in.Declaration
		switch {
		case d.Rollout == nil || c.Probing:
			now = append(now, w)
			continue
		case loops[d] == nil:
			order = append(order, d)
		default:
		}
		loops[d] = append(loops[d], w)
	}
	for _, d := range order {
		all := make([]asked, 0, len(loops[d]))
		for _, w := range loops[d] {
			live := c.Living.at(keyOf(w.child.Object))
			all = append(all, asked{id: w.in.ID, live: live, change: live == nil || !c.Owner.Wrote(w.child, live)})
		}
		r.wanted[d] = max(r.wanted[d], len(all))
		may, behind, err := r.turns(ctx, d, all, 0)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", InstanceOf(d).Label(ctx, c), err)
		}
		for i, w := range loops[d] {
			if w.behind = behind; !all[i].change || slices.Contains(may, i) {
				now = append(now, w)
			} else {
				later = append(later, w)
			}
		}
	}
	return now, later, nil
}

// awaitTurn notes items that have no turn in this cycle: their children stay as they are.
func (r rollouts) awaitTurn(ctx context.Context, later []*pending) {
	c, waiting := r.cycle, map[*declare.Declaration]int{}
	for _, w := range later {
		c.applied.hold(w.in)
		r.behind[w.in.Declaration]++ // one that is not current has its turn at once
		waiting[w.in.Declaration]++
	}
	for _, w := range later {
		d := w.in.Declaration
		if n := waiting[d]; n > 0 && !d.Optional {
			c.Wait(w.behind.ID, v1alpha1.ReasonRollingOut, w.behind.Message(InstanceOf(d).Label(ctx, c), n))
			c.Incomplete = c.Incomplete || d.Phase == declare.OnCreate
		}
		delete(waiting, d)
	}
}

// cannotBeMade notes an item that something else holds back. What leaves serves in its place.
func (r rollouts) cannotBeMade(in Instance) {
	if in.Rollout != nil && !in.Optional && len(r.cycle.Living.Find(in)) == 0 {
		r.behind[in.Declaration]++
	}
}

// leaves says whether no item of a loop stands for a child any more.
func (r rollouts) leaves(d *declare.Declaration, child *unstructured.Unstructured) bool {
	return r.cycle.applied.expanded[d] && !r.cycle.covers(child)
}

// goInTurn gives those of the children that are to be deleted whose turn it is, in the order of their loops.
func (r rollouts) goInTurn(ctx context.Context, going []*unstructured.Unstructured) (now []*unstructured.Unstructured, err error) {
	c := r.cycle
	loops := map[*declare.Declaration][]asked{}
	for _, child := range going {
		d := c.Declared.Of(IDOf(child))
		if d == nil || d.Rollout == nil {
			now = append(now, child)
			continue
		}
		loops[d] = append(loops[d], asked{live: child, change: child.GetDeletionTimestamp() == nil && !r.going[child.GetUID()]})
	}
	for _, d := range c.Declared.Live {
		all := loops[d]
		byID := func(a, b asked) int { return rollout.ByKey(IDOf(a.live), IDOf(b.live)) }
		slices.SortStableFunc(all, byID)
		items := slices.CompactFunc(slices.Clone(all), func(a, b asked) bool { return byID(a, b) == 0 }) // while its name changes, one has several objects
		if len(all) == 0 {
			continue
		}
		r.wanted[d] = cmp.Or(r.wanted[d], r.behind[d], len(items)) // a percentage is of what leaves where nothing is declared
		may, behind, err := r.turns(ctx, d, all, r.behind[d])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", InstanceOf(d).Label(ctx, c), err)
		}
		waiting := -len(may)
		for i, a := range all {
			if a.change {
				waiting++
			}
			if slices.Contains(may, i) {
				now = append(now, a.live)
			}
		}
		if len(may) == 0 && waiting > 0 {
			c.Wait(behind.ID, v1alpha1.ReasonRollingOut, behind.Message(InstanceOf(d).Label(ctx, c), waiting))
		}
	}
	return now, nil
}

// outOfService gives those of the children that leave a loop that serve nothing.
func (r rollouts) outOfService(ctx context.Context, d *declare.Declaration, leaving []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	all := make([]asked, 0, len(leaving))
	for _, child := range leaving {
		all = append(all, asked{live: child, change: child.GetDeletionTimestamp() == nil})
	}
	may, _, err := r.turns(ctx, d, all, math.MaxInt32) // so many come first that what serves has no turn
	if err != nil {
		return nil, fmt.Errorf("%s: %w", InstanceOf(d).Label(ctx, r.cycle), err)
	}
	broken := make([]*unstructured.Unstructured, 0, len(may))
	for _, i := range may {
		broken = append(broken, leaving[i])
	}
	return broken, nil
}

// Behind says what the items of a loop that are not there yet wait for; "" where one may be made.
func (l *Living) Behind(ctx context.Context, d *declare.Declaration, wanted int) (string, error) {
	if d.Rollout == nil {
		return "", nil
	}
	r := l.cycle.rolling
	r.wanted[d] = wanted
	may, behind, err := r.turns(ctx, d, []asked{{change: true}}, 0)
	if err != nil || len(may) > 0 {
		return "", err
	}
	return behind.Reason(), nil
}
