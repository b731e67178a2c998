package serve

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/center"
	"github.com/orkspace/orkestra/engine/look"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/rows"
	"github.com/orkspace/orkestra/engine/web/view"
)

// maxTables is of how many boxes rows are kept: those that were looked at last.
const maxTables = 8

// tables have the rows of the boxes that somebody looks at.
type tables struct {
	source *Source

	mu  sync.Mutex
	all []*table // the one that was looked at last comes last; guarded by mu
}

// table has the rows of one box that runs.
type table struct {
	*rows.Table

	name     string
	box      *look.Box // one that starts anew is another
	selected pipeline.Selection
	revision string

	fill func()     // reads all rows, once; who calls it meanwhile waits
	mu   sync.Mutex // held from when a resource is read until its row is set, so that the row set last is the newest
}

func newTables(s *Source) *tables { return &tables{source: s} }

// of gives the rows of a box, and what there is to know of them.
func (t *tables) of(box *v1alpha1.OperatorBox) (*rows.Table, []string, error) {
	running := t.source.Caches.Box(box.Name)
	if running == nil {
		return nil, nil, center.Unserved(box, "it does not run here")
	}
	plan := running.Plan()
	notes := center.NotesOn(plan)
	if !running.Resources.HasSynced() {
		notes = append(notes, "The manager still lists the resources: there may be more")
	}
	one := t.open(box.Name, running, plan)
	one.fill()
	return one.Table, notes, nil
}

// open gives the table of a box that runs, which may not be filled yet.
func (t *tables) open(name string, running *look.Box, plan *pipeline.Plan) *table {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := slices.IndexFunc(t.all, func(one *table) bool { return one.name == name }); at >= 0 {
		one := t.all[at]
		t.all = slices.Delete(t.all, at, at+1)
		if one.box == running && one.revision == plan.Revision {
			t.all = append(t.all, one)
			return one
		}
	}
	one := &table{Table: rows.New(), name: name, box: running, selected: plan.Selection, revision: plan.Revision}
	// It hears of changes before it is filled, so that none is missed in between: whoever has a row set, it is read anew for that.
	one.fill = sync.OnceFunc(func() {
		for _, key := range running.Resources.Keys() {
			one.refresh(key)
		}
	})
	if t.all = append(t.all, one); len(t.all) > maxTables {
		t.all = t.all[1:]
	}
	return one
}

// changed has the row of a resource read anew, where somebody looks at its box.
func (t *tables) changed(box string, resource types.NamespacedName) {
	t.mu.Lock()
	at := slices.IndexFunc(t.all, func(one *table) bool { return one.name == box })
	var one *table
	if at >= 0 {
		one = t.all[at]
	}
	t.mu.Unlock()
	if one != nil {
		one.refresh(resource)
	}
}

// refresh sets the row of a resource as its box has it now. An object that the box does not select has none.
func (t *table) refresh(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	obj, found := t.box.Resources.Get(key)
	if !found || obj.GetDeletionTimestamp() == nil && !t.selected.Selects(obj) {
		t.Remove(api.Reference{Namespace: key.Namespace, Name: key.Name})
		return
	}
	t.Set(view.Row(obj))
}
