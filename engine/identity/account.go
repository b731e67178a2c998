// Package identity says as whom the requests of a box are made: as the ServiceAccount that the box names, or as the manager itself.
package identity

import (
	"net/http"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/transport"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// ExtraBox is the key of the extra that tells the API server for which box a request is made. Only the manager may impersonate it, so
// admission can tell a write by a box from a write by somebody else who uses the same account.
const ExtraBox = v1alpha1.GroupName + "/box"

// How the API server names accounts and the groups that they are in.
const (
	userPrefix         = "system:serviceaccount:"
	groupAccounts      = "system:serviceaccounts"
	groupAuthenticated = "system:authenticated"
)

// Account is a ServiceAccount. The zero value stands for the manager.
type Account struct {
	// Namespace of the account.
	Namespace string
	// Name of the account.
	Name string
	// UID of the account. Empty where it is not known: then the name alone says which account is meant.
	UID types.UID
}

// Of gives the account that a box names, without its UID, which the cluster knows; the manager where the box names none.
func Of(box *v1alpha1.OperatorBox) Account {
	ref := box.Spec.ServiceAccountRef
	if ref == nil {
		return Account{}
	}
	return Account{Namespace: ref.Namespace, Name: ref.Name}
}

// Problem says why a box can't act as its account; the zero value: it can.
type Problem struct {
	// Reason of the conditions of the box.
	Reason string
	// Message says what is wrong, and what to do.
	Message string
}

// IsManager says whether the manager itself is meant.
func (a Account) IsManager() bool { return a.Name == "" }

// User is the name under which the API server knows the account; empty for the manager.
func (a Account) User() string {
	if a.IsManager() {
		return ""
	}
	return userPrefix + a.Namespace + ":" + a.Name
}

// Groups are those in which the API server puts the account, and which rights may name; none for the manager.
func (a Account) Groups() []string {
	if a.IsManager() {
		return nil
	}
	return []string{groupAccounts, groupAccounts + ":" + a.Namespace, groupAuthenticated}
}

// Key names the account in rules: namespace/name; empty for the manager.
func (a Account) Key() string {
	if a.IsManager() {
		return ""
	}
	return a.Namespace + "/" + a.Name
}

// String names the account in messages.
func (a Account) String() string {
	if a.IsManager() {
		return "the manager"
	}
	return "ServiceAccount " + a.Namespace + "/" + a.Name
}

// Extra is what the API server is told of a request for a box beside the account.
func Extra(box string) map[string][]string { return map[string][]string{ExtraBox: {box}} }

// NewTransport gives a transport that sends requests for a box through next as an account; next itself for the manager.
//
// The identity is in the headers of each request, so all boxes share the connections of next, and nothing has to be closed when the
// account of a box changes. No groups are sent: the API server adds those of an account by itself, and to impersonate one takes a right
// of its own.
func NewTransport(account Account, box string, next http.RoundTripper) http.RoundTripper {
	if account.IsManager() {
		return next
	}
	return transport.NewImpersonatingRoundTripper(transport.ImpersonationConfig{
		UserName: account.User(), UID: string(account.UID), Extra: Extra(box),
	}, next)
}
