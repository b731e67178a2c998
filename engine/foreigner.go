package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// foreigner looks at the resources of one CRD.
type foreigner struct {
	engine  *Engine
	name    string
	user    string // of the shared informer
	kind    schema.GroupVersionKind
	tracker *health.Tracker
	queue   workqueue.TypedDelayingInterface[types.NamespacedName]
	cancel  context.CancelFunc
	working sync.WaitGroup

	mu       sync.Mutex // guards what follows
	is       Foreign
	started  time.Time // when all resources were known; zero: they are not yet
	problem  string    // why they are not
	verdicts map[types.NamespacedName]verdict
}

// verdict is what a resource was found to lack, and in what it was found.
type verdict struct {
	version, revision string
	unmet             string
	again             time.Time // when it may change with the time alone
}

func newForeigner(e *Engine, is Foreign) *foreigner {
	f := &foreigner{
		engine: e, name: is.Name, user: "crdhealth/" + is.Name, kind: is.CRD.Kind, is: is,
		queue:    workqueue.NewTypedDelayingQueue[types.NamespacedName](),
		verdicts: map[types.NamespacedName]verdict{},
	}
	f.tracker = health.NewTracker(e.config.Clock, 0, func(urgent bool) { e.config.HealthChanged(is.Name, urgent) })
	f.tracker.Restore(is.Health)
	return f
}

func (f *foreigner) serves(is Foreign) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.is.CRD.UID == is.CRD.UID && f.is.CRD.Resource == is.CRD.Resource && f.kind == is.CRD.Kind
}

// change takes another check, and looks at all resources if there is one.
func (f *foreigner) change(is Foreign) {
	f.mu.Lock()
	same := f.is.Revision == is.Revision
	f.is = is
	f.mu.Unlock()
	if same {
		return
	}
	for _, obj := range f.resources() {
		f.queue.Add(keyOf(obj))
	}
}

func (f *foreigner) resources() []*unstructured.Unstructured {
	return f.engine.observed.Select(f.kind, "", labels.Everything())
}

func (f *foreigner) start(parent context.Context) {
	ctx, cancel := context.WithCancel(parent)
	f.cancel = cancel
	f.working.Go(func() {
		defer cancel()
		defer f.queue.ShutDown()
		f.engine.guard(func() { f.run(ctx) })
	})
}

// stop waits for all of it.
func (f *foreigner) stop() {
	f.cancel()
	f.working.Wait()
	f.engine.observed.Release(f.user)
}

// run gets to know all resources, and looks at those that change until ctx ends.
func (f *foreigner) run(ctx context.Context) {
	if !f.fill(ctx) {
		return
	}
	for _, obj := range f.resources() {
		f.judge(ctx, keyOf(obj))
	}
	f.tracker.Retain(func(name types.NamespacedName) bool { return f.get(name) != nil })
	f.mu.Lock()
	f.started, f.problem = f.engine.config.Clock.Now(), ""
	f.mu.Unlock()
	f.engine.config.HealthChanged(f.name, true)
	defer context.AfterFunc(ctx, f.queue.ShutDown)()
	for {
		key, over := f.queue.Get()
		if over {
			return
		}
		f.judge(ctx, key)
		f.queue.Done(key)
	}
}

// fill waits until all resources are known. It says false where ctx ends before.
func (f *foreigner) fill(ctx context.Context) bool {
	for delay := foreignDelay; ; delay = min(2*delay, access.RetryInterval) {
		err := f.acquire(ctx)
		if err == nil {
			return true
		}
		f.stuck(err)
		select {
		case <-ctx.Done():
			return false
		case <-f.engine.config.Clock.After(delay):
		}
	}
}

// foreignDelay is the first pause between two tries to watch a kind; it doubles.
const foreignDelay = 250 * time.Millisecond

// acquire waits for the informer for a while.
func (f *foreigner) acquire(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	return f.engine.observed.Acquire(ctx, f.user, f.kind)
}

func (f *foreigner) stuck(err error) {
	f.mu.Lock()
	said := f.problem
	f.problem = "resources can't be watched: " + err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		f.problem = "" // it takes its time
	}
	changed := said != f.problem
	f.mu.Unlock()
	if changed {
		f.engine.config.HealthChanged(f.name, true)
	}
}

func (f *foreigner) get(key types.NamespacedName) *unstructured.Unstructured {
	return f.engine.observed.Get(f.kind, key.Namespace, key.Name)
}

// judge looks at one resource, and counts what it finds. What was found in the same version is not counted again.
func (f *foreigner) judge(ctx context.Context, key types.NamespacedName) {
	obj := f.get(key)
	now := f.engine.config.Clock.Now()
	f.mu.Lock()
	is, before, first := f.is, f.verdicts[key], f.started.IsZero()
	if obj == nil {
		delete(f.verdicts, key)
	}
	f.mu.Unlock()
	if obj == nil {
		f.tracker.Forget(key)
		return
	}
	found := verdict{version: string(obj.GetUID()) + "/" + obj.GetResourceVersion(), revision: is.Revision}
	due := !before.again.IsZero() && !now.Before(before.again)
	if before.version == found.version && before.revision == found.revision && !due {
		return
	}
	found.unmet, found.again = f.check(ctx, is.Check, obj, now)
	f.mu.Lock()
	f.verdicts[key] = found
	f.mu.Unlock()
	if !found.again.IsZero() {
		f.queue.AddAfter(key, found.again.Sub(now))
	}
	waiting := conditionOf(obj, v1alpha1.ConditionReconciling).Status == metav1.ConditionTrue
	news := !first || !said(is.Health, key, found.unmet)
	f.tracker.Observe(health.Observation{
		Resource: key, Ready: found.unmet == "" && !waiting, Waiting: waiting, Counts: news, Failed: found.unmet != "", Message: found.unmet,
	})
}

// said says whether what a resource lacks, or that it lacks nothing, is what was last written of it. Messages are cut there.
func said(status v1alpha1.CRDHealthStatus, key types.NamespacedName, unmet string) bool {
	for _, f := range status.Failing {
		if f.Namespace == key.Namespace && f.Name == key.Name {
			return unmet != "" && strings.HasPrefix(unmet, f.Message)
		}
	}
	return unmet == ""
}

// check runs the check. A panic is what this resource lacks.
func (f *foreigner) check(ctx context.Context, check *pipeline.HealthCheck, obj *unstructured.Unstructured, now time.Time) (unmet string, again time.Time) {
	defer func() {
		if p := recover(); p != nil {
			f.engine.config.Log.Error(fmt.Errorf("panic: %v", p), "Panic was caught", "crdhealth", f.name, "stack", string(debug.Stack()))
			unmet, again = fmt.Sprintf("panic: %v", p), time.Time{}
		}
	}()
	return check.Check(ctx, obj, now)
}

func (f *foreigner) report() health.Report {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := health.Report{
		Phase: health.Starting, Message: f.problem, Snapshot: f.tracker.Snapshot(), CRD: f.is.CRD.Name, Foreign: true,
	}
	if !f.started.IsZero() {
		r.Phase, r.StartedAt = health.Running, f.started
	}
	// Its own operator reconciles: what is counted here are looks.
	r.Snapshot.ConsecutiveFailures, r.Snapshot.SuccessCount, r.Snapshot.FailureCount = 0, 0, 0
	r.Snapshot.Degraded = r.Snapshot.Resources.Failing > 0
	return r
}
