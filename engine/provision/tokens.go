package provision

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// tokenSeconds is how long a token is good for: the shortest time that the API server gives.
const tokenSeconds = 600

// Tokens asks for tokens of ServiceAccounts, for which services give credentials.
type Tokens struct {
	// Accounts sends the requests, as the account that the box acts as.
	Accounts corev1client.ServiceAccountsGetter
	// Refusal answers in place of the API server, where the box may not act as its account; nil: it may.
	Refusal error
}

// Token makes a token of a ServiceAccount for an audience. It is good for ten minutes.
func (t Tokens) Token(ctx context.Context, namespace, name, audience string) (string, error) {
	if t.Refusal != nil {
		return "", t.Refusal
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}, ExpirationSeconds: new(int64(tokenSeconds))}}
	answer, err := t.Accounts.ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return answer.Status.Token, nil
}
