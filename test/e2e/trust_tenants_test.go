package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// The YAML blocks of the page on tenants that are applied, by their places on it.
const (
	tenantsValues = iota
	tenantsCRD
	tenantsPlatform
	tenantsBox
	tenantsResource
	tenantsGitOps
)

// pageAs runs kubectl as somebody on the page's team, or as the administrator where no flags say as whom.
type pageAs struct {
	folder string
	flags  []string
}

// file writes a manifest and gives its name.
func (p pageAs) file(name, text string) string {
	GinkgoHelper()
	path := filepath.Join(p.folder, name+".yaml")
	Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
	return path
}

// try runs kubectl.
func (p pageAs) try(ctx context.Context, args ...string) (string, error) {
	return cluster.Kubectl(ctx, append(append([]string{}, args...), p.flags...)...)
}

// kubectl runs kubectl, which has to succeed.
func (p pageAs) kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	out, err := p.try(ctx, args...)
	Expect(err).NotTo(HaveOccurred(), out)
	return out
}

// applied applies a manifest as soon as the rights that were given for it count.
func (p pageAs) applied(ctx context.Context, file string, flags ...string) {
	GinkgoHelper()
	Eventually(func() error {
		_, err := p.try(ctx, append([]string{"apply", "-f", file}, flags...)...)
		return err
	}).WithContext(ctx).Should(Succeed())
}

// tenantsReads are the messages of policies that the page shows, in their order.
func tenantsReads() []string {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "how-to", "tenants.md"))
	Expect(err).NotTo(HaveOccurred())
	var out []string
	for _, row := range regexp.MustCompile("(?m)^\\| a box .* \\| `(.*)` \\|$").FindAllStringSubmatch(string(text), -1) {
		out = append(out, row[1])
	}
	return out
}

