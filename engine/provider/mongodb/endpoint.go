package mongodb

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/engine/provider"
)

const scheme = "mongodb://"

// endpoint is a connection string without credentials.
type endpoint struct {
	hosts []string
	// options are those that are followed. All others are refused: some read files or the environment of the manager.
	replicaSet, authSource, authMechanism string
	tls, direct                           bool
}

func refused(format string, args ...any) error {
	return &provider.Error{Class: provider.Invalid, Operation: "Endpoint", Message: fmt.Sprintf(format, args...)}
}

// parseEndpoint reads mongodb://host:port,host:port/?option=value.
func parseEndpoint(text string) (*endpoint, error) {
	rest, found := strings.CutPrefix(text, scheme)
	if !found {
		return nil, refused("the endpoint must begin with mongodb:// and name the servers, as in mongodb://a:27017,b:27017/?replicaSet=rs0")
	}
	address, query, _ := strings.Cut(rest, "?")
	hosts, path, _ := strings.Cut(address, "/")
	switch {
	case strings.Contains(hosts, "@"):
		return nil, refused("the endpoint must not hold credentials: put username and password into the Secret of the credentials")
	case path != "":
		return nil, refused("the endpoint must not name a database: declare it as a field")
	}
	out := &endpoint{hosts: strings.Split(hosts, ","), authSource: "admin"}
	if slices.Contains(out.hosts, "") {
		return nil, refused("the endpoint must name a server between mongodb:// and the next / or comma")
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, refused("the options of the endpoint can't be read: they are written as ?name=value&name=value")
	}
	for name, given := range values {
		if err := out.set(name, given[len(given)-1]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (e *endpoint) set(name, value string) error {
	switch name {
	case "replicaSet":
		e.replicaSet = value
	case "authSource":
		e.authSource = value
	case "authMechanism":
		if value != "SCRAM-SHA-1" && value != "SCRAM-SHA-256" {
			return refused("authMechanism: the endpoint may say SCRAM-SHA-1 or SCRAM-SHA-256")
		}
		e.authMechanism = value
	case "tls", "ssl":
		return boolean(name, value, &e.tls)
	case "directConnection":
		return boolean(name, value, &e.direct)
	default:
		return refused("the endpoint has the option %q: it may have authMechanism, authSource, directConnection, replicaSet and tls", name)
	}
	return nil
}

func boolean(name, value string, into *bool) error {
	if value != "true" && value != "false" {
		return refused("the option %s of the endpoint must be true or false", name)
	}
	*into = value == "true"
	return nil
}
