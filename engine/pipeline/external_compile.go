package pipeline

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/value"
	"github.com/orkspace/orkestra/engine/when"
)

// The defaults of a call, for boxes that did not pass through an API server, and its limits.
const (
	defaultCallTimeout = 10 * time.Second
	defaultCallRetries = 2
	maxCallRetries     = 10
	maxCallTime        = 90 * time.Second // for all attempts of one call: a reconcile must end
	minCacheFor        = time.Second
)

var (
	callMethods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	authTypes   = []string{authBearer, authBasic, authHeader}
	onErrors    = []string{"Fail", "Continue"}
)

func compileExternal(c *compiler) Stage {
	s := &externals{}
	at := field.NewPath("spec", "external")
	seen := map[string]bool{}
	for i := range c.Spec.External {
		in, where := &c.Spec.External[i], at.Index(i)
		if seen[in.Name] {
			c.Fail(field.Duplicate(where.Child("name"), in.Name))
		}
		seen[in.Name] = true
		s.calls = append(s.calls, c.externalCall(in, c.callScope(i), where))
	}
	if len(s.calls) == 0 {
		return nil
	}
	c.plan.calls = s.calls
	return s
}

// callScope is what a call may read: what was read before it, and the answers to the calls before it. Children are read as they
// are before the groups run.
func (c *compiler) callScope(index int) *expr.Scope {
	names := externalSchemas(c.OperatorBox)
	for i := index; i < len(c.Spec.External); i++ {
		names[c.Spec.External[i].Name] = roots.Hidden("calls are made in their order, and this one is not made yet")
	}
	return c.Scope.WithNames(compile.RootExternal, names)
}

// externalSchemas are the names below .external, with what is known of what is there.
func externalSchemas(box *v1alpha1.OperatorBox) map[string]*apiextensionsv1.JSONSchemaProps {
	names := make(map[string]*apiextensionsv1.JSONSchemaProps, len(box.Spec.External))
	for i := range box.Spec.External {
		names[box.Spec.External[i].Name] = callSchema(&box.Spec.External[i])
	}
	return names
}

func callSchema(in *v1alpha1.ExternalCall) *apiextensionsv1.JSONSchemaProps {
	text := apiextensionsv1.JSONSchemaProps{Type: value.TypeString}
	s := &apiextensionsv1.JSONSchemaProps{Type: value.TypeObject, Properties: map[string]apiextensionsv1.JSONSchemaProps{
		callError: text, callCalled: {Type: "boolean"}, callStatus: {Type: "integer"},
	}}
	if method(in) == http.MethodGet || method(in) == http.MethodHead {
		s.Properties[callHeaders] = apiextensionsv1.JSONSchemaProps{
			Type: value.TypeObject, AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &text},
		}
		s.Properties[callBody] = apiextensionsv1.JSONSchemaProps{XPreserveUnknownFields: new(true)}
		s.XPreserveUnknownFields = new(true) // the fields of a JSON object
		return s
	}
	for _, name := range []string{callBody, callHeaders, callStatus} {
		s.Properties[name] = *roots.Hidden("a call that is made once per generation leaves nothing but called; read the answer by a GET")
	}
	return s
}

func method(in *v1alpha1.ExternalCall) string {
	if in.Method == "" {
		return http.MethodGet
	}
	return in.Method
}

func (c *compiler) externalCall(in *v1alpha1.ExternalCall, scope *expr.Scope, at *field.Path) *externalCall {
	call := &externalCall{
		name: in.Name, method: method(in), proceed: in.OnError == "Continue",
		timeout: defaultCallTimeout, retries: defaultCallRetries, expected: []int{http.StatusOK},
		query: map[string]*expr.Template{}, headers: map[string]*expr.Template{},
	}
	c.OneOf(call.method, callMethods, at.Child("method"))
	if in.OnError != "" {
		c.OneOf(in.OnError, onErrors, at.Child("onError"))
	}
	c.callURL(call, in, scope, at.Child("url"))
	for name, value := range in.Query {
		call.query[name] = c.Text(scope, string(value), at.Child("query").Key(name))
	}
	c.callHeaders(call, in, scope, at)
	c.callBody(call, in, scope, at.Child("body"))
	c.callAuth(call, in, scope, at)
	c.callLimits(call, in, at)
	gate, errs := when.CompileGate(in.Gate, scope, at)
	c.Fail(errs...)
	call.gate = gate
	call.usesChildren, call.outside = c.Reads(call.paths()), c.Outside(call.paths())
	children := childrenByName(c.plan.declarations)
	for name := range childNamesIn(call.paths()) {
		call.reads = append(call.reads, children[name]...)
	}
	return call
}

