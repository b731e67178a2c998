// Package chart_test holds what the chart renders against the schemas of Kubernetes. They are made of the OpenAPI documents that its module has.
package chart_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// versions of Kubernetes: a patch of each minor version that Orkestra supports.
var versions = []string{"1.33.13", "1.34.4", "1.35.4", "1.36.3"}

// foreign are the kinds of other operators, of which Kubernetes has no schema.
var foreign = []string{"ServiceMonitor", "PrometheusRule", "Certificate", "Issuer"}

// sets are values that together turn every object on, and every field.
var sets = map[string][]string{
	"default": nil,
	"everything": {
		"replicaCount=3", `rbac.scope="cluster"`, `image={"providers": true, "pullPolicy": "Always"}`, `imagePullSecrets=[{"name": "registry"}]`,
		`serviceAccount.annotations={"a": "b"}`, `priorityClassName="system-cluster-critical"`, `nodeSelector={"a": "b"}`,
		`tolerations=[{"key": "a", "operator": "Exists", "effect": "NoSchedule"}]`,
		`affinity={"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": {"topologyKey": "a", "labelSelector": {"matchLabels": {"a": "b"}}}}]}}`,
		`metrics={"certSecret": "m", "serviceMonitor": {"enabled": true}, "prometheusRule": {"enabled": true}, "dashboards": {"enabled": true}}`,
		`web={"certSecret": "w", "hosts": ["a.example.com"], "proxy": {"caSecret": "p"}, "oidc": {"issuer": "https://a", "clientID": "c", "secret": "s", "caSecret": "x"}}`,
		`trust={"admission": true, "restorers": ["r"], "managers": ["m"], "boxNamespaces": [{"name": "a", "accounts": ["b"]}], "webhook": {"enabled": true}, "egress": {"only": {"accounts": {"a/b": ["c"]}}}}`,
		`tracing={"ratio": 1, "endpoint": "http://a", "env": [{"name": "OTEL_A", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}]}`,
		`networkPolicy={"enabled": true, "metricsFrom": [{"podSelector": {}}], "webFrom": [{"ipBlock": {"cidr": "192.0.2.0/24"}}], "egress": {"enabled": true, "apiServer": [{"ipBlock": {"cidr": "192.0.2.1/32"}}], "dns": [{"namespaceSelector": {}}], "rules": [{"ports": [{"port": 443, "endPort": 444}]}]}}`,
		"argocd.healthRule=true", "priorityAndFairness.enabled=true", `podDisruptionBudget.maxUnavailable="50%"`,
	},
	"cert-manager": {`trust.webhook={"enabled": true, "certificate": "cert-manager"}`, "podDisruptionBudget.maxUnavailable=2"},
}

func TestChartConforms(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			schemas := makeSchemas(t, version)
			for name, values := range sets {
				for _, result := range conform(t, version, schemas, render(t, version, values)) {
					if result.Status != "statusValid" && (result.Status != "statusSkipped" || !slices.Contains(foreign, result.Kind)) {
						t.Errorf("with %s, %s %s: %s %s", name, result.Kind, result.Name, result.Status, result.Message)
					}
				}
			}
		})
	}
}

// TestSchemasRefuse: schemas that let everything pass would say nothing of the chart.
func TestSchemasRefuse(t *testing.T) {
	schemas := makeSchemas(t, versions[0])
	for name, object := range map[string]string{
		"an unknown field": `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {"selector": {}, "template": {"spec": {"containers": [{"name": "a", "images": "b"}]}}}}`,
		"a wrong type":     `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"port": "metrics"}]}}`,
		"a missing field":  `{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "a"}, "spec": {"selector": {"matchExpressions": [{"key": "a"}]}}}`,
		"an unknown kind":  `{"apiVersion": "apps/v1beta9", "kind": "Deployment", "metadata": {"name": "a"}}`,
	} {
		for _, result := range conform(t, versions[0], schemas, []byte(object)) {
			if result.Status == "statusValid" || result.Status == "statusSkipped" {
				t.Errorf("%s passes", name)
			}
		}
	}
}

