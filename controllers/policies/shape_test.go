package policies

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apiserveradmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline"
)

const boxShape = "box-shape"

// Policies can't ask the code: what box-shape knows of declarations is compared with what the code knows.
func TestBoxShapeKnowsTheFieldsOfDeclarations(t *testing.T) {
	g := NewWithT(t)
	var names, fields []string
	for _, key := range kinds.Keys() {
		kind, _ := kinds.Lookup(key)
		names = append(names, quoted(kind.Key))
		if kind.Singular != "" {
			names = append(names, quoted(kind.Singular))
		}
		if kind.GVK.Empty() {
			continue // manifests
		}
		of := []string{quoted("spec")} // where objects have none, the compiler says more
		for _, f := range slices.Concat(kind.CommonFields(), kind.ShortFields()) {
			of = append(of, quoted(f.Name))
		}
		slices.Sort(of)
		fields = append(fields, quoted(key)+": ["+strings.Join(slices.Compact(of), ", ")+"]")
	}
	shape, err := wanted(boxShape, "orkestra-system")
	g.Expect(err).NotTo(HaveOccurred())
	known := map[string]string{}
	for _, v := range shape.Variables {
		known[v.Name] = v.Expression
	}
	g.Expect(known).To(HaveKeyWithValue("kinds", "["+strings.Join(names, ", ")+"]"))
	g.Expect(known).To(HaveKeyWithValue("fields", "{"+strings.Join(fields, ", ")+"}"))
}

func quoted(name string) string { return "'" + name + "'" }

// shaper judges boxes by box-shape, as an API server of the oldest version does that has policies.
type shaper struct{ validator validating.Validator }

func newShaper(tb testing.TB) *shaper {
	tb.Helper()
	g := NewWithT(tb)
	spec, err := wanted(boxShape, "orkestra-system")
	g.Expect(err).NotTo(HaveOccurred())
	j, err := newJudge(boxShape, spec)
	g.Expect(err).NotTo(HaveOccurred())
	return &shaper{j.Validator}
}

// judge gives what is said of the creation of a box, or of its update; empty: it passes. An expression that can't be evaluated, such as one
// that costs too much, fails the test.
func (s *shaper) judge(tb testing.TB, box, old *unstructured.Unstructured) string {
	tb.Helper()
	g := NewWithT(tb)
	gvk, gvr := v1alpha1.GroupVersion.WithKind("OperatorBox"), v1alpha1.GroupVersion.WithResource("operatorboxes")
	attributes := apiserveradmission.NewAttributesRecord(box, nil, gvk, "", box.GetName(), gvr, "", apiserveradmission.Create, &metav1.CreateOptions{}, false, nil)
	if old != nil {
		attributes = apiserveradmission.NewAttributesRecord(box, old, gvk, "", box.GetName(), gvr, "", apiserveradmission.Update, &metav1.UpdateOptions{}, false, nil)
	}
	versioned, err := apiserveradmission.NewVersionedAttributes(attributes, gvk, nil)
	g.Expect(err).NotTo(HaveOccurred())
	for _, d := range s.validator.Validate(tb.Context(), gvr, versioned, nil, &corev1.Namespace{}, celconfig.RuntimeCELCostBudget, nil).Decisions {
		g.Expect(d.Evaluation).NotTo(Equal(validating.EvalError), d.Message)
		if d.Evaluation == validating.EvalDeny {
			return d.Message
		}
	}
	return ""
}

// boxOf reads a box in YAML.
func boxOf(tb testing.TB, text string) *unstructured.Unstructured {
	tb.Helper()
	box := &unstructured.Unstructured{Object: map[string]any{}}
	NewWithT(tb).Expect(yaml.Unmarshal([]byte(text), &box.Object)).To(Succeed())
	return box
}

func boxWith(tb testing.TB, spec string) *unstructured.Unstructured {
	tb.Helper()
	return boxOf(tb, "{apiVersion: orkestra.orkspace.io/v1alpha1, kind: OperatorBox, metadata: {name: shop}, spec: "+spec+"}")
}

