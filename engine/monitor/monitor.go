package monitor

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/status"
	"github.com/orkspace/orkestra/engine/value"
)

// The pauses between two tries to watch a kind: the first, which doubles, and the longest.
const firstDelay, maxDelay = 250 * time.Millisecond, 15 * time.Second

// monitor checks the resources of one CRD. It owns one goroutine.
type monitor struct {
	config  Config
	name    string
	user    string // under which the shared informer is acquired
	kind    schema.GroupVersionKind
	tracker *health.Tracker
	queue   workqueue.TypedDelayingInterface[types.NamespacedName]
	cancel  context.CancelFunc
	working sync.WaitGroup

	mu       sync.Mutex // guards what follows
	is       MonitoredCRD
	started  time.Time // when all resources had been checked once; zero: not yet
	problem  string    // why not
	verdicts map[types.NamespacedName]verdict
}

// verdict is what a resource was found to lack.
type verdict struct {
	version, revision string    // of the resource, and of the check
	unmet             string    // empty: it is healthy
	again             time.Time // when that may change just because time passes; zero: never
}

func newMonitor(config Config, is MonitoredCRD) *monitor {
	m := &monitor{
		config: config, name: is.Name, user: "crdhealth/" + is.Name, kind: is.CRD.Kind, is: is,
		queue:    workqueue.NewTypedDelayingQueue[types.NamespacedName](),
		verdicts: map[types.NamespacedName]verdict{},
	}
	m.tracker = health.NewTracker(config.Clock, 0, func(urgent bool) { config.Changed(is.Name, urgent) })
	m.tracker.Restore(is.Health)
	return m
}

// serves says whether the monitor can go on for is: the same CRD in the same version.
func (m *monitor) serves(is MonitoredCRD) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.is.CRD.UID == is.CRD.UID && m.is.CRD.Resource == is.CRD.Resource && m.kind == is.CRD.Kind
}

// change takes another check, and checks all resources again if it differs.
func (m *monitor) change(is MonitoredCRD) {
	m.mu.Lock()
	same := m.is.Revision == is.Revision
	m.is = is
	m.mu.Unlock()
	if !same {
		m.enqueue(m.resources()...)
	}
}

// enqueue has resources checked; nil ones are left out.
func (m *monitor) enqueue(resources ...*unstructured.Unstructured) {
	for _, obj := range resources {
		if obj != nil {
			m.queue.Add(client.ObjectKeyFromObject(obj))
		}
	}
}

func (m *monitor) resources() []*unstructured.Unstructured {
	return m.config.Informers.Select(m.kind, "", labels.Everything())
}

func (m *monitor) start(parent context.Context) {
	ctx, cancel := context.WithCancel(parent)
	m.cancel = cancel
	m.working.Go(func() {
		defer cancel()
		defer m.queue.ShutDown()
		defer func() {
			if value := recover(); value != nil {
				m.config.Panicked(value, debug.Stack())
			}
		}()
		m.run(ctx)
	})
}

// stop ends the monitor, and waits for its goroutine.
func (m *monitor) stop() {
	m.cancel()
	m.working.Wait()
	m.config.Informers.Release(m.user)
}

// run checks all resources, and then those that change, until ctx ends.
func (m *monitor) run(ctx context.Context) {
	if !m.fill(ctx) {
		return
	}
	for _, obj := range m.resources() {
		m.judge(ctx, client.ObjectKeyFromObject(obj))
	}
	// The tracker was restored from CRDHealth, which may list resources that are gone.
	m.tracker.Retain(func(name types.NamespacedName) bool { return m.get(name) != nil })
	m.mu.Lock()
	m.started, m.problem = m.config.Clock.Now(), ""
	m.mu.Unlock()
	m.config.Changed(m.name, true)
	defer context.AfterFunc(ctx, m.queue.ShutDown)()
	for {
		key, over := m.queue.Get()
		if over {
			return
		}
		m.judge(ctx, key)
		m.queue.Done(key)
	}
}

