package outside

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apivalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// The types of credentials.
const (
	authBearer = "Bearer"
	authBasic  = "Basic"
	authHeader = "Header"
)

// The keys that are read where a reference names none.
const (
	defaultTokenKey = corev1.ServiceAccountTokenKey
	defaultCAKey    = corev1.ServiceAccountRootCAKey
)

// externalAuth says which credentials a call sends.
type externalAuth struct {
	kind   string
	header string // of authHeader
	secret *secretKey
}

// secretKey names a key of a Secret.
type secretKey struct {
	*Secret

	key string // empty: username and password
}

// Secret names a Secret that credentials are read from.
type Secret struct {
	// What it is called in messages.
	What string
	// Name of the Secret.
	Name *expr.Template
	// Namespace of the Secret; empty: the resource's.
	Namespace string
}

// SecretError says that a Secret, or what is wanted of it, is not there. Its arrival queues the resource.
type SecretError struct {
	text    string
	lacking bool
}

// LacksKey says that the Secret is there, and has nothing under a key.
func (e *SecretError) LacksKey() bool { return e.lacking }

// Error gives one line without any value.
func (e *SecretError) Error() string { return e.text }

// Credentials are what a call needs of Secrets: what it shows to the server, and by what it knows the server.
type Credentials struct {
	auth *externalAuth // nil: nothing is shown
	ca   *secretKey    // nil: the system says whom it trusts
}

// Paths are what the names of the Secrets read.
func (k *Credentials) Paths() []expr.Path {
	var out []expr.Path
	if k.ca != nil && k.ca.Name != nil {
		out = append(out, k.ca.Name.Paths()...)
	}
	if k.auth != nil && k.auth.secret.Name != nil {
		out = append(out, k.auth.secret.Name.Paths()...)
	}
	return out
}

// AddTo puts credentials and CA bundle into a request. The error is a *SecretError where a Secret is not as it should be.
func (k *Credentials) AddTo(ctx context.Context, c *stage.Cycle, data expr.Data, q *external.Request) error {
	if k.ca != nil {
		values, err := k.ca.read(ctx, c, data, k.ca.key)
		if err != nil {
			return err
		}
		q.CABundle = []byte(values[0])
	}
	if k.auth == nil {
		return nil
	}
	credential, err := k.auth.credential(ctx, c, data)
	q.Credential = credential
	return err
}

// credential gives the header that a call is authenticated by. White space around the value of a Secret is removed: made from a file, it
// ends in a line break, which a header can't have.
func (a *externalAuth) credential(ctx context.Context, c *stage.Cycle, data expr.Data) (*external.Credential, error) {
	keys := []string{a.secret.key}
	if a.secret.key == "" {
		keys = []string{corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey}
	}
	values, err := a.secret.read(ctx, c, data, keys...)
	if err != nil {
		return nil, err
	}
	value := strings.TrimSpace(values[0])
	switch a.kind {
	case authHeader:
		return &external.Credential{Header: a.header, Value: value, Secrets: []string{value}}, nil
	case authBasic:
		if len(values) > 1 {
			value += ":" + strings.TrimSpace(values[1])
		} else if !strings.Contains(value, ":") {
			return nil, &SecretError{text: fmt.Sprintf("%s: key %q of the Secret holds no user:password", a.secret.What, a.secret.key)}
		}
		_, password, _ := strings.Cut(value, ":") // the name of a user is none, and stands in many an answer
		return &external.Credential{
			Header: external.HeaderAuthorization, Value: "Basic " + base64.StdEncoding.EncodeToString([]byte(value)), Secrets: []string{password, value},
		}, nil
	default:
		return &external.Credential{Header: external.HeaderAuthorization, Value: "Bearer " + value, Secrets: []string{value}}, nil
	}
}

// read gives the values of keys of the Secret, as it is now in the watch cache. A change of it is an input.
func (s *secretKey) read(ctx context.Context, c *stage.Cycle, data expr.Data, keys ...string) ([]string, error) {
	name, err := stage.Text(ctx, s.What+".name", s.Name, data)
	if err != nil {
		return nil, err
	}
	return s.Read(ctx, c, name, keys...)
}

