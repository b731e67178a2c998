// Package inspect says how resources stand, as far as somebody may read. It writes nothing, and does not know where objects come from: from the API
// server with the rights of a caller, or from the caches of a manager.
package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/compiler"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/revision"
)

// Objects are those of a cluster, as far as somebody may read them: what they may not is an error that apierrors.IsForbidden knows.
type Objects interface {
	// Get gives an object; nil: there is none of this name.
	Get(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error)
	// List gives the objects of a namespace, or of all where it is empty, that the labels select.
	List(ctx context.Context, kind schema.GroupVersionKind, namespace string, selector labels.Selector) ([]*unstructured.Unstructured, error)
}

// Plans are those of boxes.
type Plans interface {
	// KindOf gives the kind of the resources of a box; an empty one where that is not known.
	KindOf(ctx context.Context, box string) schema.GroupVersionKind
	// PlanOf gives the plan of a revision of a box, and that of its spec where the reference names none.
	PlanOf(ctx context.Context, box *v1alpha1.OperatorBox, of revision.Ref) (*pipeline.Plan, error)
}

// Ports are what inspectors ask.
type Ports struct {
	// Objects are the resources, their children, and what boxes read beside them.
	Objects Objects
	// Own reads OperatorBoxes and CRDHealths.
	Own client.Reader
	// Mapper resolves kinds.
	Mapper meta.RESTMapper
	// Plans of boxes.
	Plans Plans
	// Compiler knows boxes by their names, and their CRDs, for what is asked of all resources of a box, and of one whose box is not known. nil: none of
	// that is asked.
	Compiler *compiler.Compiler
	// ManagerNamespace is the manager's own.
	ManagerNamespace string
}

// Session is a set of ports. It serves many inspectors, also at the same time.
type Session struct {
	Ports

	comparer func() *drift.Comparer
}

// NewSession makes one.
func NewSession(p Ports) *Session {
	return &Session{Ports: p, comparer: sync.OnceValue(func() *drift.Comparer { return drift.NewComparer(nil) })}
}

// Inspector answers questions of one moment. It is for one goroutine.
type Inspector struct {
	*Session

	now      time.Time
	boxes    []v1alpha1.OperatorBox // those of the cluster
	boxesErr error                  // why they could not be listed
	healths  map[string]boxHealth   // those that were asked for, by the names of their boxes
	plans    map[planned]planOf     // those that were asked for: a box with many resources is compiled once
}

// Inspector reads the boxes. The error of a cluster that has no such kind is that of its mapper.
func (s *Session) Inspector(ctx context.Context, now time.Time) (*Inspector, error) {
	i := &Inspector{Session: s, now: now, healths: map[string]boxHealth{}, plans: map[planned]planOf{}}
	var boxes v1alpha1.OperatorBoxList
	switch err := s.Own.List(ctx, &boxes); {
	case meta.IsNoMatchError(err):
		return nil, err //nolint:wrapcheck // the caller knows which cluster it is
	case err != nil:
		i.boxesErr = fmt.Errorf("listing OperatorBoxes: %w", err)
	}
	i.boxes = boxes.Items
	slices.SortFunc(i.boxes, func(a, b v1alpha1.OperatorBox) int { return strings.Compare(a.Name, b.Name) })
	return i, nil
}

// Boxes are those of the cluster, by name. The error says why they could not be read.
func (i *Inspector) Boxes() ([]v1alpha1.OperatorBox, error) { return i.boxes, i.boxesErr }

// Now is the moment of which it speaks.
func (i *Inspector) Now() time.Time { return i.now }

// Health gives the health of a box. Without one, it is empty, and the error says why.
func (i *Inspector) Health(ctx context.Context, box string) (*v1alpha1.CRDHealth, error) {
	return i.health(ctx, box)
}

// Target is a resource that somebody has named.
type Target struct {
	// Kind of the resource, in the version that the API server prefers.
	Kind schema.GroupVersionKind
	// CRD is <plural>.<group>.
	CRD string
	// Namespace of the resource; empty for a kind that has none.
	Namespace string
	// Name of the resource.
	Name string
}
