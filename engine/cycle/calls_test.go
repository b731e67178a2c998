package cycle

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/worker"
)

// callerFunc makes a call by a function.
type callerFunc func(ctx context.Context) (*external.Answer, error)

func (f callerFunc) Call(ctx context.Context, _ *external.Request) (*external.Answer, error) {
	return f(ctx)
}

func TestCodeOf(t *testing.T) {
	for name, tc := range map[string]struct {
		answer *external.Answer
		err    error
		want   string
	}{
		"an answer":                 {&external.Answer{Status: 201}, nil, "201"},
		"an answer of before":       {&external.Answer{Status: 200, Cached: true}, nil, "cached"},
		"an answer that is refused": {nil, fmt.Errorf("calling: %w", &external.Error{Refused: true, Status: 404}), "404"},
		"a host that is left alone": {nil, &external.Error{Held: true, Status: 503}, "held"},
		"no answer":                 {nil, &external.Error{}, "none"},
		"another error":             {nil, context.DeadlineExceeded, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(codeOf(tc.answer, tc.err)).To(Equal(tc.want))
		})
	}
}

func TestACallLeavesItsSlotToOthers(t *testing.T) {
	g := NewWithT(t)
	shared := make(chan struct{}, 1)
	own, another := worker.NewSlot(worker.NewPlaces(shared)), worker.NewSlot(worker.NewPlaces(shared))
	g.Expect(own.Take(patience(t))).To(BeTrue())
	g.Expect(own.Take(patience(t))).To(BeTrue(), "it is held already")
	want := &external.Answer{Status: 200}
	answer, err := yieldingCaller{slot: own, next: callerFunc(func(ctx context.Context) (*external.Answer, error) {
		g.Expect(another.Take(ctx)).To(BeTrue())
		another.Leave()
		return want, nil
	})}.Call(patience(t), nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer).To(BeIdenticalTo(want))
	g.Expect(own.Held()).To(BeTrue())
	g.Expect(shared).To(HaveLen(1))
	own.Leave()
	own.Leave()
	g.Expect(shared).To(BeEmpty())
}

func TestACallWhoseSlotIsTaken(t *testing.T) {
	for name, failure := range map[string]error{"answered": nil, "failed": &external.Error{Text: "refused"}} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			shared := make(chan struct{}, 1)
			own, another := worker.NewSlot(worker.NewPlaces(shared)), worker.NewSlot(worker.NewPlaces(shared))
			g.Expect(own.Take(patience(t))).To(BeTrue())
			ctx, cancel := context.WithCancel(t.Context())
			answer, err := yieldingCaller{slot: own, next: callerFunc(func(ctx context.Context) (*external.Answer, error) {
				g.Expect(another.Take(ctx)).To(BeTrue())
				cancel()
				return &external.Answer{}, failure
			})}.Call(ctx, nil)
			if failure == nil {
				g.Expect(err).To(MatchError(context.Canceled))
				g.Expect(answer).To(BeNil())
			} else {
				g.Expect(err).To(BeIdenticalTo(failure), "what happened to the call says more")
			}
			own.Leave()
			g.Expect(shared).To(HaveLen(1), "nobody gives back what another one holds")
		})
	}
}

func TestACallThatPanicsHoldsNoSlot(t *testing.T) {
	g := NewWithT(t)
	shared := make(chan struct{}, 1)
	own := worker.NewSlot(worker.NewPlaces(shared))
	func() {
		defer own.Leave()
		g.Expect(own.Take(patience(t))).To(BeTrue())
		g.Expect(func() {
			_, _ = yieldingCaller{slot: own, next: callerFunc(func(context.Context) (*external.Answer, error) { panic("bug") })}.Call(t.Context(), nil)
		}).To(PanicWith("bug"))
	}()
	g.Expect(shared).To(BeEmpty())
}
