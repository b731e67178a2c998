package manifests_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
)

// The API server serves requests for the lease first if they are the manager's own; other requests of the manager wait like everybody's.
func TestTheLeaseIsServedFirst(t *testing.T) {
	all := ways(t)
	all["chart with another account"] = helm(t, `serviceAccount.name="mine"`)
	for name, rendered := range all {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			deployment := only[appsv1.Deployment](t, rendered, "Deployment")
			schema := only[flowcontrolv1.FlowSchema](t, rendered, "FlowSchema")
			g.Expect(schema.Spec.PriorityLevelConfiguration.Name).To(Equal("leader-election"))
			g.Expect(schema.Spec.MatchingPrecedence).To(BeNumerically("<", 9000), "before service-accounts")
			g.Expect(schema.Spec.Rules).To(Equal([]flowcontrolv1.PolicyRulesWithSubjects{{
				Subjects: []flowcontrolv1.Subject{{Kind: flowcontrolv1.SubjectKindServiceAccount, ServiceAccount: &flowcontrolv1.ServiceAccountSubject{
					Name: deployment.Spec.Template.Spec.ServiceAccountName, Namespace: deployment.Namespace,
				}}},
				ResourceRules: []flowcontrolv1.ResourcePolicyRule{{
					APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update"},
					Namespaces: []string{deployment.Namespace},
				}},
			}}))
		})
	}
	for name, value := range map[string]string{"not wanted": "leaderElection.flowSchema=false", "no lease": "leaderElection.enabled=false"} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(helm(t, value).ofKind("FlowSchema")).To(BeEmpty())
		})
	}
}
