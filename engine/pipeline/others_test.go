package pipeline

import (
	"reflect"
	"slices"
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/test/fixtures"
)

// othersBox compiles a box over Deployments of others. crd and spec are YAML.
func othersBox(tb testing.TB, crd, spec string) (*Plan, []string) {
	tb.Helper()
	return othersBoxWith(tb, Env{}, crd, spec)
}

// othersBoxWith is othersBox for a manager that has something compiled in.
func othersBoxWith(tb testing.TB, env Env, crd, spec string) (*Plan, []string) {
	tb.Helper()
	box := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "exposed", UID: "box", Generation: 1}}
	if err := yaml.UnmarshalStrict([]byte("{crd: "+crd+", "+spec+"}"), &box.Spec); err != nil {
		tb.Fatal(err)
	}
	kind := schema.FromAPIVersionAndKind(box.Spec.CRD.APIVersion, box.Spec.CRD.Kind)
	env.CRD = CRD{
		Name: "deployments.apps", UID: "kubernetes", Namespaced: true, HasStatus: true, Kind: kind, Schema: kinds.Schema(kind),
		Resource: schema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: "deployments"},
	}
	plan, errs := Compile(box, env)
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
		"without a selector":               {ofDeployments, "workers: 1", "spec.selector: Required value: with crd.kind, it says which objects are served: give matchLabels or matchExpressions, or an annotationSelector"},
		"with an empty one of annotations": {ofDeployments, "annotationSelector: {matchAnnotations: {}}", "spec.selector: Required value: with crd.kind"},
		"by what labels are not":           {ofDeployments, "selector: {matchExpressions: [{key: a, operator: DoesNotExist}, {key: b, operator: NotIn, values: [c]}]}", `spec.selector: Invalid value: "NotIn and DoesNotExist alone": they select nearly all objects of the kind: add what an object must have, by matchLabels, matchAnnotations, or an expression with In or Exists`},
		"by what annotations are not":      {ofDeployments, "annotationSelector: {matchExpressions: [{key: a, operator: DoesNotExist}]}", `spec.annotationSelector: Invalid value: "NotIn and DoesNotExist alone": they select nearly all objects of the kind`},
		"by what neither is":               {ofDeployments, "selector: {matchExpressions: [{key: a, operator: DoesNotExist}]}, annotationSelector: {matchExpressions: [{key: b, operator: NotIn, values: [c]}]}", `spec.selector: Invalid value: "NotIn and DoesNotExist alone"`},
		"a key of no annotation":           {ofDeployments, "annotationSelector: {matchAnnotations: {'a b': c}}", `spec.annotationSelector.matchAnnotations[a b]: Invalid value: "a b": name part must consist of alphanumeric characters`},
		"a key of none in an expression":   {ofDeployments, "annotationSelector: {matchExpressions: [{key: '', operator: Exists}]}", "spec.annotationSelector.matchExpressions[0].key: Invalid value: \"\": name part must be non-empty"},
		"kubectl's annotation":             {ofDeployments, "annotationSelector: {matchExpressions: [{key: kubectl.kubernetes.io/last-applied-configuration, operator: Exists}]}", "spec.annotationSelector.matchExpressions[0].key: Invalid value: \"kubectl.kubernetes.io/last-applied-configuration\": it is kubectl's own copy of the object"},
		"an unknown operator":              {ofDeployments, "annotationSelector: {matchExpressions: [{key: a, operator: Like}]}", `spec.annotationSelector.matchExpressions[0].operator: Unsupported value: "Like": supported values: "In", "NotIn", "Exists", "DoesNotExist"`},
		"In without values":                {ofDeployments, "annotationSelector: {matchExpressions: [{key: a, operator: In}]}", "spec.annotationSelector.matchExpressions[0].values: Required value: In compares with values: give one at least"},
		"Exists with values":               {ofDeployments, "annotationSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}", "spec.annotationSelector.matchExpressions[0].values: Forbidden: Exists compares with no value: leave them out, or use In or NotIn"},
		"with an empty one":                {ofDeployments, "selector: {matchLabels: {}}", "spec.selector: Required value: with crd.kind"},
		"Secrets":                          {"{apiVersion: v1, kind: Secret}", exposed, "spec.crd.kind: Forbidden: a box can't serve Secrets: templates would read what Secrets hold as if it were no secret"},
		"Leases":                           {"{apiVersion: coordination.k8s.io/v1, kind: Lease}", exposed, "spec.crd.kind: Forbidden: a box can't serve Leases"},
		"Events":                           {"{apiVersion: v1, kind: Event}", exposed, "spec.crd.kind: Forbidden: a box can't serve Events"},
		"new Events":                       {"{apiVersion: events.k8s.io/v1, kind: Event}", exposed, "spec.crd.kind: Forbidden: a box can't serve Events"},
		"Orkestra's own":                   {"{apiVersion: orkestra.orkspace.io/v1alpha1, kind: OperatorBox}", exposed, "a box can't serve Orkestra's own kinds"},
		"no kind of Kubernetes":            {"{apiVersion: apps/v1, kind: Deploymnt}", exposed, `spec.crd.kind: Invalid value: "Deploymnt": apps/v1 has no such kind, did you mean "Deployment"?`},
		"another plural":                   {"{apiVersion: apps/v1, kind: Deployment, plural: secrets}", exposed, `spec.crd.plural: Invalid value: "secrets": the plural of Deployment is deployments; leave it out`},
		"normalize":                        {ofDeployments, exposed + ", normalize: {spec: {paused: true}}", "spec.normalize: Forbidden: it is for resources of the box's own: the objects of others stay as they are; name values instead"},
		"mutation":                         {ofDeployments, exposed + ", mutation: {rules: [{field: spec.paused, default: true}]}", "spec.mutation: Forbidden: it is for resources of the box's own"},
		"admission":                        {ofDeployments, exposed + ", admission: {validation: true}", "spec.admission: Forbidden: it is for resources of the box's own"},
		"a condition":                      {ofDeployments, exposed + ", status: {fields: [{path: 'conditions[Exposed]', value: 'True'}]}", "the status of an object of others gets fields alone, and no conditions"},
		"Deployments of them":              {ofDeployments, exposed + ", onReconcile: {deployments: [{image: a}]}", "spec.onReconcile: Forbidden: a Deployment makes no Deployments: they could be selected in their turn, without end"},
		"what a controller has":            {ofDeployments, exposed + ", onReconcile: {resources: [{manifest: {apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: a}}}]}", "spec.onReconcile: Forbidden: a Deployment makes no ReplicaSets: its controller takes those for its own that name it as their owner"},
		"rollback of Services":             {"{apiVersion: v1, kind: Service}", exposed + ", rollBackOnError: true", "spec.crd.kind: Forbidden: a Service has no metadata.generation, so it can't be told which of its states has succeeded; remove rollback"},
		"an unknown path":                  {ofDeployments, exposed + ", onReconcile: {configmaps: [{data: {a: '{{ .spec.replcas }}'}}]}", `did you mean "replicas"?`},
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
	watched, annotations := plan.Watched()
	g.Expect(watched.String()).To(gomega.Equal("expose=yes"))
	g.Expect(annotations).To(gomega.BeNil())
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
	obj.SetAnnotations(map[string]string{"note": "some text: any", "Team": "a"})
	return obj
}

