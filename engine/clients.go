package engine

import (
	"net/http"

	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/constructor"
	"github.com/orkspace/orkestra/engine/discovery"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/metrics"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/provision"
	"github.com/orkspace/orkestra/engine/tracing"
	"github.com/orkspace/orkestra/engine/worker"
)

// clients send the requests of one box. All share the connections of the process, and the places of the box in flight.
type clients struct {
	account *apply.Client        // as the account of the box: children, marks, status
	manager *apply.Client        // as the manager: what Orkestra keeps for itself
	events  events.EventRecorder // about resources, as the account; nil: none are sent
	stop    func()               // ends the events
	code    client.Client        // as the account, for hooks of the user's own; nil: there are none
	http    *http.Client         // as the account
	tokens  provision.Tokens     // of accounts, asked for as the account

	constructed *constructor.Code // in place of the plan, with a client of its own; nil: there is none, or it can't act as the account
}

// connections are what the requests of all boxes share.
type connections struct {
	http     http.RoundTripper
	inFlight chan struct{} // one per request that may be under way, over all boxes
}

// counting counts the requests that go through a transport, and makes spans of those that reconciles send; no box's are those that several
// share.
func counting(next http.RoundTripper, recorder *metrics.Recorder, box string) http.RoundTripper {
	return tracing.NewTransport(worker.NewCounting(next, func(verb string, code int) { recorder.Requested(box, verb, code) }), asked)
}

// asked says what a request asks of the API server.
func asked(r *http.Request) tracing.Asked {
	target, ok := worker.TargetOf(r.URL.Path)
	if !ok {
		target.Resource = "discovery"
	}
	return tracing.Asked{Verb: worker.VerbOf(r), Resource: target.Kind(), Namespace: target.Namespace, Name: target.Name}
}

// clients makes those of the box that runs a plan. sending has the limits of its requests.
func (s connections) clients(engine Config, plan *pipeline.Plan, sending *rest.Config) (c clients, err error) {
	mapper, places := discovery.MapperOf(plan.CRD, engine.Mapper), worker.NewPlaces(s.inFlight)
	as := func(account identity.Account) *http.Client {
		return &http.Client{Transport: worker.NewTransport(counting(identity.NewTransport(account, plan.Box, s.http), engine.Metrics, plan.Box), places, RequestTimeout)}
	}
	c.stop = func() { /* the manager's recorder outlives the box */ }
	if c.manager, err = apply.NewClient(sending, as(identity.Account{}), mapper); err != nil {
		return c, err
	}
	c.http = as(plan.Account)
	if c.account, err = apply.NewClient(sending, c.http, mapper); err != nil {
		return c, err
	}
	if c.tokens.Accounts, err = corev1client.NewForConfigAndClient(sending, c.http); err != nil {
		return c, err
	}
	if len(engine.Code.HookNames()) > 0 && plan.AccountProblem.Reason == "" {
		if c.code, err = client.New(sending, client.Options{HTTPClient: c.http, Scheme: engine.Code.Scheme(), Mapper: mapper}); err != nil {
			return c, err
		}
	}
	switch problem := plan.AccountProblem; {
	case problem.Reason != "":
		refusal := &apply.RefusedError{Reason: problem.Reason, Message: problem.Message}
		c.account, c.tokens.Refusal = c.account.OnlyDeletes(refusal), refusal
	case plan.Account.IsManager() || engine.Events == nil:
		c.events = engine.Events
	default:
		recorder, err := identity.NewRecorder(sending, identity.NewTransport(plan.Account, plan.Box, s.http), EventSource, RequestTimeout, engine.Log)
		if err != nil {
			return c, err
		}
		c.events, c.stop = recorder, recorder.Stop
	}
	return c, nil
}
