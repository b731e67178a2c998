package pipeline

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
	query, headers map[string]*expr.Template
	body           *expr.Value
	auth           *externalAuth
	ca             *secretKey
	timeout        time.Duration
	retries        int
	expected       []int
	cacheFor       time.Duration
	proceed        bool // onError: Continue
	gate           *when.Gate
	usesChildren   bool
	outside        []compile.Outside // what it reads
	reads          []*declaration    // whose children it reads
}

// What templates find below .external.<name>.
const (
	callStatus  = "status"
	callBody    = "body"
	callHeaders = "headers"
	callError   = "error"
	callCalled  = "called"
)

func (c *externalCall) source() compile.Outside {
	return compile.Outside{Root: compile.RootExternal, Name: c.name}
}

// Name implements Stage.
func (*externals) Name() string { return stage.StepExternal }

// Run implements Stage.
func (s *externals) Run(ctx context.Context, r *Run) (stage.Outcome, error) {
	r.Outside.External = map[string]any{}
	var again []time.Time
	for _, call := range s.calls {
		if r.Outside.Lacks(call.outside) {
			r.Outside.Lack(call.source())
			continue
		}
		result, at, err := call.run(ctx, r)
		if err != nil {
			// Its class says when all of them are made again.
			return stage.Hold, fmt.Errorf("%s: %w", call.name, err)
		}
		r.Outside.External[call.name] = result
		r.Outside.Know(call.source())
		again = append(again, at)
	}
	for _, at := range again {
		r.ReconcileAt(at)
	}
	return stage.Next, nil
}

// readOnly says whether the call changes nothing, so that it may be made in every cycle.
func (c *externalCall) readOnly() bool {
	return c.method == http.MethodGet || c.method == http.MethodHead
}

// run makes the call, unless its gate is closed or it was made before, and gives what templates see of it. again is when it must
// be made again; zero: when an input changes.
func (c *externalCall) run(ctx context.Context, r *Run) (result map[string]any, again time.Time, err error) {
	if !c.readOnly() && r.Restoring {
		_, called := calledMarks(r)[c.name]
		return map[string]any{callCalled: called, callError: ""}, again, nil
	}
	if !c.readOnly() && calledMarks(r)[c.name] == r.Stored.GetGeneration() {
		return map[string]any{callCalled: true, callError: ""}, again, nil
	}
	r.foresee(ctx, c.reads)
	data := r.Data(c.usesChildren)
	open, err := r.IsOpen(ctx, c.gate, data)
	if err != nil {
		return nil, again, err
	}
	if !open {
		return map[string]any{callCalled: false}, again, nil
	}
	request, err := c.request(ctx, r, data)
	if err != nil {
		return nil, again, err
	}
	answer, err := c.send(ctx, r, request)
	switch {
	case err != nil:
		result, err = c.failed(request, err)
		return result, r.NextRead(), err // nobody tells when the host is well again
	case !c.readOnly():
		return map[string]any{callCalled: true, callError: ""}, again, c.called(ctx, r)
	case answer.Until.IsZero():
		return seen(answer), r.NextRead(), nil
	default:
		return seen(answer), answer.Until, nil
	}
}

// send reads the Secrets of the call and makes it.
func (c *externalCall) send(ctx context.Context, r *Run, request *external.Request) (*external.Answer, error) {
	if err := c.secrets(ctx, r, request); err != nil {
		return nil, err
	}
	if r.Ports.Caller == nil {
		return nil, &external.Error{Refused: true, Text: "no calls are made here"}
	}
	return r.Ports.Caller.Call(ctx, request)
}

// failed is the end of the cycle, or what templates see of a failure.
func (c *externalCall) failed(request *external.Request, err error) (map[string]any, error) {
	failure, ofHost := errors.AsType[*external.Error](err)
	missing, ofSecret := errors.AsType[*secretError](err)
	switch {
	case ofHost:
		err = fmt.Errorf("%s %s: %w", c.method, origin(request.URL), err)
	case ofSecret:
		err = stage.NewPermanent(v1alpha1.ReasonExternalFailed, missing)
	default:
		return nil, err
	}
	if !c.proceed {
		return nil, err
	}
	result := map[string]any{callCalled: false, callError: err.Error()}
	if ofHost && failure.Status != 0 {
		result[callStatus] = int64(failure.Status)
	}
	return result, nil
}

// origin is what errors say of a URL: path and query may hold secrets.
func origin(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "of this URL"
	}
	return u.Scheme + "://" + u.Host
}

// seen is what templates see of an answer: the fields of a JSON object also by their own names.
func seen(a *external.Answer) map[string]any {
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
func (c *externalCall) request(ctx context.Context, r *Run, data expr.Data) (*external.Request, error) {
	q := &external.Request{
		Box: r.Plan.Box, Name: c.name, Method: c.method, Timeout: c.timeout, Retries: c.retries, Expected: c.expected,
		CacheFor: c.cacheFor, StatusOnly: !c.readOnly(),
	}
	var err error
	if q.URL, err = stage.Text(ctx, "url", c.url, data); err != nil {
		return nil, err
	}
	if _, literal := c.url.Literal(); !literal {
		if err := expr.CheckURLPath(q.URL); err != nil {
			return nil, stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("url: %w", err))
		}
	}
	if q.Query, err = stage.Texts(ctx, "query", c.query, data); err != nil {
		return nil, err
	}
	if q.Headers, err = stage.Texts(ctx, "headers", c.headers, data); err != nil {
		return nil, err
	}
	if !c.readOnly() {
		q.Key = fmt.Sprintf("%s-%d-%s", r.Stored.GetUID(), r.Stored.GetGeneration(), c.name)
	}
	return q, c.render(ctx, q, data)
}

// render makes the body: a string is sent as text, and anything else as JSON.
func (c *externalCall) render(ctx context.Context, q *external.Request, data expr.Data) error {
	if c.body == nil {
		return nil
	}
	v, err := c.body.Eval(ctx, data)
	if err != nil {
		return stage.Evaluating("body", v1alpha1.ReasonTemplateError, err)
	}
	if s, ok := v.(string); ok {
		q.Body, q.ContentType = []byte(s), "text/plain; charset=utf-8"
		return nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("body: %w", err))
	}
	q.Body, q.ContentType = bytes.TrimSuffix(b.Bytes(), []byte("\n")), external.TypeJSON
	return nil
}

// calledMarks reads for which generation of a resource each call was made. A mark that someone broke is no mark.
func calledMarks(r *Run) map[string]int64 {
	marks := map[string]int64{}
	if err := json.Unmarshal([]byte(r.Stored.GetAnnotations()[v1alpha1.AnnotationCalled]), &marks); err != nil {
		return map[string]int64{}
	}
	return marks
}

// called marks that the call was made for this generation. Nothing that depends on it is done before the mark is written.
func (c *externalCall) called(ctx context.Context, r *Run) error {
	marks := calledMarks(r)
	marks[c.name] = r.Stored.GetGeneration()
	b, err := json.Marshal(marks)
	if err != nil {
		return fmt.Errorf("encoding marks: %w", err)
	}
	if err := r.MarkWith(ctx, v1alpha1.AnnotationCalled, string(b)); err != nil {
		return fmt.Errorf("marking that the call was made: %w", err)
	}
	return nil
}
