package live

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	base "github.com/orkspace/orkestra/test/plane"
)

const root = "../../.."

// plane is a cluster with a manager, which a Prometheus scrapes.
type plane struct {
	*base.Plane

	http       *http.Client // to the API server
	orkestra   string
	prometheus *prometheus
}

// newPlane starts all of it, and ends it with the test.
func newPlane(t *testing.T) *plane {
	t.Helper()
	p := &plane{Plane: base.New(t, root), orkestra: base.Build(t, root, "orkestra", "./cmd/orkestra")}
	program := base.Build(t, ".", "prometheus", "-tags", "remove_all_sd", "github.com/prometheus/prometheus/cmd/prometheus")
	var err error
	if p.http, err = rest.HTTPClientFor(p.Cluster.Config()); err != nil {
		t.Fatal(err)
	}
	p.Kubectl(t, "apply", "--server-side", "-f", root+"/config/rbac/metrics_reader_role.yaml")
	p.Apply(t, reader)
	metrics := base.FreeAddress(t)
	base.Start(t, p.orkestra, "manager", "--kubeconfig", p.Cluster.Kubeconfig(), "--namespace", "orkestra-system", "--metrics-bind-address", metrics,
		"--health-probe-bind-address", "0", "--external-allow", "127.0.0.1", "--shutdown-timeout", "10s", "--log-format", "text")
	p.prometheus = newPrometheus(t, program, metrics, p.Kubectl(t, "create", "token", "prometheus", "--namespace", "default"))
	return p
}

// reader is the account with which Prometheus scrapes.
const reader = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: prometheus, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: prometheus}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: orkestra-metrics-reader}
subjects: [{kind: ServiceAccount, name: prometheus, namespace: default}]
`

// merge patches an object as many do; it may be gone already.
func (p *plane) merge(ctx context.Context, path, patch string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPatch, p.Cluster.Config().Host+path, strings.NewReader(patch))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/merge-patch+json")
	answer, err := p.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // nothing of it is read
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusNotFound {
		return fmt.Errorf("patching %s: %s", path, answer.Status)
	}
	return nil
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
