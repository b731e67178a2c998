package serve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/center"
	"github.com/orkspace/orkestra/engine/look"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/person"
	"github.com/orkspace/orkestra/engine/web/rows"
	"github.com/orkspace/orkestra/engine/web/view"
)

const (
	// maxTroubles is of how many resources is known what they say. Each takes some hundred bytes.
	maxTroubles = 10_000
	// searching is how long that is kept after the last search.
	searching = 10 * time.Minute
	// maxAsked is for how many namespaces one search asks what the person may list.
	maxAsked = 200
)

// find gives the resources of a box that match a text, of those that the person may list.
func (r *reader) find(ctx context.Context, box *v1alpha1.OperatorBox, text string) (found []rows.Match, notes []string, err error) {
	kind, err := center.KindOf(box)
	if err != nil {
		return nil, nil, err
	}
	of, namespaced, err := r.source.resourceOf(kind)
	if err != nil {
		return nil, nil, err
	}
	running := r.source.Caches.Box(box.Name)
	if running == nil {
		return nil, nil, errNotRunning
	}
	may := &listing{reader: r, of: of, lists: map[string]bool{}}
	if err := may.begin(ctx, namespaced); err != nil {
		return nil, nil, err
	}
	said, full := r.source.troubles.of(box.Name, running)
	if full {
		notes = append(notes, fmt.Sprintf("More than %d resources are not ready: what some of them say is not searched", maxTroubles))
	}
	for _, key := range running.Resources.Keys() {
		named := api.Reference{Namespace: key.Namespace, Name: key.Name}
		rank, ok := rows.RankOf(text, named, said[key])
		if ok && may.in(ctx, key.Namespace) {
			found = append(found, rows.Match{Reference: named, Box: box.Name, Rank: rank, Row: rowOf(running, key)})
		}
	}
	if may.tooMany {
		notes = append(notes, fmt.Sprintf("What you may list was asked for in %d namespaces, and what was found in others is not shown: look for more of the name", maxAsked))
	}
	return found, notes, may.failed
}

// errNotRunning is why the resources of a box are not searched.
var errNotRunning = errors.New("it does not run, so that nobody watches them")

// rowOf reads the row of a resource when it is shown.
func rowOf(box *look.Box, key types.NamespacedName) func() (api.Row, bool) {
	return func() (api.Row, bool) {
		obj, found := box.Resources.Get(key)
		if !found || obj.GetDeletionTimestamp() == nil && !box.Plan().Selection.Selects(obj) {
			return api.Row{}, false
		}
		return view.Row(obj), true
	}
}

// listing finds out in which namespaces a person may list a kind, as far as that is needed.
type listing struct {
	*reader

	of      schema.GroupResource
	all     bool
	lists   map[string]bool // by namespace
	tooMany bool
	failed  error // the first answer that was none
}

// begin asks for all namespaces. An error is the refusal of a kind that has none.
func (l *listing) begin(ctx context.Context, namespaced bool) error {
	refused := l.allowed(ctx, person.Right{Verb: verbList, Group: l.of.Group, Resource: l.of.Resource})
	l.all = refused == nil
	if refused != nil && (!namespaced || !apierrors.IsForbidden(refused)) {
		return refused
	}
	return nil
}

// in says whether the person may list what is in a namespace.
func (l *listing) in(ctx context.Context, namespace string) bool {
	if l.all {
		return true
	}
	if may, known := l.lists[namespace]; known {
		return may
	}
	if l.asked >= maxAsked {
		l.tooMany = true
		return false
	}
	l.asked++
	err := l.allowed(ctx, person.Right{Verb: verbList, Group: l.of.Group, Resource: l.of.Resource, Namespace: namespace})
	if err != nil && !apierrors.IsForbidden(err) && l.failed == nil {
		l.failed = err
	}
	l.lists[namespace] = err == nil
	return err == nil
}

// troubles have what the resources of all boxes say that are not ready, while somebody searches: names are in the informers, but to read what all
// resources say takes a second of a core.
type troubles struct {
	source *Source
	count  atomic.Int64 // of what is kept

	mu    sync.Mutex
	boxes map[string]*trouble // guarded by mu
	asked time.Time           // guarded by mu
}

// trouble has what the resources of one box say.
type trouble struct {
	all  *troubles
	box  *look.Box // one that starts anew is another
	fill func()    // reads all resources, once; who calls it meanwhile waits

	mu   sync.Mutex
	said map[types.NamespacedName]string // nil: it is not kept any more; guarded by mu
}

func newTroubles(s *Source) *troubles { return &troubles{source: s, boxes: map[string]*trouble{}} }

// of gives what the resources of a box say, in lower case. full says that there may be more.
func (t *troubles) of(name string, running *look.Box) (said map[types.NamespacedName]string, full bool) {
	one := t.open(name, running)
	one.fill()
	one.mu.Lock()
	defer one.mu.Unlock()
	return maps.Clone(one.said), t.count.Load() >= maxTroubles
}

func (t *troubles) open(name string, running *look.Box) *trouble {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = t.source.Clock.Now()
	one := t.boxes[name]
	if one != nil && one.box == running {
		return one
	}
	if one != nil {
		one.drop()
	}
	one = &trouble{all: t, box: running, said: map[types.NamespacedName]string{}}
	// It hears of changes before it is filled, so that none is missed in between.
	one.fill = sync.OnceFunc(func() {
		for _, key := range running.Resources.Keys() {
			one.refresh(key)
		}
	})
	t.boxes[name] = one
	return one
}

// changed has a resource read anew, while somebody searches.
func (t *troubles) changed(box string, resource types.NamespacedName) {
	t.mu.Lock()
	if len(t.boxes) > 0 && t.source.Clock.Since(t.asked) > searching {
		for _, one := range t.boxes {
			one.drop()
		}
		clear(t.boxes)
	}
	one := t.boxes[box]
	t.mu.Unlock()
	if one != nil {
		one.refresh(resource)
	}
}

// refresh notes what a resource says now; nothing where it is ready, or gone.
func (t *trouble) refresh(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.said == nil {
		return
	}
	text := ""
	if obj, found := t.box.Resources.Get(key); found {
		if row := view.Row(obj); row.Reason != "" || row.Message != "" {
			text = rows.Said(&row)
		}
	}
	_, had := t.said[key]
	switch {
	case text == "" && had:
		delete(t.said, key)
		t.all.count.Add(-1)
	case text == "":
	case had:
		t.said[key] = text
	case t.all.count.Load() < maxTroubles:
		t.said[key] = text
		t.all.count.Add(1)
	}
}

func (t *trouble) drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all.count.Add(-int64(len(t.said)))
	t.said = nil
}
