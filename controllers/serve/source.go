// Package serve has a manager serve the Control Center: from its caches, to people whom the API server knows, as far as their RBAC lets them read. It
// causes no request but reviews.
package serve

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/center"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/controllers/inspect"
	"github.com/orkspace/orkestra/controllers/validation"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/discovery"
	"github.com/orkspace/orkestra/engine/history"
	"github.com/orkspace/orkestra/engine/look"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/revision"
	"github.com/orkspace/orkestra/engine/web"
	"github.com/orkspace/orkestra/engine/web/answers"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/person"
	"github.com/orkspace/orkestra/engine/web/rows"
)

// Ports are what a manager has.
type Ports struct {
	// Own are the OperatorBoxes and CRDHealths of its cache, and Informers those that fill it.
	Own       client.Reader
	Informers cache.Informers
	// Caches of the boxes that run.
	Caches *look.Caches
	// Mapper resolves kinds.
	Mapper *discovery.Mapper
	// CRDs of the boxes.
	CRDs *crds.Store
	// Checking is what the manager compiles boxes with.
	Checking validation.Options
	// Live reads from the API server: events and revisions, each list for those who may read it, and kept for ten seconds.
	Live client.Reader
	// Rights of people.
	Rights *person.Rights
	// Reviews of what boxes may do. They are the page's own: what the boxes themselves believe must not change because somebody looks.
	Reviews *access.Reviews
	// History remembers what this process did.
	History *history.History
	// Namespace is the manager's own.
	Namespace string
	// Leading says whether this process leads.
	Leading func() bool
	// Clock tells the time.
	Clock clock.PassiveClock
}

// Source answers the person in the context of a question from the caches of a manager. It implements web.Source.
type Source struct {
	Ports

	tables    *tables
	troubles  *troubles
	events    *center.Events
	revisions *answers.Kept[string, []appsv1.ControllerRevision] // by box
}

var _ web.Source = (*Source)(nil)

// NewSource makes one.
func NewSource(p Ports) *Source {
	s := &Source{Ports: p}
	s.tables, s.troubles = newTables(s), newTroubles(s)
	s.events, s.revisions = center.NewEvents(p.Live, p.Clock), answers.New[string, []appsv1.ControllerRevision](p.Clock, maxRevised, listTimeout)
	return s
}

// errNobody is the error of a question without a person. The guard lets none through.
var errNobody = apierrors.NewUnauthorized("nobody has said who asks")

// center gives what answers the one who asks.
func (s *Source) center(ctx context.Context) (*center.Center, error) {
	who, ok := person.From(ctx)
	if !ok {
		return nil, errNobody
	}
	r := &reader{source: s, who: who}
	return &center.Center{Ports: center.Ports{
		Own: own{r}, Clock: s.Clock, Person: api.Person{Name: who.Name, Groups: who.Groups},
		Inspecting: inspect.NewSession(inspect.Ports{Objects: r, Own: own{r}, Mapper: s.Mapper, Plans: plans{s.Caches}, ManagerNamespace: s.Namespace}),
		Revisions:  r.revisions, Events: r.events, Checking: s.checking(r),
		Rows: r.rows, Find: r.find, Manager: s.manager, Cycles: r.cycles, Hour: s.hour, Steps: s.steps, Granted: s.granted,
	}}, nil
}

// manager says who answers. One that leads is at work, and one that follows knows what the leader has written.
func (s *Source) manager(context.Context) api.Manager {
	m := api.Manager{State: api.ManagerRunning}
	if !s.Leading() {
		m.Message = "A manager answers that does not lead, or not yet, and the one that leads could not be asked. What is shown of counts and failures is what the leader has written last"
	}
	return m
}

// Manager implements web.Source.
func (s *Source) Manager(ctx context.Context) (*api.Manager, error) {
	m := s.manager(ctx)
	return &m, nil
}

// plans are those that boxes run. It implements inspect.Plans.
type plans struct{ caches *look.Caches }

// KindOf implements inspect.Plans.
func (p plans) KindOf(_ context.Context, box string) schema.GroupVersionKind {
	if running := p.caches.Box(box); running != nil {
		return running.Plan().CRD.Kind
	}
	return schema.GroupVersionKind{}
}

// PlanOf implements inspect.Plans.
func (p plans) PlanOf(_ context.Context, box *v1alpha1.OperatorBox, of revision.Ref) (*pipeline.Plan, error) {
	running := p.caches.Box(box.Name)
	if running == nil {
		return nil, fmt.Errorf("OperatorBox %q does not run: its conditions say why", box.Name)
	}
	plan := running.Plan()
	if of.Name == "" {
		of.Name = boxspec.Revision(box)
	}
	if plan.Revision != of.Name {
		if ready := meta.FindStatusCondition(box.Status.Conditions, v1alpha1.ConditionReady); ready != nil && ready.Status != metav1.ConditionTrue {
			return nil, fmt.Errorf("OperatorBox %q does not run its spec: %s: %s", box.Name, ready.Reason, ready.Message)
		}
		return nil, fmt.Errorf("OperatorBox %q runs its revision %q, and %q is asked for: orkestra ui reads that one", box.Name, plan.Revision, of.Name)
	}
	return plan, nil
}