func TestWhatAnElderSelectsIsItsOwn(t *testing.T) {
	g := gomega.NewWithT(t)
	box := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "younger", UID: "box"}}
	g.Expect(yaml.UnmarshalStrict([]byte("{crd: "+ofDeployments+", "+exposed+"}"), &box.Spec)).To(gomega.Succeed())
	elder := func(yamlOf string) Elder {
		var spec v1alpha1.OperatorBoxSpec
		g.Expect(yaml.UnmarshalStrict([]byte(yamlOf), &spec)).To(gomega.Succeed())
		return Elder{Box: "elder", Selector: spec.Selector, Annotations: spec.AnnotationSelector, Namespaces: spec.Namespaces}
	}
	kind := schema.FromAPIVersionAndKind("apps/v1", "Deployment")
	for text, want := range map[string]bool{
		"{selector: {matchLabels: {expose: 'yes'}}}":                                           false,
		"{selector: {matchLabels: {expose: 'no'}}}":                                            true,
		"{selector: {matchLabels: {expose: 'yes'}}, namespaces: {include: [team-b]}}":          true,
		"{selector: {matchLabels: {expose: 'yes'}}, namespaces: {exclude: ['team-*']}}":        true,
		"{selector: {matchExpressions: [{key: expose, operator: Nonsense, values: ['yes']}]}}": true,

		"{annotationSelector: {matchAnnotations: {note: 'some text: any'}}}":                                                 false,
		"{annotationSelector: {matchAnnotations: {note: other}}}":                                                            true,
		"{annotationSelector: {matchAnnotations: {note: 'some text: any'}}, selector: {matchLabels: {expose: 'no'}}}":        true,
		"{annotationSelector: {matchAnnotations: {note: 'some text: any'}}, selector: {matchLabels: {expose: 'yes'}}}":       false,
		"{annotationSelector: {matchExpressions: [{key: a b, operator: Exists}]}, selector: {matchLabels: {expose: 'yes'}}}": true,
		"{selector: {matchExpressions: [{key: other, operator: DoesNotExist}]}}":                                             true, // it is refused
	} {
		elders := []Elder{elder(text)}
		plan, errs := Compile(box, Env{CRD: CRD{Name: "deployments.apps", Namespaced: true, Kind: kind, Schema: kinds.Schema(kind)}, Elders: elders})
		g.Expect(errs).To(gomega.BeEmpty())
		g.Expect(plan.Selection.Selects(deploymentOf("web"))).To(gomega.Equal(want), text)
		g.Expect(plan.SameElders(elders)).To(gomega.BeTrue())
		g.Expect(plan.SameElders(nil)).To(gomega.BeFalse())
	}
}

