package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// enforcing waits until the API server has taken up what a box asks it to enforce.
func (w *world) enforcing(ctx context.Context, name string) *v1alpha1.OperatorBox {
	GinkgoHelper()
	var box *v1alpha1.OperatorBox
	Eventually(func(g Gomega) {
		box = getBox(ctx, g, name)
		g.Expect(boxCondition(box, v1alpha1.ConditionAdmissionEnforced)).To(HaveValue(And(
			HaveField("Status", metav1.ConditionTrue), HaveField("ObservedGeneration", box.Generation))), "%+v", box.Status.Admission)
	}).WithContext(ctx).Should(Succeed())
	return box
}

// attempt sends a resource to the API server, which judges it and keeps nothing.
func (w *world) attempt(ctx context.Context, name, spec string) error {
	return w.create(ctx, name, spec, client.DryRunAll)
}

// create sends a resource to the API server.
func (w *world) create(ctx context.Context, name, spec string, options ...client.CreateOption) error {
	obj := w.ref(name)
	content := map[string]any{}
	Expect(yaml.Unmarshal([]byte(spec), &content)).To(Succeed())
	obj.Object["spec"] = content
	return kube.Create(ctx, obj, options...)
}

// denied waits until the API server refuses a resource by the policy of a box, with a message. Policies take effect within seconds.
func (w *world) denied(ctx context.Context, box, spec, message string) {
	GinkgoHelper()
	Eventually(func() error { return w.attempt(ctx, "tried", spec) }).WithContext(ctx).Should(MatchError(
		HaveSuffix("ValidatingAdmissionPolicy 'orkestra-" + box + "' with binding 'orkestra-" + box + "' denied request: " + message)))
}

// admitted waits until the API server takes a resource.
func (w *world) admitted(ctx context.Context, spec string) {
	GinkgoHelper()
	Eventually(func() error { return w.attempt(ctx, "tried", spec) }).WithContext(ctx).Should(Succeed())
}

// policyOf reads the policy by which a box refuses.
func policyOf(ctx context.Context, g Gomega, box string) *admissionregistrationv1.ValidatingAdmissionPolicy {
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{}
	g.Expect(kube.Get(ctx, types.NamespacedName{Name: "orkestra-" + box}, policy)).To(Succeed())
	return policy
}

// noPolicies waits until nothing is left of the policies of a box.
func noPolicies(ctx context.Context, box string) {
	GinkgoHelper()
	for _, name := range []string{"orkestra-" + box, "orkestra-" + box + "-warn"} {
		for _, obj := range []client.Object{
			&admissionregistrationv1.ValidatingAdmissionPolicy{}, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{},
			&admissionregistrationv1.MutatingAdmissionPolicy{}, &admissionregistrationv1.MutatingAdmissionPolicyBinding{},
		} {
			Eventually(func() bool {
				return apierrors.IsNotFound(kube.Get(ctx, types.NamespacedName{Name: name}, obj))
			}).WithContext(ctx).Should(BeTrue(), "%T %s is gone", obj, name)
		}
	}
}

// warnings are those of the API server.
type warnings struct {
	mu  sync.Mutex
	all []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, text)
}

func (w *warnings) seen() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.all...)
}