// Boxes without a mistake pass: all samples, what `orkestra init` and `orkestra import` make, and one of everything that the policy looks at.
func TestBoxShapeLetsBoxesPass(t *testing.T) {
	g, s := NewWithT(t), newShaper(t)
	for pattern, least := range map[string]int{
		"../../config/samples/*/box.yaml": 10, "../../config/samples/ports/*/box.yaml": 5,
		"../../cmd/orkestra/initialize/testdata/golden/*.yaml": 3, "../../cmd/orkestra/importer/testdata/golden/*.yaml": 3,
	} {
		files, err := filepath.Glob(pattern)
		g.Expect(err).NotTo(HaveOccurred())
		boxes := 0
		for _, file := range files {
			if filepath.Base(file) == "unknown.yaml" {
				continue // it keeps a field that no box has, and says so
			}
			content, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			for document := range strings.SplitSeq(string(content), "\n---\n") {
				if box := boxOf(t, document); box.GetKind() == "OperatorBox" {
					boxes++
					g.Expect(s.judge(t, box, nil)).To(BeEmpty(), file)
				}
			}
		}
		g.Expect(boxes).To(BeNumerically(">=", least), pattern)
	}
	for _, spec := range []string{
		"{}", "{crd: {name: a.b}}", "{onReconcile: {jobs: [{id: job}], ingresses: [{id: ingress}], networkpolicies: [{id: networkpolicy}]}}",
		"{when: [{field: a, equals: 1, negate: true}, {cel: 'true'}], anyOf: [{field: a, operator: exists}, {field: a, operator: equals, value: 1, valueType: int}, {field: b, exists: true}]}",
		"{onCreate: {configMaps: [{id: a}, {id: b, data: {a: b}}], Secrets: [{id: c, spec: {}}]}, onDelete: {jobs: [{id: a, image: b}]}, rollback: {onRollback: {jobs: [{id: a, image: b}]}}}",
		"{onReconcile: {resources: [{id: x, manifest: {kind: A}, anything: 1}], deployments: [{whenFalse: Keep, when: [{field: a, exists: true}], readyWhen: [{cel: 'true'}]}]}}",
		"{anyOf: [{field: a, exists: true}], onReconcile: {deployments: [{whenFalse: Delete, once: true, reconcile: false}]}}",
		"{onReconcile: {resources: [{id: deployment, manifest: {apiVersion: apps/v1, kind: Deployment}}, {id: service, manifest: {apiVersion: v1, kind: Service}}]}}",
		"{mutation: {rules: [{field: spec.a, default: false}, {field: spec.b, override: 1}]}, dependsOn: [{name: other}], rollBackOnError: true}",
		"{cross: [{name: a, kind: B, selector: {name: x}}, {name: b, kind: B, selector: {matchLabels: {a: b}}}]}",
	} {
		g.Expect(s.judge(t, boxWith(t, spec), nil)).To(BeEmpty(), spec)
	}
}

// Each mistake is refused, with its place, and in the words of the compiler.
func TestBoxShapeRefuses(t *testing.T) {
	s := newShaper(t)
	for spec, want := range map[string]string{
		"{onReconcile: {configmaps: [{data: {}}], deployments: [{image: a}, {imge: a}]}}": "spec.onReconcile.deployments[1].imge: Forbidden: unknown field",
		"{onReconcile: {Deployments: [{imge: a}]}}":                                       "spec.onReconcile.Deployments[0].imge: Forbidden: unknown field",
		"{rollback: {onRollback: {jobs: [{imge: a}]}}}":                                   "spec.rollback.onRollback.jobs[0].imge: Forbidden: unknown field",
		"{when: [{cel: 'true'}, {field: a}]}":                                             "spec.when[1].operator: Required value: say how the field is compared",
		"{anyOf: [{field: a, operator: gt}]}":                                             "spec.anyOf[0].value: Required value: gt needs a value; notExists tests for absence",
		"{status: {readyWhen: [{field: a, equals: 1, in: [1]}]}}":                         `spec.status.readyWhen[0]: Invalid value: "equals, in": give one short form, not several`,
		"{status: {fields: [{path: a, when: [{field: a, equals: 1, operator: gt}]}]}}":    "spec.status.fields[0].when[0].equals: Forbidden: give operator and value, or one short form, not both",
		"{validation: {rules: [{field: a, equals: 1, value: 1}]}}":                        `spec.validation.rules[0].value: Forbidden: "equals" already holds the value`,
		"{validation: {rules: [{cel: 'true'}, {cel: 'true', anyOf: [{field: a}]}]}}":      "spec.validation.rules[1].anyOf[0].operator: Required value: say how the field is compared",
		"{mutation: {rules: [{field: a, default: 1, when: [{cel: 'a', value: 1}]}]}}":     "spec.mutation.rules[0].when[0].value: Forbidden: cel stands alone: write the comparison in it",
		"{external: [{name: a}, {name: b, when: [{field: a}]}]}":                          "spec.external[1].when[0].operator: Required value: say how the field is compared",
		"{onCreate: {secrets: [{readyWhen: [{field: a}]}]}}":                              "spec.onCreate.secrets[0].readyWhen[0].operator: Required value: say how the field is compared",
		"{onReconcile: {jobs: [{id: job}], configmaps: [{}, {id: deployment}]}}":          `spec.onReconcile.configmaps[1].id: Invalid value: "deployment": the name of a kind can't be an id: templates would mistake one for the other; give it another, or none, and read .children.<kind>`,
		"{onCreate: {jobs: [{id: a}]}, onReconcile: {configmaps: [{id: a}]}}":             "spec: Duplicate value: \"a\": two declarations have the same id; give each an `id` of its own",
		"{onDelete: {jobs: [{id: a}, {id: b}, {id: a}]}}":                                 "spec: Duplicate value: \"a\": two declarations have the same id; give each an `id` of its own",
		"{onDelete: {jobs: [{reconcile: true}]}}":                                         "spec.onDelete.jobs[0].reconcile: Forbidden: onDelete makes its objects once",
		"{onDelete: {jobs: [{adopt: IfUnowned}]}}":                                        "spec.onDelete.jobs[0].adopt: Forbidden: a clean-up takes over nothing that others made; remove it",
		"{onDelete: {jobs: [{whenFalse: Keep}]}}":                                         "spec.onDelete.jobs[0].whenFalse: Forbidden: a gate of onDelete says whether its object is made, and deletes none; remove it",
		"{onReconcile: {jobs: [{once: true, reconcile: true}]}}":                          "spec.onReconcile.jobs[0].once: Forbidden: once and reconcile: true contradict each other",
		"{onReconcile: {jobs: [{whenFalse: Keep}]}}":                                      "spec.onReconcile.jobs[0].whenFalse: Forbidden: there is no gate that could be false; write when or anyOf, or remove whenFalse",
		"{mutation: {rules: [{field: spec.a}]}}":                                          `spec.mutation.rules[0]: Invalid value: "spec.a": give exactly one of default and override`,
		"{mutation: {rules: [{field: spec.a, default: 1, override: 1}]}}":                 `spec.mutation.rules[0]: Invalid value: "spec.a": give exactly one of default and override`,
		"{dependsOn: [{name: shop}]}":                                                     `spec.dependsOn[0].name: Invalid value: "shop": a box can't depend on itself`,
		"{rollBackOnError: true, rollback: {}}":                                           "spec.rollBackOnError: Forbidden: rollBackOnError and rollback are two ways back",
		"{cross: [{name: a, selector: {name: x, matchLabels: {a: b}}}]}":                  "spec.cross[0].selector.matchLabels: Forbidden: name and matchLabels contradict each other",
		"{when: [{field: a}, {field: b}]}":                                                "spec.when[0].operator: Required value: say how the field is compared; spec.when[1].operator: Required value: say how the field is compared",
	} {
		t.Run(spec, func(t *testing.T) {
			g, box := NewWithT(t), boxWith(t, spec)
			g.Expect(s.judge(t, box, nil)).To(HavePrefix("box-shape: " + want))
			g.Expect(mistakes(t, box)).To(ContainElement(ContainSubstring(words(want))), "the compiler says it so")
		})
	}
}