func TestObjectsOfOthersAreSelectedByLabelsAndAnnotations(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := func(spec string) *Plan {
		plan, errs := othersBox(t, ofDeployments, spec)
		g.Expect(errs).To(gomega.BeEmpty(), spec)
		return plan
	}
	for spec, want := range map[string]bool{
		"annotationSelector: {matchAnnotations: {note: 'some text: any'}}":                                                                           true,
		"annotationSelector: {matchAnnotations: {note: ''}}":                                                                                         false,
		"annotationSelector: {matchAnnotations: {other: ''}}":                                                                                        false,
		"annotationSelector: {matchExpressions: [{key: note, operator: Exists}]}":                                                                    true,
		"annotationSelector: {matchExpressions: [{key: other, operator: Exists}]}":                                                                   false,
		"annotationSelector: {matchExpressions: [{key: note, operator: In, values: [a, 'some text: any']}]}":                                         true,
		"annotationSelector: {matchAnnotations: {note: 'some text: any'}, matchExpressions: [{key: a, operator: NotIn, values: [b]}]}":               true,
		"annotationSelector: {matchAnnotations: {note: 'some text: any'}, matchExpressions: [{key: Team, operator: NotIn, values: [a]}]}":            false,
		"annotationSelector: {matchAnnotations: {note: 'some text: any'}, matchExpressions: [{key: Team, operator: DoesNotExist}]}":                  false,
		exposed + ", annotationSelector: {matchExpressions: [{key: other, operator: DoesNotExist}]}":                                                 true,
		exposed + ", annotationSelector: {matchAnnotations: {note: other}}":                                                                          false,
		"selector: {matchLabels: {expose: 'no'}}, annotationSelector: {matchAnnotations: {note: 'some text: any'}}":                                  false,
		"selector: {matchExpressions: [{key: no, operator: DoesNotExist}]}, annotationSelector: {matchExpressions: [{key: note, operator: Exists}]}": true,
	} {
		p := plan(spec)
		g.Expect(p.Selection.Selects(deploymentOf("web"))).To(gomega.Equal(want), spec)
		watched, annotations := p.Watched()
		g.Expect(annotations).NotTo(gomega.BeNil(), spec)
		g.Expect(annotations(deploymentOf("web").GetAnnotations()) && (watched == nil || watched.Matches(labels.Set{"expose": "yes"}))).To(gomega.Equal(want), spec)
	}

	noted := "annotationSelector: {matchAnnotations: {note: a}}"
	g.Expect(plan(noted).WatchesSame(plan(noted + ", workers: 2"))).To(gomega.BeTrue())
	for _, other := range []string{
		"annotationSelector: {matchAnnotations: {note: b}}", "annotationSelector: {matchAnnotations: {note: a, other: c}}", exposed, exposed + ", " + noted,
		"annotationSelector: {matchExpressions: [{key: note, operator: Exists}]}",
	} {
		g.Expect(plan(noted).WatchesSame(plan(other))).To(gomega.BeFalse(), other)
	}
	cleanup, err := CompileCleanup(&v1alpha1.OperatorBox{Spec: v1alpha1.OperatorBoxSpec{
		CRD: v1alpha1.CRDReference{APIVersion: "apps/v1", Kind: "Deployment"}, AnnotationSelector: &v1alpha1.AnnotationSelector{MatchAnnotations: map[string]v1alpha1.AnnotationValue{"note": "a"}},
	}}, Env{CRD: plan(noted).CRD})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(cleanup.WatchesSame(plan(noted))).To(gomega.BeTrue(), "a box that never compiled watches no more than it selects")
}

