package pipeline

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds"
)

// othersBox compiles a box over Deployments of others. crd and spec are YAML.
func othersBox(tb testing.TB, crd, spec string) (*Plan, []string) {
	tb.Helper()
	box := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "exposed", UID: "box", Generation: 1}}
	if err := yaml.UnmarshalStrict([]byte("{crd: "+crd+", "+spec+"}"), &box.Spec); err != nil {
		tb.Fatal(err)
	}
	kind := schema.FromAPIVersionAndKind(box.Spec.CRD.APIVersion, box.Spec.CRD.Kind)
	plan, errs := Compile(box, Env{CRD: CRD{
		Name: "deployments.apps", UID: "kubernetes", Namespaced: true, HasStatus: true, Kind: kind, Schema: kinds.Schema(kind),
		Resource: schema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: "deployments"},
	}})
	var texts []string
	for _, e := range errs {
		texts = append(texts, e.Error())
	}
	return plan, texts
}

const (
	ofDeployments = "{apiVersion: apps/v1, kind: Deployment}"
	exposed       = "selector: {matchLabels: {expose: 'yes'}}"
)

func TestWhatIsRefusedOfABoxOverObjectsOfOthers(t *testing.T) {
	for name, tc := range map[string]struct{ crd, spec, want string }{
		"without a selector":    {ofDeployments, "workers: 1", "spec.selector: Required value: with crd.kind, it says which objects are served: give matchLabels or matchExpressions"},
		"with an empty one":     {ofDeployments, "selector: {matchLabels: {}}", "spec.selector: Required value: with crd.kind"},
		"Secrets":               {"{apiVersion: v1, kind: Secret}", exposed, "spec.crd.kind: Forbidden: a box can't serve Secrets: templates would read what Secrets hold as if it were no secret"},
		"Leases":                {"{apiVersion: coordination.k8s.io/v1, kind: Lease}", exposed, "spec.crd.kind: Forbidden: a box can't serve Leases"},
		"Events":                {"{apiVersion: v1, kind: Event}", exposed, "spec.crd.kind: Forbidden: a box can't serve Events"},
		"new Events":            {"{apiVersion: events.k8s.io/v1, kind: Event}", exposed, "spec.crd.kind: Forbidden: a box can't serve Events"},
		"Orkestra's own":        {"{apiVersion: orkestra.orkspace.io/v1alpha1, kind: OperatorBox}", exposed, "a box can't serve Orkestra's own kinds"},
		"no kind of Kubernetes": {"{apiVersion: apps/v1, kind: Deploymnt}", exposed, `spec.crd.kind: Invalid value: "Deploymnt": apps/v1 has no such kind, did you mean "Deployment"?`},
		"another plural":        {"{apiVersion: apps/v1, kind: Deployment, plural: secrets}", exposed, `spec.crd.plural: Invalid value: "secrets": the plural of Deployment is deployments; leave it out`},
		"normalize":             {ofDeployments, exposed + ", normalize: {spec: {paused: true}}", "spec.normalize: Forbidden: it is for resources of the box's own: the objects of others stay as they are; name values instead"},
		"mutation":              {ofDeployments, exposed + ", mutation: {rules: [{field: spec.paused, default: true}]}", "spec.mutation: Forbidden: it is for resources of the box's own"},
		"admission":             {ofDeployments, exposed + ", admission: {validation: true}", "spec.admission: Forbidden: it is for resources of the box's own"},
		"finalizers":            {ofDeployments, exposed + ", finalizers: [a.io/b]", "spec.finalizers: Forbidden: not supported yet for objects of others: it would have to be noted on them"},
		"onCreate":              {ofDeployments, exposed + ", onCreate: {configmaps: [{}]}", "spec.onCreate: Forbidden: not supported yet for objects of others"},
		"onDelete":              {ofDeployments, exposed + ", onDelete: {configmaps: [{}]}", "spec.onDelete: Forbidden: not supported yet for objects of others"},
		"deletion":              {ofDeployments, exposed + ", deletion: {ordered: true}", "spec.deletion: Forbidden: not supported yet for objects of others"},
		"dependsOn":             {ofDeployments, exposed + ", dependsOn: [{name: db}]", "spec.dependsOn: Forbidden: not supported yet for objects of others"},
		"rollBackOnError":       {ofDeployments, exposed + ", rollBackOnError: true", "spec.rollBackOnError: Forbidden: not supported yet for objects of others"},
		"external":              {ofDeployments, exposed + ", external: [{name: a, url: 'http://example.com'}]", "spec.external: Forbidden: not supported yet for objects of others"},
		"a condition":           {ofDeployments, exposed + ", status: {fields: [{path: 'conditions[Exposed]', value: 'True'}]}", "the status of an object of others gets fields alone, and no conditions"},
		"Deployments of them":   {ofDeployments, exposed + ", onReconcile: {deployments: [{image: a}]}", "spec.onReconcile: Forbidden: a Deployment makes no Deployments: they could be selected in their turn, without end"},
		"what a controller has": {ofDeployments, exposed + ", onReconcile: {resources: [{manifest: {apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: a}}}]}", "spec.onReconcile: Forbidden: a Deployment makes no ReplicaSets: its controller takes those for its own that name it as their owner"},
		"Jobs":                  {ofDeployments, exposed + ", onReconcile: {jobs: [{image: a}]}", "spec.onReconcile: Forbidden: Jobs are not supported yet for objects of others"},
		"cluster-scoped ones":   {ofDeployments, exposed + ", onReconcile: {namespaces: [{name: '{{ .metadata.namespace }}-{{ .metadata.name }}'}]}", "spec.onReconcile: Forbidden: Namespaces are in no namespace"},
		"another namespace":     {ofDeployments, exposed + ", onReconcile: {configmaps: [{namespace: other}]}", "spec.onReconcile: Forbidden: children in other namespaces are not supported yet for objects of others"},
		"children that stay":    {ofDeployments, exposed + ", onReconcile: {configmaps: [{deletionPolicy: Orphan}]}", "spec.onReconcile: Forbidden: deletionPolicy: Orphan is not supported yet for objects of others"},
		"an unknown path":       {ofDeployments, exposed + ", onReconcile: {configmaps: [{data: {a: '{{ .spec.replcas }}'}}]}", `did you mean "replicas"?`},
	} {
		t.Run(name, func(t *testing.T) {
			plan, errs := othersBox(t, tc.crd, tc.spec)
			g := gomega.NewWithT(t)
			g.Expect(plan).To(gomega.BeNil())
			g.Expect(errs).To(gomega.ContainElement(gomega.ContainSubstring(tc.want)))
		})
	}
}