// mistakes are what the compiler says of a box. What it says of the box's CRD is beside the point.
func mistakes(tb testing.TB, in *unstructured.Unstructured) []string {
	tb.Helper()
	g := NewWithT(tb)
	box := &v1alpha1.OperatorBox{}
	g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(in.Object, box)).To(Succeed())
	_, errs := pipeline.Compile(box, pipeline.Env{})
	var all []string
	for _, err := range errs {
		all = append(all, err.Error())
	}
	return all
}

// words is what the compiler says too of a message of the policy: it names the place of an id, and all that is wrong line by line.
func words(want string) string {
	first, _, _ := strings.Cut(want, "; spec")
	if _, duplicate, ok := strings.Cut(first, "spec: Duplicate value: "); ok {
		first, _, _ = strings.Cut(duplicate, ": two")
	}
	return first
}

// An update that leaves the spec as it is passes, and so does one
// of a box that is being deleted.
func TestBoxShapeLeavesOldMistakesAlone(t *testing.T) {
	g, s := NewWithT(t), newShaper(t)
	old := boxWith(t, "{when: [{field: a}]}")
	labeled := old.DeepCopy()
	labeled.SetLabels(map[string]string{"a": "b"})
	g.Expect(s.judge(t, labeled, old)).To(BeEmpty())
	changed := boxWith(t, "{when: [{field: b}]}")
	g.Expect(s.judge(t, changed, old)).To(ContainSubstring("say how the field is compared"))
	now := metav1.Now()
	changed.SetDeletionTimestamp(&now)
	g.Expect(s.judge(t, changed, old)).To(BeEmpty())
}

// A large box stays within what the API server spends on a policy.
func TestBoxShapeOfALargeBox(t *testing.T) {
	g, s := NewWithT(t), newShaper(t)
	large := func(n int, last string) *unstructured.Unstructured {
		declarations := map[string][]string{}
		for i := range n {
			key := kinds.Keys()[1+i%5]
			declarations[key] = append(declarations[key], fmt.Sprintf(
				"{id: d%d, name: '{{ .metadata.name }}-%d', labels: {a: b}, annotations: {a: b}, when: [{field: spec.a, equals: 1}, {field: spec.b, operator: in, value: [1, 2]}], anyOf: [{cel: 'true'}], once: false}", i, i))
		}
		var groups []string
		for key, all := range declarations {
			groups = append(groups, key+": ["+strings.Join(all, ", ")+"]")
		}
		return boxWith(t, "{onReconcile: {"+strings.Join(append(groups, last), ", ")+"}}")
	}
	g.Expect(s.judge(t, large(300, "hpas: []"), nil)).To(BeEmpty())
	g.Expect(s.judge(t, large(300, "secrets: [{dta: {}}]"), nil)).To(Equal("box-shape: spec.onReconcile.secrets[0].dta: Forbidden: unknown field"))

	long := s.judge(t, boxWith(t, "{when: ["+strings.Repeat("{field: a}, ", 100)+"]}"), nil)
	g.Expect(long).To(HaveSuffix("…"))
	g.Expect(len(long)).To(BeNumerically("<", 2100))
}
