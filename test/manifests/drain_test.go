package manifests_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/controllers/drain"
)

func TestDrainHook(t *testing.T) {
	own := []string{
		"ClusterRole/orkestra-drain", "ClusterRoleBinding/orkestra-drain", "Job/orkestra-drain", "Role/orkestra-drain", "RoleBinding/orkestra-drain",
		"ServiceAccount/orkestra-drain",
	}
	for name, c := range map[string]struct {
		values  []string
		want    []string
		account string
	}{
		"default":                    {want: own, account: "orkestra-drain"},
		"everything":                 {values: everything, want: own, account: "orkestra-drain"},
		"without roles of the chart": {values: []string{"rbac.create=false"}, want: []string{"Job/orkestra-drain"}, account: "orkestra"},
		"with an account of a person": {
			values: []string{"serviceAccount.create=false", `serviceAccount.name="mine"`}, want: []string{"Job/orkestra-drain"}, account: "mine",
		},
		"off":               {values: []string{"drain.enabled=false"}},
		"without a manager": {values: []string{"replicaCount=0"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			rendered, hooks := helmAll(t, c.values...)
			g.Expect(hooks.names()).To(Equal(c.want))
			for _, object := range hooks {
				g.Expect(object.GetAnnotations()).To(HaveKeyWithValue("helm.sh/hook", "pre-delete"))
				g.Expect(object.GetAnnotations()).To(HaveKeyWithValue("helm.sh/hook-delete-policy", "before-hook-creation,hook-succeeded"))
				for _, label := range standardLabels {
					g.Expect(object.GetLabels()).To(HaveKey(label), "%s/%s", object.GetKind(), object.GetName())
				}
			}
			if len(c.want) == 0 {
				return
			}
			job := only[batchv1.Job](t, hooks, "Job")
			pod := job.Spec.Template.Spec
			g.Expect(pod.ServiceAccountName).To(Equal(c.account))
			manager := only[appsv1.Deployment](t, rendered, "Deployment").Spec.Template.Spec
			g.Expect(pod.SecurityContext).To(Equal(manager.SecurityContext))
			g.Expect(pod.Containers[0].SecurityContext).To(Equal(manager.Containers[0].SecurityContext))
			g.Expect(pod.Containers[0].Image).To(Equal(manager.Containers[0].Image))
			g.Expect(pod.Containers[0].Env).To(Equal(manager.Containers[0].Env[:1]), "it drains the manager of its own namespace")
			g.Expect(pod.RestartPolicy).To(Equal(corev1.RestartPolicyNever))
		})
	}
}

func TestDrainHookComesInOrder(t *testing.T) {
	g := NewWithT(t)
	_, hooks := helmAll(t)
	weights := map[string]int{}
	for _, object := range hooks {
		weight, err := strconv.Atoi(object.GetAnnotations()["helm.sh/hook-weight"])
		g.Expect(err).NotTo(HaveOccurred())
		weights[object.GetKind()] = weight
	}
	for _, kind := range []string{"ClusterRole", "Role", "ServiceAccount"} {
		g.Expect(weights[kind]).To(BeNumerically("<", weights["RoleBinding"]), kind)
	}
	g.Expect(weights["ClusterRoleBinding"]).To(Equal(weights["RoleBinding"]))
	g.Expect(weights["RoleBinding"]).To(BeNumerically("<", weights["Job"]))
}

// TestDrainHookMayDoLittle checks that the hook has the rights that a drain needs, and no more.
func TestDrainHookMayDoLittle(t *testing.T) {
	g := NewWithT(t)
	_, hooks := helmAll(t)
	expectBound(t, hooks)
	all := roles(t, hooks)
	g.Expect(all["ClusterRole/orkestra-drain"].rules).To(ConsistOf(rbacv1.PolicyRule{
		APIGroups: []string{"orkestra.orkspace.io"}, Resources: []string{"operatorboxes"}, Verbs: []string{"get", "list", "watch"},
	}))
	g.Expect(all["Role/orkestra-drain"].rules).To(ConsistOf(
		rbacv1.PolicyRule{
			APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: []string{drain.LeaseName},
			Verbs: []string{"get", "list", "watch", "patch"},
		},
		rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create"}},
	))
}

func TestDrainHookIsNoManager(t *testing.T) {
	g := NewWithT(t)
	rendered, hooks := helmAll(t, everything...)
	pod := only[batchv1.Job](t, hooks, "Job").Spec.Template.Labels
	for kind, selector := range map[string]metav1.LabelSelector{
		"Deployment":          *only[appsv1.Deployment](t, rendered, "Deployment").Spec.Selector,
		"Service":             {MatchLabels: service(t, rendered, "orkestra-metrics").Spec.Selector},
		"Service of the page": {MatchLabels: service(t, rendered, "orkestra-web").Spec.Selector},
		"PodDisruptionBudget": *only[policyv1.PodDisruptionBudget](t, rendered, "PodDisruptionBudget").Spec.Selector,
		"NetworkPolicy":       only[networkingv1.NetworkPolicy](t, rendered, "NetworkPolicy").Spec.PodSelector,
	} {
		g.Expect(matches(t, selector, pod)).To(BeFalse(), kind)
	}
}

func TestDrainHookFlagsExist(t *testing.T) {
	g := NewWithT(t)
	help, err := run(t, "orkestra", "drain", "--help")
	g.Expect(err).NotTo(HaveOccurred())
	_, hooks := helmAll(t, `drain.timeout="90s"`)
	args := only[batchv1.Job](t, hooks, "Job").Spec.Template.Spec.Containers[0].Args
	g.Expect(args).To(Equal([]string{"drain", "--timeout=90s"}))
	for _, arg := range args[1:] {
		name, _, _ := strings.Cut(arg, "=")
		g.Expect(string(help)).To(MatchRegexp(`(?m)^\s+` + name + `\b`))
	}
	_, err = helmTemplate(t, `drain.timeout="soon"`)
	g.Expect(err).To(MatchError(ContainSubstring("/drain/timeout")))
	g.Expect(slices.Contains(args, "--force")).To(BeFalse())
}
