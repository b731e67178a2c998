package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/pipeline"
)

const (
	// maxCorrections is how often one child is put right within correctionWindow before that is slowed down.
	maxCorrections   = 10
	correctionWindow = time.Minute
	// firstRest is the first pause between two corrections of a child. Each is twice as long as the one before, up to resync.
	firstRest = time.Second
	// quiet is how long nobody may have touched a child that was changed again and again, until it is put right before the
	// pause is over: whoever changed it has stopped.
	quiet = time.Second
	// calm is how long a child must stay as it was put right until the fight is over for those who look at the resource.
	calm = 500 * time.Millisecond
	// busy is how many changes during one pause tell somebody who goes on by himself from one who answers each correction: that
	// one is quiet until the next, and so his quiet says nothing.
	busy = 3
)

// fights are those that the children of one resource are in: somebody else keeps changing what a declaration sets. The zero
// value has none.
type fights struct {
	mu  sync.Mutex // children are written at the same time
	all map[childName]*fight
}

// childName names a child.
type childName struct {
	kind            schema.GroupVersionKind
	namespace, name string
}

func nameOf(obj *unstructured.Unstructured) childName {
	return childName{kind: obj.GroupVersionKind(), namespace: obj.GetNamespace(), name: obj.GetName()}
}

// fight is one child's. Only the one goroutine that writes the child uses it.
type fight struct {
	corrections []time.Time // the last maxCorrections
	hash        string      // of the content that is put back
	fields      []string    // that others had changed when it was last put back
	foe, field  string      // who changes which of them, as far as that is known
	asked       bool        // whether that was asked in this pause
	rest        time.Duration
	until       time.Time // the next correction is not before; zero: there are not too many

	version  string // of the child as it was last seen
	changed  time.Time
	changes  int           // during this pause
	gap      time.Duration // the longest between two of them
	tireless bool          // there were many changes during the last pause
	held     bool          // in this cycle
	told     bool          // people have been told of it
}

// of gives the fight of a child; nil where there is none.
func (f *fights) of(name childName) *fight {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all[name]
}

// corrected notes that a child was put right.
func (f *fights) corrected(obj *unstructured.Unstructured, out apply.Outcome, now time.Time, resync time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[childName]*fight{}
	}
	name := nameOf(obj)
	one := f.all[name]
	if one == nil {
		one = &fight{}
		f.all[name] = one
	}
	one.hash = drift.Hash(obj)
	one.corrected(out, now, resync)
}

// note drops the fights that are over, and says of the others what they are about. The next look comes when one of them
// may have changed.
func (f *fights) note(run *pipeline.Run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var waits []pipeline.Wait
	for name, one := range f.all {
		if one.over(run.Now) {
			delete(f.all, name)
			continue
		}
		if !one.held {
			continue
		}
		one.held = false
		run.LookAt(one.nextLook())
		if !one.told {
			continue // it may be over
		}
		waits = append(waits, pipeline.Wait{Reason: v1alpha1.ReasonFighting, Message: one.message(name, run.Stored.GetNamespace())})
	}
	slices.SortFunc(waits, func(a, b pipeline.Wait) int { return cmp.Compare(a.Message, b.Message) })
	// What somebody has to end stands before what comes by itself.
	run.Waits = slices.Concat(waits, run.Waits)
}

func (f *fight) corrected(out apply.Outcome, now time.Time, resync time.Duration) {
	if len(out.Drift) > 0 {
		f.fields = out.DriftPaths()
	}
	f.corrections = append(f.corrections, now)
	if extra := len(f.corrections) - maxCorrections; extra > 0 {
		f.corrections = f.corrections[extra:]
	}
	f.version, f.tireless = out.Object.GetResourceVersion(), f.changes >= busy
	f.changes, f.asked = 0, f.foe != ""
	if !f.tireless {
		f.gap = 0
	}
	if f.rest > 0 {
		f.rest = min(2*f.rest, max(resync, firstRest))
		f.until = now.Add(f.rest)
		f.held = true // the next cycles tell whether it stays right
	}
}

// begins slows corrections down from now on if one more would be too many.
func (f *fight) begins(now time.Time) {
	if f.rest == 0 && len(f.corrections) == maxCorrections && now.Sub(f.corrections[0]) < correctionWindow {
		f.rest = firstRest
		f.until = f.last().Add(f.rest)
	}
}

// seen notes in which version a child is now.
func (f *fight) seen(version string, now time.Time) {
	if version == f.version {
		return
	}
	if f.changes > 0 {
		f.gap = max(f.gap, now.Sub(f.changed))
	}
	f.version, f.changed = version, now
	f.changes++
}

