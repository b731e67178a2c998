package e2e_test

import (
	"bytes"
	"context"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/status"
	"github.com/orkspace/orkestra/cmd/orkestra/tree"
	"github.com/orkspace/orkestra/controllers/drain"
)

// asks runs a command with the rights of a kubeconfig, and gives what it prints.
func (w *world) asks(ctx context.Context, command *cobra.Command, kubeconfig string, args ...string) (stdout string, code int) {
	GinkgoHelper()
	root := &cobra.Command{Use: "orkestra", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(command)
	var out, notes bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&notes)
	code = exit.Run(ctx, root, append([]string{command.Name(), "--kubeconfig", kubeconfig, "-n", w.namespace}, args...))
	GinkgoWriter.Println(out.String() + notes.String())
	return out.String() + notes.String(), code
}

// status asks for a resource with all rights.
func (w *world) status(ctx context.Context, args ...string) (stdout string, code int) {
	GinkgoHelper()
	return w.asks(ctx, status.NewCommand(time.Now), cluster.Kubeconfig(), append([]string{"--manager-namespace", ownNamespace}, args...)...)
}

// kubeconfigOf gives an account these rights in the world's namespace, and to see boxes and CRDs, and writes its kubeconfig.
func (w *world) kubeconfigOf(ctx context.Context, account string, rules ...rbacv1.PolicyRule) string {
	GinkgoHelper()
	meta := metav1.ObjectMeta{Namespace: w.namespace, Name: account}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: account}}
	everywhere := metav1.ObjectMeta{Name: w.id + "-" + account}
	for _, obj := range []client.Object{
		&rbacv1.Role{ObjectMeta: meta, Rules: rules},
		&rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: account}, Subjects: subjects},
		&rbacv1.ClusterRole{ObjectMeta: everywhere, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{v1alpha1.GroupName}, Resources: []string{"operatorboxes"}, Verbs: []string{"get", "list"}},
			{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: []string{"get"}},
		}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: everywhere, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: everywhere.Name}, Subjects: subjects},
	} {
		Expect(kube.Create(ctx, obj)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, obj))).To(Succeed()) })
	}
	server := cluster.Config()
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: server.Host, CertificateAuthority: server.CAFile, CertificateAuthorityData: server.CAData}
	config.AuthInfos[account] = &clientcmdapi.AuthInfo{Token: w.tokenOf(ctx, account)}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: account}
	config.CurrentContext = "test"
	file := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(clientcmd.WriteToFile(*config, file)).To(Succeed())
	return file
}

