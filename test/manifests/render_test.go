// Package manifests_test renders the two ways to install Orkestra, the chart and the kustomize files, with the real tools, and
// checks what comes out. It needs no cluster.
package manifests_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const (
	root      = "../.."
	chart     = root + "/charts/orkestra"
	namespace = "orkestra-system"

	hookAnnotation = "helm.sh/hook"
)

// everything are values that turn every optional object on.
var everything = []string{
	"replicaCount=3", `rbac.scope="cluster"`, "metrics.serviceMonitor.enabled=true", "metrics.prometheusRule.enabled=true", "metrics.dashboards.enabled=true",
	`metrics.certSecret="metrics-cert"`, "networkPolicy.enabled=true", "argocd.healthRule=true",
}

// objects are rendered objects, in the order of the tool that rendered them.
type objects []*unstructured.Unstructured

// helm renders the chart as release orkestra, so that its objects have the same names as those of kustomize.
func helm(t *testing.T, values ...string) objects {
	t.Helper()
	rendered, _ := helmAll(t, values...)
	return rendered
}

// helmAll renders the chart, and gives the hooks of an uninstall apart: they are in the cluster only then. Those of helm test are left out.
func helmAll(t *testing.T, values ...string) (rendered, hooks objects) {
	t.Helper()
	out, err := helmTemplate(t, values...)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range decode(t, out) {
		switch object.GetAnnotations()[hookAnnotation] {
		case "":
			rendered = append(rendered, object)
		case "test":
		default:
			hooks = append(hooks, object)
		}
	}
	return rendered, hooks
}

func helmTemplate(t *testing.T, values ...string) ([]byte, error) {
	t.Helper()
	args := []string{"template", "orkestra", chart, "--namespace", namespace}
	for _, value := range values {
		args = append(args, "--set-json", value)
	}
	return run(t, "helm", args...)
}

func kustomize(t *testing.T, folder string) objects {
	t.Helper()
	out, err := run(t, "orkestra-cluster", "kubectl", "kustomize", filepath.Join(root, "config", folder))
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, out)
}

// run runs a program that make built, and returns its standard output.
func run(t *testing.T, name string, args ...string) ([]byte, error) {
	t.Helper()
	binary := filepath.Join(root, "bin", name)
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("finding a tool: %v; run `make bin/%s`", err, name)
	}
	command := exec.CommandContext(t.Context(), binary, args...)
	home := t.TempDir()
	command.Env = append(os.Environ(), "HOME="+home, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return out, fmt.Errorf("running %s %q: %w\n%s", name, args, err, stderr.String())
	}
	return out, nil
}

func decode(t *testing.T, content []byte) objects {
	t.Helper()
	var found objects
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatalf("reading what was rendered: %v\n%s", err, content)
		}
		if len(object.Object) > 0 {
			found = append(found, object)
		}
	}
}

// ofKind returns the objects of some kinds.
func (o objects) ofKind(kinds ...string) objects {
	return slices.DeleteFunc(slices.Clone(o), func(object *unstructured.Unstructured) bool {
		return !slices.Contains(kinds, object.GetKind())
	})
}

// names returns Kind/name of each object, sorted.
func (o objects) names() []string {
	var names []string
	for _, object := range o {
		names = append(names, object.GetKind()+"/"+object.GetName())
	}
	slices.Sort(names)
	return names
}

// only returns the one object of a kind as its Go type; a field that the type does not have is an error.
func only[T any](t *testing.T, o objects, kind string) *T {
	t.Helper()
	found := o.ofKind(kind)
	if len(found) != 1 {
		t.Fatalf("there are %d objects of kind %s: %q", len(found), kind, found.names())
	}
	return typed[T](t, found[0])
}

// service is the Service of a name.
func service(t *testing.T, o objects, name string) *corev1.Service {
	t.Helper()
	for _, object := range o.ofKind("Service") {
		if object.GetName() == name {
			return typed[corev1.Service](t, object)
		}
	}
	t.Fatalf("there is no Service %s: %q", name, o.names())
	return nil
}

func typed[T any](t *testing.T, object *unstructured.Unstructured) *T {
	t.Helper()
	result := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, result, true); err != nil {
		t.Fatalf("reading %s %q: %v", object.GetKind(), object.GetName(), err)
	}
	return result
}