// A Deployment gets its children, and nothing is written to it: no finalizer, label, annotation or condition.
func TestNothingIsWrittenToAnObjectOfOthers(t *testing.T) {
	g := gomega.NewWithT(t)
	plan, errs := othersBox(t, ofDeployments, exposed+", onReconcile: {services: [{selector: '{{ .spec.selector.matchLabels }}', ports: [{port: 80}]}]}")
	g.Expect(errs).To(gomega.BeEmpty())
	g.Expect(plan.Finalizers).To(gomega.BeEmpty())
	g.Expect(plan.WatchedLabels()).To(gomega.Equal("expose=yes"))
	g.Expect(plan.Status.Writable()).To(gomega.BeFalse())
	for _, rule := range plan.Required() {
		if rule.Resources[0] == "deployments" {
			g.Expect(rule.Verbs).To(gomega.ConsistOf("get", "list", "watch"))
		}
	}
	p := newPorts()
	r, err := p.run(plan, deploymentOf("web"))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.children).To(gomega.HaveLen(1))
	g.Expect(p.wrote).NotTo(gomega.ContainElement(gomega.HavePrefix("mark")))
	g.Expect(plan.Marked(r.Stored)).To(gomega.BeTrue(), "or it would be reconciled without end")
	g.Expect(r.Marks.Active).To(gomega.BeTrue())
}

func TestOfAStatusOfOthersTheDeclaredFieldsAreWritten(t *testing.T) {
	g := gomega.NewWithT(t)
	plan, errs := othersBox(t, ofDeployments, exposed+", status: {fields: [{path: collisionCount, value: 3}]}")
	g.Expect(errs).To(gomega.BeEmpty())
	r, err := newPorts().run(plan, deploymentOf("web"))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	result, err := r.Result(t.Context(), nil)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	desired, unknown, err := plan.Status.Desired(r.Stored, result, metav1.NewTime(now))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(unknown).To(gomega.BeEmpty())
	g.Expect(desired).To(gomega.Equal(map[string]any{
		"collisionCount": int64(3), "conditions": []any{map[string]any{"type": "Available", "status": "True"}}, "observedGeneration": int64(6),
	}), "what others have written stays")
}

