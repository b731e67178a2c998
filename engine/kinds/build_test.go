package kinds

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/engine/kinds/shape"
)

// tree reads YAML as the JSON tree that a decoder for unstructured objects gives.
func tree(tb testing.TB, text string) map[string]any {
	tb.Helper()
	b, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	if string(b) == "null" {
		return nil
	}
	out := map[string]any{}
	if err := json.Unmarshal(b, &out); err != nil {
		tb.Fatal(err)
	}
	return integral(out).(map[string]any)
}

func integral(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = integral(v[k])
		}
	case []any:
		for i := range v {
			v[i] = integral(v[i])
		}
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return v
}

func mustLookup(tb testing.TB, key string) Kind {
	tb.Helper()
	k, ok := Lookup(key)
	if !ok {
		tb.Fatalf("no kind %q", key)
	}
	return k
}

// buildCase is a golden test of one declaration. Its object has the name web in namespace team, for the resource shop.
type buildCase struct {
	key         string
	short, spec string
	workload    *Workload
	service     *Service
	want        string
}

func (c buildCase) run(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	d := Declared{
		Name: "web", Namespace: "team", Instance: "shop", Short: tree(t, c.short), Spec: tree(t, c.spec),
		Workload: c.workload, Service: c.service,
	}
	if mustLookup(t, c.key).ClusterScoped {
		d.Namespace = ""
	}
	obj, err := mustLookup(t, c.key).Build(d)
	g.Expect(err).NotTo(HaveOccurred())
	if diff := cmp.Diff(tree(t, c.want), obj.Object); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	g.Expect(d.Short).To(Equal(tree(t, c.short)), "Build must not change the declaration")
	g.Expect(d.Spec).To(Equal(tree(t, c.spec)), "Build must not change the declaration")
	expectTyped(t, obj.Object)
	g.Expect(mustLookup(t, c.key).Check(d.Short, d.Spec, nil, nil)).To(BeEmpty())
}

