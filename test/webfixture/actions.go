package main

import (
	"context"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/engine/web"
	"github.com/orkspace/orkestra/engine/web/api"
)

var _ web.Actor = (*world)(nil)

const byGit = `OperatorBox "greetings": Argo CD manages this box (annotation argocd.argoproj.io/tracking-id: "apps:orkestra.orkspace.io/OperatorBox:orkestra-system/greetings"), ` +
	"and would take back what is written here, or show it as a difference: commit the change, or the revert, to the repository of the Application"

// BoxActions implements web.Actor: "greetings" is kept as it is in Git, "hostile" may be suspended, and says why not the rest.
func (*world) BoxActions(_ context.Context, box string) (*api.BoxActions, error) {
	out := &api.BoxActions{UID: "u-" + box, Actions: []api.Action{{Name: api.Suspend, May: true}, {Name: api.GoBack, May: true}}}
	switch box {
	case "greetings":
		out.Actions = []api.Action{{Name: api.Suspend, Why: byGit}, {Name: api.GoBack, Why: byGit}}
	case "hostile":
		out.Actions = append(out.Actions, api.Action{Name: api.Resume, Why: hostile})
	}
	return out, refusal(box)
}

// ResourceActions implements web.Actor: of "well" nothing may be done.
func (*world) ResourceActions(_ context.Context, _, _, name string) (*api.ResourceActions, error) {
	out := &api.ResourceActions{UID: "u-" + name}
	for _, action := range []api.ActionName{api.Release, api.Reconcile, api.Pause} {
		a := api.Action{Name: action, May: name != "well"}
		if !a.May {
			a.Why = `user "ada" may not ` + string(action) + ` websites.demo.example.com in the namespace "shop": a Role that allows the verb ` + string(action) + " on it, and patch, lets them"
		}
		out.Actions = append(out.Actions, a)
	}
	return out, refusal(name)
}

// FormerSpecs implements web.Actor.
func (w *world) FormerSpecs(_ context.Context, box string) (*api.FormerSpecs, error) {
	out := &api.FormerSpecs{Revisions: w.box(box).Revisions}
	if box == "hostile" {
		out.Revisions = append(out.Revisions, api.Revision{Name: strings.Repeat("n", 200), Number: 1, Created: w.ago(90 * day)})
	}
	return out, refusal(box)
}

// Return implements web.Actor: the oldest revision would be refused.
func (w *world) Return(ctx context.Context, box, revision string) (*api.Return, error) {
	differ, err := w.Difference(ctx, box, "", revision)
	if err != nil {
		return nil, err
	}
	out := &api.Return{Box: box, Revision: revision, UID: "u-" + box, Generation: 14, Changes: differ.Changes, More: differ.More, Patch: "spec:\n  workers: 3\n  onReconcile:\n    deployments:\n    - image: registry.example.com/checkout:1.4.2\n"}
	if revision == "websites-1a2b3" {
		out.Why = `OperatorBox "websites": the revision acts as another account (spec.serviceAccountRef): change the box by kubectl`
	}
	return out, nil
}

// ActOnBox implements web.Actor: "crowded" has changed meanwhile.
func (*world) ActOnBox(_ context.Context, box string, action api.ActionName, _ api.Order) (*api.Done, error) {
	if box == "crowded" {
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusConflict, Reason: metav1.StatusReasonConflict,
			Message: `OperatorBox "crowded" was deleted and made again since it was shown: look at it, and ask once more`,
		}}
	}
	return &api.Done{Action: action, Message: "It is suspended: its resources and children stay as they are; deletions are still served"}, refusal(box)
}

// ActOnResource implements web.Actor. It takes a while, so that what is shown meanwhile can be seen.
func (*world) ActOnResource(ctx context.Context, _, _, name string, action api.ActionName, _ api.Order) (*api.Done, error) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Second):
	}
	return &api.Done{Action: action, Message: "It is reconciled at once"}, refusal(name)
}
