// Package provider is the contract by which a box makes what is not in the cluster: a bucket, a queue, a database. A provider is Go code that
// is compiled into the manager and registered by name; a box declares its resources under spec.providers.
//
// The package knows nothing of boxes, templates, Secrets or the cluster. It says what a provider is asked, and what it answers.
package provider

import (
	"context"
	"net"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Provider makes the resources of one service. It is safe for concurrent use, and sets up nothing before it is first asked.
type Provider interface {
	// Kinds are the kinds of resources, by the name under which a box declares them, such as "s3bucket".
	Kinds() map[string]Kind
}

// Kind is one kind of resource of a provider.
type Kind struct {
	// Summary says in one sentence what the resource is.
	Summary string
	// Schema is that of what a box declares. It is structural, as that of a CRD, and closed: what it does not name is refused when the
	// box is compiled.
	Schema apiextensionsv1.JSONSchemaProps
	// Identity names the fields of what is declared that tell the resource from others, such as name and region. They can't be changed:
	// with other values it is another resource, and the former one is deleted.
	Identity []string
	// Outputs is the schema of what templates read below .providers.<id>.
	Outputs apiextensionsv1.JSONSchemaProps
	// Credentials are the keys that the Secret of the credentials has. Empty: the kind takes none.
	Credentials []Key
	// WebIdentity says that the kind takes a token of a ServiceAccount in place of a Secret.
	WebIdentity bool
	// Audience is for whom such a token is, such as sts.amazonaws.com. A kind that takes a token has one: without it, the token would be one
	// for the API server.
	Audience string
	// NeedsEndpoint says that the service has no public address: a box has to name the endpoint.
	NeedsEndpoint bool
	// Secrets are the fields of what is declared that name a key of a Secret, such as passwordSecretRef. What such a field holds is
	// {name, key}, and its schema says so. The caller reads the Secret in the resource's namespace and hands the value over in
	// Request.Secrets. Until it is there, the driver is not asked, but for deletion, which needs no value.
	Secrets []string
	// SecretOutputs names the outputs that are secrets. They are readable where the data of Secrets is, and nowhere else.
	SecretOutputs []string
	// Driver makes, reads and deletes the resources.
	Driver Driver
}

// Key is a key of a Secret.
type Key struct {
	// Name of the key.
	Name string
	// Optional says that it may be left out.
	Optional bool
}

// String is how the key is named for people, also whether it may be left out.
func (k Key) String() string {
	if k.Optional {
		return k.Name + " (optional)"
	}
	return k.Name
}

// Driver makes, reads and deletes resources of one kind. It must be idempotent: the process may end between a call and its answer, and the
// call is then made again with the same Token. It is safe for concurrent use, starts no goroutine that outlives a call, and obeys the
// deadline of its context. Its errors are an *Error, or those of the context.
//
// Observe is asked first, before there is a Token. Where it says NotFound, the Token is drawn and kept together with the fact that nothing
// was there (Absent), and only then Ensure is called. Where it finds the resource, the Token is kept without Absent: that of the mark, where it
// has one.
//
// One resource may be found by many addresses: by another endpoint, or in a region that the service ignores. The UID in the mark does not tell such
// an address from a resource of its own, but the Token does. So the mark holds the Token, too, and a driver touches nothing that has the Token of
// another declaration. A mark without a Token, as former versions of a driver made it, counts as one with any, and Ensure adds the Token.
type Driver interface {
	// Ensure makes the resource, or changes it to what is declared. It sends nothing that changes anything where nothing differs. It takes
	// no resource that Owner has not made, unless Adopt says so and nobody owns it: NotOwned otherwise. One that Owner has made with another
	// Token is a Duplicate.
	Ensure(ctx context.Context, r *Request) (*Observed, error)
	// Observe reads the resource and changes nothing. Differs says where it is not as declared. One that is not there is a NotFound, one
	// that Owner has not made a NotOwned, unless Adopt says that it may be taken over. Without a Token, it finds what Owner has made with any,
	// and says with which; with one, what Owner has made with another is a Duplicate.
	Observe(ctx context.Context, r *Request) (*Observed, error)
	// Delete deletes the resource where Owner has made it with this Token, and says whether it is gone. One that is not there, that somebody
	// else owns, or that has another Token, is gone. One that must not be deleted, since it is not empty, is an InUse. What takes many requests is done in parts: not gone,
	// without an error, means that the call has deleted something and is to be made again.
	Delete(ctx context.Context, r *Request) (gone bool, err error)
}

// Request says which resource is asked for.
type Request struct {
	// Owner is the custom resource for which it is made. The mark that a driver leaves in the service holds the UID and the Token.
	Owner Owner
	// Token is drawn before the resource is made and kept for as long as it lives, also where its address changes: the idempotency token of what
	// makes it. Empty: none is drawn yet.
	Token string
	// Absent says that the resource was not there when the Token was drawn. What is there later without the mark of an owner has been made
	// in between: by a call of ours whose answer was lost, most likely. Drivers use it where a service can't make and mark at once.
	Absent bool
	// Declared is what the box declares, which fits the schema, as JSON is decoded: map[string]any, []any, string, bool, int64, float64.
	// Fields that are not declared are absent; defaults of the schema are filled in. For Delete, only the fields of Identity are sure to be
	// there: what else it needs, the driver has put into Observed.Noted.
	Declared map[string]any
	// Secrets are what the fields named by Kind.Secrets stand for, by field.
	Secrets map[string]Secret
	// Noted is what the last Ensure that succeeded has put into Observed.Noted; nil: none did, or it has put nothing there.
	Noted map[string]string
	// Endpoint is the base URL of the service; empty: the public one.
	Endpoint string
	// Credentials are the values of the Secret, by key; nil: none are given, or a token is.
	Credentials map[string]string
	// WebIdentity is a token with which credentials are asked for; nil: none is given.
	WebIdentity *WebIdentity
	// Adopt says that a resource without an owner is taken over.
	Adopt bool
	// HTTP sends the requests. It refuses addresses that boxes may not reach, and bounds the answers.
	HTTP HTTPClient
	// Dial connects a driver whose service does not speak HTTP. It refuses addresses that boxes may not reach. A driver has no other way out.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Secret is a value of a Secret.
type Secret struct {
	// Value of the key.
	Value string
	// Version is another one whenever the value may be, such as UID and resource version of the Secret. A driver that can't read back what it
	// has set compares it with the one that it has noted in the service, so that a rotated password is set again. It tells nothing of Value.
	Version string
}

// Owner is a custom resource.
type Owner struct {
	// Box that makes the resource.
	Box string
	// UID of the custom resource.
	UID string
	// Namespace and Name of the custom resource, for people who find the mark. Namespace is empty for cluster-scoped ones.
	Namespace, Name string
}

// WebIdentity is a token of a ServiceAccount, with which a service gives credentials.
type WebIdentity struct {
	// Token is a JSON web token.
	Token string
	// RoleARN is the role that is assumed with it.
	RoleARN string
}

// Observed is what a driver found, or made.
type Observed struct {
	// Outputs are what templates read. They fit the schema of the kind.
	Outputs map[string]any
	// Waiting says why the resource can't be used yet, such as "the bucket is being created"; empty: it can.
	Waiting string
	// Differs are the fields in which the resource is not as declared, sorted. Of Ensure: those that it has changed.
	Differs []string
	// Created says that Ensure has made the resource.
	Created bool
	// Token is, of Observe, the one that the mark holds; empty: it holds none.
	Token string
	// Noted is kept beside the token, for the next calls, in place of what was kept before; it is short, and holds no secret. Only that of
	// Ensure counts; nil: there is nothing to note.
	Noted map[string]string
}
