package mongodb

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/orkspace/orkestra/engine/provider"
)

const (
	// selection bounds the search for a server that takes writes.
	selection = 10 * time.Second
	// operation bounds one command where the context has no earlier deadline.
	operation = 30 * time.Second
	// farewell bounds the end of a client, which has nothing under way.
	farewell = 5 * time.Second
)

// dialer is the one of the request, for the driver.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// DialContext connects.
func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d(ctx, network, address)
}

// with makes a client, hands it to what is to be done, and ends it. Nothing of the client is left then.
func with[T any](ctx context.Context, r *provider.Request, do func(*mongo.Client) (T, error)) (out T, err error) {
	settings, err := settings(r)
	if err != nil {
		return out, err
	}
	client, err := mongo.Connect(settings)
	if err != nil {
		return out, refused("%s", r.Line(err.Error()))
	}
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		if failed := client.Disconnect(ending); failed != nil && err == nil {
			err = explain(ctx, r, "disconnect", failed)
		}
	}()
	return do(client)
}

func settings(r *provider.Request) (*options.ClientOptions, error) {
	if r.Dial == nil {
		return nil, refused("the request has no dialer")
	}
	e, err := parseEndpoint(r.Endpoint)
	if err != nil {
		return nil, err
	}
	out := options.Client().SetHosts(e.hosts).SetDialer(dialer(r.Dial)).SetDirect(e.direct).
		SetMaxPoolSize(1).SetMaxConnecting(1).SetConnectTimeout(selection).SetServerSelectionTimeout(selection).SetTimeout(operation).
		SetRetryReads(false).SetRetryWrites(false).SetWriteConcern(writeconcern.Majority()).SetServerMonitoringMode("poll").
		// The driver would ask the address that a certificate names, past the dialer. What the server staples to its certificate is still checked.
		SetDisableOCSPEndpointCheck(true)
	if e.replicaSet != "" {
		out.SetReplicaSet(e.replicaSet)
	}
	if e.tls {
		config, err := tlsConfig(r)
		if err != nil {
			return nil, err
		}
		out.SetTLSConfig(config)
	}
	if username := r.Credentials[keyUsername]; username != "" {
		if r.Credentials[keyPassword] == "" {
			return nil, &provider.Error{Class: provider.Denied, Operation: "Credentials", Message: "the Secret of the credentials has a username and no password"}
		}
		out.SetAuth(options.Credential{AuthMechanism: e.authMechanism, AuthSource: e.authSource, Username: username, Password: r.Credentials[keyPassword], PasswordSet: true})
	}
	if err := out.Validate(); err != nil {
		return nil, refused("%s", r.Line(err.Error()))
	}
	return out, nil
}

func tlsConfig(r *provider.Request) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if pem := r.Credentials[keyCA]; pem != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(pem)) {
			return nil, &provider.Error{Class: provider.Invalid, Operation: "Credentials", Message: "ca.crt of the Secret of the credentials holds no certificate in PEM"}
		}
	}
	return config, nil
}
