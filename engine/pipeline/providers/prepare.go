package providers

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr/functions"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/outside"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/provider"
)

// wanted is a resource of a provider that is to be there.
type wanted struct {
	in       children.Instance
	e        *entry
	note     noted // without a token
	declared map[string]any
	secrets  map[string]string          // the credentials; nil: none are read
	values   map[string]provider.Secret // what the fields stand for that name a key of a Secret
	fresh    bool                       // it was not noted before
	of       [32]byte                   // of all that is asked
}

// prepare evaluates the templates of an instance, and reads its credentials.
func (e *entry) prepare(ctx context.Context, c *children.Cycle, in children.Instance) (*wanted, error) {
	declared, err := e.render(ctx, c, in)
	if err != nil {
		return nil, err
	}
	w := &wanted{in: in, e: e, declared: declared, note: noted{
		ID: in.ID, Provider: e.provider, Kind: e.kind, Identity: map[string]any{}, Endpoint: e.endpoint, Policy: v1alpha1.ChildDelete,
	}}
	if e.Orphan {
		w.note.Policy = v1alpha1.ChildOrphan
	}
	for _, name := range e.of.Identity {
		if v := declared[name]; v != nil {
			w.note.Identity[name] = v
		}
	}
	if e.token != nil {
		w.note.ServiceAccount, w.note.RoleARN = e.token.ServiceAccountName, e.token.RoleARN
	}
	if e.secret != nil {
		if w.note.Secret, err = stage.Text(ctx, e.secret.What+".name", e.secret.Name, c.Data(e.UsesChildren)); err != nil {
			return nil, err
		}
		w.note.SecretNamespace = e.secret.Namespace
		if w.secrets, err = readCredentials(ctx, c, e.of, e.secret, w.note.Secret); err != nil {
			return nil, err
		}
	}
	if w.values, err = readFields(ctx, c, e.of, declared); err != nil {
		return nil, err
	}
	w.of, err = asked(c, w.note, declared, w.secrets, w.values, e.Adopt)
	return w, err
}

// asked tells all that is asked, with its credentials, from anything else: an answer is kept for the very same alone. With another value of the
// annotation reconcile-at people ask for another answer.
func asked(c *children.Cycle, all ...any) (of [32]byte, err error) {
	text, err := json.Marshal(append(all, c.Stored.GetAnnotations()[v1alpha1.AnnotationReconcileAt]))
	if err != nil {
		return of, fmt.Errorf("encoding what is asked of the provider: %w", err)
	}
	return sha256.Sum256(text), nil
}

// render gives what is declared, as the kind takes it. Errors hold nothing that a Secret holds.
func (e *entry) render(ctx context.Context, c *children.Cycle, in children.Instance) (map[string]any, error) {
	all, err := stage.Tree(ctx, "", e.Short, in.AllData(c))
	if _, ownWords := errors.AsType[*functions.FailError](err); ownWords && e.UsesSecrets {
		return nil, stage.NewPermanent(v1alpha1.ReasonTemplateError, errors.New("the template fails; its message is not shown, because it reads a Secret"))
	}
	if err != nil {
		return nil, err
	}
	tree, ok := all[e.kind].(map[string]any)
	if !ok && all[e.kind] != nil {
		return nil, stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("%s: wanted an object", e.kind))
	}
	if e.shape == nil {
		return tree, nil // what the kind takes is not known here
	}
	fitted, errs := e.shape.fit(tree)
	if len(errs) == 0 {
		return fitted, nil
	}
	problem := errs[0].Error()
	if !in.MayShowContent() {
		problem = "what the templates give does not fit the kind; it is not shown, because it is not the resource's own"
		if errs[0].Field != "" {
			problem = fmt.Sprintf("%s: %s", errs[0].Field, problem)
		}
	}
	return nil, stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("%s: %s", e.kind, strings.TrimPrefix(problem, "<nil>: ")))
}

