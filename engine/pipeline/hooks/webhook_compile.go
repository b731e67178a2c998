package hooks

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	apivalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/hook"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/outside"
)

// Defaults of a webhook, for boxes that did not pass through an API server, and its limits.
const (
	schemeHTTP      = "http"
	schemeHTTPS     = "https"
	defaultPort     = 443
	shortestResync  = time.Second
	maxPortOfTCP    = 65535
	webhookServices = "--webhook-services"
)

var (
	protocols       = []string{string(v1alpha1.ProtocolOrkestra), string(v1alpha1.ProtocolMetacontroller)}
	allPhases       = []string{string(hook.Create), string(hook.Update), string(hook.Reconcile), string(hook.Delete)}
	compositePhases = []string{string(hook.Reconcile), string(hook.Delete)}
)

// compileWebhook compiles spec.reconciler.hooks.webhook.
func compileWebhook(b *compile.Box, in *v1alpha1.HookSpec, declared *declare.Declaration, hooks *field.Path) *webhook {
	of, at := in.Webhook, hooks.Child("webhook")
	for name, given := range map[string]string{"location": in.Location, "function": in.Function, "alias": in.Alias} {
		if given != "" {
			b.Fail(field.Forbidden(hooks.Child(name), "it names a Go function, and the hook is a webhook: give one of the two"))
		}
	}
	w := &webhook{protocol: cmp.Or(of.Protocol, v1alpha1.ProtocolOrkestra), ownFields: ownFields(b.Spec.Status)}
	b.OneOf(string(w.protocol), protocols, at.Child("protocol"))
	w.compilePhases(b, of.Phases, at.Child("phases"))
	w.compilePlace(b, of, at)
	w.compilePaths(b, of, at)
	w.headers = outside.CompileHeaders(b, b.Scope, of.Headers, of.Auth, at)
	w.credentials = outside.CompileCredentials(b, b.Scope, of.Auth, of.CABundle, at)
	w.compileSecrets(b, of.Secrets, at.Child("secrets"))
	w.plainly(b, of, at)
	w.timeout, w.retries = outside.CompileAttempts(b, of.Timeout, of.Retries, at)
	if of.ResyncAfter != nil {
		if w.resyncAfter = of.ResyncAfter.Duration; w.resyncAfter < shortestResync {
			b.Fail(field.Invalid(at.Child("resyncAfter"), w.resyncAfter.String(), fmt.Sprintf("wanted at least %s", shortestResync)))
		}
	}
	paths := w.credentials.Paths()
	if w.headers != nil {
		paths = append(paths, w.headers.Paths()...)
	}
	b.Reads(paths)
	for _, gvk := range declared.Kinds {
		w.plurals = append(w.plurals, b.Resource(gvk))
	}
	return w
}

// compilePhases compiles the phases in which it is called.
func (w *webhook) compilePhases(b *compile.Box, in []v1alpha1.WebhookPhase, at *field.Path) {
	valid := allPhases
	if w.protocol == v1alpha1.ProtocolMetacontroller {
		valid = compositePhases
	}
	for i, phase := range in {
		b.OneOf(string(phase), valid, at.Index(i))
		w.phases = append(w.phases, hook.Phase(phase))
	}
	if len(in) == 0 {
		w.phases = []hook.Phase{hook.Reconcile}
	}
}

// compilePlace compiles what is called.
func (w *webhook) compilePlace(b *compile.Box, in *v1alpha1.HookWebhook, at *field.Path) {
	switch {
	case (in.URL == "") == (in.Service == nil):
		b.Fail(field.Invalid(at, in.URL, "give exactly one of url and service"))
	case in.Service != nil:
		w.compileService(b, in.Service, at.Child("service"))
	default:
		w.url = strings.TrimSuffix(in.URL, "/")
		w.compileURL(b, in, at.Child("url"))
	}
}

// compileURL checks a URL. Which addresses it leads to is seen when it is called.
func (w *webhook) compileURL(b *compile.Box, in *v1alpha1.HookWebhook, at *field.Path) {
	if expr.IsTemplate(in.URL) {
		b.Fail(field.Invalid(at, in.URL, "must be literal: it is the box that says who is asked; use headers or args for what a resource says"))
		return
	}
	if err := external.CheckURL(in.URL); err != nil {
		b.Fail(field.Invalid(at, in.URL, err.Error()))
		return
	}
	u, err := url.Parse(in.URL)
	switch {
	case err != nil: // said above
	case u.Scheme != schemeHTTPS:
		b.Fail(field.Invalid(at, in.URL, "wanted https://: what a webhook answers is written with the rights of the box; plain http is for a service of the cluster"))
	case in.Path+in.FinalizePath != "" && (u.RawQuery != "" || u.Fragment != ""):
		b.Fail(field.Invalid(at, in.URL, "it ends with a query, and a path is put behind it: give path without the query, or none"))
	}
}