// Fleet implements web.Source.
func (s *Source) Fleet(ctx context.Context) (*api.Fleet, error) {
	c, err := s.center(ctx)
	if err != nil {
		return nil, err
	}
	return c.Fleet(ctx)
}

// Box implements web.Source.
func (s *Source) Box(ctx context.Context, name string) (*api.BoxDetail, error) {
	c, err := s.center(ctx)
	if err != nil {
		return nil, err
	}
	return c.Box(ctx, name)
}

// Page implements web.Source.
func (s *Source) Page(ctx context.Context, box string, q rows.Query) (*api.Rows, error) {
	c, err := s.center(ctx)
	if err != nil {
		return nil, err
	}
	return c.Page(ctx, box, q)
}

// Search implements web.Source.
func (s *Source) Search(ctx context.Context, q rows.Search) (*api.Found, error) {
	c, err := s.center(ctx)
	if err != nil {
		return nil, err
	}
	return c.Search(ctx, q)
}

// Graph implements web.Source.
func (s *Source) Graph(ctx context.Context, box string) (*api.Graph, error) {
	c, err := s.center(ctx)
	if err != nil {
		return nil, err
	}
	return c.Graph(ctx, box)
}

// Dependencies implements web.Source.
func (s *Source) Dependencies(ctx context.Context, box string) (*api.Dependencies, error) {
	c, err := s.center(ctx)
	if err != nil {
		return nil, err
	}
	return c.Dependencies(ctx, box)
}

// NeededRights implements web.Source.
func (s *Source) NeededRights(ctx context.Context, box string) (*api.Rights, error) {
	c, err := s.center(ctx)
	if err != nil {
		return nil, err
	}
	return c.NeededRights(ctx, box)
}

// Difference implements web.Source.
func (s *Source) Difference(ctx context.Context, box, from, to string) (*api.Difference, error) {
	c, err := s.center(ctx)
	if err != nil {
		return nil, err
	}
	return c.Difference(ctx, box, from, to)
}

// Resource implements web.Source.
func (s *Source) Resource(ctx context.Context, box, namespace, name string) (*api.Resource, error) {
	c, err := s.center(ctx)
	if err != nil {
		return nil, err
	}
	return c.Resource(ctx, box, namespace, name)
}

// Compile implements web.Source.
func (s *Source) Compile(ctx context.Context, q api.CompileQuestion) (*api.Compiled, error) {
	c, err := s.center(ctx)
	if err != nil {
		return nil, err
	}
	return c.Compile(ctx, q)
}

// Render implements web.Source.
func (s *Source) Render(ctx context.Context, q api.RenderQuestion) (*api.Rendered, error) {
	c, err := s.center(ctx)
	if err != nil {
		return nil, err
	}
	return c.Render(ctx, q)
}

// Try implements web.Source.
func (s *Source) Try(ctx context.Context, q api.TryQuestion) (*api.Tried, error) {
	c, err := s.center(ctx)
	if err != nil {
		return nil, err
	}
	return c.Try(ctx, q)
}

// See implements web.Source: somebody is told of a box that they may read, and of resources that they may read.
func (s *Source) See(ctx context.Context, changes []api.Change) (seen []api.Change) {
	who, ok := person.From(ctx)
	if !ok {
		return nil
	}
	r := &reader{source: s, who: who}
	for _, c := range changes {
		if r.seesBox(ctx, c.Box) && (c.Resource == nil || r.seesRow(ctx, c.Box, c.Resource.Namespace)) {
			seen = append(seen, c)
		}
	}
	return seen
}

// Subscribe implements web.Source.
func (s *Source) Subscribe(ctx context.Context, changed func(api.Change)) {
	s.Caches.Follow(func(box string, resource types.NamespacedName) {
		s.tables.changed(box, resource)
		s.troubles.changed(box, resource)
		changed(api.Change{Box: box, Resource: &api.Reference{Namespace: resource.Namespace, Name: resource.Name}})
	})
	for _, obj := range []client.Object{&v1alpha1.OperatorBox{}, &v1alpha1.CRDHealth{}} {
		informer, err := s.Informers.GetInformer(ctx, obj, cache.BlockUntilSynced(false))
		if err != nil {
			continue // the manager does not run without these kinds; it says so itself
		}
		told := func(object any) {
			if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			if named, ok := object.(client.Object); ok {
				changed(api.Change{Box: named.GetName()})
			}
		}
		_, _ = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{ // it fails for an informer that has ended
			AddFunc: told, UpdateFunc: func(_, now any) { told(now) }, DeleteFunc: told,
		})
	}
}

// resourceOf finds how a kind stands in the API; without a version in the one that the API server prefers.
func (s *Source) resourceOf(kind schema.GroupVersionKind) (schema.GroupResource, bool, error) {
	var versions []string
	if kind.Version != "" {
		versions = append(versions, kind.Version)
	}
	mapped, err := s.Mapper.RESTMapping(kind.GroupKind(), versions...)
	if err != nil {
		return schema.GroupResource{}, false, fmt.Errorf("asking for the kind %s: %w", kind.Kind, err)
	}
	return mapped.Resource.GroupResource(), mapped.Scope.Name() == meta.RESTScopeNameNamespace, nil
}
