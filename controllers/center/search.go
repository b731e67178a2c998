package center

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/rows"
)

// Search gives the resources of all boxes in which a text is found, as far as the person may see them.
func (c *Center) Search(ctx context.Context, q rows.Search) (*api.Found, error) {
	var boxes v1alpha1.OperatorBoxList
	if err := c.Own.List(ctx, &boxes); err != nil {
		return nil, fmt.Errorf("listing OperatorBoxes: %w", err)
	}
	var all []rows.Match
	var notes []string
	var left unsearched
	slices.SortFunc(boxes.Items, func(a, b v1alpha1.OperatorBox) int { return strings.Compare(a.Name, b.Name) })
	for i := range boxes.Items {
		box := &boxes.Items[i]
		if _, err := KindOf(box); err != nil {
			continue // it has no resources
		}
		found, said, err := c.Find(ctx, box, strings.ToLower(q.Text))
		if ctx.Err() != nil {
			return nil, fmt.Errorf("searching the resources of OperatorBox %q: %w", box.Name, ctx.Err())
		}
		left.note(box.Name, err)
		all = append(all, found...)
		notes = append(notes, said...)
	}
	out := rows.Merge(all, q)
	slices.Sort(notes)
	out.Notes = append(slices.Compact(notes), left.notes()...)
	return out, nil
}

// unsearched are the boxes that a search has left out.
type unsearched struct {
	boxes int
	first string // and why
}

func (u *unsearched) note(box string, err error) {
	if err == nil {
		return
	}
	if u.boxes++; u.boxes == 1 {
		u.first = fmt.Sprintf("%s: %v", box, err)
	}
}

func (u *unsearched) notes() []string {
	switch u.boxes {
	case 0:
		return nil
	case 1:
		return []string{"The resources of one box are not searched, " + u.first}
	default:
		return []string{fmt.Sprintf("The resources of %d boxes are not searched; the first one is %s", u.boxes, u.first)}
	}
}
