package operatorbox

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/identity"
)

// ann is how the API server knows the account of these tests.
const ann = "system:serviceaccount:team:ann "

func TestABoxWaitsForTheRightsOfItsAccount(t *testing.T) {
	g := NewWithT(t)
	p := newProcess(t, websites(), held(as(shop(websitesCRD), "ann")))
	p.accounts["ann"] = "one"
	p.denied[ann+"list "+websitesCRD], p.denied["watch "+websitesCRD] = true, true
	box, result := p.serves(t, "shop")
	g.Expect(p.engine.Plan("shop")).To(BeNil(), "nothing is begun")
	const missing = "ServiceAccount team/ann may not list " + websitesCRD + `; what stands without a namespace is missing in all of them, and spec.namespaces.include limits the box to those that it names; show what grants it with "kubectl get operatorbox shop -o yaml | orkestra rbac -f - --cluster", read that, and apply it; ` +
		"the manager may not watch " + websitesCRD + `; grant it with a ClusterRole labeled orkestra.orkspace.io/aggregate-to-manager: "true"`
	g.Expect(condition(box, v1alpha1.ConditionPermissionsGranted)).To(Equal("False Forbidden: " + missing))
	g.Expect(condition(box, v1alpha1.ConditionReady)).To(Equal("False Forbidden: " + missing))
	g.Expect(box.Status.RequiredRules).NotTo(BeEmpty(), "people read what is needed while it is missing")
	g.Expect(result.RequeueAfter).To(Equal(access.RetryInterval))

	clear(p.denied)
	box, _ = p.serves(t, "shop")
	g.Expect(condition(box, v1alpha1.ConditionPermissionsGranted)).To(Equal("True Granted: no right is missing"))
	g.Expect(p.engine.Plan("shop").CleanupOnly).To(BeFalse())
}

// TestTheAdviceIsForTheBox: one without an account is to get one, and the account of another is listed where the manager may act as accounts.
func TestTheAdviceIsForTheBox(t *testing.T) {
	g := NewWithT(t)
	p := newProcess(t, websites(), held(shop(websitesCRD)))
	p.denied["patch "+websitesCRD] = true
	box, _ := p.serves(t, "shop")
	g.Expect(condition(box, v1alpha1.ConditionPermissionsGranted)).To(HavePrefix(
		"False Forbidden: the manager may not patch " + websitesCRD + "; name an account for the box in spec.serviceAccountRef: "))

	limited := held(as(shop(websitesCRD), "ann"))
	limited.Spec.Namespaces.Include = []v1alpha1.ShortString{"team"}
	p = newProcess(t, websites(), limited)
	p.accounts["ann"] = "one"
	p.denied[ann+"list "+websitesCRD], p.denied[`impersonate serviceaccounts "ann"`] = true, true
	box, _ = p.serves(t, "shop")
	g.Expect(condition(box, v1alpha1.ConditionPermissionsGranted)).To(And(
		HavePrefix(`False Forbidden: ServiceAccount team/ann may not list `+websitesCRD+` in namespace "team"; show what grants it`),
		ContainSubstring(`the manager may not impersonate serviceaccounts "ann" in namespace "team"; list the account in the chart's trust.boxNamespaces ({name: team, accounts: [ann]})`),
		Not(ContainSubstring("aggregate-to-manager"))))
}

// What a template decides is missed by a box that runs.
func TestRightsThatAreMissedWhileABoxRuns(t *testing.T) {
	g := NewWithT(t)
	p := newProcess(t, websites(), held(as(shop(websitesCRD), "ann")))
	p.accounts["ann"] = "one"
	p.engine.withheld = []access.Right{{Verb: "get", Resource: "secrets", Namespace: "team", Name: "x"}}
	box, _ := p.serves(t, "shop")
	g.Expect(condition(box, v1alpha1.ConditionPermissionsGranted)).To(Equal(
		`False Forbidden: ServiceAccount team/ann may not get secrets "x" in namespace "team"; show what grants it with "kubectl get operatorbox shop -o yaml | orkestra rbac -f - --cluster", read that, and apply it; what reads it waits, and stays as it is`))
	g.Expect(p.engine.Plan("shop").CleanupOnly).To(BeFalse(), "all else goes on")
	p.engine.withheld = nil
	box, _ = p.serves(t, "shop")
	g.Expect(condition(box, v1alpha1.ConditionPermissionsGranted)).To(HavePrefix("True Granted"))
}

