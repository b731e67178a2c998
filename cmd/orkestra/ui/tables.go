package ui

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/center"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/rows"
	"github.com/orkspace/orkestra/engine/web/view"
)

// maxTables is of how many boxes the resources are watched at the same time: those that were looked at last.
const maxTables = 8

// syncTimeout is how long a first list may take.
const syncTimeout = 30 * time.Second

// tables watch the resources of the boxes that somebody looks at.
type tables struct {
	source *source

	mu  sync.Mutex
	all []*table // the one that was looked at last comes last; guarded by mu
}

// table has the rows of one box.
type table struct {
	*rows.Table

	box      string
	revision string
	kind     schema.GroupVersionKind
	notes    []string
	handler  toolscache.ResourceEventHandlerRegistration
	informer cache.Informer
}

func newTables(s *source) *tables { return &tables{source: s} }

// of gives the rows of a box, and what there is to know of them. The first question waits for the first list.
func (t *tables) of(ctx context.Context, box *v1alpha1.OperatorBox) (center.Rows, error) {
	kind, err := center.KindOf(box)
	if err != nil {
		return center.Rows{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := slices.IndexFunc(t.all, func(one *table) bool { return one.box == box.Name }); at >= 0 {
		one := t.all[at]
		t.all = slices.Delete(t.all, at, at+1)
		if one.kind == kind && one.revision == box.Status.Revision {
			t.all = append(t.all, one)
			return center.Rows{Table: one.Table, Notes: one.notes}, nil
		}
		t.drop(ctx, one)
	}
	one, err := t.open(ctx, box, kind)
	if err != nil {
		return center.Rows{}, err
	}
	if t.all = append(t.all, one); len(t.all) > maxTables {
		t.drop(ctx, t.all[0])
		t.all = t.all[1:]
	}
	return center.Rows{Table: one.Table, Notes: one.notes}, nil
}

// drop ends a table, and its watch where no other table needs it.
func (t *tables) drop(ctx context.Context, gone *table) {
	_ = gone.informer.RemoveEventHandler(gone.handler) // it fails for an informer that has ended
	if !slices.ContainsFunc(t.all, func(one *table) bool { return one != gone && one.kind == gone.kind }) {
		_ = t.source.cache.RemoveInformer(ctx, objectOf(gone.kind)) // the kind is known
	}
}

func objectOf(kind schema.GroupVersionKind) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(kind)
	return obj
}

func (t *tables) open(ctx context.Context, box *v1alpha1.OperatorBox, kind schema.GroupVersionKind) (*table, error) {
	plan, err := t.source.Plan(ctx, box)
	if err != nil {
		return nil, center.Unserved(box, err.Error())
	}
	// A watch that is refused is tried for ever, without a word: whether it may be is asked before.
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind)
	if err := t.source.session.Client().List(ctx, list, client.Limit(1)); err != nil {
		return nil, fmt.Errorf("listing objects of kind %s: %w", kind.Kind, err)
	}
	waiting, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	informer, err := t.source.cache.GetInformer(waiting, objectOf(kind))
	if err != nil {
		return nil, fmt.Errorf("watching objects of kind %s: %w", kind.Kind, err)
	}
	one := &table{Table: rows.New(), box: box.Name, revision: box.Status.Revision, kind: kind, informer: informer, notes: center.NotesOn(plan)}
	if one.handler, err = informer.AddEventHandler(t.handler(one, plan)); err != nil {
		return nil, fmt.Errorf("watching objects of kind %s: %w", kind.Kind, err)
	}
	if !toolscache.WaitForCacheSync(waiting.Done(), one.handler.HasSynced) {
		return nil, fmt.Errorf("listing objects of kind %s: %w", kind.Kind, context.DeadlineExceeded)
	}
	return one, nil
}

// handler keeps the rows of one table. An object that the box does not select has none.
func (t *tables) handler(one *table, plan *pipeline.Plan) toolscache.ResourceEventHandler {
	remove := func(obj *unstructured.Unstructured) {
		row := view.Row(obj)
		one.Remove(row.Reference)
		t.source.tell(api.Change{Box: one.box, Resource: &row.Reference})
	}
	set := func(object any) {
		obj, ok := object.(*unstructured.Unstructured)
		if !ok {
			return
		}
		if obj.GetDeletionTimestamp() == nil && !plan.Selection.Selects(obj) {
			remove(obj)
			return
		}
		row := view.Row(obj)
		one.Set(row)
		t.source.tell(api.Change{Box: one.box, Resource: &row.Reference}) // a page of the resource shows more than its row
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: set, UpdateFunc: func(_, now any) { set(now) },
		DeleteFunc: func(object any) {
			if obj, ok := withoutTombstone(object).(*unstructured.Unstructured); ok {
				remove(obj)
			}
		},
	}
}

// find gives the resources of a box that match a text, of the boxes that are watched, and of others as long as there is room to watch them: to list
// all resources of a cluster for a word that somebody types is too much.
func (t *tables) find(ctx context.Context, box *v1alpha1.OperatorBox, text string) (found []rows.Match, notes []string, err error) {
	if !t.hasRoom(box.Name) {
		return nil, nil, fmt.Errorf("the resources of %d boxes are watched, those that were opened last. Open the resources of a box to search in them, or search at the page of the manager", maxTables)
	}
	all, err := t.of(ctx, box)
	if err != nil {
		return nil, nil, err
	}
	return all.Find(box.Name, text, all.May), nil, nil
}

// hasRoom says whether a box is watched, or can be without ending to watch another one.
func (t *tables) hasRoom(box string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.all) < maxTables || slices.ContainsFunc(t.all, func(one *table) bool { return one.box == box })
}
