package cycle

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/metrics"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/provider"
	"github.com/orkspace/orkestra/engine/provision"
	"github.com/orkspace/orkestra/engine/tracing"
	"github.com/orkspace/orkestra/engine/worker"
)

// Calls makes external calls and measures them, for all boxes. It is safe for concurrent use.
type Calls struct {
	// Client sends the calls.
	Client *external.Client
	// Providers are called through it.
	Providers *provision.Client
	// Clock tells the time.
	Clock clock.PassiveClock
	// Metrics records. nil: nothing is recorded.
	Metrics *metrics.Recorder
}

// NewCalls makes what calls whatever the rules let through. A nil recorder records nothing.
func NewCalls(egress *external.Egress, clk clock.PassiveClock, recorder *metrics.Recorder) *Calls {
	return &Calls{Client: external.New(egress, clk), Providers: provision.NewClient(egress, clk), Clock: clk, Metrics: recorder}
}

// Call implements pipeline.Caller.
func (c *Calls) Call(ctx context.Context, r *external.Request) (*external.Answer, error) {
	began := c.Clock.Now()
	ctx, span := tracing.Call(ctx, r.Name, r.Method, r.Webhook)
	if r.Webhook && span != nil { // it takes part in the cycle; other services are not told, since they may be anybody's
		told := *r
		told.Trace = span.Parent()
		r = &told
	}
	answer, err := c.Client.Call(ctx, r)
	code := codeOf(answer, err)
	span.Answered(code, err != nil)
	// A call that our own deadline or shutdown has ended says nothing about the service, and is not measured.
	if ctx.Err() == nil || err == nil {
		c.Metrics.ExternalRequested(r.Box, code, c.Clock.Since(began))
	}
	return answer, err
}

// CallProvider calls a driver, and measures it.
func (c *Calls) CallProvider(ctx context.Context, call *provision.Call) (provision.Answer, error) {
	began := c.Clock.Now()
	ctx, span := tracing.Provider(ctx, call.Provider, call.Kind, string(call.Operation))
	answer, err := c.Providers.Call(ctx, call)
	result := resultOf(answer, err)
	span.Answered(result, err != nil)
	if ctx.Err() == nil || err == nil {
		c.Metrics.ProviderCalled(metrics.ProviderCall{
			Box: call.Box, Provider: call.Provider, Kind: call.Kind, Operation: string(call.Operation), Result: result, Took: c.Clock.Since(began),
		})
	}
	return answer, err
}

// Forget drops what is known for a box that does not run any more.
func (c *Calls) Forget(box string) {
	c.Client.Forget(box)
	c.Providers.Forget(box)
}

// resultOf gives the metrics label "result" of a call to a driver: a word of a fixed list.
func resultOf(answer provision.Answer, err error) string {
	failure, ok := errors.AsType[*provider.Error](err)
	switch {
	case errors.As(err, new(*provision.HeldError)):
		return metrics.CodeHeld
	case ok:
		return strings.ToLower(string(failure.Class))
	case err != nil:
		return metrics.CodeNone
	case answer.Observed != nil && answer.Observed.Waiting != "":
		return metrics.ResultWaiting
	default:
		return metrics.ResultSuccess
	}
}

// Callers make the calls of the cycles.
type Callers interface {
	pipeline.Caller
	// CallProvider calls a driver.
	CallProvider(ctx context.Context, call *provision.Call) (provision.Answer, error)
}

// yieldingProviders is yieldingCaller for the drivers of providers, with what is remembered for the resource.
type yieldingProviders struct {
	next   Callers
	slot   *worker.Slot
	memory *provision.Memory
}

var _ pipeline.Providers = yieldingProviders{}

// Call implements pipeline.Providers.
func (y yieldingProviders) Call(ctx context.Context, call *provision.Call) (provision.Answer, error) {
	y.slot.Leave()
	answer, err := y.next.CallProvider(ctx, call)
	if !y.slot.Take(ctx) && err == nil {
		return provision.Answer{}, lateAnswer(ctx, y.slot)
	}
	return answer, err
}

// Memory implements pipeline.Providers.
func (y yieldingProviders) Memory() *provision.Memory { return y.memory }

// lateAnswer is the error of an answer that can't be worked on any more.
func lateAnswer(ctx context.Context, slot *worker.Slot) error {
	return fmt.Errorf("the answer came, but none of the %d reconciles that may run at the same time ended: %w", slot.Most(), ctx.Err())
}

// codeOf gives the metrics label "code" of a call: the HTTP status of its answer, or a word where there was none.
func codeOf(answer *external.Answer, err error) string {
	failure, ok := errors.AsType[*external.Error](err)
	switch {
	case err == nil && answer.Cached:
		return metrics.CodeCached
	case err == nil:
		return strconv.Itoa(answer.Status)
	case ok && failure.Held:
		return metrics.CodeHeld
	case ok && failure.Status != 0:
		return strconv.Itoa(failure.Status)
	default:
		return metrics.CodeNone
	}
}

// yieldingCaller makes the external calls of one reconcile, and gives up its slot while a call is under way. A call may wait for a slow
// host for as long as a reconcile may last, and needs no CPU meanwhile: if it kept its slot, slow hosts of one box could stop all boxes.
type yieldingCaller struct {
	next pipeline.Caller
	slot *worker.Slot
}

var _ pipeline.Caller = yieldingCaller{}

// Call implements pipeline.Caller. The slot is held again when it returns, unless ctx ended first, which is an error then, or
// the call panics.
func (y yieldingCaller) Call(ctx context.Context, r *external.Request) (*external.Answer, error) {
	y.slot.Leave()
	answer, err := y.next.Call(ctx, r)
	if !y.slot.Take(ctx) && err == nil {
		return nil, lateAnswer(ctx, y.slot)
	}
	return answer, err
}