// expectTyped demands that Kubernetes' own types read the object without loss.
func expectTyped(t *testing.T, object map[string]any) {
	t.Helper()
	gvk := schemaGVK(object)
	if !scheme.Scheme.Recognizes(gvk) {
		return
	}
	typed, err := scheme.Scheme.New(gvk)
	if err != nil {
		t.Fatal(err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object, typed, true); err != nil {
		t.Errorf("a typed client can't read the object: %v", err)
	}
}

func TestBuildLabels(t *testing.T) {
	g := NewWithT(t)
	d := Declared{
		Name: "web", Instance: "shop",
		Labels: map[string]string{"a": "declared", "b": "b"}, Annotations: map[string]string{"n": "1"},
		Short: tree(t, `{manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: own, labels: {a: manifest, c: c}}}}`),
	}
	obj, err := mustLookup(t, "resources").Build(d)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(obj.GetLabels()).To(Equal(map[string]string{"a": "declared", "b": "b", "c": "c"}))
	g.Expect(obj.GetAnnotations()).To(Equal(map[string]string{"n": "1"}))
	g.Expect(obj.GetNamespace()).To(Equal("own"))

	d.Short = tree(t, `{data: {a: b}}`)
	obj, err = mustLookup(t, "configmaps").Build(d)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(obj.GetLabels()).To(Equal(d.Labels))
	g.Expect(obj.GetNamespace()).To(BeEmpty())
}

func TestBuildErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		key, short, spec string
		want             shape.FieldError
	}{
		"a wrong type": {
			"deployments", `{image: nginx, replicas: many}`, ``,
			shape.FieldError{Path: "replicas", Want: "32-bit integer", Got: "string", Value: "many"},
		},
		"the first of several": {
			"deployments", `{image: nginx, env: [{name: A}, {name: B, value: {}}], sidecars: 3, replicas: {}}`, ``,
			shape.FieldError{Path: "env[1].value", Want: "string", Got: "object"},
		},
		"an unknown field deep inside": {
			"deployments", `{image: nginx, probes: {readiness: {httpget: {}}}}`, ``,
			shape.FieldError{Path: "probes.readiness.httpget", Got: "unknown field", Near: "httpGet"},
		},
		"an image that rendered to nothing": {
			"deployments", `{image: ""}`, ``, shape.FieldError{Path: "image", Want: "an image", Got: "nothing"},
		},
		"an overlay's wrong type": {
			"deployments", `{image: a}`, `{replicas: true}`,
			shape.FieldError{Path: "spec.replicas", Want: "32-bit integer", Got: "boolean", Value: "true"},
		},
		"an overlay's list without merge key": {
			"deployments", `{image: a}`, `{template: {spec: {containers: [{image: b}]}}}`,
			shape.FieldError{
				Path: "spec.template.spec.containers[0].name",
				Want: "a name, by which the elements of this list are merged", Got: "nothing",
			},
		},
		"an overlay over a list without merge key": {
			"deployments", `{image: a, volumes: [{emptyDir: {}}]}`, `{template: {spec: {volumes: [{name: a}]}}}`,
			shape.FieldError{
				Path: "spec.template.spec.volumes[0].name",
				Want: "a name, by which the elements of this list are merged", Got: "nothing",
			},
		},
		"a merge directive": {
			"deployments", `{image: a}`, `{template: {$patch: replace}}`,
			shape.FieldError{Path: "spec.template.$patch", Got: "unknown field"},
		},
		"an overlay over nothing": {
			"configmaps", `{}`, `{a: b}`, shape.FieldError{Path: "spec", Got: "not for this kind: a ConfigMap has no spec"},
		},
		"no workload": {
			"services", `{}`, ``, shape.FieldError{Path: "selector", Want: "a selector: the box has not exactly one workload", Got: "nothing"},
		},
		"no Service": {
			"ingresses", `{}`, ``, shape.FieldError{Path: "serviceName", Want: "a Service: the box has not exactly one", Got: "nothing"},
		},
		"no port": {
			"ingresses", `{serviceName: a}`, ``,
			shape.FieldError{Path: "servicePort", Want: "a port: the box has not exactly one Service that has ports", Got: "nothing"},
		},
		"bad base64": {
			"configmaps", `{binaryData: {a.b: "!"}}`, ``,
			shape.FieldError{Path: "binaryData[a.b]", Want: "base64 string", Got: "string", Value: "!"},
		},
		"no manifest": {
			"resources", `{}`, ``, shape.FieldError{Path: "manifest", Want: "object", Got: "nothing"},
		},
		"a manifest's wrong field": {
			"resources", `{manifest: {apiVersion: v1, kind: ConfigMap, dta: {}}}`, ``,
			shape.FieldError{Path: "manifest.dta", Got: "unknown field", Near: "data"},
		},
		"a manifest of another kind with bad labels": {
			"resources", `{manifest: {apiVersion: a.b/v1, kind: A, metadata: {labels: [1]}}}`, ``,
			shape.FieldError{Path: "manifest.metadata.labels", Want: "object", Got: "array"},
		},
		"a manifest with a UID": {
			"resources", `{manifest: {apiVersion: a.b/v1, kind: A, metadata: {uid: x}}}`, ``,
			shape.FieldError{Path: "manifest.metadata.uid", Got: "not for a declaration to set"},
		},
		"a manifest that is a list": {
			"resources", `{manifest: {apiVersion: v1, kind: ConfigMapList}}`, ``,
			shape.FieldError{Path: "manifest.kind", Want: "kind of a single object", Got: "string", Value: "ConfigMapList"},
		},
		"a manifest's overlay over nothing": {
			"resources", `{manifest: {apiVersion: v1, kind: ConfigMap}}`, `{a: b}`,
			shape.FieldError{Path: "spec", Got: "not for this kind: a ConfigMap has no spec"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := Declared{Name: "a", Instance: "i", Short: tree(t, tc.short), Spec: tree(t, tc.spec)}
			for range 20 {
				_, err := mustLookup(t, tc.key).Build(d)
				var got *shape.FieldError
				g.Expect(errors.As(err, &got)).To(BeTrue(), "got %v", err)
				g.Expect(*got).To(Equal(tc.want))
			}
		})
	}
}