// fill waits until all resources are known. It says false where ctx ends before.
func (m *monitor) fill(ctx context.Context) bool {
	for delay := firstDelay; ; delay = min(2*delay, maxDelay) {
		err := m.acquire(ctx)
		if err == nil {
			return true
		}
		m.stuck(err)
		select {
		case <-ctx.Done():
			return false
		case <-m.config.Clock.After(delay):
		}
	}
}

// acquire waits for the informer for a while.
func (m *monitor) acquire(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, m.config.Timeout)
	defer cancel()
	return m.config.Informers.Acquire(ctx, m.user, m.kind)
}

// stuck notes why the resources can't be watched.
func (m *monitor) stuck(err error) {
	m.mu.Lock()
	before := m.problem
	m.problem = "resources can't be watched: " + err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		m.problem = "" // a long list takes its time: Starting says enough
	}
	changed := before != m.problem
	m.mu.Unlock()
	if changed {
		m.config.Changed(m.name, true)
	}
}

func (m *monitor) get(key types.NamespacedName) *unstructured.Unstructured {
	return m.config.Informers.Get(m.kind, key.Namespace, key.Name)
}

// judge checks one resource, and counts the result. The same version of the resource is not checked again by the same check.
func (m *monitor) judge(ctx context.Context, key types.NamespacedName) {
	obj := m.get(key)
	now := m.config.Clock.Now()
	m.mu.Lock()
	is, before, first := m.is, m.verdicts[key], m.started.IsZero()
	if obj == nil {
		delete(m.verdicts, key)
	}
	m.mu.Unlock()
	if obj == nil {
		m.tracker.Forget(key)
		return
	}
	found := verdict{version: string(obj.GetUID()) + "/" + obj.GetResourceVersion(), revision: is.Revision}
	due := !before.again.IsZero() && !now.Before(before.again)
	if before.version == found.version && before.revision == found.revision && !due {
		return
	}
	found.unmet, found.again = m.check(ctx, is.Check, obj, now)
	m.mu.Lock()
	m.verdicts[key] = found
	m.mu.Unlock()
	if !found.again.IsZero() {
		m.queue.AddAfter(key, found.again.Sub(now))
	}
	waiting := status.IsTrue(obj, v1alpha1.ConditionReconciling)
	// A result that CRDHealth shows already is no news: a restart of the manager must not count it again.
	news := !first || !shows(is.Health, key, found.unmet)
	m.tracker.Observe(health.Observation{
		Resource: key, Ready: found.unmet == "" && !waiting, Waiting: waiting, Counts: news, Failed: found.unmet != "", Message: found.unmet,
	})
}

// shows says whether the status that was last written shows the same of a resource: that it lacks this, or, with an empty unmet, that it
// does not fail. Messages are made readable and cut there, so that a prefix is enough.
func shows(written v1alpha1.CRDHealthStatus, key types.NamespacedName, unmet string) bool {
	for _, f := range written.Failing {
		if f.Namespace == key.Namespace && f.Name == key.Name {
			return unmet != "" && strings.HasPrefix(value.Readable(unmet), f.Message)
		}
	}
	return unmet == ""
}

// check runs the check. A panic fails this resource alone.
func (m *monitor) check(ctx context.Context, check *Check, obj *unstructured.Unstructured, now time.Time) (unmet string, again time.Time) {
	defer func() {
		if p := recover(); p != nil {
			m.config.Log.Error(fmt.Errorf("panic: %v", p), "Panic was caught", "crdhealth", m.name, "stack", string(debug.Stack()))
			unmet, again = fmt.Sprintf("panic: %v", p), time.Time{}
		}
	}()
	return check.Check(ctx, obj, now)
}

func (m *monitor) report() health.Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := health.Report{
		Phase: health.Starting, Message: m.problem, Snapshot: m.tracker.Snapshot(), CRD: m.is.CRD.Name, Monitored: true,
	}
	if !m.started.IsZero() {
		r.Phase, r.StartedAt = health.Running, m.started
	}
	// These counters of CRDHealth are about reconciles, which another operator does; the tracker has counted checks.
	r.Snapshot.ConsecutiveFailures, r.Snapshot.SuccessCount, r.Snapshot.FailureCount = 0, 0, 0
	r.Snapshot.Degraded = r.Snapshot.Resources.Failing > 0
	return r
}
