package outside

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/when"
)

// externals makes the HTTP calls of a box, in their order: a call may read the answers to those before it.
type externals struct{ calls []*externalCall }

// externalCall is one entry of spec.external, compiled.
type externalCall struct {
	name, method   string
	url            *expr.Template
	query, headers *expr.Value
	body           *expr.Value
	credentials    Credentials
	timeout        time.Duration
	retries        int
	expected       []int
	cacheFor       time.Duration
	proceed        bool // onError: Continue
	gate           *when.Gate
	usesChildren   bool
	outside        []compile.Outside // what it reads
}

// What templates find below .external.<name>.
const (
	callStatus  = "status"
	callBody    = "body"
	callHeaders = "headers"
	callError   = "error"
	callCalled  = "called"
)

func (e *externalCall) source() compile.Outside {
	return compile.Outside{Root: compile.RootExternal, Name: e.name}
}

// Name implements Stage.
func (*externals) Name() string { return stage.StepExternal }

// Run implements Stage.
func (s *externals) Run(ctx context.Context, c *stage.Cycle) (stage.Outcome, error) {
	c.Outside.External, c.Outside.ExternalWithSecrets = map[string]any{}, map[string]any{}
	var again []time.Time
	for _, call := range s.calls {
		if c.Outside.Lacks(call.outside) {
			c.Outside.Lack(call.source())
			continue
		}
		result, hidden, at, err := call.run(ctx, c)
		if withheld, ok := errors.AsType[*stage.WithheldError](err); ok {
			// Its credentials may not be read, so that the call is not made. What reads its answer waits, and stays as it is.
			c.Outside.Know(call.source())
			c.Outside.Lack(call.source())
			c.Wait(call.source().ID(), v1alpha1.ReasonForbidden, fmt.Sprintf("external %s: %s%s", call.name, withheld, readersOf(ctx, c, s.calls, call.source())))
			continue
		}
		if absent, ok := errors.AsType[*roots.AbsentError](err); ok && absent.Below(compile.RootCross) {
			// The object that is read has no such field yet. What fills it in has the resource reconciled.
			c.Outside.Know(call.source())
			c.Outside.Lack(call.source())
			c.Wait(call.source().ID(), v1alpha1.ReasonWaitingForCross, fmt.Sprintf("external %s: %s is not there yet%s", call.name, absent.Place(),
				readersOf(ctx, c, s.calls, call.source())))
			continue
		}
		if err != nil {
			// Its class says when all of them are made again.
			return stage.Hold, fmt.Errorf("%s: %w", call.name, err)
		}
		c.Outside.External[call.name], c.Outside.ExternalWithSecrets[call.name] = hidden.Value(result), result
		c.Outside.Know(call.source())
		again = append(again, at)
	}
	for _, at := range again {
		c.ReconcileAt(at)
	}
	if c.Outside.LacksAny() && (!c.Marks.Active || c.Restoring) {
		return stage.Hold, nil // as without a required source of cross
	}
	return stage.Next, nil
}

// readOnly says whether the call changes nothing, so that it may be made in every cycle.
func (e *externalCall) readOnly() bool {
	return e.method == http.MethodGet || e.method == http.MethodHead
}

// run makes the call, unless its gate is closed or it was made before, and gives what templates see of it. again is when it must
// be made again; zero: when an input changes. What the call is authenticated by is hidden.
func (e *externalCall) run(ctx context.Context, c *stage.Cycle) (result map[string]any, hidden Masked, again time.Time, err error) {
	if !e.readOnly() && c.Restoring { // what it changed can't be taken back, and is not done again for an older spec
		_, called := calledMarks(c)[e.name]
		return map[string]any{callCalled: called, callError: ""}, hidden, again, nil
	}
	if !e.readOnly() && calledMarks(c)[e.name] == stage.Edition(c.Stored) { // once for each generation, also after a restart
		return map[string]any{callCalled: true, callError: ""}, hidden, again, nil
	}
	c.Children.Foresee(ctx, e.paths()) // the gate and the templates may read a Job that runs again in this cycle
	data := c.Data(e.usesChildren)
	open, err := c.IsOpen(ctx, e.gate, data)
	if err != nil {
		return nil, hidden, again, err
	}
	if !open {
		return map[string]any{callCalled: false}, hidden, again, nil
	}
	request, err := e.request(ctx, c, data)
	if err != nil {
		return nil, hidden, again, err
	}
	answer, err := e.send(ctx, c, request)
	if request.Credential != nil {
		hidden = Mask(request.Credential.Secrets...)
	}
	switch {
	case err != nil:
		result, err = e.afterFailure(request, err)
		return result, hidden, c.NextRead(), err // nobody tells when the host is well again
	case !e.readOnly():
		return map[string]any{callCalled: true, callError: ""}, hidden, again, e.markCalled(ctx, c)
	case answer.Until.IsZero():
		return answerView(answer), hidden, c.NextRead(), nil
	default:
		return answerView(answer), hidden, answer.Until, nil
	}
}

