package manifests_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/orkspace/orkestra/engine/external"
)

// The manager reads exactly what the values say, and starts anew when they change.
func TestChartMakesTheEgressRules(t *testing.T) {
	g := NewWithT(t)
	values := []string{
		`trust.egress.allow.accounts={"team-a/shop": ["quota.internal:8443", "10.0.0.0/8"]}`, `trust.egress.allow.boxes={"billing": ["10.1.0.0/16"]}`,
		`trust.egress.only.boxes={"billing": ["example.com"]}`,
	}
	rendered := helm(t, values...)
	file := only[corev1.ConfigMap](t, rendered, "ConfigMap")
	rules, err := external.ParseEgressRules([]byte(file.Data["rules.yaml"]))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(rules).To(Equal(external.EgressRules{
		Allow: external.EgressLists{
			Boxes: map[string][]string{"billing": {"10.1.0.0/16"}}, Accounts: map[string][]string{"team-a/shop": {"quota.internal:8443", "10.0.0.0/8"}},
		},
		Only: external.EgressLists{Boxes: map[string][]string{"billing": {"example.com"}}},
	}))
	pod := only[appsv1.Deployment](t, rendered, "Deployment").Spec.Template
	g.Expect(pod.Spec.Volumes).To(ConsistOf(HaveField("ConfigMap.Name", file.Name)))
	g.Expect(pod.Spec.Containers[0].VolumeMounts).To(ConsistOf(And(HaveField("MountPath", "/etc/orkestra/egress"), HaveField("Name", pod.Spec.Volumes[0].Name))))

	const checksum = "checksum/egress-rules"
	of := func(values ...string) string {
		return only[appsv1.Deployment](t, helm(t, values...), "Deployment").Spec.Template.Annotations[checksum]
	}
	g.Expect(of(values...)).To(HaveLen(64))
	g.Expect(of(values[:2]...)).NotTo(Equal(of(values...)))
	g.Expect(of()).To(BeEmpty())

	both := only[appsv1.Deployment](t, helm(t, append(values, `metrics.certSecret="x"`)...), "Deployment").Spec.Template.Spec
	g.Expect(both.Volumes).To(HaveLen(2))
	g.Expect(both.Containers[0].VolumeMounts).To(HaveLen(2))
}
