package operatorbox

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/identity"
)

// as is a box that names an account of namespace "team".
func as(box *v1alpha1.OperatorBox, account string) *v1alpha1.OperatorBox {
	box.Spec.ServiceAccountRef = &v1alpha1.ServiceAccountReference{Namespace: "team", Name: account}
	return box
}

func pinnedTo(name string, uid types.UID) *v1alpha1.ServiceAccountStatus {
	return &v1alpha1.ServiceAccountStatus{Namespace: "team", Name: name, UID: uid}
}

func TestABoxActsAsItsAccount(t *testing.T) {
	g := NewWithT(t)
	p := newProcess(t, websites(), held(as(shop(websitesCRD), "ann")))
	p.accounts["ann"] = "one"
	box, _ := p.serves(t, "shop")
	g.Expect(box.Status.ServiceAccount).To(Equal(pinnedTo("ann", "one")), "it is pinned before the box acts")
	g.Expect(p.engine.Plan("shop").Account).To(Equal(identity.Account{Namespace: "team", Name: "ann", UID: "one"}))
	g.Expect(<-p.events.Events).To(ContainSubstring("AccountPinned the box acts as ServiceAccount team/ann with UID one from now on"))
	p.serves(t, "shop")
	g.Expect(p.events.Events).NotTo(Receive(ContainSubstring("AccountPinned")), "it is said once")

	box.Spec.ServiceAccountRef, box.Generation = nil, 8
	g.Expect(p.kube.Update(t.Context(), box)).To(Succeed())
	box, _ = p.serves(t, "shop")
	g.Expect(box.Status.ServiceAccount).To(BeNil())
	g.Expect(p.engine.Plan("shop").Account).To(Equal(identity.Account{}))
}

func TestABoxWithoutItsAccountServesDeletionsAlone(t *testing.T) {
	g := NewWithT(t)
	p := newProcess(t, websites(), held(as(shop(websitesCRD), "ann")))
	p.accounts["ann"] = "one"
	p.serves(t, "shop")
	delete(p.accounts, "ann")
	box, _ := p.serves(t, "shop")
	plan := p.engine.Plan("shop")
	g.Expect(plan.CleanupOnly).To(BeTrue())
	g.Expect(plan.Account).To(Equal(identity.Account{}), "the manager deletes what is marked")
	g.Expect(plan.AccountProblem.Reason).To(Equal(v1alpha1.ReasonAccountMissing))
	g.Expect(condition(box, v1alpha1.ConditionPermissionsGranted)).To(HavePrefix("False AccountMissing: ServiceAccount team/ann does not exist"))
	g.Expect(condition(box, v1alpha1.ConditionReady)).To(HavePrefix("False AccountMissing: "))
	g.Expect(condition(box, v1alpha1.ConditionStalled)).To(HavePrefix("True AccountMissing: "))
	g.Expect(condition(box, v1alpha1.ConditionCompiled)).To(HavePrefix("True Compiled: "), "the spec is checked all the same")
	g.Expect(p.reports["shop"].Phase).To(Equal(health.Pending))
	g.Expect(box.Status.ServiceAccount).To(Equal(pinnedTo("ann", "one")), "it is known which one is missing")

	p.accounts["ann"] = "two"
	box, _ = p.serves(t, "shop")
	g.Expect(condition(box, v1alpha1.ConditionPermissionsGranted)).To(HavePrefix("False AccountChanged: "))
	g.Expect(p.engine.Plan("shop").AccountProblem.Reason).To(Equal(v1alpha1.ReasonAccountChanged))

	box.Annotations = map[string]string{v1alpha1.AnnotationConfirmAccount: "two"}
	g.Expect(p.kube.Update(t.Context(), box)).To(Succeed())
	box, _ = p.serves(t, "shop")
	g.Expect(box.Status.ServiceAccount).To(Equal(pinnedTo("ann", "two")))
	plan = p.engine.Plan("shop")
	g.Expect(plan.CleanupOnly).To(BeFalse())
	g.Expect(plan.AccountProblem).To(BeZero())
	g.Expect(plan.Account.UID).To(BeEquivalentTo("two"))
}

func TestAccountsThatBoxesMayNotUse(t *testing.T) {
	for name, tc := range map[string]struct {
		change   func(*v1alpha1.OperatorBox)
		demanded bool
		want     string
	}{
		"elsewhere": {
			change: func(b *v1alpha1.OperatorBox) { b.Spec.ServiceAccountRef.Namespace = "kube-system" },
			want:   `False AccountNotAllowed: spec.serviceAccountRef.namespace: wanted a namespace whose accounts boxes may use (team), found "kube-system": name an account there, or have the manager's flag --box-namespaces name this namespace`,
		},
		"none": {
			change: func(b *v1alpha1.OperatorBox) { b.Spec.ServiceAccountRef = nil }, demanded: true,
			want: "False AccountRequired: spec.serviceAccountRef: wanted a ServiceAccount, found none: the manager runs with --require-service-account, and no box may act as the manager",
		},
		"unreadable": {
			change: func(b *v1alpha1.OperatorBox) { b.Spec.ServiceAccountRef.Name = "eve" },
			want:   `False AccountUnknown: ServiceAccount team/eve can't be looked up: not read yet; the manager needs get, list and watch on serviceaccounts in namespace "team"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			box := held(as(shop(websitesCRD), "ann"))
			tc.change(box)
			p := newProcess(t, websites(), box)
			p.accounts["ann"], p.accounts["eve"], p.demanded = "one", "unreadable", tc.demanded
			p.restart()
			shown, _ := p.serves(t, "shop")
			g.Expect(condition(shown, v1alpha1.ConditionPermissionsGranted)).To(Equal(tc.want))
			g.Expect(shown.Status.ServiceAccount).To(BeNil())
			g.Expect(p.engine.Plan("shop").CleanupOnly).To(BeTrue())
		})
	}
}

func TestAFollowerPinsNothing(t *testing.T) {
	g := NewWithT(t)
	p := newProcess(t, websites(), held(as(shop(websitesCRD), "ann")))
	p.accounts["ann"], p.engine.follower = "one", true
	box, _ := p.serves(t, "shop")
	g.Expect(box.Status.ServiceAccount).To(BeNil())
	g.Expect(p.engine.Plan("shop").Account.UID).To(BeEquivalentTo("one"), "its caches are warm")
}

func TestAnAccountThatChangesQueuesItsBoxes(t *testing.T) {
	g := NewWithT(t)
	other := as(shop(othersCRD), "bob")
	other.Name = "other"
	without := shop(othersCRD)
	without.Name = "without"
	p := newProcess(t, as(shop(websitesCRD), "ann"), other, without)
	p.MarkUsers(t.Context(), "team", "ann")
	g.Expect(p.queue.marked).To(Equal([]string{"shop"}))
	p.queue.marked = nil
	p.MarkUsers(t.Context(), "team", "")
	g.Expect(p.queue.marked).To(ConsistOf("shop", "other"))
}
