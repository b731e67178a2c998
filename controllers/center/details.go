package center

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/view"
)

// Graph says what depends on what of all that a box declares.
func (c *Center) Graph(ctx context.Context, name string) (*api.Graph, error) {
	box, err := c.boxNamed(ctx, name)
	if err != nil {
		return nil, err
	}
	plan, err := c.Plan(ctx, box)
	if err != nil {
		//nolint:nilerr // the page of a box that can't be compiled has more to say than this
		return &api.Graph{Nodes: []api.GraphNode{}, Edges: []api.GraphEdge{}, Notes: []string{"What the box declares is not known: " + err.Error()}}, nil
	}
	return view.Graph(plan.Outline().Graph(), plan.Revision), nil
}

// Dependencies are the boxes that one waits for, and those that wait for it, of those that the person may read.
func (c *Center) Dependencies(ctx context.Context, name string) (*api.Dependencies, error) {
	if _, err := c.boxNamed(ctx, name); err != nil {
		return nil, err
	}
	var notes []string
	var boxes v1alpha1.OperatorBoxList
	if err := c.Own.List(ctx, &boxes); err != nil {
		notes = append(notes, "Other boxes are not known: "+err.Error())
	}
	healths, err := c.healths(ctx)
	if err != nil {
		notes = append(notes, "How boxes fare is not known: "+err.Error())
	}
	out := view.Dependencies(name, boxes.Items, healths)
	out.Notes = notes
	return out, nil
}

// maxReviews is how many rights are asked for, for one page.
const maxReviews = 400

// NeededRights says what a box needs to be allowed, and what of it is missing.
func (c *Center) NeededRights(ctx context.Context, name string) (*api.Rights, error) {
	box, err := c.boxNamed(ctx, name)
	if err != nil {
		return nil, err
	}
	account := identity.Of(box)
	needed := access.Rights(box.Status.RequiredRules)
	var notes []string
	answers := make(map[access.Right]bool, len(needed))
	for n, right := range needed {
		if n == maxReviews {
			notes = append(notes, fmt.Sprintf("Only the first %d rights were asked for, of %d", maxReviews, len(needed)))
			break
		}
		granted, err := c.Granted(ctx, account, name, right)
		if err != nil {
			notes = append(notes, "What is missing is not known: "+err.Error())
			break
		}
		answers[right] = granted
	}
	out := view.Rights(needed, func(right access.Right) (granted, known bool) {
		granted, known = answers[right]
		return granted, known
	})
	if !account.IsManager() {
		out.Account = account.Namespace + "/" + account.Name
	}
	if out.Missing > 0 {
		notes = append(notes, access.HowToGrant(access.Missing{Account: account, Box: name, AsManager: account.IsManager()}))
	}
	out.Notes = notes
	return out, nil
}

// Difference says what differs between two kept revisions of a box; to is empty for the spec of today.
func (c *Center) Difference(ctx context.Context, name, from, to string) (*api.Difference, error) {
	box, err := c.boxNamed(ctx, name)
	if err != nil {
		return nil, err
	}
	kept, err := c.Revisions(ctx, name)
	if err != nil {
		return nil, err
	}
	data := func(revision string) ([]byte, error) {
		for i := range kept {
			if kept[i].Name == revision {
				return kept[i].Data.Raw, nil
			}
		}
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: "apps", Resource: "controllerrevisions"}, revision)
	}
	before, err := data(from)
	if err != nil {
		return nil, err
	}
	after, err := boxspec.Data(box)
	if to != "" {
		after, err = data(to)
	}
	if err != nil {
		return nil, err
	}
	return view.Difference(from, to, before, after)
}

// advise adds to the page of a box what to do about the reason for which it is not well.
func advise(out *api.BoxDetail, box *v1alpha1.OperatorBox) {
	out.Todo, out.Page = view.BoxAdvice(out.Reason, out.Message != "" && slices.ContainsFunc(out.DependsOn, func(d api.Dependency) bool { return !d.Met }))
	if out.Reason != v1alpha1.ReasonForbidden {
		return
	}
	if account := identity.Of(box); account.IsManager() || strings.Contains(out.Message, access.Lacks(access.Missing{Account: account})) {
		out.Todo = grant(box)
	}
}

// grant says how the rights are granted that the account of a box lacks, or the manager in the place of one, with the whole command: messages are cut.
func grant(box *v1alpha1.OperatorBox) string {
	account := identity.Of(box)
	return "Grant the rights that are missing: " + access.HowToGrant(access.Missing{Account: account, Box: box.Name, AsManager: account.IsManager()}) + "."
}
