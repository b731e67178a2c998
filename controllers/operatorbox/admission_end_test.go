package operatorbox

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// TestPoliciesAreAnnouncedBeforeTheyAreMade: a process that ends between two writes leaves none that its box does not know of.
func TestPoliciesAreAnnouncedBeforeTheyAreMade(t *testing.T) {
	g := NewWithT(t)
	p := newProcess(t, anyFields(), strict(t, strictRules))
	p.uncreated = "ValidatingAdmissionPolicyBinding"
	_, err := p.Reconcile(t.Context(), requestFor("shop"))
	g.Expect(err).To(HaveOccurred())
	box := &v1alpha1.OperatorBox{}
	g.Expect(p.kube.Get(t.Context(), types.NamespacedName{Name: "shop"}, box)).To(Succeed())
	g.Expect(box.Status.Admission.Policies).To(ContainElement("MutatingAdmissionPolicy/orkestra-shop"), "it is not made yet")
	g.Expect(p.policies(t)).To(ConsistOf("v orkestra-shop"))

	box.Spec.Admission = nil
	box.Generation++
	g.Expect(p.kube.Update(t.Context(), box)).To(Succeed())
	p.uncreated, p.engine.plans = "", nil
	p.restart()
	p.serves(t, "shop")
	g.Expect(p.policies(t)).To(BeEmpty(), "the next process takes it away")
}

// TestAProcessThatEndsAtAnyWriteLeavesNoPolicyBehind: while a box comes, and while it goes, in each of the ways in which it can. The next
// process finds what there is, and what there must not be.
func TestAProcessThatEndsAtAnyWriteLeavesNoPolicyBehind(t *testing.T) {
	ways := map[string]func(t *testing.T, p *process, box *v1alpha1.OperatorBox){
		"asks no more": func(t *testing.T, p *process, box *v1alpha1.OperatorBox) {
			t.Helper()
			box.Spec.Admission = nil
			NewWithT(t).Expect(p.kube.Update(t.Context(), box)).To(Succeed())
		},
		"is suspended": func(t *testing.T, p *process, box *v1alpha1.OperatorBox) {
			t.Helper()
			box.Spec.Suspend = true
			NewWithT(t).Expect(p.kube.Update(t.Context(), box)).To(Succeed())
		},
		"is deleted": func(t *testing.T, p *process, box *v1alpha1.OperatorBox) {
			t.Helper()
			NewWithT(t).Expect(p.kube.Delete(t.Context(), box)).To(Succeed())
		},
	}
	const most = 24 // writes; a box takes fewer to come, and to go
	for way, ends := range ways {
		for coming := 1; coming <= most; coming++ {
			t.Run(fmt.Sprintf("%s, ended at write %d", way, coming), func(t *testing.T) {
				g := NewWithT(t)
				p := newProcess(t, anyFields(), strict(t, strictRules))
				upTo := func(writes int) bool { // whether the process got further
					p.writes, p.lastWrite = 0, writes
					_, err := p.Reconcile(t.Context(), requestFor("shop"))
					p.lastWrite = 0
					return err == nil
				}
				box := &v1alpha1.OperatorBox{}
				current := func() bool {
					return client.IgnoreNotFound(p.kube.Get(t.Context(), types.NamespacedName{Name: "shop"}, box)) == nil && box.Name != ""
				}
				upTo(coming)
				g.Expect(current()).To(BeTrue())
				ends(t, p, box)
				p.engine.plans = nil
				p.restart()
				for going := 1; !upTo(going) && going < most; going++ {
					p.engine.plans = nil
					p.restart()
				}
				p.serves(t, "shop")
				p.serves(t, "shop")
				g.Expect(p.policies(t)).To(BeEmpty())
			})
		}
	}
}