// callURL compiles the URL. Its host is the box author's to say: only where the operator names the hosts that may be called at all
// may it come from a resource, and never where credentials go with it.
func (c *compiler) callURL(call *externalCall, in *v1alpha1.ExternalCall, scope *expr.Scope, at *field.Path) {
	if in.URL == "" {
		c.Fail(field.Required(at, "say what is called"))
		return
	}
	var err error
	if call.url, err = scope.CompileURL(in.URL); err != nil {
		c.Fail(field.Invalid(at, in.URL, err.Error()))
		return
	}
	literal, _, templated := strings.Cut(in.URL, "{{")
	_, rest, _ := strings.Cut(literal, "://")
	switch {
	case !templated:
		if err := external.CheckURL(in.URL); err != nil {
			c.Fail(field.Invalid(at, in.URL, err.Error()))
		}
	case strings.ContainsAny(rest, "/?#"):
		if err := external.CheckURL(literal); err != nil {
			c.Fail(field.Invalid(at, in.URL, err.Error()))
		}
	case in.Auth != nil:
		c.Fail(field.Invalid(at, in.URL, "credentials go only to a host that is written literally: write scheme and host, and a slash, before the first template"))
	case !c.Env.ExternalOnly:
		c.Fail(field.Invalid(at, in.URL, "the host of a URL may come from a template only where the manager runs with --external-only: "+
			"write scheme and host, and a slash, before the first template"))
	}
}

func (c *compiler) callHeaders(call *externalCall, in *v1alpha1.ExternalCall, scope *expr.Scope, at *field.Path) {
	byName := map[string]string{}
	if in.Auth != nil && in.Auth.Header != "" {
		byName[http.CanonicalHeaderKey(in.Auth.Header)] = "auth"
	}
	for _, name := range slices.Sorted(maps.Keys(in.Headers)) {
		where := at.Child("headers").Key(name)
		if problem := external.CheckHeader(name); problem != "" {
			c.Fail(field.Invalid(where, name, problem))
		}
		key := http.CanonicalHeaderKey(name)
		if other, ok := byName[key]; ok {
			c.Fail(field.Invalid(where, name, fmt.Sprintf("%s sets the same header", other)))
		}
		byName[key] = fmt.Sprintf("%q", name)
		call.headers[name] = c.Text(scope, string(in.Headers[name]), where)
	}
}

func (c *compiler) callBody(call *externalCall, in *v1alpha1.ExternalCall, scope *expr.Scope, at *field.Path) {
	tree, ok := c.JSON(in.Body, at)
	switch {
	case !ok, tree == nil:
	case call.readOnly():
		c.Fail(field.Forbidden(at, fmt.Sprintf("%s has no body; use query, or another method", call.method)))
	default:
		body, errs := scope.CompileValue(tree, at)
		c.Fail(errs...)
		call.body = body
	}
}

func (c *compiler) callLimits(call *externalCall, in *v1alpha1.ExternalCall, at *field.Path) {
	if in.Timeout != nil {
		call.timeout = in.Timeout.Duration
	}
	if in.Retries != nil {
		call.retries = int(*in.Retries)
	}
	switch {
	case call.timeout <= 0:
		c.Fail(field.Invalid(at.Child("timeout"), call.timeout.String(), "wanted a duration above zero, such as 10s"))
	case call.retries < 0 || call.retries > maxCallRetries:
		c.Fail(field.Invalid(at.Child("retries"), call.retries, fmt.Sprintf("wanted 0 to %d", maxCallRetries)))
	case call.timeout*time.Duration(call.retries+1) > maxCallTime:
		c.Fail(field.Invalid(at.Child("timeout"), call.timeout.String(), fmt.Sprintf(
			"%d attempts of %s may take longer than %s, for which a worker may not wait: lower timeout or retries", call.retries+1, call.timeout, maxCallTime)))
	}
	if len(in.ExpectedStatus) > 0 {
		call.expected = nil
	}
	for i, status := range in.ExpectedStatus {
		if status < http.StatusOK || status > 599 {
			c.Fail(field.Invalid(at.Child("expectedStatus").Index(i), status, "wanted a status from 200 to 599"))
		}
		call.expected = append(call.expected, int(status))
	}
	if in.CacheFor == nil {
		return
	}
	call.cacheFor = in.CacheFor.Duration
	switch {
	case call.cacheFor < minCacheFor:
		c.Fail(field.Invalid(at.Child("cacheFor"), call.cacheFor.String(), fmt.Sprintf("wanted at least %s", minCacheFor)))
	case !call.readOnly():
		c.Fail(field.Forbidden(at.Child("cacheFor"), fmt.Sprintf("%s is sent once per generation; there is nothing to use again", call.method)))
	}
}

// paths are what the templates and the gate of a call read.
func (c *externalCall) paths() []expr.Path {
	var out []expr.Path
	add := func(templates ...*expr.Template) {
		for _, t := range templates {
			if t != nil {
				out = append(out, t.Paths()...)
			}
		}
	}
	add(c.url)
	for _, m := range []map[string]*expr.Template{c.query, c.headers} {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			add(m[name])
		}
	}
	if c.body != nil {
		out = append(out, c.body.Paths()...)
	}
	if c.ca != nil {
		add(c.ca.name)
	}
	if c.auth != nil {
		add(c.auth.secret.name)
	}
	return append(out, c.gate.Paths()...)
}
