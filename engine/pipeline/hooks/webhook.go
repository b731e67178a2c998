package hooks

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/hook"
	"github.com/orkspace/orkestra/engine/hook/protocol"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/outside"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// webhook is a hook that is called over HTTP. It is immutable.
type webhook struct {
	protocol           v1alpha1.WebhookProtocol
	phases             []hook.Phase
	url                string   // without the path; of a Service: its name in the cluster
	service            *service // nil: the URL is called as it is
	path, finalizePath string   // behind the URL; the second in the phase Delete
	credentials        outside.Credentials
	headers            *expr.Value
	secrets            []sentSecret
	timeout            time.Duration
	retries            int
	resyncAfter        time.Duration // zero: it is asked again when something changes

	ownFields map[string]bool // fields of the status that the box declares
	plurals   []string        // of the kinds of resources, as the API server serves them
}

// sentSecret is a key of a Secret that is sent.
type sentSecret struct {
	*outside.Secret

	key string
}

// Headers of a conditional request.
const (
	headerTag     = "Etag"
	headerNoMatch = "If-None-Match"
)

// Has implements runner.
func (w *webhook) Has(p hook.Phase) bool { return slices.Contains(w.phases, p) }

// pathIn is the path that is called in a phase.
func (w *webhook) pathIn(p hook.Phase) string {
	if p == hook.Delete {
		return w.finalizePath
	}
	return w.path
}

// theAnswer is what messages call the answer of a webhook, in front of the path in it.
const theAnswer = "the webhook's answer"

// blames implements runner.
func (*webhook) blames(err error) error {
	return stage.NewPermanent(v1alpha1.ReasonWebhookFailed, fmt.Errorf("%s, %w", theAnswer, err))
}

// sweeps implements runner.
func (w *webhook) sweeps() bool { return w.protocol == v1alpha1.ProtocolMetacontroller }

// absent implements runner.
func (*webhook) absent(c *children.Cycle) string {
	if c.Ports.Caller == nil && c.Ports.StandIn == nil {
		return "it is a webhook, and is not called here, so that what it makes is not known"
	}
	return ""
}

// run implements runner.
func (w *webhook) run(ctx context.Context, k *call, out *hook.Outcome) error {
	if stand := k.Ports.StandIn; stand != nil {
		return w.imagine(k, stand, out)
	}
	data := k.Data(true)
	sent, err := w.read(ctx, k, data)
	for _, one := range sent {
		out.Secrets = append(out.Secrets, one.value)
	}
	if err != nil {
		return w.failed(k, maskOf(out), err)
	}
	m, err := w.message(k, sent)
	if err != nil {
		return err
	}
	body, err := w.ask(ctx, k, data, m, out)
	if err != nil {
		return w.failed(k, maskOf(out), err)
	}
	if err := w.take(k, m, body, out); err != nil {
		return err
	}
	k.askAgain(out)
	return nil
}

// take reads an answer and says what it says.
func (w *webhook) take(k *call, m *message, body any, out *hook.Outcome) error {
	answer, err := m.read(body)
	if err == nil {
		out.StatusStays = answer.statusStays
		if err = hook.Say(out, answer.say); err != nil {
			err = fmt.Errorf("the answer, %w", err)
		}
	}
	if err != nil {
		return w.failed(k, maskOf(out), &answerError{err})
	}
	return nil
}

// imagine says what stands in for an answer.
func (w *webhook) imagine(k *call, stand stage.StandIn, out *hook.Outcome) error {
	m, err := w.message(k, nil)
	if err != nil {
		return err
	}
	body, err := stand.Answer(m.body)
	if err != nil {
		return &unansweredError{err}
	}
	return w.take(k, m, body, out)
}

// unansweredError says why nothing stands in for the answer of a webhook that is not called.
type unansweredError struct{ error }

// askAgain has the webhook asked again when its answer says so, although the request is the same: after the time that it names, and where it waits
// for something, at the next resync at the latest.
func (k *call) askAgain(out *hook.Outcome) {
	if out.RequeueAfter > 0 {
		k.answers().Expire(string(k.phase), k.Now.Add(out.RequeueAfter))
	}
	if len(out.Waits) > 0 {
		k.answers().Expire(string(k.phase), k.NextRead())
		k.ReconcileAt(k.NextRead())
	}
}

