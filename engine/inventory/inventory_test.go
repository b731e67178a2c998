package inventory

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/rollback"
	"github.com/orkspace/orkestra/engine/watch"
)

// unlearned are schemas of which none is known yet.
type unlearned struct{}

func (unlearned) Learn(context.Context, schema.GroupVersionKind) error { return nil }

func (unlearned) Knows(schema.GroupVersionKind) bool { return false }

// mapping is a mapper whose answer is an error.
type mapping struct {
	meta.RESTMapper

	err error
}

func (m mapping) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	return nil, m.err
}

var (
	configMaps = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	secrets    = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
)

// of is the inventory of a box with a plan, where kinds can't be found.
func of(t *testing.T, plan *pipeline.Plan, err error) *Inventory {
	t.Helper()
	children := watch.NewChildren(watch.Config{Client: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()), Mapper: mapping{err: err}}, nil)
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	running.Go(func() { _ = children.Run(ctx) }) // it ends with the test
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	i := New("website", func() *pipeline.Plan { return plan }, children, unlearned{}, time.Minute)
	i.Set(plan, nil)
	return i
}

func TestKindsAreThoseOfThePlanAndOfFormerOnes(t *testing.T) {
	g := NewWithT(t)
	plan := &pipeline.Plan{}
	plan.ChildKinds = []schema.GroupVersionKind{configMaps}
	i := of(t, plan, nil)
	g.Expect(i.Kinds()).To(ConsistOf(configMaps))
	i.Set(plan, []schema.GroupVersionKind{secrets, configMaps})
	g.Expect(i.Kinds()).To(ConsistOf(configMaps, secrets))
	g.Expect(i.Unused(&watch.Resources{})).To(ConsistOf(secrets), "nothing is left of it")
	g.Expect(i.Add([]schema.GroupVersionKind{configMaps})).To(BeFalse())
	deployments := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	g.Expect(i.Add([]schema.GroupVersionKind{configMaps, deployments})).To(BeTrue())
	g.Expect(i.Kinds()).To(ConsistOf(configMaps, secrets, deployments))
	g.Expect(i.Known()).To(BeFalse(), "nobody watches them yet")
	i.Set(&pipeline.Plan{}, nil)
	g.Expect(i.Kinds()).To(BeEmpty())
	g.Expect(i.Known()).To(BeTrue())
}

func TestSnapshotsAreWatchedAndAreNoChildren(t *testing.T) {
	g := NewWithT(t)
	plan := &pipeline.Plan{}
	i := of(t, plan, nil)
	g.Expect(watched(plan, i.Kinds())).To(BeEmpty())
	plan.Rollback = &pipeline.Rollback{}
	g.Expect(watched(plan, i.Kinds())).To(ConsistOf(rollback.Kind))
	g.Expect(i.Counts(rollback.Kind)).To(BeFalse())
	g.Expect(i.Counts(configMaps)).To(BeTrue())
	i.Set(plan, []schema.GroupVersionKind{rollback.Kind})
	g.Expect(watched(plan, i.Kinds())).To(ConsistOf(rollback.Kind), "once")
	g.Expect(i.Counts(rollback.Kind)).To(BeTrue(), "a box may make some, too")
}

func TestAKindThatIsNotThereHoldsNothingBack(t *testing.T) {
	for name, tc := range map[string]struct {
		err   error
		fails bool
	}{
		"not installed": {&meta.NoKindMatchError{GroupKind: configMaps.GroupKind()}, false},
		"no answer":     {errors.New("the API server is away"), true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			plan := &pipeline.Plan{}
			plan.ChildKinds = []schema.GroupVersionKind{configMaps}
			i := of(t, plan, tc.err)
			i.Fill(t.Context())
			err := i.Refill(t.Context())
			g.Expect(err != nil).To(Equal(tc.fails))
			if tc.fails {
				g.Expect(err).To(MatchError(tc.err))
			}
		})
	}
}