// readCredentials gives the values of the keys that a kind takes. A line break at the end, as a file has it, is no part of one. An optional key may be
// missing, but neither the Secret nor all of its keys: without what somebody has named, the service would be asked by nobody, and might answer.
func readCredentials(ctx context.Context, c *children.Cycle, of *provider.Kind, secret *outside.Secret, name string) (map[string]string, error) {
	out := map[string]string{}
	var lacking error
	for _, key := range of.Credentials {
		values, err := secret.Read(ctx, c.Cycle, name, key.Name)
		if refused, ok := errors.AsType[*outside.SecretError](err); ok && refused.LacksKey() && key.Optional {
			lacking = cmp.Or(lacking, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		out[key.Name] = strings.TrimRight(values[0], "\r\n")
	}
	if len(out) == 0 && lacking != nil {
		return nil, lacking
	}
	return out, nil
}

// readFields gives what the fields stand for that name a key of a Secret in the namespace of the resource.
func readFields(ctx context.Context, c *children.Cycle, of *provider.Kind, declared map[string]any) (map[string]provider.Secret, error) {
	out := map[string]provider.Secret{}
	for _, field := range of.Secrets {
		ref, _ := declared[field].(map[string]any)
		name, _ := ref["name"].(string)
		key, _ := ref["key"].(string)
		if name == "" || key == "" {
			continue
		}
		secret := &outside.Secret{What: field}
		values, err := secret.Read(ctx, c.Cycle, name, key)
		if err != nil {
			return nil, err
		}
		version := ""
		if obj := c.Ports.Observer.Get(compile.SecretKind, c.Home(), name); obj != nil {
			version = string(obj.GetUID()) + "/" + obj.GetResourceVersion()
		}
		out[field] = provider.Secret{Value: strings.TrimRight(values[0], "\r\n"), Version: version}
	}
	return out, nil
}

// request is what a driver is asked.
func (w *wanted) request(ctx context.Context, c *children.Cycle) (provider.Request, error) {
	r := newRequest(c, w.note.Token, w.e.endpoint)
	r.Declared, r.Adopt, r.Credentials, r.Secrets = w.declared, w.e.Adopt, w.secrets, w.values
	r.Absent, r.Noted = w.note.Absent, w.note.Noted
	return r, withIdentity(ctx, c, &r, w.e.of, w.note.ServiceAccount, w.note.RoleARN)
}

func newRequest(c *children.Cycle, token, endpoint string) provider.Request {
	return provider.Request{
		Owner: provider.Owner{Box: c.Plan.Box, UID: string(c.Stored.GetUID()), Namespace: c.Home(), Name: c.Stored.GetName()},
		Token: token, Endpoint: endpoint,
	}
}

// withIdentity adds the token of a ServiceAccount, where one is named. It is made for this call alone.
func withIdentity(ctx context.Context, c *children.Cycle, r *provider.Request, of *provider.Kind, account, role string) error {
	if account == "" {
		return nil
	}
	token, err := c.Ports.Tokens.Token(ctx, c.Home(), account, of.Audience)
	if err != nil {
		return fmt.Errorf("asking for a token of ServiceAccount %q: %w", account, err)
	}
	r.WebIdentity = &provider.WebIdentity{Token: token, RoleARN: role}
	return nil
}

// isWait says whether an error means that something else has to be there first, or is withheld: what was made stays as it is until then. Without
// a Secret nothing can be made or looked after, so that the resource is not Ready.
func isWait(ctx context.Context, c *children.Cycle, err error) (w stage.Wait, waits bool) {
	if reason, why, lacks := children.Lacks(ctx, c, err); lacks {
		return stage.Wait{Reason: reason, Message: why}, true
	}
	if withheld, ok := errors.AsType[*stage.WithheldError](err); ok {
		return stage.Wait{Reason: v1alpha1.ReasonForbidden, Message: withheld.Error()}, true
	}
	if missing, ok := errors.AsType[*outside.SecretError](err); ok {
		return stage.Wait{Reason: v1alpha1.ReasonWaitingForProvider, Message: missing.Error(), Unready: true}, true
	}
	return w, false
}
