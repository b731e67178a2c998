package monitor

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/health"
)

// informers hold the resources of one kind.
type informers struct {
	mu       sync.Mutex
	lost     error // why the kind can't be watched
	all      map[string]*unstructured.Unstructured
	released []string
}

func (i *informers) set(name, version string, ready bool) *unstructured.Unstructured {
	i.mu.Lock()
	defer i.mu.Unlock()
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Website"})
	obj.SetName(name)
	obj.SetUID(types.UID(name))
	obj.SetResourceVersion(version)
	status := "False"
	if ready {
		status = "True"
	}
	obj.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": status}}}
	i.all[name] = obj
	return obj
}

func (i *informers) Acquire(context.Context, string, ...schema.GroupVersionKind) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.lost
}

func (i *informers) Release(user string, _ ...schema.GroupVersionKind) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.released = append(i.released, user)
}

func (i *informers) Get(_ schema.GroupVersionKind, _, name string) *unstructured.Unstructured {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.all[name]
}

func (i *informers) Select(schema.GroupVersionKind, string, labels.Selector) []*unstructured.Unstructured {
	i.mu.Lock()
	defer i.mu.Unlock()
	var all []*unstructured.Unstructured
	for _, obj := range i.all {
		all = append(all, obj)
	}
	return all
}

// running are monitors that run, and what they read. The time of synctest is theirs.
func running(t *testing.T, g *WithT) (m *Monitors, read *informers, stop func()) {
	t.Helper()
	read = &informers{all: map[string]*unstructured.Unstructured{}}
	m = New(Config{
		Informers: read, Clock: clock.RealClock{}, Timeout: time.Second, Changed: func(string, bool) {},
		Panicked: func(value any, _ []byte) { t.Error(value) },
	})
	g.Expect(m.Track(MonitoredCRD{Name: "db"})).To(MatchError(ErrNotStarted))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); m.Run(ctx) }()
	synctest.Wait()
	return m, read, func() { cancel(); <-ended }
}

// databases is a CRD whose resources must be Ready.
func databases(t *testing.T, revision string) MonitoredCRD {
	t.Helper()
	return MonitoredCRD{Name: "db", CRD: websites(t), Check: &Check{}, Revision: revision}
}

func TestAMonitorSaysHowResourcesFare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		m, read, stop := running(t, g)
		read.set("good", "1", true)
		read.set("bad", "1", false)
		counts := func() v1alpha1.ResourceCounts {
			synctest.Wait()
			report, ok := m.Report("db")
			g.Expect(ok).To(BeTrue())
			g.Expect(report.Monitored).To(BeTrue())
			g.Expect(report.Phase).To(Equal(health.Running))
			g.Expect(report.Snapshot.Degraded).To(Equal(report.Snapshot.Resources.Failing > 0))
			return report.Snapshot.Resources
		}
		is := databases(t, "1")
		g.Expect(m.Track(is)).To(Succeed())
		g.Expect(counts()).To(Equal(v1alpha1.ResourceCounts{Total: 2, Ready: 1, Failing: 1}))
		m.Changed(is.CRD.Kind, nil, read.set("bad", "2", true))
		m.Changed(schema.GroupVersionKind{Kind: "Other"}, read.set("good", "2", false))
		g.Expect(counts()).To(Equal(v1alpha1.ResourceCounts{Total: 2, Ready: 2}), "what another kind says is not asked for")
		delete(read.all, "bad")
		m.Changed(is.CRD.Kind, &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "bad"}}}, nil)
		g.Expect(counts()).To(Equal(v1alpha1.ResourceCounts{Total: 1, Ready: 1}))

		g.Expect(m.Track(databases(t, "1"))).To(Succeed())
		g.Expect(counts()).To(Equal(v1alpha1.ResourceCounts{Total: 1, Ready: 1}), "the same check: nothing is looked at")
		g.Expect(m.Track(databases(t, "2"))).To(Succeed())
		g.Expect(counts()).To(Equal(v1alpha1.ResourceCounts{Total: 1, Failing: 1}), "another one: all are")
		g.Expect(read.released).To(BeEmpty())

		another := databases(t, "2")
		another.CRD.UID = "made again"
		g.Expect(m.Track(another)).To(Succeed())
		g.Expect(read.released).To(HaveLen(1), "another CRD begins anew")
		m.Untrack("db")
		m.Untrack("db")
		_, ok := m.Report("db")
		g.Expect(ok).To(BeFalse())
		g.Expect(m.Track(another)).To(Succeed())
		stop()
		g.Expect(read.released).To(HaveLen(3), "nothing is left")
		g.Expect(m.Track(another)).To(MatchError(ErrNotStarted))
	})
}

func TestAMonitorThatCannotWatchSaysSoAndTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		m, read, stop := running(t, g)
		report := func() health.Report {
			synctest.Wait()
			report, _ := m.Report("db")
			return report
		}
		read.lost = errors.New("refused")
		g.Expect(m.Track(databases(t, "1"))).To(Succeed())
		g.Expect(report().Message).To(Equal("resources can't be watched: refused"))
		g.Expect(report().Phase).To(Equal(health.Starting))
		read.mu.Lock()
		read.lost = context.DeadlineExceeded
		read.mu.Unlock()
		time.Sleep(maxDelay)
		g.Expect(report().Message).To(BeEmpty(), "it takes its time")
		read.mu.Lock()
		read.lost = nil
		read.mu.Unlock()
		time.Sleep(maxDelay)
		g.Expect(report().Phase).To(Equal(health.Running))
		stop()
	})
}

func TestACheckThatPanicsIsWhatTheResourceLacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		m, read, stop := running(t, g)
		read.set("web", "1", true)
		is := databases(t, "1")
		is.Check = nil
		g.Expect(m.Track(is)).To(Succeed())
		synctest.Wait()
		report, _ := m.Report("db")
		g.Expect(report.Snapshot.Failing).To(HaveLen(1))
		g.Expect(report.Snapshot.Failing[0].Message).To(HavePrefix("panic: "))
		stop()
	})
}
