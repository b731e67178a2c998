package ui

import (
	"context"
	"errors"
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
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/web/answers"
	"github.com/orkspace/orkestra/engine/web/api"
)

// source answers with what the caller may read. Boxes and CRDHealths are watched; the resources of a box are from when somebody looks at them.
type source struct {
	center.Center

	session *session.Session
	cache   cache.Cache
	own     *own
	tables  *tables
	manager *answers.Kept[string, api.Manager] // under one name

	mu      sync.Mutex
	changed func(api.Change) // guarded by mu; nil: nobody listens yet
}

// own reads boxes and CRDHealths from the cache.
type own struct {
	client.Reader

	refused error // nil: CRDHealths may be listed. A cache would wait for ever for what may not be
}

// List implements client.Reader.
func (o *own) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, healths := list.(*v1alpha1.CRDHealthList); healths && o.refused != nil {
		return o.refused
	}
	return o.Reader.List(ctx, list, options...)
}

// watched are the kinds that may be watched.
func (o *own) watched() []client.Object {
	if o.refused != nil {
		return []client.Object{&v1alpha1.OperatorBox{}}
	}
	return []client.Object{&v1alpha1.OperatorBox{}, &v1alpha1.CRDHealth{}}
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
	own := &own{Reader: watched}
	if err := connected.Client().List(ctx, &v1alpha1.CRDHealthList{}, client.Limit(1)); apierrors.IsForbidden(err) {
		own.refused = err
	}
	s := &source{session: connected, cache: watched, own: own, manager: answers.New[string, api.Manager](clock.RealClock{}, 1, managerTimeout)}
	s.tables = newTables(s)
	s.Ports = center.Ports{
		Own: own, Inspecting: connected.Inspecting(), Revisions: connected.Revisions().List, Events: center.NewEvents(connected.Client(), clock.RealClock{}).Of, Rows: s.tables.of, Find: s.tables.find, Manager: s.newest,
		Cycles: func(context.Context, string, string, string) api.History { return center.NoHistory(elsewhere) }, Hour: func(string) *api.Hour { return nil },
		Steps:   func(string) api.Steps { return api.Steps{Note: elsewhere, Steps: []api.Step{}} },
		Granted: granted(access.NewReviews(connected.Client(), clock.RealClock{})),
		Clock:   connected.Clock(), Checking: connected.Checking(),
	}
	s.Person, err = whoAmI(ctx, connected.Client())
	return s, err
}

// errOfManager is the error of asking what the manager may do: as whom it runs is not known here.
var errOfManager = errors.New("the box acts as the manager, and what that may do is known to itself: its own page shows it, where the chart's web.enabled serves it")

// granted asks for the rights of accounts, which takes the right to create subjectaccessreviews.
func granted(reviews *access.Reviews) func(context.Context, identity.Account, string, access.Right) (bool, error) {
	return func(ctx context.Context, account identity.Account, box string, right access.Right) (bool, error) {
		if account.IsManager() {
			return false, errOfManager
		}
		allowed, _, err := reviews.Of(account, box).Reads(ctx, right)
		return allowed, err
	}
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
	for _, obj := range s.own.watched() {
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

// managerLife is how long it is believed whether a manager is at work, and managerTimeout how long it may take to find out.
const managerLife, managerTimeout = 2 * time.Second, 10 * time.Second

// newest asks the Lease of the manager whether one is at work.
func (s *source) newest(ctx context.Context) api.Manager {
	m, err := s.manager.Get(ctx, "", func(ctx context.Context) (api.Manager, time.Duration, error) {
		inspector, err := s.session.Inspector(ctx, time.Now())
		if err != nil {
			return api.Manager{}, managerLife, err
		}
		m := inspector.Manager(ctx)
		return api.Manager{State: api.ManagerState(m.State), Message: m.Message}, managerLife, nil
	})
	if err != nil {
		return api.Manager{State: api.ManagerUnknown, Message: "Whether a manager is at work is not known: " + err.Error()}
	}
	return m
}

// Manager implements web.Source.
func (s *source) Manager(ctx context.Context) (*api.Manager, error) {
	m := s.newest(ctx)
	return &m, nil
}

// See implements web.Source: who opens the page reads all with the same rights.
func (*source) See(_ context.Context, changes []api.Change) []api.Change { return changes }
