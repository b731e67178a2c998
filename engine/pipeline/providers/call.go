package providers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/provider"
	"github.com/orkspace/orkestra/engine/provision"
	"github.com/orkspace/orkestra/engine/value"
)

// The pauses between two calls for the same, by what came of the first; they double up to the resync of the box.
const (
	waitingPause = 2 * time.Second
	failurePause = time.Second
	deniedPause  = 15 * time.Second
)

// pause is the time to the next call after some that failed, or that found the resource on its way; until then, cycles go by what was answered.
func pause(c *children.Cycle, first time.Duration, tries int) time.Time {
	next := c.Now.Add(first << min(tries, 10))
	if latest := c.NextRead(); next.After(latest) {
		return latest
	}
	return next
}

// nextAfter is when a failed call is made again.
func nextAfter(c *children.Cycle, err error, tries int) time.Time {
	if held, ok := errors.AsType[*provision.HeldError](err); ok {
		return held.Until
	}
	failure, ok := errors.AsType[*provider.Error](err)
	if !ok {
		return c.Now
	}
	switch failure.Class {
	case provider.Denied:
		return pause(c, deniedPause, tries)
	case provider.Invalid, provider.NotOwned, provider.Duplicate, provider.InUse:
		return c.NextRead() // nobody tells when somebody has mended it at the service
	default:
		return pause(c, failurePause, tries)
	}
}

// bring sees to it that a resource is as it is declared. Nothing is called where nothing has changed, and it is not time to look.
func (w *wanted) bring(ctx context.Context, c *children.Cycle) (*provision.Record, error) {
	memory, key := c.Ports.Providers.Memory(), w.note.key()
	last := memory.Recall(key)
	if w.fresh { // somebody has looked that was not to make anything
		return w.call(ctx, c, provision.Ensure)
	}
	if last.Holds(w.of, c.Now) {
		return last, nil
	}
	if last != nil && last.Of == w.of && last.Settled() {
		seen, err := w.call(ctx, c, provision.Observe)
		if err != nil || seen.Settled() || seen.Err != nil && !provider.IsClass(seen.Err, provider.NotFound) {
			return seen, err
		}
	}
	return w.call(ctx, c, provision.Ensure)
}

// look finds out whether there is something already, and with which token it was made, before anything is noted and made. The record says why that
// could not be told; nil: it could.
func (w *wanted) look(ctx context.Context, c *children.Cycle) (*provision.Record, error) {
	last := c.Ports.Providers.Memory().Recall(w.note.key())
	if !last.Holds(w.of, c.Now) || last.Err == nil {
		var err error
		if last, err = w.call(ctx, c, provision.Observe); err != nil {
			return nil, err
		}
	}
	w.fresh, w.note.Absent = true, provider.IsClass(last.Err, provider.NotFound)
	if last.Err != nil && !w.note.Absent {
		return last, nil
	}
	if last.Observed != nil {
		w.note.Token = last.Observed.Token
	}
	return nil, nil
}

// call makes a call, and remembers what came of it. An error is one of the process or of the cluster; what the service says is in the record.
func (w *wanted) call(ctx context.Context, c *children.Cycle, operation provision.Operation) (*provision.Record, error) {
	memory, key := c.Ports.Providers.Memory(), w.note.key()
	request, err := w.request(ctx, c)
	if err != nil {
		return nil, err
	}
	answer, err := c.Ports.Providers.Call(ctx, &provision.Call{
		Box: c.Plan.Box, Account: c.Account.Key(), Provider: w.e.provider, Kind: w.e.kind, Driver: w.e.of.Driver, Operation: operation, Request: request,
	})
	last := memory.Recall(key)
	next := &provision.Record{Of: w.of, At: c.Now}
	if last != nil {
		next.Observed, next.Tries = last.Observed, last.Tries
	}
	if failure, ok := errors.AsType[*provider.Error](err); ok {
		next.Err, next.Next = err, nextAfter(c, err, next.Tries)
		next.Tries++
		if failure.Class == provider.NotFound {
			next.Observed = nil // there are no outputs of what is not there
			if operation == provision.Observe {
				next.Next = c.Now // it is made
			}
		}
		memory.Remember(key, next)
		return next, nil
	}
	if err != nil {
		return nil, err
	}
	if next.Observed, err = normal(answer.Observed); err != nil {
		return nil, err
	}
	w.report(c, operation, next.Observed)
	if operation == provision.Ensure {
		w.note.Noted = next.Observed.Noted
	}
	switch seen := next.Observed; {
	case seen.Waiting != "":
		seen.Waiting = request.Line(seen.Waiting)
		next.Next = pause(c, waitingPause, next.Tries)
		next.Tries++
	case operation == provision.Observe && len(seen.Differs) > 0:
		next.Differ()
		next.Next, next.Tries = c.Now, 0 // it is put right
	default:
		next.Next, next.Tries = c.NextRead(), 0
	}
	memory.Remember(key, next)
	return next, nil
}

// normal gives what a driver has found with the values that templates know.
func normal(seen *provider.Observed) (*provider.Observed, error) {
	out := *seen
	text, err := json.Marshal(seen.Outputs)
	if err != nil {
		return nil, fmt.Errorf("the outputs of the driver are no JSON: %w", err)
	}
	decoded, err := value.Decode(text)
	if err != nil {
		return nil, fmt.Errorf("the outputs of the driver are no JSON: %w", err)
	}
	out.Outputs, _ = decoded.(map[string]any)
	return &out, nil
}

// report notes what a call has changed. That something had to be made again which was there before is for people to know: what it held is lost.
func (w *wanted) report(c *children.Cycle, operation provision.Operation, seen *provider.Observed) {
	if operation != provision.Ensure {
		return
	}
	switch {
	case seen.Created && w.note.Made:
		c.Warn(v1alpha1.ReasonProviderLost, w.note.called()+" was gone, and not by Orkestra: it is made again as it is declared, and what else it held is lost")
	case seen.Created:
		c.Events = append(c.Events, stage.Event{Reason: v1alpha1.ReasonProviderMade, Message: w.note.called() + " is made"})
	case len(seen.Differs) > 0:
		c.Events = append(c.Events, stage.Event{Reason: v1alpha1.ReasonProviderMade, Message: fmt.Sprintf("%s is changed: %s", w.note.called(), strings.Join(slices.Sorted(slices.Values(seen.Differs)), ", "))})
	}
}

// unquoted takes the words of a service out of an error that may quote what is not the resource's own.
func unquoted(err error) error {
	failure, ok := errors.AsType[*provider.Error](err)
	if !ok {
		return err
	}
	quiet := *failure
	quiet.Message = "its words are not shown, because they may quote what is not the resource's own"
	return &quiet
}
