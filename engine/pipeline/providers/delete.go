package providers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/outside"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/provider"
	"github.com/orkspace/orkestra/engine/provision"
)

// remove deletes what is noted, or leaves it where that is asked for, and says whether nothing is left to do.
func (p *Plan) remove(ctx context.Context, c *children.Cycle, n *noted) (gone bool, err error) {
	if p.policy(n) == v1alpha1.ChildOrphan {
		c.Events = append(c.Events, stage.Event{Reason: v1alpha1.ReasonProviderLeft, Message: n.called() + " is left where it is"})
		return true, nil
	}
	call, err := p.deletion(ctx, c, n)
	if err != nil {
		return false, err
	}
	of, err := asked(c, n, call.Request.Credentials)
	if err != nil {
		return false, err
	}
	memory, key := c.Ports.Providers.Memory(), deletionKey(n.key())
	last := memory.Recall(key)
	if last.Holds(of, c.Now) {
		c.ReconcileAt(last.Next)
		return false, p.outcome(c, n, last)
	}
	answer, err := c.Ports.Providers.Call(ctx, call)
	_, ofService := errors.AsType[*provider.Error](err)
	switch {
	case answer.Gone && err == nil, provider.IsClass(err, provider.NotFound), provider.IsClass(err, provider.NotOwned):
		c.Events = append(c.Events, stage.Event{Reason: v1alpha1.ReasonProviderGone, Message: n.called() + " is gone"})
		return true, nil
	case err != nil && !ofService:
		return false, err
	}
	next := &provision.Record{Of: of, At: c.Now, Err: err}
	if last != nil {
		next.Tries = last.Tries
	}
	next.Next = pause(c, waitingPause, next.Tries)
	if err != nil {
		next.Next = nextAfter(c, err, next.Tries)
	}
	next.Tries++
	memory.Remember(key, next)
	c.ReconcileAt(next.Next)
	return false, p.outcome(c, n, next)
}

// deletionKey is by which it is remembered how the deletion of something goes.
func deletionKey(key string) string { return "delete/" + key }

// outcome is what a deletion that is not over came to: a wait, or an error.
func (p *Plan) outcome(c *children.Cycle, n *noted, last *provision.Record) error {
	switch {
	case last.Err == nil:
		c.Wait("", v1alpha1.ReasonWaitingForProvider, n.called()+" is being deleted")
		return nil
	case provider.IsClass(last.Err, provider.Throttled):
		c.Wait("", v1alpha1.ReasonWaitingForProvider, fmt.Sprintf("%s: %s", n.called(), last.Err))
		return nil
	default:
		return last.Err
	}
}

// policy is what happens to what is noted: as the box declares it now, where it does.
func (p *Plan) policy(n *noted) v1alpha1.ChildDeletionPolicy {
	for _, e := range p.entries {
		if e.provider != n.Provider || e.kind != n.Kind || !declare.IsInstance(n.ID, e.ID) {
			continue
		}
		if e.Orphan {
			return v1alpha1.ChildOrphan
		}
		return v1alpha1.ChildDelete
	}
	return n.Policy
}

// deletion is the call that deletes what is noted.
func (p *Plan) deletion(ctx context.Context, c *children.Cycle, n *noted) (*provision.Call, error) {
	kind, err := p.kindOf(n)
	if err != nil {
		return nil, err
	}
	if a := n.access(); a.Sends() && !c.Plan.Places.Allows(a) {
		return nil, blocked(v1alpha1.ReasonProviderDenied, "neither the box nor a kept revision of it declares the credentials and the endpoint that it was made with")
	}
	request := newRequest(c, n.Token, n.Endpoint)
	request.Declared, request.Noted, request.Absent = maps.Clone(n.Identity), n.Noted, n.Absent
	if n.Secret != "" {
		secret := &outside.Secret{What: "credentials.secretRef", Namespace: n.SecretNamespace}
		request.Credentials, err = readCredentials(ctx, c, kind, secret, n.Secret)
		if missing, ok := errors.AsType[*outside.SecretError](err); ok {
			return nil, blocked(v1alpha1.ReasonProviderDenied, missing.Error())
		}
		if err != nil {
			return nil, err
		}
	}
	if err := withIdentity(ctx, c, &request, kind, n.ServiceAccount, n.RoleARN); err != nil {
		return nil, err
	}
	return &provision.Call{
		Box: c.Plan.Box, Account: c.Account.Key(), Provider: n.Provider, Kind: n.Kind, Driver: kind.Driver, Operation: provision.Delete, Request: request,
	}, nil
}

// kindOf finds the kind of what is noted among the providers that the manager has.
func (p *Plan) kindOf(n *noted) (*provider.Kind, error) {
	if found := p.registry.Get(n.Provider); found != nil {
		if kind, ok := found.Kinds()[n.Kind]; ok {
			return &kind, nil
		}
	}
	return nil, blocked(v1alpha1.ReasonProviderRefused, fmt.Sprintf("this manager has no provider that knows %s; use the image that has made it", typeOf(n.Provider, n.Kind)))
}

// blocked says why something that was made can't be deleted, and what lets go of it.
func blocked(reason, why string) error {
	return stage.NewPermanent(reason, fmt.Errorf("it can't be deleted: %s; when the resource is deleted, the annotation %s: \"true\" leaves it where it is", why, v1alpha1.AnnotationSkipCleanup))
}

// TakeBack deletes everything that a resource has made: it goes. The last one goes first, and none before those that were made after it
// are gone. done says whether all are.
func (p *Plan) TakeBack(ctx context.Context, c *children.Cycle) (done bool, err error) {
	notes := &notes{c: c, all: read(c.Stored)}
	if len(notes.all) == 0 {
		return true, nil
	}
	if c.Orphans() {
		p.Leave(c, errors.New("the resource was deleted with the request to leave what it has made"))
		return true, nil
	}
	if c.Ports.Providers == nil {
		return false, errors.New("no providers are called here")
	}
	skips := c.Stored.GetAnnotations()[v1alpha1.AnnotationSkipCleanup] == v1alpha1.True
	var errs []error
	for _, n := range slices.Backward(slices.Clone(notes.all)) {
		gone, err := p.remove(ctx, c, &n)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", n.called(), err))
		}
		if gone {
			notes.drop(n.key())
		} else if !skips {
			break // the others were there first, and may be needed until it is gone
		}
	}
	if len(notes.all) == 0 {
		return true, nil // the note goes with the resource
	}
	return false, errors.Join(append(errs, notes.write(ctx))...)
}

// Undo is TakeBack for a resource whose box goes. What can't be deleted is left where people have asked for that.
func (p *Plan) Undo(ctx context.Context, c *children.Cycle) (done bool, err error) {
	done, err = p.TakeBack(ctx, c)
	if done || c.Stored.GetAnnotations()[v1alpha1.AnnotationSkipCleanup] != v1alpha1.True {
		return done, err
	}
	if err == nil {
		err = errors.New("it is being deleted, which nobody waits for")
	}
	p.Leave(c, err)
	return true, nil
}

// Leave says of all that a resource has made that it is left where it is.
func (*Plan) Leave(c *children.Cycle, why error) {
	for _, what := range Made(c.Stored) {
		c.Warn(v1alpha1.ReasonProviderLeft, what+" is left where it is")
	}
	if len(Made(c.Stored)) > 0 {
		c.Warn(v1alpha1.ReasonProviderLeft, why.Error())
	}
}

// Waits names what has to wait where nothing may be written; empty: nothing.
func (*Plan) Waits(c *children.Cycle) string {
	if len(read(c.Stored)) == 0 {
		return ""
	}
	return "deleting what providers have made"
}