var _ = Describe("Admission", func() {
	const rules = `
admission: {validation: true, mutation: true}
mutation:
  rules:
  - {field: spec.replicas, default: 2}
  - {field: spec.nested.deep.value, default: "a ~ b", when: [{field: spec.mode, equals: deep}]}
  - {field: spec.host, override: always.example.com}
validation:
  rules:
  - {field: spec.replicas, operator: lte, value: 10, message: at most 10 replicas}
  - {field: spec.mode, in: [a, b, deep]}
  - {field: spec.memory, lessThanOrEqual: 2Gi, message: that is much, action: warn}
  - {field: spec.host, operator: suffix, value: .example.com}
onReconcile:
  configmaps:
  - name: "{{ .metadata.name }}"
    data: {replicas: "{{ .spec.replicas }}"}
`

	It("has the API server refuse, warn and set defaults, with the words of the reconcile", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.box(ctx, rules)
		box := w.enforcing(ctx, name)
		Expect(box.Status.Admission).To(HaveValue(Equal(v1alpha1.AdmissionStatus{
			Enforced: true,
			Policies: []string{"ValidatingAdmissionPolicy/orkestra-" + name, "ValidatingAdmissionPolicy/orkestra-" + name + "-warn", "MutatingAdmissionPolicy/orkestra-" + name},
			Rules: []v1alpha1.AdmissionRuleStatus{
				{Path: "spec.mutation.rules[0]", Where: v1alpha1.RuleInPolicy},
				{Path: "spec.mutation.rules[1]", Where: v1alpha1.RuleInPolicy},
				{Path: "spec.mutation.rules[2]", Where: v1alpha1.RuleInReconcile, Reason: "overrides never change what is stored"},
				{Path: "spec.validation.rules[0]", Where: v1alpha1.RuleInPolicy},
				{Path: "spec.validation.rules[1]", Where: v1alpha1.RuleInPolicy},
				{Path: "spec.validation.rules[2]", Where: v1alpha1.RuleInPolicy},
				{Path: "spec.validation.rules[3]", Where: v1alpha1.RuleInReconcile, Reason: "spec.mutation.rules[2] sets spec.host in the reconcile"},
			},
			Existing: &v1alpha1.AdmissionExisting{},
		})))
		w.denied(ctx, name, `{replicas: 11, mode: c}`, "spec.replicas: at most 10 replicas (found 11); spec.mode: wanted one of a, b, deep, found c")

		By("a default is stored, with the objects around it")
		var stored *unstructured.Unstructured
		Eventually(func(g Gomega) {
			stored = w.ref("tried")
			stored.Object["spec"] = map[string]any{"mode": "deep"}
			g.Expect(kube.Create(ctx, stored, client.DryRunAll)).To(Succeed())
			g.Expect(stored.Object["spec"]).To(Equal(map[string]any{
				"mode": "deep", "replicas": int64(2), "nested": map[string]any{"deep": map[string]any{"value": "a ~ b"}},
			}))
		}).WithContext(ctx).Should(Succeed())
		w.website(ctx, "web", `{mode: a}`)
		w.settled(ctx, "web")
		w.hasData(ctx, "web", map[string]string{"replicas": "2"})

		By("a warning")
		heard := &warnings{}
		config := rest.CopyConfig(cluster.Config())
		config.WarningHandler = heard
		warned, err := client.New(config, client.Options{Scheme: scheme})
		Expect(err).NotTo(HaveOccurred())
		Eventually(func(g Gomega) {
			obj := w.ref("tried")
			obj.Object["spec"] = map[string]any{"memory": "3Gi"}
			g.Expect(warned.Create(ctx, obj, client.DryRunAll)).To(Succeed())
			g.Expect(heard.seen()).To(ContainElement(HaveSuffix("spec.memory: that is much (found 3Gi)")))
		}).WithContext(ctx).Should(Succeed())

		By("what is put back, and what goes with the box")
		policy := policyOf(ctx, Default, name)
		Expect(kube.Delete(ctx, policy)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(policyOf(ctx, g, name)).To(And(HaveField("Spec", policy.Spec), HaveField("UID", Not(Equal(policy.UID)))))
		}).WithContext(ctx).Should(Succeed())
		policy = policyOf(ctx, Default, name)
		before := policy.Spec.DeepCopy()
		Expect(kube.Patch(ctx, policy, client.RawPatch(types.JSONPatchType, []byte(`[{"op": "replace", "path": "/spec/validations/0/expression", "value": "true"}]`)))).To(Succeed())
		Eventually(func(g Gomega) { g.Expect(policyOf(ctx, g, name).Spec).To(Equal(*before)) }).WithContext(ctx).Should(Succeed())
		w.deleteBox(ctx, name)
		noPolicies(ctx, name)
	})

	It("judges creations, and updates that change the spec, and never who deletes", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.boxNamed(ctx, w.id, `{onReconcile: {configmaps: [{name: "{{ .metadata.name }}", data: {a: b}}]}, finalizers: [e2e.test/held]}`)
		w.running(ctx, name)
		w.website(ctx, "old", `{mode: c}`)
		w.settled(ctx, "old")
		w.box(ctx, rules)
		box := w.enforcing(ctx, name)
		Expect(box.Status.Admission.Existing).To(HaveValue(Equal(v1alpha1.AdmissionExisting{Total: 1, Breaking: 1})))
		w.denied(ctx, name, `{mode: c}`, "spec.mode: wanted one of a, b, deep, found c")
		patch := func(body string) error {
			return kube.Patch(ctx, w.ref("old"), client.RawPatch(types.MergePatchType, []byte(body)))
		}
		Expect(patch(`{"metadata": {"labels": {"touched": "yes"}}}`)).To(Succeed(), "the spec stays as it was")
		Expect(patch(`{"spec": {"replicas": 3}}`)).To(MatchError(ContainSubstring("denied request: spec.mode: wanted one of a, b, deep, found c")))
		Expect(kube.Delete(ctx, w.ref("old"))).To(Succeed())
		w.gone(ctx, w.ref("old"), "old")
	})
})