// answerError is an answer that can't be used.
type answerError struct{ error }

// failed gives the error of a call that came to nothing, without what is hidden: a host is quoted in it, too. What mends it can't be watched, so
// that it is called again at the next resync at the latest.
func (w *webhook) failed(k *call, hidden outside.Masked, err error) error {
	k.ReconcileAt(k.NextRead())
	var (
		host   *external.Error
		secret *outside.SecretError
		answer *answerError
		at     *serviceError
	)
	switch {
	case errors.As(err, &host) && !host.Refused:
		return fmt.Errorf("webhook %s: %w", outside.Origin(w.url), err)
	case errors.As(err, &host), errors.As(err, &answer), errors.As(err, &at):
		// In its words alone, so that its class is the one that it is given here.
		return stage.NewPermanent(v1alpha1.ReasonWebhookFailed, fmt.Errorf("webhook %s: %s", outside.Origin(w.url), hidden.Text(err.Error())))
	case errors.As(err, &secret):
		return stage.NewPermanent(v1alpha1.ReasonWebhookFailed, fmt.Errorf("webhook: %w", secret))
	default:
		return err
	}
}

// answers is what is kept of the answers for the resource.
func (k *call) answers() *protocol.Memory {
	if k.Ports.Answers == nil {
		return &protocol.Memory{}
	}
	return k.Ports.Answers
}

// ask gives the answer to a request: the one that is kept, where it is the same request, or the webhook says that it still holds. What it is
// authenticated by is noted, since an answer may repeat it.
func (w *webhook) ask(ctx context.Context, k *call, data expr.Data, m *message, out *hook.Outcome) (body any, err error) {
	q := &external.Request{
		Box: k.Plan.Box, Account: k.Account.Key(), Name: "hook", Webhook: true, Method: http.MethodPost, URL: w.url + w.pathIn(k.phase),
		Body: m.body, ContentType: external.TypeJSON, Timeout: w.timeout, Retries: w.retries, Expected: []int{http.StatusOK},
	}
	if q.Service, err = w.service.address(ctx, k.Cycle); err != nil {
		return nil, err
	}
	if q.Headers, err = stage.Texts(ctx, "headers", w.headers, data); err != nil {
		return nil, err //nolint:wrapcheck // it says which header
	}
	if err := w.credentials.AddTo(ctx, k.Cycle.Cycle, data, q); err != nil {
		return nil, err //nolint:wrapcheck // it says which Secret
	}
	if q.Credential != nil {
		out.Credentials = q.Credential.Secrets
	}
	of, memory := w.identity(q), k.answers()
	last, same := memory.Last(string(k.phase), of, k.Now)
	if !same {
		if last, err = w.send(ctx, k, q, last); err != nil {
			return nil, err
		}
		last.Of = of
		memory.Keep(string(k.phase), last)
	}
	k.ReconcileAt(last.Until)
	return last.Body, nil
}

// identity is the same for requests that are the same.
func (w *webhook) identity(q *external.Request) [sha256.Size]byte {
	of := fmt.Sprintf("%q %q %q %q %q", q.URL, q.Service, q.Account, q.Headers, q.CABundle)
	if q.Credential != nil {
		of += fmt.Sprintf(" %q %q", q.Credential.Header, q.Credential.Value)
	}
	return sha256.Sum256(append([]byte(of), q.Body...))
}

// send sends a request. The last answer is used again where the webhook says by its ETag that it still holds.
func (w *webhook) send(ctx context.Context, k *call, q *external.Request, last protocol.Kept) (protocol.Kept, error) {
	if last.Tag != "" {
		headers := map[string]string{headerNoMatch: last.Tag}
		maps.Copy(headers, q.Headers)
		q.Headers, q.Expected = headers, append(q.Expected, http.StatusNotModified)
	}
	answer, err := k.Ports.Caller.Call(ctx, q)
	if err != nil {
		return protocol.Kept{}, err //nolint:wrapcheck // it is put into words above
	}
	if answer.Status != http.StatusNotModified {
		last = protocol.Kept{Body: answer.Body}
		last.Tag, _ = answer.Headers[headerTag].(string)
	}
	last.Until = time.Time{}
	if w.resyncAfter > 0 {
		last.Until = k.Now.Add(w.resyncAfter)
	}
	return last, nil
}