// result is what kubeconform says of an object.
type result struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Status  string `json:"status"`
	Message string `json:"msg"`
}

// conform runs kubeconform over objects, and gives what it says of each.
func conform(t *testing.T, version, schemas string, objects []byte) []result {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(root, "bin", "kubeconform"), "-strict", "-verbose", "-output", "json", "-skip", strings.Join(foreign, ","),
		"-kubernetes-version", version, "-schema-location", schemas+"/{{.ResourceKind}}{{.KindSuffix}}.json")
	command.Stdin = bytes.NewReader(objects)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output() // fails where an object does
	var found struct {
		Resources []result `json:"resources"`
	}
	if decoding := json.Unmarshal(out, &found); decoding != nil || len(found.Resources) == 0 {
		t.Fatalf("kubeconform: %v, %v: %s%s", err, decoding, out, stderr.String())
	}
	return found.Resources
}

// render renders the chart with its hooks.
func render(t *testing.T, version string, values []string) []byte {
	t.Helper()
	args := []string{"template", "orkestra", filepath.Join(root, "charts", "orkestra"), "--namespace", "orkestra-system", "--kube-version", version}
	for _, value := range values {
		args = append(args, "--set-json", value)
	}
	return run(t, filepath.Join(root, "bin", "helm"), args...)
}

func run(t *testing.T, program string, args ...string) []byte {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("running %s %q: %v\n%s%s", program, args, err, out, stderr.String())
	}
	return out
}

// makeSchemas writes a JSON schema for each kind that a version of Kubernetes serves, and gives their folder.
func makeSchemas(t *testing.T, version string) string {
	t.Helper()
	var module struct{ Dir string }
	decode(t, run(t, "go", "mod", "download", "-json", "k8s.io/kubernetes@v"+version), &module)
	content, err := os.ReadFile(filepath.Join(module.Dir, "api", "openapi-spec", "swagger.json"))
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Definitions definitions `json:"definitions"`
	}
	decode(t, content, &document)
	document.Definitions.close()
	folder := t.TempDir()
	for name, definition := range document.Definitions {
		kinds, _ := definition["x-kubernetes-group-version-kind"].([]any)
		if len(kinds) != 1 {
			continue // those with more are options of requests
		}
		kind := kinds[0].(map[string]any)
		text, err := json.Marshal(map[string]any{"$ref": refPrefix + name, "definitions": document.Definitions.below(name)})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, fileName(kind)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// fileName is how kubeconform asks for a kind.
func fileName(kind map[string]any) string {
	group, _, _ := strings.Cut(kind["group"].(string), ".")
	parts := []string{kind["kind"].(string), group, kind["version"].(string)}
	return strings.ToLower(strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "-")) + ".json"
}

func decode(t *testing.T, content []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(content, into); err != nil {
		t.Fatal(err)
	}
}

const refPrefix = "#/definitions/"

// definitions are types of Kubernetes by name.
type definitions map[string]map[string]any

// close makes the types what the API server takes, strictly: no field that it does not know, and numbers where a type is text for some of its values.
func (d definitions) close() {
	for name, definition := range d {
		if _, ok := definition["properties"]; ok && definition["additionalProperties"] == nil {
			definition["additionalProperties"] = false
		}
		switch name {
		case "io.k8s.apimachinery.pkg.util.intstr.IntOrString", "io.k8s.apimachinery.pkg.api.resource.Quantity":
			d[name] = map[string]any{"type": []string{"string", "number"}}
		}
	}
}

// below gives a type with all that it is made of.
func (d definitions) below(name string) definitions {
	found := definitions{}
	var add func(name string)
	var walk func(part any)
	add = func(name string) {
		if _, known := found[name]; !known {
			found[name] = d[name]
			walk(d[name])
		}
	}
	walk = func(part any) {
		switch p := part.(type) {
		case map[string]any:
			if ref, ok := p["$ref"].(string); ok {
				add(strings.TrimPrefix(ref, refPrefix))
			}
			for _, child := range p {
				walk(child)
			}
		case []any:
			for _, child := range p {
				walk(child)
			}
		}
	}
	add(name)
	return found
}