// send reads the Secrets of the call and makes it.
func (e *externalCall) send(ctx context.Context, c *stage.Cycle, request *external.Request) (*external.Answer, error) {
	if err := e.credentials.AddTo(ctx, c, c.Data(e.usesChildren), request); err != nil {
		return nil, err
	}
	if c.Ports.Caller == nil {
		return nil, &external.Error{Refused: true, Text: "no calls are made here"}
	}
	return c.Ports.Caller.Call(ctx, request)
}

// afterFailure gives the error that ends the cycle, or what templates see of the failure where onError says Continue.
func (e *externalCall) afterFailure(request *external.Request, err error) (map[string]any, error) {
	failure, ofHost := errors.AsType[*external.Error](err)
	missing, ofSecret := errors.AsType[*SecretError](err)
	switch {
	case ofHost:
		err = fmt.Errorf("%s %s: %w", e.method, Origin(request.URL), err)
	case ofSecret:
		err = stage.NewPermanent(v1alpha1.ReasonExternalFailed, missing)
	default:
		return nil, err
	}
	if !e.proceed {
		return nil, err
	}
	result := map[string]any{callCalled: false, callError: err.Error()}
	if ofHost && failure.Status != 0 {
		result[callStatus] = int64(failure.Status)
	}
	return result, nil
}

// Origin is what errors say of a URL: path and query may hold secrets.
func Origin(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "of this URL"
	}
	return u.Scheme + "://" + u.Host
}

// answerView is what templates see of an answer: the fields of a JSON object also by their own names.
func answerView(a *external.Answer) map[string]any {
	result := map[string]any{}
	if body, ok := a.Body.(map[string]any); ok {
		maps.Copy(result, body)
	}
	maps.Copy(result, map[string]any{
		callStatus: int64(a.Status), callBody: a.Body, callHeaders: a.Headers, callError: "", callCalled: true,
	})
	return result
}

// request renders the call. An error is the box's or the resource's, and no failure of the call.
func (e *externalCall) request(ctx context.Context, c *stage.Cycle, data expr.Data) (*external.Request, error) {
	q := &external.Request{
		Box: c.Plan.Box, Account: c.Account.Key(), Name: e.name, Method: e.method, Timeout: e.timeout, Retries: e.retries, Expected: e.expected,
		CacheFor: e.cacheFor, StatusOnly: !e.readOnly(),
	}
	var err error
	if q.URL, err = stage.Text(ctx, "url", e.url, data); err != nil {
		return nil, err
	}
	if _, literal := e.url.Literal(); !literal {
		if err := expr.CheckURLPath(q.URL); err != nil {
			return nil, stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("url: %w", err))
		}
	}
	if q.Query, err = stage.Texts(ctx, "query", e.query, data); err != nil {
		return nil, err
	}
	if q.Headers, err = stage.Texts(ctx, "headers", e.headers, data); err != nil {
		return nil, err
	}
	if !e.readOnly() {
		// Where this process ends before the call is marked, it is sent again: the service can tell that by the key.
		q.Key = fmt.Sprintf("%s-%d-%s", c.Stored.GetUID(), stage.Edition(c.Stored), e.name)
	}
	return q, e.render(ctx, q, data)
}

// render makes the body: a string is sent as text, and anything else as JSON.
func (e *externalCall) render(ctx context.Context, q *external.Request, data expr.Data) error {
	if e.body == nil {
		return nil
	}
	v, err := e.body.Eval(ctx, data)
	if err != nil {
		return stage.Evaluating("body", v1alpha1.ReasonTemplateError, err)
	}
	if s, ok := v.(string); ok {
		q.Body, q.ContentType = []byte(s), "text/plain; charset=utf-8"
		return nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("body: %w", err))
	}
	q.Body, q.ContentType = bytes.TrimSuffix(b.Bytes(), []byte("\n")), external.TypeJSON
	return nil
}

// calledMarks reads for which generation of a resource each call was made. A mark that someone broke is no mark.
func calledMarks(c *stage.Cycle) map[string]int64 {
	marks := map[string]int64{}
	if err := json.Unmarshal([]byte(c.Stored.GetAnnotations()[v1alpha1.AnnotationCalled]), &marks); err != nil {
		return map[string]int64{}
	}
	return marks
}

// markCalled marks that the call was made for this generation. Nothing that depends on it is done before the mark is written.
func (e *externalCall) markCalled(ctx context.Context, c *stage.Cycle) error {
	marks := calledMarks(c)
	marks[e.name] = stage.Edition(c.Stored)
	b, err := json.Marshal(marks)
	if err != nil {
		return fmt.Errorf("encoding marks: %w", err)
	}
	if err := c.MarkWith(ctx, v1alpha1.AnnotationCalled, string(b)); err != nil {
		return fmt.Errorf("marking that the call was made: %w", err)
	}
	return nil
}
