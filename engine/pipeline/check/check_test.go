package check

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds"
)

var (
	at         = field.NewPath("x")
	deployment = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	service    = schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	configMap  = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	gadget     = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gadget"}
)

// expect sees the only mistake, or none where none is wanted.
func expect(t *testing.T, errs field.ErrorList, want string) {
	t.Helper()
	g := gomega.NewWithT(t)
	if want == "" {
		g.Expect(errs).To(gomega.BeEmpty())
		return
	}
	g.Expect(errs).To(gomega.HaveLen(1))
	g.Expect(errs[0].Error()).To(gomega.ContainSubstring(want))
}

func TestName(t *testing.T) {
	for name, tc := range map[string]struct {
		kind          schema.GroupVersionKind
		written, want string
	}{
		"good":              {deployment, "web.a", ""},
		"capitals":          {deployment, "Web", "a Deployment can't have this name"},
		"a dot":             {service, "web.a", "a Service can't have this name"},
		"none":              {service, "", ""},
		"a kind unknown":    {gadget, "Web", ""},
		"a template":        {service, "{{ .a }}", ""},
		"a long CronJob":    {schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"}, "a123456789-123456789-123456789-123456789-123456789-123", "52"},
		"a path as a Role":  {schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"}, "a/b", "a Role can't have this name"},
		"a Role with colon": {schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"}, "a:B", ""},
	} {
		t.Run(name, func(t *testing.T) { expect(t, Name(tc.kind, tc.written, at), tc.want) })
	}
}

func TestTemplatedName(t *testing.T) {
	for written, want := range map[string]string{
		"{{ .metadata.name }}-web": "",
		"Web-{{ .metadata.name }}": "a Deployment can't have such a name",
		"web":                      "",
	} {
		t.Run(written, func(t *testing.T) {
			compiled, err := expr.NewScope(nil).Compile(written)
			gomega.NewWithT(t).Expect(err).NotTo(gomega.HaveOccurred())
			expect(t, TemplatedName(deployment, compiled, written, at), want)
		})
	}
}

func TestNamespace(t *testing.T) {
	for written, want := range map[string]string{"": "", "team-a": "", "{{ .a }}": "", "Team": "not the name of a namespace"} {
		t.Run(written, func(t *testing.T) { expect(t, Namespace(written, at), want) })
	}
}

func TestRenderedNamesStayInTheirPlace(t *testing.T) {
	g := gomega.NewWithT(t)
	g.Expect(RenderedName("a", true)).To(gomega.Succeed())
	g.Expect(RenderedName("a/b", true)).To(gomega.MatchError(`name: "a/b" can't name an object: it may not contain '/'`))
	g.Expect(RenderedName("a/b", false)).To(gomega.MatchError(gomega.Not(gomega.ContainSubstring("a/b"))))
	g.Expect(RenderedNamespace("team-a", true)).To(gomega.Succeed())
	g.Expect(RenderedNamespace("..", true)).To(gomega.MatchError(gomega.ContainSubstring(`".." can't name a namespace`)))
}

func TestKeys(t *testing.T) {
	expect(t, Labels(map[string]string{"a": "b", "example.com/c": "{{ .d }}"}, at), "")
	expect(t, Labels(map[string]string{"a b": "c"}, at), "no key of labels")
	expect(t, Labels(map[string]string{"a": "b c"}, at), "x.a: Invalid value: \"b c\"")
	expect(t, Annotations(map[string]string{"Example.com/A": "b c"}, at), "")
	expect(t, Annotations(map[string]string{"a b": "c"}, at), "no key of annotations")
	expect(t, OwnLabels(map[string]any{"orkestra.orkspace.io/owner-uid": "u", "mine": "a"}, at), "Orkestra sets this itself; remove it")
	expect(t, DataKeys(configMap, map[string]any{fieldData: map[string]any{"a.txt": "", "{{ .a }}": ""}}, at), "")
	expect(t, DataKeys(configMap, map[string]any{fieldData: map[string]any{"a/b": ""}}, at), "not a key that a ConfigMap takes")
	expect(t, DataKeys(gadget, map[string]any{fieldData: map[string]any{"a/b": ""}}, at), "")
}

func TestScope(t *testing.T) {
	for kind, want := range map[schema.GroupVersionKind]meta.RESTScopeName{
		deployment:                         meta.RESTScopeNameNamespace,
		{Version: "v1", Kind: "Namespace"}: meta.RESTScopeNameRoot,
		{Version: "v1", Kind: "Node"}:      meta.RESTScopeNameRoot,
		{Version: "v1", Kind: "Pod"}:       meta.RESTScopeNameNamespace,
		gadget:                             "",
	} {
		t.Run(kind.String(), func(t *testing.T) { gomega.NewWithT(t).Expect(Scope(kind, nil)).To(gomega.Equal(want)) })
	}
}

// Without an account a box may make objects of Orkestra's own kinds in no case, and all else with the operator's leave.
func TestWhoMayMakeWhatGrantsRights(t *testing.T) {
	box := &unstructured.Unstructured{}
	box.SetAPIVersion("orkestra.orkspace.io/v1alpha1")
	box.SetKind("OperatorBox")
	role := &unstructured.Unstructured{}
	role.SetAPIVersion("rbac.authorization.k8s.io/v1")
	role.SetKind("Role")
	g := gomega.NewWithT(t)
	g.Expect(GrantsRights(role, false, Leave{Flag: true})).To(gomega.BeEmpty())
	g.Expect(GrantsRights(role, false, Leave{Account: true})).To(gomega.BeEmpty())
	g.Expect(GrantsRights(box, true, Leave{Account: true})).To(gomega.BeEmpty())
	g.Expect(GrantsRights(box, true, Leave{Flag: true})).To(gomega.Equal(
		"OperatorBox grants rights; only an account that has the right may make it: name one in spec.serviceAccountRef"))
}

func TestMarksAreWrittenByNoBox(t *testing.T) {
	const mark, door = "this is a mark of Orkestra, which no box writes; remove it", "a box never says whom a namespace lets in"
	at := field.NewPath("spec")
	labels := func(key string) map[string]any {
		return map[string]any{"metadata": map[string]any{"labels": map[string]any{key: "x"}, "annotations": map[string]any{"mine": "x"}}}
	}
	expect(t, Marks(map[string]any{"template": labels("orkestra.orkspace.io/owner-uid")}, at), "spec.template.metadata.labels[orkestra.orkspace.io/owner-uid]: Forbidden: "+mark)
	expect(t, Marks(map[string]any{"claims": []any{labels("orkestra.orkspace.io/new")}}, at), "spec.claims[0].metadata.labels[orkestra.orkspace.io/new]: Forbidden: "+mark)
	expect(t, Marks(map[string]any{"podAnnotations": map[string]any{"orkestra.orkspace.io/applied": "x"}}, at), "spec.podAnnotations[orkestra.orkspace.io/applied]: Forbidden: "+mark)
	expect(t, Marks(map[string]any{"template": labels("orkestra.orkspace.io/paused"), "data": map[string]any{"orkestra.orkspace.io/box": "text"}}, at), "")
	expect(t, OwnAnnotations(map[string]any{"orkestra.orkspace.io/allow-from": "*"}, at), "Forbidden: "+door)
	obj := &unstructured.Unstructured{Object: labels("orkestra.orkspace.io/snapshot")}
	gomega.NewWithT(t).Expect(RenderedMarks(obj)).To(gomega.MatchError("metadata.labels[orkestra.orkspace.io/snapshot]: " + mark))
	gomega.NewWithT(t).Expect(RenderedMarks(&unstructured.Unstructured{Object: labels("mine")})).To(gomega.Succeed())
}

func TestNamesTellTheNamespace(t *testing.T) {
	namespaces := schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	dashed := Fixed{}
	for name, tc := range map[string]struct {
		name      string
		fixed     Fixed
		namespace string
		refused   bool
	}{
		"the other's name":             {"a-b-c", dashed, "a", true},
		"its own":                      {"a-b-c", dashed, "a-b", false},
		"a dot":                        {"a.b-c", dashed, "a", false},
		"a colon":                      {"a:b-c", dashed, "a", false},
		"another namespace's dot":      {"a-b.c", dashed, "a", true},
		"a part of a word":             {"ab-c", dashed, "a", true},
		"not the first":                {"c-a", dashed, "a", true},
		"after what is fixed":          {"web-a-c", Fixed{Before: "web-"}, "a", false},
		"before what is fixed":         {"a-c-web", Fixed{After: "-web"}, "a", false},
		"the namespace alone":          {"web-a-b", Fixed{Before: "web-", NamespaceAlone: true}, "a-b", false},
		"as if it were alone":          {"a-b", dashed, "a-b", true},
		"with the hash":                {"x-b-c-" + hashOf("a", "c"), dashed, "a", false},
		"with the hash of another":     {"x-b-c-" + hashOf("b", "c"), dashed, "a", true},
		"with a part of the hash only": {"a-b-" + hashOf("a", "c")[:8], dashed, "a", true},
	} {
		t.Run(name, func(t *testing.T) {
			err := TellsNamespace(gadget, tc.name, tc.fixed, tc.namespace, "c", true)
			gomega.NewWithT(t).Expect(err != nil).To(gomega.Equal(tc.refused), "%v", err)
		})
	}
	g := gomega.NewWithT(t)
	g.Expect(TellsNamespace(gadget, "a-b-c", dashed, "a", "b-c", true)).To(gomega.MatchError(
		`name: from "a-b-c" it can't be told that its resource is in namespace "a": a resource of another namespace could have the same; ` +
			`begin it with {{ .metadata.namespace }} and a dot, as in a.b-c, or remove it, and it is ` + ClusterName(gadget, "a", "b-c")))
	g.Expect(TellsNamespace(namespaces, "a-b-c", dashed, "a", "b-c", true)).To(gomega.MatchError(gomega.ContainSubstring(
		`end it with -{{ printf "%s/%s" .metadata.namespace .metadata.name | sha256sum | trunc 16 }}`)))
}

func TestDefaultNamesAreNobodyElses(t *testing.T) {
	g := gomega.NewWithT(t)
	namespaces := schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	g.Expect(ClusterName(gadget, "a", "b-c")).To(gomega.MatchRegexp("^a-b-c-[0-9a-f]{16}$"))
	g.Expect(ClusterName(gadget, "a", "b-c")).NotTo(gomega.Equal(ClusterName(gadget, "a-b", "c")))
	long := strings.Repeat("x.", 100) + "x"
	for _, kind := range []schema.GroupVersionKind{gadget, namespaces} {
		name := ClusterName(kind, strings.Repeat("n", 63), long)
		g.Expect(TellsNamespace(kind, name, Fixed{}, strings.Repeat("n", 63), long, true)).To(gomega.Succeed())
		g.Expect(nameRule(kinds.Kind{GVK: kind})(name, false)).To(gomega.BeEmpty())
	}
}

func TestGrantsRights(t *testing.T) {
	object := func(kind schema.GroupVersionKind, fields map[string]any) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: fields}
		obj.SetGroupVersionKind(kind)
		return obj
	}
	for name, tc := range map[string]struct {
		obj     *unstructured.Unstructured
		cluster bool
		want    string
	}{
		"nothing":                 {object(configMap, map[string]any{}), false, ""},
		"a kind":                  {object(schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"}, map[string]any{}), false, "Role grants rights"},
		"a type of Secret":        {object(schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, map[string]any{"type": "kubernetes.io/service-account-token"}), false, "a Secret of type"},
		"a cluster-scoped kind":   {object(gadget, map[string]any{}), true, "Gadget is a cluster-scoped kind that may grant rights"},
		"the same in a namespace": {object(gadget, map[string]any{}), false, ""},
		"one of Kubernetes":       {object(schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"}, map[string]any{}), true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			why := GrantsRights(tc.obj, tc.cluster, Leave{})
			if tc.want == "" {
				gomega.NewWithT(t).Expect(why).To(gomega.BeEmpty())
				return
			}
			gomega.NewWithT(t).Expect(why).To(gomega.And(gomega.ContainSubstring(tc.want), gomega.ContainSubstring("--allow-granting-kinds")))
		})
	}
}

// TestMarksAreFoundWhereTheyAreRefused: whether there is one is asked of every child in every cycle, by a walk of its own.
func TestMarksAreFoundWhereTheyAreRefused(t *testing.T) {
	found := 0
	for seed := range uint64(3000) {
		tree := randomTree(rand.New(rand.NewPCG(seed, 1)), 4)
		refused := marksOf(tree, nil)
		if len(refused) > 0 {
			found++
		}
		gomega.NewWithT(t).Expect(holdsMark(tree)).To(gomega.Equal(len(refused) > 0), "seed %d: %v", seed, tree)
	}
	gomega.NewWithT(t).Expect(found).To(gomega.And(gomega.BeNumerically(">", 100), gomega.BeNumerically("<", 2700)))
}

func randomTree(random *rand.Rand, depth int) map[string]any {
	names := []string{"metadata", "labels", "annotations", "podLabels", "podAnnotations", "template", "items", v1alpha1.GroupName + "/owner", v1alpha1.GroupName + "/paused"}
	out := map[string]any{}
	for range random.IntN(4) {
		var v any = "x"
		if depth > 0 {
			switch random.IntN(4) {
			case 0:
				v = []any{randomTree(random, depth-1), "x"}
			case 1:
			default:
				v = randomTree(random, depth-1)
			}
		}
		out[names[random.IntN(len(names))]] = v
	}
	return out
}
