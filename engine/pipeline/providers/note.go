package providers

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/value"
)

// noted is one resource of a provider that a custom resource has made, or is about to make, as its mark lists it. Who writes resources may be
// able to write that mark, too. So a driver deletes only what says itself that this very resource has made it, and credentials are read
// and sent only as the box, or a kept revision of it, declares (boxspec.Places).
type noted struct {
	ID       string         `json:"id"`
	Provider string         `json:"provider"`
	Kind     string         `json:"kind"`
	Identity map[string]any `json:"identity,omitempty"`
	// Token is drawn before it is made, and its mark in the service holds it. By it, it is known under any address.
	Token string `json:"token"`
	// Absent says that there was nothing when the token was drawn.
	Absent bool `json:"absent,omitempty"`
	// Made says that it has been there, so that it was lost if it has to be made again.
	Made     bool   `json:"made,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	// Credentials that it was made with: a Secret, or a ServiceAccount with the role that its token stands for.
	Secret          string `json:"secret,omitempty"`
	SecretNamespace string `json:"secretNamespace,omitempty"`
	ServiceAccount  string `json:"serviceAccount,omitempty"`
	RoleARN         string `json:"roleARN,omitempty"`
	// Policy is what happens when nothing stands for it any more.
	Policy v1alpha1.ChildDeletionPolicy `json:"deletionPolicy"`
	// Noted is what the driver has noted when it last brought it.
	Noted map[string]string `json:"noted,omitempty"`
}

// key tells what was made from all else that a custom resource has made.
func (n *noted) key() string {
	identity, err := json.Marshal(n.Identity)
	if err != nil {
		identity = fmt.Append(nil, n.Identity) // it came from JSON
	}
	return n.Provider + "/" + n.Kind + "/" + n.Endpoint + "/" + string(identity)
}

// access is how it is asked.
func (n *noted) access() boxspec.Access {
	return boxspec.Access{
		Provider: n.Provider, Endpoint: n.Endpoint, Secret: n.Secret, SecretNamespace: n.SecretNamespace, ServiceAccount: n.ServiceAccount, RoleARN: n.RoleARN,
	}
}

// keep takes over what was noted of it before.
func (n *noted) keep(known *noted) {
	n.Token, n.Noted, n.Absent, n.Made = known.Token, known.Noted, known.Absent, known.Made
}

// same says that another note is of the same thing, under whatever address.
func (n *noted) same(other *noted) bool {
	return n.Provider == other.Provider && n.Kind == other.Kind && n.Token == other.Token
}

// address is where it is, for people.
func (n *noted) address() string {
	if n.Endpoint == "" {
		return shown(n.Identity)
	}
	return shown(n.Identity) + " at " + n.Endpoint
}

// called is what messages call it.
func (n *noted) called() string {
	return fmt.Sprintf("%s: %s (%s)", n.ID, typeOf(n.Provider, n.Kind), n.address())
}

// read gives what a resource has made. A mark that can't be read was not written by Orkestra, and lists nothing.
func read(resource *unstructured.Unstructured) []noted {
	var all []noted
	decoded, err := value.Decode([]byte(resource.GetAnnotations()[v1alpha1.AnnotationProviders])) // with whole numbers as declarations have them
	if err != nil {
		return nil
	}
	list, _ := decoded.([]any)
	for _, item := range list {
		var n noted
		text, err := json.Marshal(item)
		if err != nil || json.Unmarshal(text, &n) != nil || n.Provider == "" || n.Kind == "" || n.Token == "" {
			continue
		}
		fields, _ := item.(map[string]any)
		n.Identity, _ = fields["identity"].(map[string]any)
		all = append(all, n)
	}
	return all
}

// Made lists what a resource has made by providers, for people.
func Made(resource *unstructured.Unstructured) []string {
	var out []string
	for _, n := range read(resource) {
		out = append(out, n.called())
	}
	return out
}

// notes are what a resource has made, while a cycle adds to them and takes from them.
type notes struct {
	c   *children.Cycle
	all []noted
}

// find gives the note of a key; nil: there is none.
func (l *notes) find(key string) *noted {
	at := slices.IndexFunc(l.all, func(n noted) bool { return n.key() == key })
	if at < 0 {
		return nil
	}
	return &l.all[at]
}

// former gives the note of something that is noted under another address, if at all; nil: it is not.
func (l *notes) former(n *noted) *noted {
	at := slices.IndexFunc(l.all, func(other noted) bool { return n.same(&other) })
	if at < 0 {
		return nil
	}
	return &l.all[at]
}

// put notes something, in the place of what is noted of it, under whatever address.
func (l *notes) put(n noted) {
	known := l.find(n.key())
	if known == nil {
		known = l.former(&n)
	}
	if known != nil {
		*known = n
		return
	}
	l.all = append(l.all, n)
}

// drop takes something off the list.
func (l *notes) drop(key string) {
	l.all = slices.DeleteFunc(l.all, func(n noted) bool { return n.key() == key })
}

// write writes the list to the resource where it has changed.
func (l *notes) write(ctx context.Context) error {
	text := ""
	if len(l.all) > 0 {
		b, err := json.Marshal(l.all) //nolint:gosec // it is the name of a Secret
		if err != nil {
			return fmt.Errorf("encoding what providers have made: %w", err)
		}
		text = string(b)
	}
	if l.c.Stored.GetAnnotations()[v1alpha1.AnnotationProviders] == text {
		return nil
	}
	return l.c.MarkWith(ctx, v1alpha1.AnnotationProviders, text)
}