// A box whose selectors are refused has served nothing, and must not be kept from being deleted.
func TestABoxWhoseSelectorsAreRefusedCanBeDeleted(t *testing.T) {
	g := gomega.NewWithT(t)
	crd := func() CRD {
		plan, errs := othersBox(t, ofDeployments, exposed)
		g.Expect(errs).To(gomega.BeEmpty())
		return plan.CRD
	}()
	for _, spec := range []string{
		"selector: {matchExpressions: [{key: other, operator: DoesNotExist}]}",
		"selector: {matchExpressions: [{key: other, operator: Nonsense}]}",
		"annotationSelector: {matchExpressions: [{key: other, operator: DoesNotExist}]}",
		"annotationSelector: {matchAnnotations: {'a b': c}}",
	} {
		box := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "exposed", UID: "box"}}
		g.Expect(yaml.UnmarshalStrict([]byte("{crd: "+ofDeployments+", "+spec+"}"), &box.Spec)).To(gomega.Succeed())
		plan, err := CompileCleanup(box, Env{CRD: crd})
		g.Expect(err).NotTo(gomega.HaveOccurred(), spec)
		g.Expect(plan.Selection.Selects(deploymentOf("web"))).To(gomega.BeFalse(), spec)
		watched, annotations := plan.Watched()
		g.Expect(annotations).To(gomega.BeNil(), spec)
		g.Expect(watched.String()).To(gomega.ContainSubstring(" in (no-object"), "the API server is asked for none: "+spec)
	}
}

func TestResourcesOfTheBoxsOwnAreNotSelectedByAnnotations(t *testing.T) {
	g := gomega.NewWithT(t)
	_, mistakes := Compile(boxOf(t, "annotationSelector: {matchAnnotations: {a: b}}"), Env{CRD: websites(t)})
	errs := messages(mistakes)
	g.Expect(errs).To(gomega.ContainElement(gomega.ContainSubstring("spec.annotationSelector: Forbidden: it is for objects of others, with crd.kind: resources of the box's own are selected by labels, in spec.selector")))
}

// Each part of a box is either done for objects of others, or refused for them. A new one must be decided: what has to be noted on a resource,
// or undone when it goes, is refused until it is noted elsewhere.
func TestEachPartOfABoxIsDecidedForObjectsOfOthers(t *testing.T) {
	g := gomega.NewWithT(t)
	done := []string{
		"crd", "suspend", "namespaces", "selector", "annotationSelector", "commonLabels", "commonAnnotations", "serviceAccountRef", "workers", "resync", "failureThreshold",
		"queue", "autoscale", "revisionHistoryLimit", "values", "cross", "onReconcile", "status", "validation", "when", "anyOf",
		"finalizers", "onCreate", "onDelete", "deletion", "external", "dependsOn", "rollBackOnError", "rollback", "providers",
		"reconciler", "apiTypes", // of hooks; TestMistakesInBoxesWithConstructors has the refusal of a constructor
	}
	refused := []string{"normalize", "mutation", "admission"}
	g.Expect(fixtures.JSONNames(reflect.TypeFor[v1alpha1.OperatorBoxSpec]())).To(gomega.ConsistOf(slices.Concat(done, refused)))
}
