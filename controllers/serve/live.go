package serve

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/orkspace/orkestra/controllers/center"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/revision"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/person"
)

// What no informer has is listed when somebody looks. Whoever does must be allowed to list it: the answer is shared by all who may.
const (
	// keptLife is how long the revisions of a box are shown before they are listed again, and listTimeout how long a list may take.
	keptLife, listTimeout = 10 * time.Second, 10 * time.Second
	// maxRevised is of how many boxes they are kept.
	maxRevised = 50
)

// revisions lists those of a box, for a person who may list ControllerRevisions where the manager keeps them.
func (r *reader) revisions(ctx context.Context, box string) ([]appsv1.ControllerRevision, error) {
	want := person.Right{Verb: verbList, Group: appsv1.GroupName, Resource: "controllerrevisions", Namespace: r.source.Namespace}
	if err := r.allowed(ctx, want); err != nil {
		return nil, err
	}
	kept := revision.NewStore(nil, r.source.Live, r.source.Namespace) // it only reads
	return r.source.revisions.Get(ctx, box, func(ctx context.Context) ([]appsv1.ControllerRevision, time.Duration, error) {
		all, err := kept.List(ctx, box)
		return all, keptLife, err // what fails is not asked for more often than what does not
	})
}

// events lists those about some objects, for a person who may list events there.
func (r *reader) events(ctx context.Context, namespace string, about center.About) ([]api.Event, string, error) {
	if err := r.allowed(ctx, person.Right{Verb: verbList, Resource: "events", Namespace: center.EventNamespace(namespace)}); err != nil {
		return []api.Event{}, "", err
	}
	return r.source.events.Of(ctx, namespace, about)
}

// granted says whether the account of a box has a right, or the manager where it names none. Who may read the box may know: its conditions say what is
// missing, too.
func (s *Source) granted(ctx context.Context, account identity.Account, box string, right access.Right) (bool, error) {
	allowed, _, err := s.Reviews.Of(account, box).Reads(ctx, right)
	if err != nil {
		return false, fmt.Errorf("asking what %s may do: %w", account, err)
	}
	return allowed, nil
}
