package watch

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/orkspace/orkestra/engine/packed"
)

const (
	// maxReads is how many objects are read at the same time, of one box.
	maxReads = 8
	// longestReadPause is what the pauses between two tries to read one object double up to. A new version of it is read at once.
	longestReadPause = time.Minute
	// namedTries is after how many failed tries to read an object it is named where users look: about three seconds.
	namedTries = 8
	// longestRead is how long a read may take.
	longestRead = 30 * time.Second
)

// read reads what is queued until the queue is closed.
func (w *wholes) read(ctx context.Context) {
	for {
		key, over := w.queue.Get()
		if over {
			return
		}
		guard(w.config.Panicked, func() { w.readOne(ctx, key) })
		w.queue.Done(key)
	}
}

// readOne reads an object, if that can tell more than is known. Where the API server is not there, it waits with this one, so that the objects
// behind it are not asked for in vain.
func (w *wholes) readOne(ctx context.Context, key string) {
	for try := 0; ; try++ {
		head := w.unread(key)
		if head == nil {
			return
		}
		obj, err := w.request(ctx, head)
		if ctx.Err() != nil {
			return
		}
		if !unavailable(err) || errors.Is(err, context.DeadlineExceeded) {
			w.answered(key, head, obj, err)
			return
		}
		w.change(func() { w.problemLocked(key, try+1, err) })
		select {
		case <-ctx.Done():
			return
		case <-w.config.Clock.After(pause(try, err)):
		}
	}
}

// unread gives the head of an object that is to be read; nil: it is not.
func (w *wholes) unread(key string) *packed.Object {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if one := w.all[key]; one != nil && !one.caughtUp() {
		return one.head
	}
	return nil
}

// request reads an object at the version of its head, or a newer one: so the API server may answer from its cache.
func (w *wholes) request(ctx context.Context, head *packed.Object) (*packed.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, longestRead)
	defer cancel()
	objects := w.config.Client.Resource(w.resource).Namespace(head.Namespace())
	obj, err := objects.Get(ctx, head.Name(), metav1.GetOptions{ResourceVersion: head.Version()})
	if err != nil {
		return nil, err
	}
	trimResource(obj)
	return w.words.Pack(obj), nil
}

// errBehind is the error of an answer that is older than what is known.
var errBehind = errors.New("the API server answers with an older version than it has told of")

// answered takes the answer to a read that was sent for a head.
func (w *wholes) answered(key string, head, obj *packed.Object, err error) {
	w.turn.Lock()
	defer w.turn.Unlock()
	var tell func()
	w.change(func() {
		one := w.all[key]
		if one == nil || one.head.UID() != head.UID() {
			return // it is gone, or was made again, and the queue has that
		}
		w.answeredLocked(one)
		switch {
		case saysGone(err, head), err == nil && obj.UID() != head.UID():
			tell = w.endLocked(key, one)
		case err != nil:
			w.againLocked(key, one, err)
		case !upTo(obj.Version(), head.Version()):
			w.againLocked(key, one, errBehind)
		default:
			tell = w.showLocked(key, one, obj)
		}
	})
	if tell != nil {
		tell()
	}
}

// showLocked shows an object as it was read, or ends it if it is not selected any more, and gives what is to be told.
func (w *wholes) showLocked(key string, one *whole, obj *packed.Object) (tell func()) {
	last := one.obj
	w.problems.end(key)
	one.failures, one.known, one.obj = 0, obj.Version(), obj
	w.held.change(last, obj)
	switch {
	case !w.selection.selects(obj.Unpack()):
		open := one.open
		w.held.change(obj, nil)
		one.obj, one.open = nil, false // the watch tells so, too, or that it is selected again
		if !open {
			return nil
		}
		return func() { w.events.Delete(obj.Unpack()) }
	case last == nil:
		initial := one.initial
		one.initial, one.open = false, true
		return func() { w.events.Add(obj.Unpack(), initial) }
	case last.Version() == obj.Version():
		return nil
	default:
		return func() { w.events.Update(obj.Unpack()) }
	}
}

// endLocked ends what is shown of an object that is gone, and gives what is to be told. The watch tells its end, too; if it does not, the
// object is read again.
func (w *wholes) endLocked(key string, one *whole) (tell func()) {
	last := withHead(one.last(), one.head)
	w.problems.end(key)
	w.held.change(one.obj, nil)
	one.obj, one.open = nil, false
	w.queue.AddAfter(key, max(longestPause, readPause(one.failures)))
	one.failures++
	if last == nil {
		return nil
	}
	return func() { w.events.Missed(last) }
}

// againLocked has an object read again.
func (w *wholes) againLocked(key string, one *whole, err error) {
	w.queue.AddAfter(key, readPause(one.failures))
	one.failures++
	w.problemLocked(key, one.failures, err)
}

// problemLocked names an object that can't be read, once that is likely to last.
func (w *wholes) problemLocked(key string, tries int, err error) {
	w.config.Log.V(1).Info("Object could not be read", "resource", w.resource.String(), "object", key, "reason", err.Error())
	if tries >= namedTries && w.all[key] != nil {
		text := fmt.Sprintf("%s %q is selected and can't be read, which is tried again: %s", w.resource.GroupResource(), key, err)
		w.problems.begin(key, string(apierrors.ReasonForError(err)), text)
	}
}

// readPause is how long to wait after a number of failed tries before the last.
func readPause(failures int) time.Duration {
	return wait.Jitter(min(firstPause<<min(failures, 13), longestReadPause), 0.2)
}

// saysGone says that an error means that an object does not exist. A 404 that does not name it is about its kind.
func saysGone(err error, head *packed.Object) bool {
	var answer apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &answer) && answer.Status().Details != nil && answer.Status().Details.Name == head.Name()
}

// problems are the objects that can't be read, in the order in which they began to be named.
type problems struct {
	order []string
	all   map[string]problem
}

// problem is why an object can't be read: in one word, and in a sentence.
type problem struct{ reason, text string }

// begin names an object. The sentence of one that is named stays while the reason does: it may have the number of a port in it.
func (p *problems) begin(key, reason, text string) {
	if p.all == nil {
		p.all = map[string]problem{}
	}
	was, named := p.all[key]
	if named && was.reason == reason {
		return
	}
	if !named {
		p.order = append(p.order, key)
	}
	p.all[key] = problem{reason: reason, text: text}
}

// end names an object no more.
func (p *problems) end(key string) {
	delete(p.all, key)
	for len(p.order) > 0 {
		if _, named := p.all[p.order[0]]; named {
			return
		}
		p.order = p.order[1:]
	}
}

// first is the sentence about the object that has been named for the longest time; empty: there is none.
func (p *problems) first() string {
	if len(p.order) == 0 {
		return ""
	}
	return p.all[p.order[0]].text
}