// compilePaths compiles what stands behind the URL.
func (w *webhook) compilePaths(b *compile.Box, in *v1alpha1.HookWebhook, at *field.Path) {
	w.path, w.finalizePath = in.Path, cmp.Or(in.FinalizePath, in.Path)
	if in.FinalizePath != "" && !w.Has(hook.Delete) {
		b.Fail(field.Forbidden(at.Child("finalizePath"), "it is called in the phase Delete: add that to phases"))
	}
	for name, given := range map[string]string{"path": in.Path, "finalizePath": in.FinalizePath} {
		if given == "" {
			continue
		}
		u, err := url.Parse(given)
		if err != nil || !strings.HasPrefix(given, "/") || u.Path != path.Clean(u.Path) && u.Path != path.Clean(u.Path)+"/" || u.Host != "" || u.RawQuery != "" || u.Fragment != "" || expr.IsTemplate(given) {
			b.Fail(field.Invalid(at.Child(name), given, "wanted a literal path that begins with a slash, such as /sync"))
		}
	}
}

// compileService checks a Service: one of the account's namespace, or one that the operator of the cluster allows. Another would be called by
// whoever may write the box, past the guard.
func (w *webhook) compileService(b *compile.Box, in *v1alpha1.WebhookService, at *field.Path) {
	s := &service{namespace: in.Namespace, name: in.Name, port: cmp.Or(int64(in.Port), defaultPort)}
	scheme := cmp.Or(in.Scheme, schemeHTTPS)
	b.OneOf(scheme, []string{schemeHTTPS, schemeHTTP}, at.Child("scheme"))
	for _, name := range []struct {
		field, given string
		wrong        []string
	}{
		{"name", in.Name, apivalidation.IsDNS1035Label(in.Name)}, {"namespace", in.Namespace, apivalidation.IsDNS1123Label(in.Namespace)},
	} {
		switch {
		case name.given == "":
			b.Fail(field.Required(at.Child(name.field), "say which Service is called"))
		case len(name.wrong) > 0:
			b.Fail(field.Invalid(at.Child(name.field), name.given, "wanted a literal name: "+name.wrong[0]))
		}
	}
	if s.port < 1 || s.port > maxPortOfTCP {
		b.Fail(field.Invalid(at.Child("port"), in.Port, "wanted a port from 1 to 65535"))
	}
	w.service = s
	w.url = fmt.Sprintf("%s://%s.%s.svc:%d", scheme, s.name, s.namespace, s.port)
	b.ReadOutside(compile.OutsideRead{Kind: serviceKind, Namespace: s.namespace, Name: s.name})
	account := identity.Of(b.OperatorBox)
	switch {
	case account.Namespace != "" && account.Namespace == s.namespace:
	case b.Env.WebhookServices == nil:
		b.Notes = append(b.Notes, fmt.Sprintf("%s: it is not known here whether the operator of the cluster lets webhooks be Services of the namespace %q (%s)", at, s.namespace, webhookServices))
	case slices.Contains(b.Env.WebhookServices, s.namespace), slices.Contains(b.Env.WebhookServices, s.namespace+"/"+s.name):
	default:
		b.Fail(field.Forbidden(at, fmt.Sprintf("Service %q is not in the namespace of the account of the box, and the operator of the cluster does not allow it (%s)", s.namespace+"/"+s.name, webhookServices)))
	}
}

// compileSecrets compiles what is sent of Secrets.
func (w *webhook) compileSecrets(b *compile.Box, in []v1alpha1.SecretKeyReference, at *field.Path) {
	for i := range in {
		where := at.Index(i)
		s := outside.CompileSecret(b, b.Scope, &v1alpha1.SecretReference{Name: in[i].Name, Namespace: in[i].Namespace}, fmt.Sprintf("secrets[%d]", i), where)
		if in[i].Key == "" {
			b.Fail(field.Required(where.Child("key"), "say which key is sent"))
		}
		if s != nil {
			b.Reads(s.Name.Paths())
			w.secrets = append(w.secrets, sentSecret{Secret: s, key: in[i].Key})
		}
	}
}

// plainly refuses what would be sent so that everybody on the way reads it.
func (*webhook) plainly(b *compile.Box, in *v1alpha1.HookWebhook, at *field.Path) {
	if in.Service == nil || in.Service.Scheme != schemeHTTP {
		return
	}
	for name, given := range map[string]bool{"auth": in.Auth != nil, "secrets": len(in.Secrets) > 0} {
		if given {
			b.Fail(field.Forbidden(at.Child(name), "what Secrets hold is not sent over plain http: let the service speak https"))
		}
	}
	if in.CABundle != nil {
		b.Fail(field.Forbidden(at.Child("caBundle"), "plain http has no certificate; let the service speak https, or remove it"))
	}
}

// ownFields are the fields of the status that the box declares.
func ownFields(status *v1alpha1.StatusSpec) map[string]bool {
	out := map[string]bool{}
	if status == nil {
		return out
	}
	for i := range status.Fields {
		name, _, _ := strings.Cut(status.Fields[i].Path, ".")
		out[name] = true
	}
	return out
}
