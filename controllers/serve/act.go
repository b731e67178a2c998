package serve

import (
	"context"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/act"
	"github.com/orkspace/orkestra/controllers/center"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/web"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/person"
)

// writeTimeout bounds one write that somebody asks for.
const writeTimeout = 30 * time.Second

// Writing is how a manager does what people ask for.
type Writing struct {
	// Boxes reads OperatorBoxes as they are now, and writes them, as the manager.
	Boxes act.Boxes
	// Revisions of boxes.
	Revisions act.Revisions
	// REST says where the API server is, and HTTP sends requests there as the manager.
	REST *rest.Config
	HTTP http.RoundTripper
	// Events sends events as the manager.
	Events events.EventRecorder
}

// Actor does what people ask for, in the name of a manager: after it has asked whether they may, as the account of the box, or where that is a box that
// is written, as the manager. It implements web.Actor.
type Actor struct {
	Writing

	source *Source
}

var _ web.Actor = (*Actor)(nil)

// NewActor makes one that knows what a source does.
func NewActor(w Writing, s *Source) *Actor { return &Actor{Writing: w, source: s} }

// hand gives what acts for the one who asks.
func (a *Actor) hand(ctx context.Context) (*act.Hand, error) {
	who, ok := person.From(ctx)
	if !ok {
		return nil, errNobody
	}
	r := &reader{source: a.source, who: who}
	return &act.Hand{Ports: act.Ports{
		Own: own{r}, Resource: r.Get, Boxes: a.Boxes, Writer: a.writer, Revisions: a.Revisions, For: &who, Clock: a.source.Clock,
		ResourceOf: func(kind schema.GroupVersionKind) (schema.GroupResource, error) {
			of, _, err := a.source.resourceOf(kind)
			return of, err
		},
		May: func(ctx context.Context, want person.Right) (bool, error) { return a.source.Rights.May(ctx, who, want) },
		Tell: func(about runtime.Object, reason, action, note string) {
			a.Events.Eventf(about, nil, "Normal", reason, action, "%s", note)
		},
	}}, nil
}

// writer gives what writes the resources of a box: its account does, as it writes all else there.
func (a *Actor) writer(box *v1alpha1.OperatorBox) (client.Writer, error) {
	running := a.source.Caches.Box(box.Name)
	if running == nil {
		return nil, center.Unserved(box, "it does not run here")
	}
	plan := running.Plan()
	if problem := plan.AccountProblem; problem.Reason != "" {
		return nil, center.Unserved(box, problem.Message)
	}
	through := &http.Client{Transport: identity.NewTransport(plan.Account, plan.Box, a.HTTP), Timeout: writeTimeout}
	return client.New(a.REST, client.Options{HTTPClient: through, Scheme: runtime.NewScheme(), Mapper: a.source.Mapper}) //nolint:wrapcheck // it says what it did
}

// BoxActions implements web.Actor.
func (a *Actor) BoxActions(ctx context.Context, box string) (*api.BoxActions, error) {
	h, err := a.hand(ctx)
	if err != nil {
		return nil, err
	}
	return h.BoxActions(ctx, box)
}

// ResourceActions implements web.Actor.
func (a *Actor) ResourceActions(ctx context.Context, box, namespace, name string) (*api.ResourceActions, error) {
	h, err := a.hand(ctx)
	if err != nil {
		return nil, err
	}
	return h.ResourceActions(ctx, box, namespace, name)
}

// FormerSpecs implements web.Actor.
func (a *Actor) FormerSpecs(ctx context.Context, box string) (*api.FormerSpecs, error) {
	h, err := a.hand(ctx)
	if err != nil {
		return nil, err
	}
	return h.FormerSpecs(ctx, box)
}

// Return implements web.Actor.
func (a *Actor) Return(ctx context.Context, box, revision string) (*api.Return, error) {
	h, err := a.hand(ctx)
	if err != nil {
		return nil, err
	}
	return h.Return(ctx, box, revision)
}

// errFollows refuses an order where this process may not write.
var errFollows = apierrors.NewServiceUnavailable("Nothing was done: the replica that has answered does not lead, so that it may not write, and the one that leads could not be asked. " +
	"Try again in a moment")

// writing gives what acts for the one who asks, where this process may write.
func (a *Actor) writing(ctx context.Context) (*act.Hand, error) {
	if !a.source.Leading() {
		return nil, errFollows
	}
	return a.hand(ctx)
}

// ActOnBox implements web.Actor.
func (a *Actor) ActOnBox(ctx context.Context, box string, action api.ActionName, order api.Order) (*api.Done, error) {
	h, err := a.writing(ctx)
	if err != nil {
		return nil, err
	}
	return h.ActOnBox(ctx, box, action, order)
}

// ActOnResource implements web.Actor.
func (a *Actor) ActOnResource(ctx context.Context, box, namespace, name string, action api.ActionName, order api.Order) (*api.Done, error) {
	h, err := a.writing(ctx)
	if err != nil {
		return nil, err
	}
	return h.ActOnResource(ctx, box, namespace, name, action, order)
}
