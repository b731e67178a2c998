package signin

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/orkspace/orkestra/engine/web"
	"github.com/orkspace/orkestra/engine/web/person"
)

// redeem asks the provider who has a code, and checks its answer. The errors hold neither the code nor a token.
func (s *SignIn) redeem(ctx context.Context, begun attempt, code string) (person.Person, error) {
	if code == "" {
		return person.Person{}, errors.New("the provider has sent no code")
	}
	provider, err := s.provider(ctx)
	if err != nil {
		return person.Person{}, err
	}
	secret, err := readSecret(s.ClientSecretFile)
	if err != nil {
		return person.Person{}, err
	}
	ctx = oidc.ClientContext(ctx, s.client)
	tokens, err := s.config(provider, begun.Redirect, secret).Exchange(ctx, code, oauth2.VerifierOption(begun.Verifier))
	if err != nil {
		return person.Person{}, fmt.Errorf("asking the provider for a token: %w", withoutAnswer(err))
	}
	raw, ok := tokens.Extra("id_token").(string)
	if !ok {
		return person.Person{}, errors.New("the provider has sent no id_token: it may not know the scope openid")
	}
	token, err := provider.VerifierContext(ctx, &oidc.Config{ClientID: s.ClientID, Now: s.clock.Now}).Verify(ctx, raw)
	if err != nil {
		return person.Person{}, fmt.Errorf("verifying the id_token: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(begun.Nonce)) != 1 {
		return person.Person{}, errors.New("verifying the id_token: it is of another sign-in: its nonce is another one")
	}
	claims := map[string]any{}
	if err := token.Claims(&claims); err != nil {
		return person.Person{}, fmt.Errorf("reading the claims of the id_token: %w", err)
	}
	if party, found := claims["azp"]; found && party != s.ClientID {
		return person.Person{}, errors.New("verifying the id_token: it was made for another client, as its claim azp says")
	}
	return s.Claims.person(claims)
}

// withoutAnswer gives an error of the provider without the rest of its answer.
func withoutAnswer(err error) error {
	if said := (*oauth2.RetrieveError)(nil); errors.As(err, &said) {
		return fmt.Errorf("it answered %s: %s", said.Response.Status, spoken(said.ErrorCode, said.ErrorDescription))
	}
	return err
}

// newClient makes what asks the provider.
func newClient(caFile string) (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if caFile != "" {
		cas, err := web.ReadCAs(caFile, "the provider")
		if err != nil {
			return nil, err //nolint:wrapcheck // it says all
		}
		transport.TLSClientConfig.RootCAs = cas
	}
	return &http.Client{Transport: transport, Timeout: askTimeout}, nil
}

// readSecret reads that of the client; a client without a file has none.
func readSecret(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := os.ReadFile(file) //nolint:gosec // the operator names it by a flag
	if err != nil {
		return "", fmt.Errorf("reading the client's secret: %w", err)
	}
	secret := strings.TrimSpace(string(text))
	if secret == "" {
		return "", fmt.Errorf("reading the client's secret from %s: it is empty", file)
	}
	return secret, nil
}
