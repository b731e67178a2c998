package pipeline

import (
	"context"
	"fmt"
	"testing"

	"github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/admission"
	"github.com/orkspace/orkestra/engine/value"
	"github.com/orkspace/orkestra/test/fixtures"
)

// working gives the working copy of a resource's spec after normalize and mutation; nil where these fail.
func working(plan *Plan, obj *unstructured.Unstructured) any {
	r := plan.NewRun(obj, now, newPorts().ports())
	for _, s := range plan.stages {
		switch s.(type) {
		case normalize, mutation:
			if _, err := s.Run(context.Background(), r); err != nil {
				return nil
			}
		}
	}
	return map[string]any{"spec": r.Object["spec"]}
}

// TestDefaultsOfPoliciesAreThoseOfTheReconcile: a resource that the API server has given its defaults is to the reconcile what it was
// without them; and where all defaults are the policy's, what is stored is what the reconcile works on.
func TestDefaultsOfPoliciesAreThoseOfTheReconcile(t *testing.T) {
	g := gomega.NewWithT(t)
	d := dice{fixtures.NewDice(3, ruledFields...)}
	fields := []string{"spec.any", "spec.any.x", "spec.any.x.y", "spec.any['my/k~ey']", "spec.image", "spec.replicas", "spec.tls", "spec.database", "spec.database.size", "spec.tags"}
	var set, whole, failed int
	for range 150 {
		box := boxOf(t, "admission: {validation: true, mutation: true}")
		box.Spec.Mutation = &v1alpha1.MutationSpec{}
		if d.IntN(4) == 0 {
			box.Spec.Normalize = &v1alpha1.NormalizeSpec{Spec: map[string]apiextensionsv1.JSON{"host": *d.Raw("{{ .metadata.name }}")}}
		}
		for len(box.Spec.Mutation.Rules) < 3 {
			rule := v1alpha1.MutationRule{Field: fixtures.Pick(d.Dice, fields)}
			if d.IntN(3) == 0 {
				rule.Gate = d.Gate()
			}
			if d.IntN(8) == 0 {
				rule.Override = d.Raw(d.Value(1))
			} else {
				rule.Default = d.Raw(d.Value(1))
			}
			box.Spec.Mutation.Rules = append(box.Spec.Mutation.Rules, rule)
			if _, errs := Compile(box, Env{CRD: websites(t)}); len(errs) > 0 {
				box.Spec.Mutation.Rules = box.Spec.Mutation.Rules[:len(box.Spec.Mutation.Rules)-1]
			}
		}
		plan, errs := Compile(box, Env{CRD: websites(t)})
		g.Expect(errs).To(gomega.BeEmpty())
		compiled := admission.Compile(plan.Admission, true)
		policy := compiled.Policies().Defaults
		if policy == nil {
			continue
		}
		all := true
		for _, p := range compiled.Places() {
			all = all && p.Where == v1alpha1.RuleInPolicy
		}
		for range 15 {
			obj := d.resource(t)
			want := working(plan, kept(t, obj))
			if want == nil {
				failed++ // a default below what is no object: the reconcile says so
				continue
			}
			stored := kept(t, patched(t, policy, obj.DeepCopy()))
			about := func() string {
				return fmt.Sprintf("%v\n%s\nstored: %v\n%+v", obj.Object["spec"], d.Raw(box.Spec.Mutation).Raw, stored.Object["spec"], compiled.Places())
			}
			g.Expect(value.Same(working(plan, stored), want)).To(gomega.BeTrue(), about)
			if all && box.Spec.Normalize == nil {
				whole++
				g.Expect(value.Same(map[string]any{"spec": stored.Object["spec"]}, want)).To(gomega.BeTrue(), about)
			}
			if !value.Same(stored.Object, kept(t, obj).Object) {
				set++
			}
		}
	}
	t.Logf("%d were given defaults, %d policies set all of them, %d were refused by the reconcile", set, whole, failed)
	g.Expect(set).To(gomega.BeNumerically(">", 200))
	g.Expect(whole).To(gomega.BeNumerically(">", 200))
}