// Read gives the values of keys of the Secret, whose name is rendered, as it is now in the watch cache. A change of it is an input. The error
// is a *SecretError where there is no such Secret, or nothing under a key.
func (s *Secret) Read(ctx context.Context, c *stage.Cycle, name string, keys ...string) ([]string, error) {
	namespace := cmp.Or(s.Namespace, c.Home())
	if err := c.MayReach(ctx, stage.Way{What: s.What + ".namespace", Namespace: namespace, Literal: true, Show: true}); err != nil {
		return nil, err // a template there is refused when the box is compiled
	}
	if err := c.MayRead(ctx, compile.SecretKind, namespace, name); err != nil {
		return nil, fmt.Errorf("%s: %w", s.What, err)
	}
	if err := c.Ports.Observer.Observe(ctx, compile.SecretKind); err != nil {
		return nil, fmt.Errorf("%s: %w", s.What, err)
	}
	secret := c.Inputs.Get(c.Ports.Observer, compile.SecretKind, namespace, name)
	if secret == nil {
		described := stage.Describe(compile.SecretKind, namespace, name)
		if s.Name != nil && !expr.MayShow(s.Name.Paths()) {
			described = "the Secret that its name yields"
		}
		return nil, &SecretError{text: fmt.Sprintf("%s: %s", s.What, c.Absent(described))}
	}
	values := make([]string, 0, len(keys))
	for _, key := range keys {
		// A Secret of another shape has no such key.
		encoded, _, _ := unstructured.NestedString(secret.Object, "data", key)
		value, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || strings.TrimSpace(string(value)) == "" {
			return nil, &SecretError{text: fmt.Sprintf("%s: %s has nothing under the key %q", s.What, stage.Describe(compile.SecretKind, namespace, name), key), lacking: true}
		}
		values = append(values, string(value))
	}
	return values, nil
}

// CompileCredentials compiles the references to the Secrets of a call: its auth and its caBundle.
func CompileCredentials(b *compile.Box, scope *expr.Scope, in *v1alpha1.ExternalAuth, ca *v1alpha1.SecretKeyReference, at *field.Path) Credentials {
	k := Credentials{}
	if ca != nil {
		k.ca = secretOf(b, scope, ca, "caBundle", defaultCAKey, at.Child("caBundle"))
	}
	if in != nil {
		k.auth = compileAuth(b, scope, in, at.Child("auth"))
	}
	return k
}

func compileAuth(b *compile.Box, scope *expr.Scope, in *v1alpha1.ExternalAuth, at *field.Path) *externalAuth {
	auth := &externalAuth{kind: in.Type, header: in.Header}
	if auth.kind == "" {
		auth.kind = authBearer
	}
	b.OneOf(auth.kind, authTypes, at.Child("type"))
	fallback := ""
	switch {
	case auth.kind == authBearer:
		fallback = defaultTokenKey
	case auth.kind == authHeader && in.SecretRef.Key == "":
		b.Fail(field.Required(at.Child("secretRef", "key"), "say which key holds the header's value"))
	}
	switch {
	case auth.kind != authHeader && auth.header != "":
		b.Fail(field.Forbidden(at.Child("header"), fmt.Sprintf("belongs to type Header; %s is sent as Authorization", auth.kind)))
	case auth.kind == authHeader && auth.header == "":
		b.Fail(field.Required(at.Child("header"), "say which header holds the credentials"))
	case auth.kind == authHeader && !strings.EqualFold(auth.header, external.HeaderAuthorization):
		if problem := external.CheckHeader(auth.header); problem != "" {
			b.Fail(field.Invalid(at.Child("header"), auth.header, problem))
		}
	}
	if auth.secret = secretOf(b, scope, &in.SecretRef, "auth.secretRef", fallback, at.Child("secretRef")); auth.secret == nil {
		return nil
	}
	return auth
}

// secretOf compiles a reference to a key of a Secret.
func secretOf(b *compile.Box, scope *expr.Scope, in *v1alpha1.SecretKeyReference, what, fallback string, at *field.Path) *secretKey {
	s := CompileSecret(b, scope, &v1alpha1.SecretReference{Name: in.Name, Namespace: in.Namespace}, what, at)
	if s == nil {
		return nil
	}
	return &secretKey{Secret: s, key: cmp.Or(in.Key, fallback)}
}

// CompileSecret compiles a reference to a Secret; nil where its name is wrong. Reading it is among the rights of the box.
func CompileSecret(b *compile.Box, scope *expr.Scope, in *v1alpha1.SecretReference, what string, at *field.Path) *Secret {
	s := &Secret{What: what, Namespace: in.Namespace, Name: b.Template(scope, in.Name, at.Child("name"))}
	where := at.Child("namespace")
	switch {
	case in.Name == "":
		b.Fail(field.Required(at.Child("name"), "say which Secret"))
	case expr.IsTemplate(in.Namespace):
		b.Fail(field.Invalid(where, in.Namespace, "must be literal: a template would lead resources to the Secrets of others"))
	case in.Namespace != "" && len(apivalidation.IsDNS1123Label(in.Namespace)) > 0:
		b.Fail(field.Invalid(where, in.Namespace, "not the name of a namespace"))
	case in.Namespace == "" && !b.Env.CRD.Namespaced && b.Env.CRD.Name != "":
		b.Fail(field.Required(where, "the resources are cluster-scoped: say in which namespace the Secret is"))
	}
	b.ReadOutside(compile.OutsideRead{Kind: compile.SecretKind, Namespace: in.Namespace, Name: in.Name})
	if s.Name == nil {
		return nil
	}
	return s
}
