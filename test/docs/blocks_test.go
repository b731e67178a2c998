package docs_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	builtin "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/external"
)

// othersGroups are those of kinds whose types are not here. That their objects are YAML with a kind and a name is all that is checked. Kinds of examples are
// of example.com, or of groups below it.
var othersGroups = []string{
	"argoproj.io", "cert-manager.io", "gateway.networking.k8s.io", "helm.toolkit.fluxcd.io", "kro.run", "kustomize.toolkit.fluxcd.io", "source.toolkit.fluxcd.io",
}

// strictly gives a reading of a block by a type: a field that the type does not have is an error.
func strictly[T any]() func([]byte) error {
	return func(text []byte) error {
		var into T
		return yaml.UnmarshalStrict(text, &into)
	}
}

// elsewhere is for blocks that other tests read, or that are for programs of others: they have to be YAML.
func elsewhere(text []byte) error {
	var into map[string]any
	return yaml.Unmarshal(text, &into)
}

// fragments are blocks that are part of something: the page and the first key of each, and how it is judged.
var fragments = map[string]func([]byte) error{
	"docs/how-to/argocd.md data":               elsewhere, // test/gitops and test/manifests
	"docs/how-to/flux.md spec":                 elsewhere, // of Flux; test/gitops evaluates its expressions
	"docs/how-to/flux.md status":               strictly[map[string]apiextensionsv1.JSONSchemaProps](),
	"docs/how-to/hooks.md spec":                strictly[v1alpha1.OperatorBox](),
	"docs/how-to/init.md logLevel":             strictly[map[string]apiextensionsv1.JSONSchemaProps](),
	"docs/how-to/init.md manifest":             elsewhere, // cmd/orkestra/initialize
	"docs/how-to/providers.md credentials":     strictly[struct{ Credentials v1alpha1.ProviderCredentials }](),
	"docs/how-to/render.md external":           elsewhere, // cmd/orkestra
	"docs/how-to/render.md providers":          elsewhere,
	"docs/how-to/render.md webhook":            elsewhere,
	"docs/how-to/revisions.md spec":            strictly[v1alpha1.OperatorBox](),
	"docs/how-to/webhooks.md webhook":          strictly[v1alpha1.HookSpec](),
	"docs/how-to/sign-in-dex.md env":           strictly[corev1.Container](),
	"docs/how-to/sign-in-dex.md staticClients": elsewhere, // of Dex
	"docs/operations.md external-allow":        func(text []byte) error { _, err := external.ParseEgressRules(text); return err },
	"docs/operations/tracing.md receivers":     elsewhere, // of the OpenTelemetry Collector
	"docs/start.md serviceAccountRef":          strictly[v1alpha1.OperatorBoxSpec](),
}

// judge knows what blocks without a box are judged by.
type judge struct {
	decoder runtime.Decoder
	values  *jsonschema.Resolved // of the chart
	names   map[string]*jsonschema.Schema
	used    map[string]bool // groups of others, and fragments, that were seen
}

func newJudge(t *testing.T) *judge {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{builtin.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(read(t, "charts/orkestra/values.schema.json")), &s); err != nil {
		t.Fatal(err)
	}
	values, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &judge{serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer(), values, s.Properties, map[string]bool{}}
}

// TestOtherYAML judges the blocks of YAML that hold no box: objects by their types, values of the chart by its schema, parts of objects by what they are part of.
func TestOtherYAML(t *testing.T) {
	j, count := newJudge(t), 0
	for _, page := range pages(t) {
		for _, f := range fences(t, page) {
			if _, _, isBox := f.documents(t); f.lang != "yaml" || isBox {
				continue
			}
			count++
			if err := j.block(f); err != nil {
				t.Errorf("%s: %v", f, err)
			}
		}
	}
	if count < 50 {
		t.Errorf("found only %d blocks without a box", count)
	}
	for name := range fragments {
		if !j.used[name] {
			t.Errorf("no page has the fragment %q", name)
		}
	}
	for _, group := range othersGroups {
		if !j.used[group] {
			t.Errorf("no page has an object of %s", group)
		}
	}
}