// nextLook is when the child is looked at again if nothing happens.
func (f *fight) nextLook() time.Time {
	switch {
	case f.changes == 0:
		return f.last().Add(min(calm, f.rest))
	case f.changes >= busy || f.tireless:
		// Who is slow may be quiet for a while and go on.
		return earlier(f.until, f.changed.Add(max(quiet, 2*f.gap)))
	default:
		return f.until
	}
}

func (f *fight) last() time.Time { return f.corrections[len(f.corrections)-1] }

// over says whether a fight is forgotten: nothing had to be put right for so long that the next time is a new one.
func (f *fight) over(now time.Time) bool {
	return now.Sub(f.last()) > max(correctionWindow, 2*f.rest)
}

// message tells who does what. It is the same for as long as they go on.
func (f *fight) message(name childName, home string) string {
	who, what := "somebody else", f.field
	if f.foe != "" {
		who = fmt.Sprintf("manager %q", f.foe)
	}
	if what == "" && len(f.fields) > 0 {
		what = f.fields[0]
	}
	child := name.name
	if name.namespace != "" && name.namespace != home {
		child = name.namespace + "/" + name.name
	}
	return fmt.Sprintf("%s %q: %s keeps changing %s, so that it is corrected less often: only one of the two may set it",
		name.kind.Kind, child, who, what)
}

// patient writes the children of one resource in one cycle, and leaves alone for a while what others keep changing.
type patient struct {
	pipeline.Applier

	foes     foes
	children reader
	fights   *fights
	now      time.Time
	resync   time.Duration
}

// foes finds out who else writes a child. apply.Writer does.
type foes interface {
	Foe(ctx context.Context, child *unstructured.Unstructured, fields []string) (manager, field string, err error)
}

// reader reads children from the watch cache.
type reader interface {
	Get(kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, bool)
}

// patience gives what writes the children of a resource in one cycle. A deletion is not slowed down.
func (b *box) patience(stored *unstructured.Unstructured, st *state, now time.Time, resync time.Duration) pipeline.Applier {
	if stored.GetDeletionTimestamp() != nil {
		return b.writer
	}
	st.brake.renew(stored)
	return patient{Applier: b.writer, foes: b.writer, children: b.engine.children, fights: &st.brake.fights, now: now, resync: resync}
}

// Apply implements pipeline.Applier.
func (p patient) Apply(ctx context.Context, owner apply.Owner, child apply.Child) (apply.Outcome, error) {
	if one := p.fights.of(nameOf(child.Object)); one != nil && p.holds(ctx, one, child.Object) {
		return apply.Outcome{Action: apply.None, Object: child.Object}, nil
	}
	out, err := p.Applier.Apply(ctx, owner, child)
	if err == nil && out.Action == apply.Corrected {
		p.fights.corrected(child.Object, out, p.now, p.resync)
	}
	return out, err
}

// holds says whether a child is left as it is this time. One that is gone, or is to be otherwise now, never is.
func (p patient) holds(ctx context.Context, f *fight, wanted *unstructured.Unstructured) bool {
	f.begins(p.now)
	if !p.now.Before(f.until) || drift.Hash(wanted) != f.hash {
		return false
	}
	version := ""
	live, found := p.children.Get(wanted.GroupVersionKind(), wanted.GetNamespace(), wanted.GetName())
	switch {
	case found && live.GetDeletionTimestamp() == nil:
		version = live.GetResourceVersion()
	case !slices.Contains(f.fields, apply.LabelsPath):
		return false // without our labels, we do not see it
	}
	f.seen(version, p.now)
	if !p.now.Before(f.nextLook()) {
		return false
	}
	if f.changes > 0 && !f.asked {
		p.ask(ctx, f, wanted)
	}
	f.held = true
	return true
}

// ask finds out who the other one is. Our next correction takes the trace away, so it is asked before.
func (p patient) ask(ctx context.Context, f *fight, child *unstructured.Unstructured) {
	f.asked, f.told = true, true
	foe, field, err := p.foes.Foe(ctx, child, f.fields)
	if err != nil {
		log.FromContext(ctx).V(1).Info("Who changes a child could not be found out", "reason", err.Error())
		return
	}
	f.foe, f.field = foe, field
	log.FromContext(ctx).Info("Child is corrected less often: somebody else keeps changing it",
		"child", child.GetKind()+"/"+child.GetName(), "manager", foe, "fields", f.fields)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
