package ui

import (
	"context"
	"fmt"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/cluster"
	"github.com/orkspace/orkestra/cmd/orkestra/session"
	"github.com/orkspace/orkestra/controllers/center"
	"github.com/orkspace/orkestra/engine/web/api"
)

// source answers with what the caller may read. Boxes and CRDHealths are watched; the resources of a box are from when somebody looks at them.
type source struct {
	center.Center

	session *session.Session
	cache   cache.Cache
	tables  *tables
	events  *events
	manager *remembered[api.Manager]

	mu      sync.Mutex
	changed func(api.Change) // guarded by mu; nil: nobody listens yet
}

// elsewhere says where the history is: no object has it.
const elsewhere = "The manager remembers the last reconciles: its own page shows them, where the chart's web.enabled serves it"

// newSource reads the boxes once, so that somebody who may not is told at once.
func newSource(ctx context.Context, connected *session.Session) (*source, error) {
	inspector, err := connected.Inspector(ctx, time.Now())
	if err != nil {
		return nil, err
	}
	if _, err := inspector.Boxes(); err != nil {
		return nil, err
	}
	config := *connected.Config()
	config.Timeout = 0 // watches do not end
	watched, err := cache.New(&config, cache.Options{Scheme: cluster.Scheme(), Mapper: connected.Client().RESTMapper(), DefaultTransform: cache.TransformStripManagedFields()})
	if err != nil {
		return nil, fmt.Errorf("making a cache: %w", err)
	}
	s := &source{session: connected, cache: watched, manager: newRemembered[api.Manager](2 * time.Second)}
	s.tables, s.events = newTables(s), newEvents(connected.Client())
	s.Ports = center.Ports{
		Own: watched, Inspecting: connected.Inspecting(), Revisions: connected.Revisions().List, Events: s.events.of, Rows: s.tables.of, Find: s.tables.find, Manager: s.newest,
		Cycles: func(context.Context, string, string, string) api.History { return center.NoHistory(elsewhere) }, Hour: func(string) *api.Hour { return nil },
		Clock: clock.RealClock{}, Checking: connected.Checking(),
	}
	s.Person, err = whoAmI(ctx, connected.Client())
	return s, err
}

// whoAmI asks as whom is read. A server that does not tell is no mistake.
func whoAmI(ctx context.Context, c client.Client) (api.Person, error) {
	review := &authenticationv1.SelfSubjectReview{}
	err := c.Create(ctx, review)
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return api.Person{}, nil
	}
	if err != nil {
		return api.Person{}, fmt.Errorf("asking the API server who you are: %w", err)
	}
	return api.Person{Name: review.Status.UserInfo.Username, Groups: review.Status.UserInfo.Groups}, nil
}

// run keeps the caches until the context ends.
func (s *source) run(ctx context.Context) {
	_ = s.cache.Start(ctx) // it ends with the context, without an error
}

// Subscribe implements web.Source.
func (s *source) Subscribe(ctx context.Context, changed func(api.Change)) {
	s.mu.Lock()
	s.changed = changed
	s.mu.Unlock()
	for _, obj := range []client.Object{&v1alpha1.OperatorBox{}, &v1alpha1.CRDHealth{}} {
		informer, err := s.cache.GetInformer(ctx, obj, cache.BlockUntilSynced(false))
		if err != nil {
			continue // the kind is not served any more; questions say so
		}
		told := func(object any) {
			if named, ok := object.(client.Object); ok {
				s.tell(api.Change{Box: named.GetName()})
			}
		}
		_, _ = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{ // it fails for an informer that has ended
			AddFunc: told, UpdateFunc: func(_, now any) { told(now) }, DeleteFunc: func(object any) { told(withoutTombstone(object)) },
		})
	}
}

func (s *source) tell(c api.Change) {
	s.mu.Lock()
	changed := s.changed
	s.mu.Unlock()
	if changed != nil {
		changed(c)
	}
}

func withoutTombstone(object any) any {
	if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		return gone.Obj
	}
	return object
}

// newest asks the Lease of the manager whether one is at work.
func (s *source) newest(ctx context.Context) (api.Manager, error) {
	return s.manager.get(func() (api.Manager, error) {
		inspector, err := s.session.Inspector(ctx, s.Clock.Now())
		if err != nil {
			return api.Manager{}, err
		}
		m := inspector.Manager(ctx)
		return api.Manager{Running: m.State == session.ManagerRunning, Message: m.Message}, nil
	})
}

// See implements web.Source: who opens the page reads all with the same rights.
func (*source) See(_ context.Context, changes []api.Change) []api.Change { return changes }