func TestBuildNeedsName(t *testing.T) {
	g := NewWithT(t)
	_, err := mustLookup(t, "configmaps").Build(Declared{})
	g.Expect(err).To(MatchError("name: want a name, got nothing"))
}

func TestLabelValue(t *testing.T) {
	g := NewWithT(t)
	g.Expect(LabelValue("web")).To(Equal("web"))
	exact := strings.Repeat("a", 63)
	g.Expect(LabelValue(exact)).To(Equal(exact))
	long := strings.Repeat("a", 52) + "-." + strings.Repeat("b", 20)
	// sha256 of the whole name: two long names that begin alike stay apart.
	g.Expect(LabelValue(long)).To(MatchRegexp(`^a{52}-[0-9a-f]{8}$`))
	g.Expect(LabelValue(long)).NotTo(Equal(LabelValue(long + "c")))
}

func TestBuildSharesNothing(t *testing.T) {
	g := NewWithT(t)
	d := Declared{
		Name: "web", Instance: "shop", Labels: map[string]string{"a": "b"},
		Short: tree(t, `{manifest: {apiVersion: example.com/v1, kind: Thing, spec: {a: {b: [c]}}}}`),
		Spec:  tree(t, `{x: {y: [z]}}`),
	}
	obj, err := mustLookup(t, "resources").Build(d)
	g.Expect(err).NotTo(HaveOccurred())
	seen := map[uintptr]bool{}
	pointers(d.Short, seen)
	pointers(d.Spec, seen)
	mine := map[uintptr]bool{}
	pointers(obj.Object, mine)
	for p := range mine {
		g.Expect(seen).NotTo(HaveKey(p))
	}
}

func pointers(v any, into map[uintptr]bool) {
	switch v := v.(type) {
	case map[string]any:
		into[reflect.ValueOf(v).Pointer()] = true
		for _, e := range v {
			pointers(e, into)
		}
	case []any:
		into[reflect.ValueOf(v).Pointer()] = true
		for _, e := range v {
			pointers(e, into)
		}
	}
}

// FuzzBuild: no input makes Check or Build panic, and what Check lets through without templates is built or refused.
func FuzzBuild(f *testing.F) {
	f.Add(`{"image": "x", "env": [null, 1, {"name": {}}]}`, `{"template": {"spec": {"containers": [1, null, {"name": []}]}}}`)
	f.Add(`{"manifest": {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": []}}`, `{"template": null}`)
	f.Add(`{"manifest": {"apiVersion": "a/b/c", "kind": 1}}`, `[]`)
	f.Add(`{"ports": [[]], "selector": "a", "headless": 1, "rules": {}, "podLabels": [1]}`, `{"ports": [{"port": {}}]}`)
	f.Add(`{"roleRef": {"kind": []}, "subjects": [1, {"kind": "ServiceAccount"}]}`, `{"scaleTargetRef": 1, "selector": [], "jobTemplate": [1]}`)
	f.Add(`{"target": {"kind": {}}, "volumeClaimTemplates": [1, {"metadata": []}], "data": {"a": {}}}`, `{"resources": {"requests": 1}}`)
	f.Fuzz(func(t *testing.T, short, spec string) {
		var s, o map[string]any
		if json.Unmarshal([]byte(short), &s) != nil || json.Unmarshal([]byte(spec), &o) != nil {
			return
		}
		for _, key := range Keys() {
			k := mustLookup(t, key)
			problems := k.Check(s, o, nil, field.NewPath("x"))
			d := Declared{Name: "a", Instance: "i", Short: s, Spec: o, Workload: &Workload{Kind: "Deployment", Name: "w"}, Service: &Service{Name: "s", Port: 1}}
			obj, err := k.Build(d)
			if err == nil {
				expectTyped(t, obj.Object)
				View(obj)
			}
			if len(problems) == 0 && err != nil {
				t.Errorf("%s: Check found nothing, but: %v", key, err)
			}
			k.NeedsWorkload(s, o)
			k.NeedsService(s, o)
			k.WorkloadOf("a", s)
			ServiceOf("a", s, nil)
			_, _ = FailurePolicyOf(s)
		}
	})
}
