package e2e_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/test/fixtures"
)

// randomRules are so many validation rules that compile, and that the API server can check. The last refuses the mode "canary", by which one sees
// that a policy has taken effect.
func (w *world) randomRules(ctx context.Context, d fixtures.Dice, n int) *v1alpha1.ValidationSpec {
	GinkgoHelper()
	live := &apiextensionsv1.CustomResourceDefinition{}
	Expect(kube.Get(ctx, types.NamespacedName{Name: w.crdName()}, live)).To(Succeed())
	crd, ok := pipeline.NewCRD(live, "v1")
	Expect(ok).To(BeTrue())
	box := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: w.id}}
	box.Spec.CRD.Name = w.crdName()
	box.Spec.Admission = &v1alpha1.AdmissionSpec{Validation: true}
	var rules []v1alpha1.ValidationRule
	for len(rules) < n {
		rule := d.Rule()
		rule.Admission, rule.Action = v1alpha1.AdmissionRequired, v1alpha1.ValidationDeny
		box.Spec.Validation = &v1alpha1.ValidationSpec{Rules: []v1alpha1.ValidationRule{rule}}
		if _, errs := pipeline.Compile(box, pipeline.Env{CRD: crd}); len(errs) == 0 {
			rule.Admission = ""
			rules = append(rules, rule)
		}
	}
	canary := v1alpha1.ValidationRule{Message: "no canaries", Action: v1alpha1.ValidationDeny}
	canary.Field, canary.Operator, canary.Value = "spec.mode", v1alpha1.OperatorNotEquals, d.Raw("canary")
	return &v1alpha1.ValidationSpec{Rules: append(rules, canary)}
}

// randomSpec is the spec of a resource that the schema takes.
func randomSpec(d fixtures.Dice) map[string]any {
	spec := map[string]any{}
	for field, v := range map[string]any{
		"image": fixtures.Pick(d, fixtures.Texts), "replicas": fixtures.Pick(d, []any{int64(0), int64(5), int64(10), int64(3600)}), "tls": d.IntN(2) == 0,
		"memory": fixtures.Pick(d, []any{int64(5), "1Gi", "500m", "7d", "abc", "1.5"}), "database": fixtures.Pick(d, fixtures.Texts),
		"tags": []any{fixtures.Pick(d, fixtures.Texts), "a"}, "settings": map[string]any{"my-key": fixtures.Pick(d, fixtures.Texts)},
	} {
		if d.IntN(4) > 0 {
			spec[field] = v
		}
	}
	return spec
}

var _ = Describe("Random rules", func() {
	It("mean the same to the API server and in the reconcile", longest, func(ctx context.Context) {
		const boxes, resources = 10, 30
		d := fixtures.NewDice(5, "spec.image", "spec.replicas", "spec.tls", "spec.memory", "spec.memory", "spec.database", "spec.tags",
			"spec.tags[1]", "spec.settings", "spec.settings['my-key']", "metadata.name", "spec")
		var denied, passed int
		for i := range boxes {
			w := newWorld(ctx)
			rules := w.randomRules(ctx, d, 1+i%3)
			spec := func(admit bool) string {
				body := map[string]any{"validation": rules}
				if admit {
					body["admission"] = map[string]any{"validation": true}
				}
				text, err := yaml.Marshal(body)
				Expect(err).NotTo(HaveOccurred())
				return string(text)
			}
			name := w.box(ctx, spec(false))
			w.running(ctx, name)
			said, specs := map[string]string{}, map[string]map[string]any{}
			for i := range resources {
				obj := w.ref(fmt.Sprintf("r%d", i))
				specs[obj.GetName()] = randomSpec(d)
				obj.Object["spec"] = specs[obj.GetName()]
				Expect(kube.Create(ctx, obj.DeepCopy())).To(Succeed())
			}
			for resource := range specs {
				obj := w.observed(ctx, resource)
				said[resource] = ""
				if condition(obj, v1alpha1.ConditionReady).Status == metav1.ConditionFalse {
					said[resource] = strings.TrimPrefix(condition(obj, v1alpha1.ConditionReady).Message, "validation: ")
				}
				Expect(kube.Delete(ctx, obj)).To(Succeed())
			}
			for resource := range specs {
				w.gone(ctx, w.ref(resource), resource)
			}
			w.box(ctx, spec(true))
			w.enforcing(ctx, name)
			Eventually(func() error { return w.attempt(ctx, "tried", `{mode: canary}`) }).WithContext(ctx).ShouldNot(Succeed())
			for resource, content := range specs {
				obj := w.ref(resource)
				obj.Object["spec"] = content
				err := kube.Create(ctx, obj, client.DryRunAll)
				about := fmt.Sprintf("%v\n%s", content, spec(true))
				if said[resource] == "" {
					passed++
					Expect(err).NotTo(HaveOccurred(), about)
					continue
				}
				denied++
				Expect(err).To(MatchError(HaveSuffix("denied request: "+said[resource])), about)
			}
		}
		AddReportEntry(fmt.Sprintf("%d refused, %d taken", denied, passed))
		Expect(denied).To(BeNumerically(">", 30))
		Expect(passed).To(BeNumerically(">", 30))
	})
})
