// Package plane gives a test what a cluster with Orkestra is made of: a control plane, programs beside it, and waiting for what comes about.
package plane

import (
	"strings"
	"testing"

	"github.com/orkspace/orkestra/test/localcluster"
)

// Plane is a cluster with the CRDs of Orkestra and the namespace of its manager.
type Plane struct {
	Cluster *localcluster.Cluster
}

// New starts one, and ends it with the test. root is the folder of the repository.
func New(t *testing.T, root string) *Plane {
	t.Helper()
	p := Bare(t, localcluster.Options{})
	p.Kubectl(t, "apply", "--server-side", "-f", root+"/config/crd/bases", "-f", root+"/config/default/namespace.yaml")
	return p
}

// Bare starts a cluster that has nothing of Orkestra yet, and ends it with the test.
func Bare(t *testing.T, options localcluster.Options) *Plane {
	t.Helper()
	cluster, err := localcluster.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	return &Plane{Cluster: cluster}
}

// Kubectl gives what kubectl prints.
func (p *Plane) Kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := p.Cluster.Kubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// Apply applies manifests.
func (p *Plane) Apply(t *testing.T, yaml string) {
	t.Helper()
	if out, err := p.Cluster.KubectlApply(t.Context(), yaml); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