var _ = Describe("orkestra status and orkestra tree", func() {
	It("say which child failed and what each declaration waits for, to those who may not read Secrets too", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.box(ctx, `
resync: 24h
onReconcile:
  jobs: [{id: migrate, name: "{{ .metadata.name }}-migrate", image: "busybox:1", `+failing+`}]
  configmaps: [{id: page, name: "{{ .metadata.name }}-page", data: {a: b}, when: [{field: children.web.status.readyReplicas, greaterThanOrEqual: 3}]}]
  secrets: [{id: token, name: "{{ .metadata.name }}-token", data: {token: hunter2}}]
  deployments: [{id: web, image: "nginx:1", replicas: 1}]
`)
		w.running(ctx, name)
		w.website(ctx, "web", `{}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonChildFailed, `Job "web-migrate": DeadlineExceeded`)
		Eventually(func(g Gomega) {
			out, code := w.status(ctx, "website."+w.group+"/web")
			g.Expect(code).To(Equal(exit.No))
			g.Expect(out).To(And(
				HavePrefix(`Website `+w.namespace+`/web is not ready: ChildFailed: Job "web-migrate": DeadlineExceeded: `),
				MatchRegexp(`(?m)^migrate +Job/web-migrate +Failed +open +\S+ +DeadlineExceeded: `),
				MatchRegexp(`(?m)^page +- +Waiting +closed +- +children\.web\.status\.readyReplicas: wanted at least 3, actual 1$`),
				MatchRegexp(`(?m)^token +Secret/web-token +Ready +open `), MatchRegexp(`(?m)^web +Deployment/web +Ready +open `)))
		}).WithContext(ctx).Should(Succeed())

		out, code := w.asks(ctx, tree.NewCommand(time.Now), cluster.Kubeconfig(), "websites."+w.group+"/web")
		Expect(code).To(Equal(exit.No))
		Expect(out).To(MatchRegexp(`(?s)Deployment/web +True .*ReplicaSet/web-\S+ +True .*Pod/web-\S+ +True `))

		By("asking with fewer rights")
		developer := w.kubeconfigOf(ctx, "developer",
			rbacv1.PolicyRule{APIGroups: []string{w.group, "apps", "batch"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}},
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list"}})
		Eventually(func(g Gomega) { // of a right that was just given, the API server may not know yet
			out, code := w.asks(ctx, status.NewCommand(time.Now), developer, "websites."+w.group+"/web")
			g.Expect(code).To(Equal(exit.No))
			g.Expect(out).To(And(
				MatchRegexp(`(?m)^Children of kind Secret are not known: secrets is forbidden: User "system:serviceaccount:`+w.namespace+`:developer" cannot list`),
				MatchRegexp(`(?m)^Whether a manager is at work is not known: leases\.coordination\.k8s\.io "orkestra-leader" is forbidden: `),
				MatchRegexp(`(?m)^token +- +Unknown +open +- +you may not read objects of this kind$`), MatchRegexp(`(?m)^migrate +Job/web-migrate +Failed `)))
		}).WithContext(ctx).Should(Succeed())
	})

	It("work while no manager does, say so, and show the revision that ran", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.box(ctx, oneMap(3, "good"))
		w.running(ctx, name)
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		ran := getBox(ctx, Default, name).Status.Revision
		_, code := w.status(ctx, "websites."+w.group+"/web")
		Expect(code).To(BeZero())

		By("editing the box so that it does not compile")
		w.box(ctx, `{onReconcile: {configmaps: [{nonsense: true}]}}`)
		Eventually(func(g Gomega) {
			g.Expect(boxCondition(getBox(ctx, g, name), v1alpha1.ConditionReady)).To(HaveField("Status", metav1.ConditionFalse))
		}).WithContext(ctx).Should(Succeed())
		out, code := w.status(ctx, "websites."+w.group+"/web")
		Expect(code).To(BeZero(), "what ran before goes on")
		Expect(out).To(And(ContainSubstring("Box: "+name+", revision "+ran+"\n"), ContainSubstring("OperatorBox \""+name+"\" is not ready: CompileFailed: "), MatchRegexp(`ConfigMap/web +Ready `)))

		By("stopping the manager")
		manager.stop()
		DeferCleanup(func() { manager = startManager(cluster.Config()) })
		renewed := metav1.NewMicroTime(time.Now().Add(-time.Hour))
		Expect(kube.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: drain.LeaseName}, Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("manager-1"), LeaseDurationSeconds: new(int32(15)), RenewTime: &renewed}})).To(Succeed())
		w.box(ctx, oneMap(3, "good"))
		Expect(kube.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"}})).To(Succeed())
		out, code = w.asks(ctx, status.NewCommand(time.Now), cluster.Kubeconfig(), "websites."+w.group+"/web", "--manager-namespace", w.namespace)
		Expect(code).To(BeZero(), "its status says that it is ready")
		Expect(out).To(And(
			MatchRegexp(`(?m)^No manager is at work: manager-1 has not renewed Lease "`+w.namespace+`/orkestra-leader" for 60m\. What statuses say is as old as that$`),
			MatchRegexp(`(?m) Missing +open +- +nothing keeps it from being made, and there is no ConfigMap "web"$`)))
	})
})