var _ = Describe("The page on admission", func() {
	It("shows a box by which kubectl apply fails with the words of the page", func(ctx context.Context) {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", "how-to", "admission.md"))
		Expect(err).NotTo(HaveOccurred())
		found := regexp.MustCompile("(?s)```yaml\n(apiVersion: .*?)```\n.*?```console\n\\$ kubectl apply -f shop.yaml\n(.*?)\n```").FindStringSubmatch(string(text))
		Expect(found).NotTo(BeEmpty())
		crd := filepath.Join("..", "..", "docs", "examples", "crd.yaml")
		file := filepath.Join(GinkgoT().TempDir(), "shop.yaml")
		Expect(os.WriteFile(file, []byte(found[1]), 0o600)).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			_, err := cluster.Kubectl(ctx, "delete", "--ignore-not-found", "-f", file, "-f", crd)
			Expect(err).NotTo(HaveOccurred())
		})
		for _, f := range []string{crd, file} {
			Eventually(func() error {
				_, err := cluster.Kubectl(ctx, "apply", "-f", f)
				return err
			}).WithContext(ctx).Should(Succeed())
		}
		w := &world{}
		Expect(w.enforcing(ctx, "shop").Status.Admission.Rules).To(HaveEach(HaveField("Where", v1alpha1.RuleInPolicy)))
		shop := filepath.Join(GinkgoT().TempDir(), "hello.yaml")
		Expect(os.WriteFile(shop, []byte("apiVersion: shop.example.com/v1\nkind: Shop\nmetadata: {name: hello}\nspec: {image: a, replicas: 50, memory: 3Gi}\n"), 0o600)).To(Succeed())
		Eventually(func() error {
			_, err := cluster.Kubectl(ctx, "apply", "--dry-run=server", "-f", shop)
			return err
		}).WithContext(ctx).Should(MatchError(ContainSubstring(found[2])))
	})
})

// deleteBox deletes a box, and waits until it is gone.
func (w *world) deleteBox(ctx context.Context, name string) {
	GinkgoHelper()
	Expect(kube.Delete(ctx, &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
	Eventually(func() bool {
		return apierrors.IsNotFound(kube.Get(ctx, types.NamespacedName{Name: name}, &v1alpha1.OperatorBox{}))
	}).WithContext(ctx).Should(BeTrue())
}
