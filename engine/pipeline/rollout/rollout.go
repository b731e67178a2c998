// Package rollout decides which items of a loop may be changed now, so that no more of them than wanted are out of service because of that.
// It sees how items are, and neither objects nor cycles.
package rollout

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// Item is how an item is, in the order of the loop.
type Item struct {
	// There says that its object exists.
	There bool
	// Current says that its object is current.
	Current bool
	// Change says that its object is to be made, changed or deleted.
	Change bool
}

// Next gives the places of the items that may be changed now, in the order in which they are. busy are other objects of the loop that are not
// current, and items that come before these. Changing what is not current puts nothing out of service, and is how a stuck item is mended: it is
// not held. What is missing comes next, from the first; then what is current, in the order of the rollout.
func Next(items []Item, busy, most int, descending bool) []int {
	var now, missing, current []int
	for i, it := range items {
		switch {
		case it.There && !it.Current:
			busy++
			if it.Change {
				now = append(now, i)
			}
		case !it.Change:
		case !it.There:
			missing = append(missing, i)
		default:
			current = append(current, i)
		}
	}
	if descending {
		slices.Reverse(current)
	}
	waiting := slices.Concat(missing, current)
	return append(now, waiting[:min(max(most-busy, 0), len(waiting))]...)
}

// Most is how many of n items may be out of service at a time: at least one.
func Most(ctx context.Context, d *declare.Declaration, data expr.Data, n int) (int, error) {
	const what = "forEach.rollout.maxUnavailable"
	most := d.Rollout.Most
	if t := d.Rollout.Template; t != nil {
		text, err := stage.Text(ctx, what, t, data)
		if err != nil {
			return 0, err
		}
		if most = intstr.Parse(text); !declare.MayRollOutBy(most) {
			got := ""
			if d.MayShow(t.Paths()) {
				got = fmt.Sprintf(", got %q", text)
			}
			return 0, stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("%s: %s%s", what, declare.WantedOfRollout, got))
		}
	}
	scaled, err := intstr.GetScaledValueFromIntOrPercent(&most, n, false)
	if err != nil {
		return 0, stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("%s: %w", what, err))
	}
	return max(scaled, 1), nil
}

// InTheWay is what the items of a loop wait for.
type InTheWay struct {
	// ID is the id of the child, What names it, and Why says why it is not current. Where nothing is out of service, What names items that
	// have not had their turn, without ID and Why.
	ID, What, Why string
	// Most is how many items may be out of service at a time.
	Most int
}

// Reason says what an item waits for.
func (w InTheWay) Reason() string {
	are := "are"
	if w.Most == 1 {
		are = "is"
	}
	what := w.What
	if w.Why != "" {
		what += ": " + w.Why
	}
	return fmt.Sprintf("%s (%d %s changed at a time)", what, w.Most, are)
}

// Message says how many items wait, and what for.
func (w InTheWay) Message(label string, waiting int) string {
	items := "items wait"
	if waiting == 1 {
		items = "item waits"
	}
	return fmt.Sprintf("%s: %d %s for %s", label, waiting, items, w.Reason())
}

// ByKey compares the ids of two items whose places in a loop are not known any more: as people sort, web-9 before web-10.
func ByKey(a, b string) int {
	spelt := cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) // web-1 before web-01
	for a != "" && b != "" {
		na, nb := digits(a), digits(b)
		if na > 0 && nb > 0 {
			x, y := strings.TrimLeft(a[:na], "0"), strings.TrimLeft(b[:nb], "0")
			if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
				return c
			}
			a, b = a[na:], b[nb:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), spelt)
}

// digits is how many digits a text begins with.
func digits(s string) int {
	if at := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }); at >= 0 {
		return at
	}
	return len(s)
}