func deploymentOf(name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"spec":   map[string]any{"replicas": int64(1), "selector": map[string]any{"matchLabels": map[string]any{"app": name}}, "template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": name}}}},
		"status": map[string]any{"observedGeneration": int64(6), "conditions": []any{map[string]any{"type": "Available", "status": "True"}}},
	}}
	obj.SetAPIVersion("apps/v1")
	obj.SetKind("Deployment")
	obj.SetNamespace("team-a")
	obj.SetName(name)
	obj.SetUID("uid-1")
	obj.SetGeneration(7)
	obj.SetResourceVersion("70")
	obj.SetLabels(map[string]string{"expose": "yes"})
	return obj
}

func TestWhatAnElderSelectsIsItsOwn(t *testing.T) {
	g := gomega.NewWithT(t)
	box := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "younger", UID: "box"}}
	g.Expect(yaml.UnmarshalStrict([]byte("{crd: "+ofDeployments+", "+exposed+"}"), &box.Spec)).To(gomega.Succeed())
	elder := func(yamlOf string) Elder {
		var spec v1alpha1.OperatorBoxSpec
		g.Expect(yaml.UnmarshalStrict([]byte(yamlOf), &spec)).To(gomega.Succeed())
		return Elder{Box: "elder", Selector: spec.Selector, Namespaces: spec.Namespaces}
	}
	kind := schema.FromAPIVersionAndKind("apps/v1", "Deployment")
	for text, want := range map[string]bool{
		"{selector: {matchLabels: {expose: 'yes'}}}":                                           false,
		"{selector: {matchLabels: {expose: 'no'}}}":                                            true,
		"{selector: {matchLabels: {expose: 'yes'}}, namespaces: {include: [team-b]}}":          true,
		"{selector: {matchLabels: {expose: 'yes'}}, namespaces: {exclude: ['team-*']}}":        true,
		"{selector: {matchExpressions: [{key: expose, operator: Nonsense, values: ['yes']}]}}": true,
	} {
		elders := []Elder{elder(text)}
		plan, errs := Compile(box, Env{CRD: CRD{Name: "deployments.apps", Namespaced: true, Kind: kind, Schema: kinds.Schema(kind)}, Elders: elders})
		g.Expect(errs).To(gomega.BeEmpty())
		g.Expect(plan.Selection.Selects(deploymentOf("web"))).To(gomega.Equal(want), text)
		g.Expect(plan.SameElders(elders)).To(gomega.BeTrue())
		g.Expect(plan.SameElders(nil)).To(gomega.BeFalse())
	}
}

// Each part of a box is either done for objects of others, or refused for them. A new one must be decided: what has to be noted on a resource,
// or undone when it goes, is refused until it is noted elsewhere.
func TestEachPartOfABoxIsDecidedForObjectsOfOthers(t *testing.T) {
	g := gomega.NewWithT(t)
	done := []string{
		"crd", "suspend", "namespaces", "selector", "commonLabels", "commonAnnotations", "serviceAccountRef", "workers", "resync", "failureThreshold",
		"queue", "revisionHistoryLimit", "values", "cross", "onReconcile", "status", "validation", "when", "anyOf",
	}
	refused := []string{
		"finalizers", "onCreate", "onDelete", "deletion", "external", "providers", "dependsOn", "rollBackOnError", "rollback", "normalize", "mutation", "admission",
	}
	unsupported := []string{"autoscale", "apiTypes", "reconciler"} // for any box
	var names func(of reflect.Type) []string
	names = func(of reflect.Type) (all []string) {
		for f := range of.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				all = append(all, names(f.Type)...)
				continue
			}
			all = append(all, name)
		}
		return all
	}
	g.Expect(names(reflect.TypeFor[v1alpha1.OperatorBoxSpec]())).To(gomega.ConsistOf(slices.Concat(done, refused, unsupported)))
}

func TestAMarkThatAnObjectOfOthersWouldNeedIsAnError(t *testing.T) {
	g := gomega.NewWithT(t)
	plan, errs := othersBox(t, ofDeployments, exposed)
	g.Expect(errs).To(gomega.BeEmpty())
	p := newPorts()
	r := plan.NewRun(deploymentOf("web"), now, p.ports())
	g.Expect(r.MarkWith(t.Context(), v1alpha1.AnnotationDone, "{}")).To(gomega.MatchError(gomega.ContainSubstring(v1alpha1.AnnotationDone + " can't be noted on an object of others")))
	g.Expect(p.wrote).To(gomega.BeEmpty())
}
