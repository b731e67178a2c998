package declare

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/suggest"
)

// rings reports declarations that wait for each other's children, or for their own, by their gates, by after or by what their templates read:
// none of them would ever be made. A read that may be absent, or that is not made each time, waits for nobody.
func (c *compiler) rings(all []*Declaration) {
	needs, children := map[*Declaration][]*Declaration{}, childrenByName(all)
	for _, d := range all {
		needs[d] = slices.Clone(d.After)
		for name := range childNamesIn(append(d.Gate.Needs(), d.needs()...)) {
			// Of several, it is not known which one is meant.
			if meant := children[name]; len(meant) == 1 {
				needs[d] = append(needs[d], meant[0])
			}
		}
	}
	reported := map[*Declaration]bool{}
	for _, d := range all {
		ring := ringFrom(needs, d)
		if len(ring) == 0 || reported[d] {
			continue
		}
		names := make([]string, 0, len(ring))
		for _, member := range ring {
			reported[member] = true
			names = append(names, member.Label())
		}
		names = append(names, names[0])
		c.Fail(field.Invalid(field.NewPath(d.Where), strings.Join(names, " → "),
			"these wait for each other's children by `when`, `after` or what their templates read: none of them would ever be made; let one of them not wait, as with `default`"))
	}
}

// ringFrom gives the declarations from d back to d, each of which needs the next; nil where there is no way back.
func ringFrom(needs map[*Declaration][]*Declaration, d *Declaration) []*Declaration {
	seen := map[*Declaration]bool{}
	var walk func(at *Declaration) []*Declaration
	walk = func(at *Declaration) []*Declaration {
		for _, next := range needs[at] {
			if next == d {
				return []*Declaration{at}
			}
			if seen[next] {
				continue
			}
			seen[next] = true
			if rest := walk(next); rest != nil {
				return append([]*Declaration{at}, rest...)
			}
		}
		return nil
	}
	return walk(d)
}

// after finds the declarations that each one of a group comes after.
func (c *compiler) after(group []*Declaration) {
	byID := map[string]*Declaration{}
	var ids []string
	for _, d := range group {
		if d.Explicit {
			byID[d.ID] = d
			ids = append(ids, d.ID)
		}
	}
	for _, d := range group {
		at := field.NewPath(d.Where).Child("after")
		written := c.written[d].After
		if d.Phase == OnDelete && len(written) > 0 {
			c.Fail(field.Forbidden(at, "deletion.ordered puts what stands in onDelete in an order; remove after"))
			continue
		}
		for i, id := range written {
			other := byID[string(id)]
			switch where := at.Index(i); {
			case other == nil && id == HookID && c.hooked():
				c.Fail(field.Forbidden(where, "the hook runs before all declarations, or behind all of them (reconciler.hooks.runHooksFirst); with the first, wait for its children by a gate on children.hook"))
			case other == nil:
				c.Fail(field.Invalid(where, string(id), "no declaration that runs with this one has this id"+suggest.DidYouMean(string(id), ids)+"; give the one that is meant an `id`"))
			case d.Phase == OnCreate && other.Phase == OnReconcile:
				c.Fail(field.Invalid(where, string(id), fmt.Sprintf("%s stands in onReconcile, which runs after onCreate: move one of the two", other.Where)))
			case !slices.Contains(d.After, other):
				d.After = append(d.After, other)
			default:
			}
		}
	}
}
