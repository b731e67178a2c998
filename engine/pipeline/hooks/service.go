package hooks

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// serviceKind is the kind of the Services that are called.
var serviceKind = schema.GroupVersionKind{Version: "v1", Kind: "Service"}

// service is a Service that is called as a webhook.
type service struct {
	namespace, name string
	port            int64
}

// serviceError says that a Service can't be called.
type serviceError struct{ text string }

// Error gives one line.
func (e *serviceError) Error() string { return e.text }

// address gives where the Service is called: its cluster IP and port, as it is now in the watch cache. A change of it is an input.
func (s *service) address(ctx context.Context, c *children.Cycle) (string, error) {
	if s == nil {
		return "", nil
	}
	if err := c.MayRead(ctx, serviceKind, s.namespace, s.name); err != nil {
		return "", err //nolint:wrapcheck // it says what may not be read
	}
	if err := c.Ports.Observer.Observe(ctx, serviceKind); err != nil {
		return "", err //nolint:wrapcheck // its class counts
	}
	described := stage.Describe(serviceKind, s.namespace, s.name)
	found := c.Inputs.Get(c.Ports.Observer, serviceKind, s.namespace, s.name)
	if found == nil {
		return "", &serviceError{c.Absent(described)}
	}
	ip, wrong := s.clusterIP(found)
	if wrong != "" {
		return "", &serviceError{described + " " + wrong}
	}
	return net.JoinHostPort(ip, strconv.FormatInt(s.port, 10)), nil
}

// clusterIP gives the address of a Service that may be called, or says why it may not be: where a Service leads to whatever its author says,
// the guard of the manager would be passed by writing one.
func (s *service) clusterIP(found *unstructured.Unstructured) (ip, wrong string) {
	// Fields of another type are absent: the API server refuses them.
	kind, _, _ := unstructured.NestedString(found.Object, "spec", "type")
	selector, _, _ := unstructured.NestedMap(found.Object, "spec", "selector")
	ip, _, _ = unstructured.NestedString(found.Object, "spec", "clusterIP")
	ports, _, _ := unstructured.NestedSlice(found.Object, "spec", "ports")
	serves := func(p any) bool {
		port, _ := p.(map[string]any)
		protocol, given := port["protocol"]
		return port["port"] == s.port && (!given || protocol == "TCP")
	}
	switch {
	case kind == "ExternalName":
		return "", "is of the type ExternalName, which leads anywhere: give the url of the webhook instead"
	case len(selector) == 0:
		return "", "has no selector, so that its endpoints may be anything: give it one, or give the url of the webhook instead"
	case net.ParseIP(ip) == nil:
		return "", "has no cluster IP"
	case !slices.ContainsFunc(ports, serves):
		return "", fmt.Sprintf("has no TCP port %d", s.port)
	default:
		return ip, ""
	}
}
