package localcluster_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/orkspace/orkestra/test/localcluster"
)

const timeout = 3 * time.Minute

const objects = `
apiVersion: v1
kind: ConfigMap
metadata: {name: kept}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: once, image: once}]}
`

func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	audit := filepath.Join(t.TempDir(), "audit.log")
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	cluster, err := localcluster.Start(ctx, localcluster.Options{AuditLog: audit})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	}()
	if cluster.Existing() {
		t.Skip("must not stop the API server of an existing cluster")
	}
	if _, err := cluster.KubectlApply(ctx, objects); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"rollout", "status", "deployment/web"},
		{"wait", "--for=condition=Complete", "job/once"},
		{"create", "token", "default"},
	} {
		if _, err := cluster.Kubectl(ctx, args...); err != nil {
			t.Error(err)
		}
	}
	_, err = cluster.Kubectl(ctx, "get", "pods", "--as=system:serviceaccount:default:default")
	if err == nil || !strings.Contains(err.Error(), "Forbidden") {
		t.Errorf("an unprivileged service account got %v, want a Forbidden", err)
	}
	testRestart(ctx, t, cluster)
	if data, err := os.ReadFile(audit); err != nil || !strings.Contains(string(data), `"name":"kept"`) {
		t.Errorf("the audit log does not name the ConfigMap (%v)", err)
	}
	if err := cluster.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(cluster.Kubeconfig()); !os.IsNotExist(err) {
		t.Errorf("the kubeconfig is left: %v", err)
	}
}

func testRestart(ctx context.Context, t *testing.T, cluster *localcluster.Cluster) {
	t.Helper()
	before := cluster.Config().Host
	if err := cluster.StopAPIServer(ctx); err != nil {
		t.Fatal(err)
	}
	if err := get(ctx, cluster.Config()); err == nil {
		t.Error("the API server answers after it was stopped")
	}
	if err := cluster.StopAPIServer(ctx); err == nil {
		t.Error("stopping it again gave no error")
	}
	if err := cluster.StartAPIServer(ctx); err != nil {
		t.Fatal(err)
	}
	if err := get(ctx, cluster.Config()); err != nil {
		t.Errorf("the ConfigMap is lost: %v", err)
	}
	if after := cluster.Config().Host; after != before {
		t.Errorf("the API server moved from %s to %s", before, after)
	}
}

func get(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	kind := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	_, err = client.Resource(kind).Namespace("default").Get(ctx, "kept", metav1.GetOptions{})
	return err
}

func TestStartErrors(t *testing.T) {
	t.Setenv(localcluster.EnvExisting, "")
	tests := map[string]struct {
		options localcluster.Options
		want    string
	}{
		"no binary":     {localcluster.Options{Binary: "/does/not/exist"}, "run `make bin/orkestra-cluster`"},
		"not a cluster": {localcluster.Options{Binary: "/bin/false"}, "the cluster ended"},
		"no JSON":       {localcluster.Options{Binary: "/bin/echo"}, "the cluster ended"},
		"a folder":      {localcluster.Options{Binary: "/"}, "is a directory"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := localcluster.Start(t.Context(), test.options)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestStartCancelled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	t.Setenv(localcluster.EnvExisting, "")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := localcluster.Start(ctx, localcluster.Options{}); err == nil || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("got %v, want the deadline", err)
	}
}

func TestExistingNeedsKubeconfig(t *testing.T) {
	t.Setenv(localcluster.EnvExisting, "true")
	t.Setenv("KUBECONFIG", "")
	if _, err := localcluster.Start(t.Context(), localcluster.Options{}); err == nil {
		t.Error("got no error")
	}
}