func TestNoCRDIsInstalledByAnAccountThatLacksARight(t *testing.T) {
	g := NewWithT(t)
	p := newProcess(t, held(as(defining(definition), "ann")))
	p.accounts["ann"] = "one"
	p.denied[ann+`create customresourcedefinitions.apiextensions.k8s.io "`+websitesCRD+`"`] = true
	box, result := p.serves(t, "shop")
	g.Expect(p.acted).To(BeEmpty(), "nothing is written")
	g.Expect(condition(box, v1alpha1.ConditionPermissionsGranted)).To(HavePrefix(
		`False Forbidden: ServiceAccount team/ann may not create customresourcedefinitions.apiextensions.k8s.io "` + websitesCRD + `"`))
	g.Expect(condition(box, v1alpha1.ConditionReady)).To(HavePrefix("False Forbidden: "))
	g.Expect(result.RequeueAfter).To(Equal(access.RetryInterval))
	clear(p.denied)
	p.serves(t, "shop")
	g.Expect(p.acted).NotTo(BeEmpty())
}

// A change of rights concerns the boxes that show that something is missing, and no others.
func TestRightsThatChangeQueueTheBoxesThatWait(t *testing.T) {
	g := NewWithT(t)
	var objects []client.Object
	box := func(name, kind string, status metav1.ConditionStatus) {
		b := shop(websitesCRD)
		b.Name = name
		b.Status.Conditions = []metav1.Condition{
			{Type: v1alpha1.ConditionCompiled, Status: metav1.ConditionFalse}, {Type: kind, Status: status},
		}
		objects = append(objects, b)
	}
	box("runs", v1alpha1.ConditionReady, metav1.ConditionTrue)
	box("begins", v1alpha1.ConditionReady, metav1.ConditionUnknown)
	box("waits", v1alpha1.ConditionReady, metav1.ConditionFalse)
	box("reads", v1alpha1.ConditionPermissionsGranted, metav1.ConditionFalse)
	box("enforces", v1alpha1.ConditionAdmissionEnforced, metav1.ConditionFalse)
	p := newProcess(t, objects...)
	p.MarkWaiting(t.Context())
	g.Expect(p.queue.marked).To(ConsistOf("waits", "reads", "enforces"))
}

// TestSecretsThatAHookReadsAreGrantedByHand: no rule of the box names them, so that what prints the rules can't be the help.
func TestSecretsThatAHookReadsAreGrantedByHand(t *testing.T) {
	account := identity.Account{Namespace: "team", Name: "shop"}
	for name, tc := range map[string]struct {
		reconciler *v1alpha1.ReconcilerSpec
		resource   string
		want       string
	}{
		"no code":       {nil, "secrets", "orkestra rbac"},
		"a hook":        {&v1alpha1.ReconcilerSpec{Hooks: &v1alpha1.HookSpec{}}, "secrets", "; which Secrets its hook reads is in no rule of the box: grant it to the account yourself, best by resourceNames"},
		"another right": {&v1alpha1.ReconcilerSpec{Hooks: &v1alpha1.HookSpec{}}, "configmaps", "orkestra rbac"},
		"a webhook":     {&v1alpha1.ReconcilerSpec{Hooks: &v1alpha1.HookSpec{Webhook: &v1alpha1.HookWebhook{}}}, "secrets", "orkestra rbac"},
		"a constructor": {&v1alpha1.ReconcilerSpec{Constructor: &v1alpha1.GoFunction{}}, "secrets", "orkestra rbac"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScope(&v1alpha1.OperatorBox{Spec: v1alpha1.OperatorBoxSpec{Reconciler: tc.reconciler}})
			s.withheld = access.Missing{Account: account, Rights: []access.Right{{Verb: "get", Resource: tc.resource, Namespace: "team", Name: "login"}}}
			NewWithT(t).Expect(s.grant()).To(And(HavePrefix(`ServiceAccount team/shop may not get `+tc.resource+` "login" in namespace "team"`), ContainSubstring(tc.want)))
		})
	}
}