// block judges one block.
func (j *judge) block(f *fence) error {
	for document := range strings.SplitSeq(f.text, "\n---\n") {
		var content map[string]any
		if err := yaml.UnmarshalStrict([]byte(document), &content); err != nil {
			return err
		}
		if err := j.document(f, document, content); err != nil {
			return err
		}
	}
	return nil
}

func (j *judge) document(f *fence, text string, content map[string]any) error {
	if content["kind"] != nil {
		return j.object(text, &unstructured.Unstructured{Object: content})
	}
	key := firstKey.FindStringSubmatch(text)
	if key == nil {
		return fmt.Errorf("what is this? %q", text)
	}
	if read := fragments[f.page+" "+key[1]]; read != nil {
		j.used[f.page+" "+key[1]] = true
		return read([]byte(text))
	}
	if j.names[key[1]] == nil {
		return fmt.Errorf("%q is neither an object nor a value of the chart: say in fragments what it is part of", key[1])
	}
	return j.values.Validate(content)
}

// firstKey is that of a block, behind comments.
var firstKey = regexp.MustCompile(`(?m)^ *([A-Za-z-]+):`)

// object judges an object by its type, if that is known.
func (j *judge) object(text string, o *unstructured.Unstructured) error {
	if o.GetName() == "" {
		return fmt.Errorf("%s has no name", o.GetKind())
	}
	group := o.GroupVersionKind().Group
	if group == "example.com" || strings.HasSuffix(group, ".example.com") {
		return nil
	}
	if slices.Contains(othersGroups, group) {
		j.used[group] = true
		return j.release(o)
	}
	_, _, err := j.decoder.Decode([]byte(text), nil, nil)
	return err
}

// release judges the values of a HelmRelease of the chart.
func (j *judge) release(o *unstructured.Unstructured) error {
	chart, _, err := unstructured.NestedString(o.Object, "spec", "chart", "spec", "chart")
	if err != nil || o.GetKind() != "HelmRelease" || !strings.HasSuffix(chart, "/orkestra") {
		return err
	}
	values, _, err := unstructured.NestedMap(o.Object, "spec", "values")
	if err != nil {
		return err
	}
	return j.values.Validate(values)
}

// TestTheJudgeFinds breaks blocks, so that the test above is known to find what it should.
func TestTheJudgeFinds(t *testing.T) {
	j := newJudge(t)
	for text, want := range map[string]string{
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndate: {}\n":                                             `unknown field "date"`,
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\nrules: [{verb: [get]}]\n":   `unknown field "rules[0].verb"`,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: apps/v2\nkind: A\nmetadata: {name: b}": `no kind "A" is registered for version "apps/v2"`,
		"apiVersion: v1\nkind: ConfigMap\n":             "ConfigMap has no name",
		"web: {enable: true}\n":                         "enable",
		"web: {enabled: 3}\n":                           "enabled",
		"color: red\n":                                  `"color" is neither an object nor a value of the chart`,
		"web: {enabled: true}\nweb: {enabled: false}\n": `"web" already set in map`,
		"- a\n": "cannot unmarshal array",
		"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\nspec: {chart: {spec: {chart: ./charts/orkestra}}, values: {rbac: {scopes: manager}}}\n": "scopes",
	} {
		err := j.block(&fence{page: "docs/x.md", text: text})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want %q, got %v", text, want, err)
		}
	}
	for page, text := range map[string]string{
		"docs/how-to/hooks.md":    "spec:\n  apiType: {}\n",
		"docs/how-to/webhooks.md": "webhook:\n  addressed: a\n",
		"docs/operations.md":      "external-allow: {namespaces: {}}\n",
		"docs/start.md":           "  serviceAccountRef: {names: a}\n",
	} {
		if err := j.block(&fence{page: page, text: text}); err == nil {
			t.Errorf("%s: %q was taken", page, text)
		}
	}
}

// TestOtherLanguages: JSON can be read.
func TestOtherLanguages(t *testing.T) {
	for _, page := range pages(t) {
		for _, f := range fences(t, page) {
			if f.lang == "json" && !json.Valid([]byte(f.text)) {
				t.Errorf("%s: this is not JSON", f)
			}
		}
	}
}