var _ = Describe("The page on tenants", Ordered, ContinueOnFailure, func() {
	var admin, ada, flux pageAs
	var box, resource string
	BeforeAll(func(ctx context.Context) {
		admin = pageAs{folder: GinkgoT().TempDir()}
		ada = pageAs{folder: admin.folder, flags: []string{"--as=ada", "--as-group=team-a"}}
		flux = pageAs{folder: admin.folder, flags: []string{"--as=system:serviceaccount:team-a-gitops:gitops"}}
		box, resource = admin.file("box", example("tenants.md", tenantsBox)), admin.file("site", example("tenants.md", tenantsResource))
		platform := []string{
			admin.file("crd", example("tenants.md", tenantsCRD)), admin.file("platform", example("tenants.md", tenantsPlatform)),
		}
		DeferCleanup(func(ctx context.Context) {
			for _, file := range platform {
				admin.kubectl(ctx, "delete", "--ignore-not-found", "-f", file)
			}
		})
		for _, file := range platform {
			admin.kubectl(ctx, "apply", "-f", file)
		}
		chartRights(ctx, "--values", admin.file("values", example("tenants.md", tenantsValues)))
		replaceManager(asChart, func(s *settings) {
			s.orkestra.RequireServiceAccount, s.orkestra.BoxNamespaces = true, []string{"team-a"}
		})
		admin.kubectl(ctx, "wait", "crd/sites.team-a.example.com", "--for=condition=Established", "--timeout=60s")
	})
	AfterEach(func(ctx context.Context) {
		admin.kubectl(ctx, "delete", "--ignore-not-found", "--timeout=60s", "-f", resource, "-f", box)
	})

	It("has a team run an operator of its own, by what the page grants", func(ctx context.Context) {
		ada.applied(ctx, box)
		ada.kubectl(ctx, "wait", "operatorbox/team-a-site", "--for=condition=Ready", "--timeout=60s")
		ada.kubectl(ctx, "apply", "-f", resource)
		ada.kubectl(ctx, "wait", "site/hello", "-n", "team-a", "--for=condition=Ready", "--timeout=60s")
		Expect(ada.kubectl(ctx, "get", "operatorbox", "team-a-site", "-o", "jsonpath={.status.serviceAccount.name}")).To(Equal("site-operator"))
		Expect(admin.kubectl(ctx, "get", "configmap", "hello", "-n", "team-a", "-o", "jsonpath={.data.index\\.html}")).To(Equal("welcome"))
		for _, child := range []string{"deployment/hello", "service/hello"} {
			admin.kubectl(ctx, "get", child, "-n", "team-a")
		}

		By("a change, and the end of both")
		ada.kubectl(ctx, "patch", "site", "hello", "-n", "team-a", "--type=merge", "-p", `{"spec":{"text":"welcome back"}}`)
		Eventually(func(g Gomega) {
			out, err := admin.try(ctx, "get", "configmap", "hello", "-n", "team-a", "-o", "jsonpath={.data.index\\.html}")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(out).To(Equal("welcome back"))
		}).WithContext(ctx).Should(Succeed())
		ada.kubectl(ctx, "delete", "-f", resource, "-f", box)
	})

	It("says that an account of the namespace is not for boxes, where the values of the chart name others", func(ctx context.Context) {
		admin.kubectl(ctx, "create", "serviceaccount", "other", "-n", "team-a")
		DeferCleanup(func(ctx context.Context) { admin.kubectl(ctx, "delete", "serviceaccount", "other", "-n", "team-a") })
		text := example("tenants.md", tenantsBox)
		admin.applied(ctx, admin.file("other", strings.Replace(text, "name: site-operator", "name: other", 1)))
		boxShows(ctx, "team-a-site", v1alpha1.ConditionPermissionsGranted, metav1.ConditionFalse, v1alpha1.ReasonForbidden,
			`the manager may not impersonate serviceaccounts "other" in namespace "team-a"; list the account in the chart's trust.boxNamespaces ({name: team-a, accounts: [other]})`)
	})

	It("says what the team reads where it tries more", func(ctx context.Context) {
		ada.applied(ctx, box)
		text := example("tenants.md", tenantsBox)
		changed := func(name, from, to string) string {
			GinkgoHelper()
			Expect(text).To(ContainSubstring(from))
			return ada.file(name, strings.NewReplacer(from, to, "name: team-a-site", "name: team-a-more").Replace(text))
		}
		const account = "serviceAccountRef: {name: site-operator, namespace: team-a}"
		more := admin.file("more", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: team-a-more}\nrules:\n"+
			"- {apiGroups: [orkestra.orkspace.io], resources: [operatorboxes], resourceNames: [team-a-more], verbs: [update]}\n---\n"+
			"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: team-a-more}\n"+
			"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: team-a-more}\n"+
			"subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: team-a}]\n")
		admin.kubectl(ctx, "apply", "-f", more)
		DeferCleanup(func(ctx context.Context) { admin.kubectl(ctx, "delete", "-f", more) })
		reads := tenantsReads()
		Expect(reads).To(HaveLen(4))
		for i, file := range []string{
			changed("manager", account, "workers: 1"),
			changed("another", account, "serviceAccountRef: {name: orkestra, namespace: orkestra-system}"),
			changed("name", "name: team-a-site", "name: team-b-site"),
			changed("kind", "sites.team-a.example.com", "secrets.example.com"),
		} {
			Eventually(func() error {
				_, err := ada.try(ctx, "create", "-f", file)
				return err
			}).WithContext(ctx).Should(MatchError(ContainSubstring(reads[i])), "the role counts when the API server has seen it")
		}

		By("a child where the account may not write")
		ada.kubectl(ctx, "apply", "-f", ada.file("far", strings.Replace(text, "- data: {index.html", "- namespace: kube-public\n      data: {index.html", 1)))
		ada.kubectl(ctx, "apply", "-f", resource)
		Eventually(func(g Gomega) {
			conditions, err := ada.try(ctx, "get", "-o", "jsonpath={.status.conditions}", "operatorbox/team-a-site")
			g.Expect(err).NotTo(HaveOccurred())
			ofResource, err := ada.try(ctx, "get", "-o", "jsonpath={.status.conditions}", "site/hello", "-n", "team-a")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(conditions + ofResource).To(And(ContainSubstring("site-operator"), ContainSubstring("configmaps"), ContainSubstring("kube-public")))
		}).WithContext(ctx).Should(Succeed())
		_, err := admin.try(ctx, "get", "configmap", "hello", "-n", "kube-public")
		Expect(err).To(MatchError(ContainSubstring("NotFound")))
	})

	It("shows a team nothing of another one", func(ctx context.Context) {
		theirs := admin.file("theirs", "apiVersion: orkestra.orkspace.io/v1alpha1\nkind: OperatorBox\nmetadata: {name: team-b-site}\n"+
			"spec: {suspend: true, crd: {name: sites.team-b.example.com}}\n")
		admin.kubectl(ctx, "apply", "-f", theirs)
		DeferCleanup(func(ctx context.Context) { admin.kubectl(ctx, "delete", "-f", theirs) })
		Eventually(admin.try).WithContext(ctx).WithArguments("get", "crdhealth", "team-b-site").Should(ContainSubstring("sites.team-b.example.com"))
		spy := ada.file("spy", "apiVersion: orkestra.orkspace.io/v1alpha1\nkind: CRDHealth\nmetadata: {name: team-a-spy}\n"+
			"spec: {crd: {name: sites.team-b.example.com}, healthyWhen: [{field: spec.text, equals: guess}]}\n")
		for _, words := range [][]string{
			{"get", "operatorboxes"}, {"get", "operatorbox", "team-b-site"}, {"get", "crdhealths"}, {"get", "crdhealth", "team-b-site"},
			{"label", "operatorbox", "team-b-site", "team=a"}, {"create", "-f", spy},
		} {
			_, err := ada.try(ctx, words...)
			Expect(err).To(MatchError(ContainSubstring("(Forbidden)")), "%v", words)
		}

		By("while its own are shown")
		ada.applied(ctx, box)
		ada.kubectl(ctx, "wait", "operatorbox/team-a-site", "--for=condition=Ready", "--timeout=60s")
		ada.kubectl(ctx, "wait", "crdhealth/team-a-site", "--for=condition=Healthy", "--timeout=60s")
	})

	It("runs the commands that the page says, and no others", func(ctx context.Context) {
		ada.applied(ctx, box)
		ada.kubectl(ctx, "wait", "operatorbox/team-a-site", "--for=condition=Ready", "--timeout=60s")
		ada.kubectl(ctx, "apply", "-f", resource)
		ada.kubectl(ctx, "wait", "site/hello", "-n", "team-a", "--for=condition=Ready", "--timeout=60s")
		login := loginAs(ada.folder, "ada", "team-a")
		for _, command := range []string{
			"status site/hello -n team-a", "tree site/hello -n team-a", "events site/hello -n team-a", "wait site/hello -n team-a", "wait team-a-site",
			"reconcile site/hello -n team-a", "pause site/hello -n team-a", "resume site/hello -n team-a", "suspend team-a-site", "resume team-a-site",
			"validate --cluster -f " + box, "render --cluster -f " + box + " --resource " + resource,
		} {
			out, code := orkestraAs(ctx, login, strings.Fields(command)...)
			Expect(code).To(BeZero(), "%s: %s", command, out)
		}
		for command, lacking := range map[string]string{
			"get": "crdhealths", "get sites -n team-a": "operatorboxes", "tree": "operatorboxes", "audit": "operatorboxes",
			"revisions team-a-site": "controllerrevisions", "rollback team-a-site": "controllerrevisions",
			"events team-a-site": "events", "rbac --cluster -f " + box: "subjectaccessreviews",
		} {
			out, code := orkestraAs(ctx, login, strings.Fields(command)...)
			Expect(code).To(Equal(1), "%s: %s", command, out)
			Expect(out).To(MatchRegexp(`User "ada" cannot (list|create) resource "`+lacking+`"`), command)
		}
	})

	It("takes no name of another team", func(ctx context.Context) {
		taken := ada.file("taken", strings.Replace(example("tenants.md", tenantsBox), "name: team-a-site", "name: team-b-site", 1))
		DeferCleanup(func(ctx context.Context) { admin.kubectl(ctx, "delete", "--ignore-not-found", "-f", taken) })
		_, err := ada.try(ctx, "create", "-f", taken)
		Expect(err).To(MatchError(ContainSubstring("box-account: ada may make boxes, and not one named team-b-site: bind a ClusterRole with the verb update on operatorboxes of orkestra.orkspace.io")))
		for _, how := range [][]string{{"apply", "-f", taken}, {"apply", "--server-side", "-f", taken}} { // these ask for the box of that name first
			_, err := ada.try(ctx, how...)
			Expect(err).To(MatchError(ContainSubstring("(Forbidden)")))
		}
	})

	It("tells in dependsOn in which state a box of any name is", func(ctx context.Context) {
		theirs := admin.file("theirs", "apiVersion: orkestra.orkspace.io/v1alpha1\nkind: OperatorBox\nmetadata: {name: team-b-site}\n"+
			"spec: {suspend: true, crd: {name: sites.team-b.example.com}}\n")
		text := example("tenants.md", tenantsBox)
		ada.applied(ctx, ada.file("depends", strings.Replace(text, "\nspec:\n", "\nspec:\n  dependsOn: [{name: team-b-site, condition: Healthy}]\n", 1)))
		ada.kubectl(ctx, "apply", "-f", resource)
		shows := func(message string) {
			GinkgoHelper()
			Eventually(ada.try).WithContext(ctx).WithArguments("get", "site", "hello", "-n", "team-a", "-o", "jsonpath={.status.conditions}").Should(ContainSubstring(message))
		}
		shows(`there is no box or CRDHealth \"team-b-site\" yet`)
		admin.kubectl(ctx, "apply", "-f", theirs)
		DeferCleanup(func(ctx context.Context) { admin.kubectl(ctx, "delete", "-f", theirs) })
		shows(`box \"team-b-site\" is Pending, wanted Healthy`)
	})

	It("has a GitOps tool do the same by the account of the team", func(ctx context.Context) {
		server := []string{"--server-side", "--field-manager=kustomize-controller"}
		_, err := flux.try(ctx, append([]string{"apply", "-f", box}, server...)...)
		Expect(err).To(MatchError(ContainSubstring("cannot patch resource")), "without the rights of the page")
		rights := admin.file("gitops", example("tenants.md", tenantsGitOps))
		admin.kubectl(ctx, "apply", "-f", rights)
		DeferCleanup(func(ctx context.Context) { admin.kubectl(ctx, "delete", "--ignore-not-found", "-f", rights) })
		flux.applied(ctx, box, server...)
		flux.applied(ctx, resource, server...)
		flux.kubectl(ctx, "wait", "operatorbox/team-a-site", "--for=condition=Ready", "--timeout=60s")
		flux.kubectl(ctx, "wait", "site/hello", "-n", "team-a", "--for=condition=Ready", "--timeout=60s")
		flux.kubectl(ctx, "delete", "-f", resource, "-f", box)
	})

	// The last one: the team is gone then.
	It("has a team removed in the wrong order, and goes on as the page says", func(ctx context.Context) {
		text := example("tenants.md", tenantsBox)
		ada.applied(ctx, ada.file("cleans", strings.Replace(text, "  onReconcile:", "  onDelete: {configmaps: [{name: bye, data: {a: b}}]}\n  onReconcile:", 1)))
		ada.kubectl(ctx, "wait", "operatorbox/team-a-site", "--for=condition=Ready", "--timeout=60s")
		ada.kubectl(ctx, "apply", "-f", resource)
		ada.kubectl(ctx, "wait", "site/hello", "-n", "team-a", "--for=condition=Ready", "--timeout=60s")
		// A namespace that is deleted may take the resource away while the account is still there, which lets it go. Here the account goes first.
		admin.kubectl(ctx, "delete", "serviceaccount", "site-operator", "-n", "team-a")
		boxShows(ctx, "team-a-site", v1alpha1.ConditionPermissionsGranted, metav1.ConditionFalse, v1alpha1.ReasonAccountMissing, "ServiceAccount team-a/site-operator does not exist")
		admin.kubectl(ctx, "delete", "namespace", "team-a", "--wait=false")
		Eventually(admin.try).WithContext(ctx).WithArguments("get", "namespace", "team-a", "-o", "jsonpath={.status.conditions}").
			Should(ContainSubstring("orkestra.orkspace.io/cleanup in 1 resource instances"))
		admin.kubectl(ctx, "annotate", "site", "hello", "-n", "team-a", "orkestra.orkspace.io/skip-cleanup=true")
		admin.kubectl(ctx, "wait", "namespace/team-a", "--for=delete", "--timeout=60s")
		admin.kubectl(ctx, "delete", "operatorbox", "team-a-site", "--timeout=60s")
	})
})

// loginAs writes a kubeconfig of the administrator who acts as somebody else, and gives its name.
func loginAs(folder, user string, groups ...string) string {
	GinkgoHelper()
	config, err := clientcmd.LoadFromFile(cluster.Kubeconfig())
	Expect(err).NotTo(HaveOccurred())
	for _, login := range config.AuthInfos {
		login.Impersonate, login.ImpersonateGroups = user, groups
	}
	file := filepath.Join(folder, user+".kubeconfig")
	Expect(clientcmd.WriteToFile(*config, file)).To(Succeed())
	return file
}
