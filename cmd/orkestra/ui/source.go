package ui

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/cluster"
	"github.com/orkspace/orkestra/cmd/orkestra/inspect"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/rows"
	"github.com/orkspace/orkestra/engine/web/view"
)

// source answers with what the caller may read. Boxes and CRDHealths are watched; the resources of a box are from when somebody looks at them.
type source struct {
	session *inspect.Session
	cache   cache.Cache
	person  api.Person
	tables  *tables
	events  *events
	manager *remembered[api.Manager]

	mu      sync.Mutex
	changed func(api.Change) // guarded by mu; nil: nobody listens yet
}

// newSource reads the boxes once, so that somebody who may not is told at once.
func newSource(ctx context.Context, session *inspect.Session) (*source, error) {
	inspector, err := session.Inspector(ctx, time.Now())
	if err != nil {
		return nil, err
	}
	if _, err := inspector.Boxes(); err != nil {
		return nil, err
	}
	config := *session.Config()
	config.Timeout = 0 // watches do not end
	watched, err := cache.New(&config, cache.Options{Scheme: cluster.Scheme(), Mapper: session.Client().RESTMapper(), DefaultTransform: cache.TransformStripManagedFields()})
	if err != nil {
		return nil, fmt.Errorf("making a cache: %w", err)
	}
	s := &source{session: session, cache: watched, manager: newRemembered[api.Manager](2 * time.Second)}
	s.tables, s.events = newTables(s), newEvents(session.Client())
	s.person, err = whoAmI(ctx, session.Client())
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

// Fleet implements web.Source.
func (s *source) Fleet(ctx context.Context) (*api.Fleet, error) {
	var boxes v1alpha1.OperatorBoxList
	if err := s.cache.List(ctx, &boxes); err != nil {
		return nil, fmt.Errorf("listing OperatorBoxes: %w", err)
	}
	healths, err := s.healths(ctx)
	out := &api.Fleet{Person: s.person, Boxes: make([]api.Box, 0, len(boxes.Items))}
	if err != nil {
		out.Notes = append(out.Notes, "How boxes fare is not known: "+err.Error())
	}
	for i := range boxes.Items {
		out.Boxes = append(out.Boxes, view.Box(&boxes.Items[i], healthOf(healths, boxes.Items[i].Name)))
	}
	out.Manager, err = s.manager.get(func() (api.Manager, error) {
		inspector, err := s.session.Inspector(ctx, time.Now())
		if err != nil {
			return api.Manager{}, err
		}
		m := inspector.Manager(ctx)
		return api.Manager{Running: m.State == inspect.ManagerRunning, Message: m.Message}, nil
	})
	if err != nil {
		out.Manager.Message = "Whether a manager is at work is not known: " + err.Error()
	}
	return out, nil
}

func (s *source) healths(ctx context.Context) ([]v1alpha1.CRDHealth, error) {
	var list v1alpha1.CRDHealthList
	if err := s.cache.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing CRDHealths: %w", err)
	}
	return list.Items, nil
}

func healthOf(all []v1alpha1.CRDHealth, box string) *v1alpha1.CRDHealth {
	for i := range all {
		if all[i].Name == box {
			return &all[i]
		}
	}
	return nil
}

// boxNamed gives a box; the error of one that is not there is NotFound.
func (s *source) boxNamed(ctx context.Context, name string) (*v1alpha1.OperatorBox, error) {
	box := &v1alpha1.OperatorBox{}
	if err := s.cache.Get(ctx, types.NamespacedName{Name: name}, box); err != nil {
		return nil, fmt.Errorf("reading OperatorBox %q: %w", name, err)
	}
	box.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("OperatorBox"))
	return box, nil
}

// Rows implements web.Source.
func (s *source) Rows(ctx context.Context, name string, q rows.Query) (*api.Rows, error) {
	box, err := s.boxNamed(ctx, name)
	if err != nil {
		return nil, err
	}
	table, notes, err := s.tables.of(ctx, box)
	if err != nil {
		return nil, err
	}
	page := table.Page(q, nil)
	page.Notes = append(page.Notes, notes...)
	return page, nil
}

// kindOf is the kind of a box's resources.
func kindOf(box *v1alpha1.OperatorBox) (schema.GroupVersionKind, error) {
	crd := box.Status.CRD
	_, group, found := strings.Cut(crd.Name, ".")
	if crd.Kind == "" || !found {
		return schema.GroupVersionKind{}, notServed(box)
	}
	return schema.GroupVersionKind{Group: group, Version: crd.Version, Kind: crd.Kind}, nil
}

// notServed says of a box that its CRD is not there, so that it has no resources.
func notServed(box *v1alpha1.OperatorBox) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: "resources of the box"}, box.Name)
}
