package outside

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// calls compiles spec.external.
func calls(b *compile.Box) []*externalCall {
	var all []*externalCall
	at := field.NewPath("spec", "external")
	seen := map[string]bool{}
	for i := range b.Spec.External {
		in, where := &b.Spec.External[i], at.Index(i)
		if seen[in.Name] {
			b.Fail(field.Duplicate(where.Child("name"), in.Name))
		}
		seen[in.Name] = true
		all = append(all, call(b, in, callScope(b, i), where))
	}
	return all
}

// callScope is what a call may read: what was read before it, and the answers to the calls before it. Children are read as they
// are before the groups run.
func callScope(b *compile.Box, index int) *expr.Scope {
	names := CallSchemas(b.OperatorBox)
	for i := index; i < len(b.Spec.External); i++ {
		names[b.Spec.External[i].Name] = roots.Hidden("calls are made in their order, and this one is not made yet")
	}
	return b.Scope.WithoutRoots(compile.RootProviders).WithNames(compile.RootExternal, names)
}

// CallSchemas are the names below .external, with what is known of what is there.
func CallSchemas(box *v1alpha1.OperatorBox) map[string]*apiextensionsv1.JSONSchemaProps {
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
	if ReadOnly(in) {
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

// ReadOnly says whether a call changes nothing. Of all others it is noted on the resource that they were made.
func ReadOnly(in *v1alpha1.ExternalCall) bool {
	return method(in) == http.MethodGet || method(in) == http.MethodHead
}

func method(in *v1alpha1.ExternalCall) string {
	if in.Method == "" {
		return http.MethodGet
	}
	return in.Method
}

func call(b *compile.Box, in *v1alpha1.ExternalCall, scope *expr.Scope, at *field.Path) *externalCall {
	e := &externalCall{
		name: in.Name, method: method(in), proceed: in.OnError == "Continue",
		expected: []int{http.StatusOK},
	}
	b.OneOf(e.method, callMethods, at.Child("method"))
	if in.OnError != "" {
		b.OneOf(in.OnError, onErrors, at.Child("onError"))
	}
	compileURL(b, e, in, scope, at.Child("url"))
	e.query = b.Texts(scope, in.Query, at.Child("query")).Value
	e.headers = CompileHeaders(b, scope, in.Headers, in.Auth, at)
	compileBody(b, e, in, scope, at.Child("body"))
	e.credentials = CompileCredentials(b, scope, in.Auth, in.CABundle, at)
	compileLimits(b, e, in, at)
	gate, errs := when.CompileGate(in.Gate, scope, at)
	b.Fail(errs...)
	e.gate = gate
	e.usesChildren, e.outside = b.Reads(e.paths()), b.Outside(e.paths())
	return e
}

// compileURL compiles the URL. Its host is the box author's to say: only where the operator names the hosts that may be called at all
// may it come from a resource, and never where credentials go with it.
func compileURL(b *compile.Box, e *externalCall, in *v1alpha1.ExternalCall, scope *expr.Scope, at *field.Path) {
	if in.URL == "" {
		b.Fail(field.Required(at, "say what is called"))
		return
	}
	var err error
	if e.url, err = scope.CompileURL(in.URL); err != nil {
		b.Fail(field.Invalid(at, in.URL, err.Error()))
		return
	}
	literal, _, templated := strings.Cut(in.URL, "{{")
	_, rest, _ := strings.Cut(literal, "://")
	switch {
	case !templated:
		if err := external.CheckURL(in.URL); err != nil {
			b.Fail(field.Invalid(at, in.URL, err.Error()))
		}
	case strings.ContainsAny(rest, "/?#"):
		if err := external.CheckURL(literal); err != nil {
			b.Fail(field.Invalid(at, in.URL, err.Error()))
		}
	case in.Auth != nil:
		b.Fail(field.Invalid(at, in.URL, "credentials go only to a host that is written literally: write scheme and host, and a slash, before the first template"))
	case !b.Env.ExternalOnly:
		b.Fail(field.Invalid(at, in.URL, "the host of a URL may come from a template only where the manager runs with --external-only: "+
			"write scheme and host, and a slash, before the first template"))
	}
}

// CompileHeaders compiles the headers of a call, beside those of its auth.
func CompileHeaders(b *compile.Box, scope *expr.Scope, in *apiextensionsv1.JSON, auth *v1alpha1.ExternalAuth, at *field.Path) *expr.Value {
	byName := map[string]string{}
	if auth != nil && auth.Header != "" {
		byName[http.CanonicalHeaderKey(auth.Header)] = "auth"
	}
	headers := b.Texts(scope, in, at.Child("headers"))
	for _, name := range slices.Sorted(maps.Keys(headers.Written)) {
		where := value.Place(at.Child("headers"), name)
		if problem := external.CheckHeader(name); problem != "" {
			b.Fail(field.Invalid(where, name, problem))
		}
		key := http.CanonicalHeaderKey(name)
		if other, ok := byName[key]; ok {
			b.Fail(field.Invalid(where, name, fmt.Sprintf("%s sets the same header", other)))
		}
		byName[key] = fmt.Sprintf("%q", name)
	}
	return headers.Value
}

func compileBody(b *compile.Box, e *externalCall, in *v1alpha1.ExternalCall, scope *expr.Scope, at *field.Path) {
	tree, ok := b.JSON(in.Body, at)
	switch {
	case !ok, tree == nil:
	case e.readOnly():
		b.Fail(field.Forbidden(at, fmt.Sprintf("%s has no body; use query, or another method", e.method)))
	default:
		body, errs := scope.CompileValue(tree, at)
		b.Fail(errs...)
		e.body = body
	}
}

// CompileAttempts compiles how often a call is tried, and for how long.
func CompileAttempts(b *compile.Box, timeout *metav1.Duration, retries *int32, at *field.Path) (each time.Duration, more int) {
	each, more = defaultCallTimeout, defaultCallRetries
	if timeout != nil {
		each = timeout.Duration
	}
	if retries != nil {
		more = int(*retries)
	}
	switch {
	case each <= 0:
		b.Fail(field.Invalid(at.Child("timeout"), each.String(), "wanted a duration above zero, such as 10s"))
	case more < 0 || more > maxCallRetries:
		b.Fail(field.Invalid(at.Child("retries"), more, fmt.Sprintf("wanted 0 to %d", maxCallRetries)))
	case each*time.Duration(more+1) > maxCallTime:
		b.Fail(field.Invalid(at.Child("timeout"), each.String(), fmt.Sprintf(
			"%d attempts of %s may take longer than %s, for which a worker may not wait: lower timeout or retries", more+1, each, maxCallTime)))
	}
	return each, more
}

func compileLimits(b *compile.Box, e *externalCall, in *v1alpha1.ExternalCall, at *field.Path) {
	e.timeout, e.retries = CompileAttempts(b, in.Timeout, in.Retries, at)
	if len(in.ExpectedStatus) > 0 {
		e.expected = nil
	}
	for i, status := range in.ExpectedStatus {
		if status < http.StatusOK || status > 599 {
			b.Fail(field.Invalid(at.Child("expectedStatus").Index(i), status, "wanted a status from 200 to 599"))
		}
		e.expected = append(e.expected, int(status))
	}
	if in.CacheFor == nil {
		return
	}
	e.cacheFor = in.CacheFor.Duration
	switch {
	case e.cacheFor < minCacheFor:
		b.Fail(field.Invalid(at.Child("cacheFor"), e.cacheFor.String(), fmt.Sprintf("wanted at least %s", minCacheFor)))
	case !e.readOnly():
		b.Fail(field.Forbidden(at.Child("cacheFor"), fmt.Sprintf("%s is sent once per generation; there is nothing to use again", e.method)))
	}
}

// paths are what the templates and the gate of a call read.
func (e *externalCall) paths() []expr.Path { return append(e.templatePaths(), e.gate.Paths()...) }

func (e *externalCall) templatePaths() []expr.Path {
	var out []expr.Path
	add := func(templates ...*expr.Template) {
		for _, t := range templates {
			if t != nil {
				out = append(out, t.Paths()...)
			}
		}
	}
	add(e.url)
	for _, v := range []*expr.Value{e.query, e.headers, e.body} {
		if v != nil {
			out = append(out, v.Paths()...)
		}
	}
	return append(out, e.credentials.Paths()...)
}
