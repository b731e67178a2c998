package operatorbox

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine"
	"github.com/orkspace/orkestra/engine/health"
)

// stuck has what runs of the box of a process not stop, and gives what the engine waits for.
func (p *process) stuck() (waits string) {
	p.engine.stuck = &engine.StuckError{Box: "shop", Resources: []types.NamespacedName{{Namespace: "a", Name: "web"}}}
	delete(p.engine.plans, "shop")
	delete(p.engine.reports, "shop")
	return p.engine.stuck.Waits()
}

func TestABoxThatIsToStartAnewAndDoesNotStop(t *testing.T) {
	const crdGone, elsewhere, claimed = "the CRD is gone", "the CRD that it names now is not there", "another box has the CRD that it names now"
	for name, edit := range map[string]func(*v1alpha1.OperatorBox){
		"namespaces":    func(b *v1alpha1.OperatorBox) { b.Spec.Namespaces.Include = []v1alpha1.ShortString{"a"} },
		"with mistakes": func(b *v1alpha1.OperatorBox) { b.Spec.Finalizers = []v1alpha1.ShortString{"not-qualified"} },
		crdGone:         nil,
		elsewhere:       func(b *v1alpha1.OperatorBox) { b.Spec.CRD.Name = othersCRD },
		claimed:         func(b *v1alpha1.OperatorBox) { b.Spec.CRD.Name = othersCRD },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := running(t)
			before, _ := p.serves(t, "shop")
			waiting := shop(websitesCRD)
			waiting.Name, waiting.UID = "waiting", "third"
			g.Expect(p.kube.Create(t.Context(), waiting)).To(Succeed())
			waits := p.stuck()
			switch name {
			case crdGone:
				g.Expect(p.kube.Delete(t.Context(), websites())).To(Succeed())
			case claimed:
				other := held(shop(othersCRD))
				other.Name, other.UID = "other", "second"
				_, err := p.Claims().Take(t.Context(), other, othersCRD)
				g.Expect(err).NotTo(HaveOccurred())
				crd := websites()
				crd.Name, crd.UID = othersCRD, "others"
				g.Expect(p.kube.Create(t.Context(), crd)).To(Succeed())
				p.edit(t, edit)
			default:
				p.edit(t, edit)
			}
			p.queue.marked = nil
			box, result := p.serves(t, "shop")
			g.Expect(result).To(Equal(ctrl.Result{}), "the engine tells")
			g.Expect(condition(box, v1alpha1.ConditionReady)).To(Equal("False Stuck: the box is to stop, or to start anew, and " + waits))
			g.Expect(condition(box, v1alpha1.ConditionStalled)).To(HavePrefix("True Stuck: "))
			g.Expect(box.Status.ObservedGeneration).To(Equal(box.Generation))
			g.Expect(box.Status.Revision).To(Equal(before.Status.Revision), "nothing else names it after a restart")
			g.Expect(p.reports["shop"].Phase).To(Equal(health.Pending))
			g.Expect(p.reports["shop"].Reason).To(Equal(v1alpha1.ReasonStuck))
			g.Expect(p.Claims().Holder(websitesCRD)).To(Equal("shop"), "it is still at work on it")
			g.Expect(p.queue.marked).To(BeEmpty())

			p.engine.stuck = nil
			box, _ = p.serves(t, "shop")
			g.Expect(condition(box, v1alpha1.ConditionReady)).NotTo(ContainSubstring("Stuck"))
			if name == claimed || name == elsewhere {
				g.Expect(p.Claims().Holder(websitesCRD)).To(BeEmpty())
				g.Expect(p.queue.marked).To(Equal([]string{"waiting"}))
			}
		})
	}
}

func TestADeletedBoxThatDoesNotStop(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, p *process){
		"with its CRD": func(*testing.T, *process) {},
		"without its CRD": func(t *testing.T, p *process) {
			t.Helper()
			NewWithT(t).Expect(p.kube.Delete(t.Context(), websites())).To(Succeed())
		},
		"whose CRD serves no version": func(t *testing.T, p *process) {
			t.Helper()
			crd := websites()
			NewWithT(t).Expect(p.kube.Get(t.Context(), types.NamespacedName{Name: websitesCRD}, crd)).To(Succeed())
			crd.Spec.Versions[0].Served = false
			NewWithT(t).Expect(p.kube.Update(t.Context(), crd)).To(Succeed())
		},
		"whose CRD another box holds": func(t *testing.T, p *process) {
			t.Helper()
			p.Claims().Release("shop")
			other := held(shop(websitesCRD))
			other.Name, other.UID = "other", "second"
			NewWithT(t).Expect(p.kube.Create(t.Context(), other)).To(Succeed())
			NewWithT(t).Expect(p.kube.Get(t.Context(), types.NamespacedName{Name: "other"}, other)).To(Succeed())
			_, err := p.Claims().Take(t.Context(), other, websitesCRD)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := running(t)
			p.deleted(t)
			waits := p.stuck()
			prepare(t, p)
			box, result := p.serves(t, "shop")
			g.Expect(result).To(Equal(ctrl.Result{}), "the engine tells")
			g.Expect(box.Finalizers).To(ConsistOf(v1alpha1.Finalizer))
			g.Expect(condition(box, v1alpha1.ConditionReady)).To(Equal("False DeletionBlocked: the box is being deleted and " + waits))
			g.Expect(p.reports["shop"].Phase).To(Equal(health.Stopped))
			g.Expect(p.reports["shop"].Reason).To(Equal(v1alpha1.ReasonDeletionBlocked))
			g.Expect(p.engine.cause.Reason).To(BeEmpty(), "nothing is let go while it may be marked again")
			g.Expect(p.revisions(t)).NotTo(BeEmpty())
		})
	}
}

func TestADrainedBoxThatDoesNotStop(t *testing.T) {
	for _, crd := range []bool{true, false} {
		g := NewWithT(t)
		p := running(t)
		p.Reconciler.ports.Drain = fakeDrain(true)
		if !crd {
			g.Expect(p.kube.Delete(t.Context(), websites())).To(Succeed())
		}
		waits := p.stuck()
		box, result := p.serves(t, "shop")
		g.Expect(result).To(Equal(ctrl.Result{}))
		g.Expect(box.Finalizers).To(ConsistOf(v1alpha1.Finalizer))
		g.Expect(condition(box, v1alpha1.ConditionReady)).To(Equal("False Draining: the manager is being drained and " + waits))
	}
}

// What another process has held, and is gone: nobody is shown anything, and nobody else gets its CRD before it has stopped.
func TestABoxThatIsGoneAndDoesNotStop(t *testing.T) {
	g := NewWithT(t)
	p := running(t)
	box := shop(websitesCRD)
	g.Expect(p.kube.Get(t.Context(), types.NamespacedName{Name: "shop"}, box)).To(Succeed())
	box.Finalizers = nil
	g.Expect(p.kube.Update(t.Context(), box)).To(Succeed())
	g.Expect(p.kube.Delete(t.Context(), box)).To(Succeed())
	p.Reconciler.hold.held.Delete("shop")
	p.stuck()
	_, result := p.serves(t, "shop")
	g.Expect(result).To(Equal(ctrl.Result{}))
	g.Expect(p.Claims().Holder(websitesCRD)).To(Equal("shop"))
	p.engine.stuck = nil
	p.serves(t, "shop")
	g.Expect(p.Claims().Holder(websitesCRD)).To(BeEmpty())
}
