package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"os/exec"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/engine/web/api"
)

// page is the Control Center as a browser has it.
type page struct {
	http.Client

	base string
}

// openUI starts `orkestra ui`, and opens the address that it prints.
func openUI(kubeconfig string) *page {
	GinkgoHelper()
	process, err := gexec.Start(exec.Command(built.path(), "ui", "--kubeconfig", kubeconfig), nil, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		process.Interrupt()
		Eventually(process).Should(gexec.Exit(0), "it ends when it is told to, also with open pages")
	})
	Eventually(process.Out).Should(gbytes.Say("It reads with your rights"))
	address := regexp.MustCompile(`http://\S+`).FindString(string(process.Out.Contents()))
	jar, err := cookiejar.New(nil)
	Expect(err).NotTo(HaveOccurred())
	p := &page{Client: http.Client{Jar: jar}, base: strings.Split(address, "/?")[0]}
	DeferCleanup(p.CloseIdleConnections)
	r, err := p.Get(address)
	Expect(err).NotTo(HaveOccurred())
	Expect(r.Body.Close()).To(Succeed())
	Expect(r.StatusCode).To(Equal(http.StatusOK))
	return p
}

// ask asks the API, and gives the status.
func (p *page) ask(ctx context.Context, g Gomega, path string, answer any) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+"/api/v1/"+path, nil)
	g.Expect(err).NotTo(HaveOccurred())
	r, err := p.Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { g.Expect(r.Body.Close()).To(Succeed()) }()
	g.Expect(json.NewDecoder(r.Body).Decode(answer)).To(Succeed())
	return r.StatusCode
}

// changes gives what the stream tells.
func (p *page) changes(ctx context.Context) <-chan string {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+"/api/v1/stream", nil)
	Expect(err).NotTo(HaveOccurred())
	r, err := p.Do(request) //nolint:bodyclose // what reads it closes it
	Expect(err).NotTo(HaveOccurred())
	told := make(chan string, 1000)
	go func() {
		defer close(told)
		defer func() { _ = r.Body.Close() }() // it was read to its end
		for lines := bufio.NewScanner(r.Body); lines.Scan(); {
			told <- lines.Text()
		}
	}()
	return told
}

var _ = Describe("The Control Center", func() {
	const spec = `onReconcile: {configmaps: [{id: first, name: "{{ .metadata.name }}-first", initialFields: [data.ok], data: {ok: "no"}},
  {id: second, name: "{{ .metadata.name }}-second", when: [{field: children.first.data.ok, equals: "yes"}], data: {a: b}}],
  secrets: [{once: true, data: {password: never-shown}}]}`
	var w *world
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		w.running(ctx, w.box(ctx, `{`+spec+`}`))
		w.website(ctx, "web", `{}`)
	})

	It("says which gate a resource waits for, and tells when that has changed", func(ctx context.Context) {
		p := openUI(cluster.Kubeconfig())
		var resource api.Resource
		Eventually(func(g Gomega) {
			resource = api.Resource{}
			g.Expect(p.ask(ctx, g, "boxes/"+w.id+"/resources/"+w.namespace+"/web", &resource)).To(Equal(http.StatusOK))
			g.Expect(resource.Cause).To(HaveField("Field", "children.first.data.ok"))
		}).WithContext(ctx).Should(Succeed())
		Expect(*resource.Cause).To(Equal(api.Cause{
			Declaration: "second", Path: "spec.onReconcile.configmaps[1]", Field: "children.first.data.ok", Wanted: "equals yes", Actual: "a string",
			Message: "second: " + resource.Cause.Message[len("second: "):], Reason: "WaitingForGate",
			Todo: "Make the condition true, or wait. Where nothing should wait for it, say optional: true in the box.",
			Page: "https://github.com/orkspace/orkestra/blob/main/docs/how-to/troubleshoot.md#reconciling",
		}))
		Expect(resource.State).To(Equal(api.Waiting))
		Expect(resource.Declarations).To(ContainElement(And(HaveField("Kind", "Secret"), HaveField("YAML", ContainSubstring("password: '*** (11 bytes)'")))))

		Expect(resource.History).To(And(HaveField("Note", HavePrefix("The manager remembers the last reconciles")), HaveField("Cycles", BeEmpty())))

		By("finding it in the fleet and among the resources of its box")
		var fleet api.Fleet
		Expect(p.ask(ctx, Default, "fleet", &fleet)).To(Equal(http.StatusOK))
		Expect(fleet.Boxes).To(ContainElement(And(HaveField("Name", w.id), HaveField("State", api.Healthy))))
		Expect(fleet.Person.Name).NotTo(BeEmpty())
		var page api.Rows
		Expect(p.ask(ctx, Default, "boxes/"+w.id+"/resources?state=Waiting&text=WEB", &page)).To(Equal(http.StatusOK))
		Expect(page.Rows).To(HaveExactElements(HaveField("Reference", api.Reference{Namespace: w.namespace, Name: "web"})))
		for _, text := range []string{"WEB", "children.first.data.ok"} {
			var found api.Found
			Expect(p.ask(ctx, Default, "resources?text="+text, &found)).To(Equal(http.StatusOK))
			Expect(found.Rows).To(ContainElement(And(HaveField("Box", w.id), HaveField("Name", "web"), HaveField("State", api.Waiting))), text)
		}
		var box api.BoxDetail
		Expect(p.ask(ctx, Default, "boxes/"+w.id, &box)).To(Equal(http.StatusOK))
		Expect(box.Declarations).To(HaveLen(3))
		Expect(box.Revisions).To(HaveExactElements(HaveField("Current", true)))

		By("opening the gate")
		listening, stop := context.WithCancel(ctx)
		defer stop()
		told := p.changes(listening)
		Eventually(told).WithContext(ctx).Should(Receive(Equal("retry: 1000")))
		first := &corev1.ConfigMap{}
		w.child(ctx, Default, first, "web-first")
		first.Data["ok"] = "yes"
		Expect(kube.Update(ctx, first)).To(Succeed())
		Eventually(told).WithContext(ctx).Should(Receive(Equal(`data: {"box":"` + w.id + `","resource":{"namespace":"` + w.namespace + `","name":"web"}}`)))
		Eventually(func(g Gomega) {
			now := api.Resource{}
			p.ask(ctx, g, "boxes/"+w.id+"/resources/"+w.namespace+"/web", &now)
			g.Expect(now.State).To(Equal(api.Ready))
			g.Expect(now.Cause).To(BeNil())
		}).WithContext(ctx).Should(Succeed())
	})

	It("shows what somebody may read, and says what they may not", func(ctx context.Context) {
		token := w.tokenOf(ctx, "reader")
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.id + "-reader"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"orkestra.orkspace.io"}, Resources: []string{"operatorboxes", "crdhealths"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: []string{"get"}},
			{APIGroups: []string{w.group}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}},
		}}
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: "reader"}},
		}
		Expect(kube.Create(ctx, role)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, role)).To(Succeed()) })
		Expect(kube.Create(ctx, binding)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, binding)).To(Succeed()) })
		p := openUI(kubeconfigOf(token))
		var fleet api.Fleet
		Expect(p.ask(ctx, Default, "fleet", &fleet)).To(Equal(http.StatusOK))
		Expect(fleet.Person.Name).To(Equal("system:serviceaccount:" + w.namespace + ":reader"))
		var resource api.Resource
		Expect(p.ask(ctx, Default, "boxes/"+w.id+"/resources/"+w.namespace+"/web", &resource)).To(Equal(http.StatusOK))
		Expect(resource.Declarations).To(HaveEach(HaveField("State", "Unknown")))
		Expect(resource.Notes).To(ContainElements(ContainSubstring("Children of kind ConfigMap"), ContainSubstring("Children of kind Secret")))
		Expect(resource.EventsNote).To(ContainSubstring("Events are not known: "))

		By("taking the right to the resources away")
		role.Rules = role.Rules[:2]
		Expect(kube.Update(ctx, role)).To(Succeed())
		Eventually(func(g Gomega) {
			var problem api.Problem
			g.Expect(p.ask(ctx, g, "boxes/"+w.id+"/resources", &problem)).To(Equal(http.StatusForbidden))
			g.Expect(problem.Detail).To(And(ContainSubstring(`cannot list resource`), ContainSubstring(w.group)))
		}).WithContext(ctx).Should(Succeed())

		By("opening it without the right to CRDHealths")
		role.Rules[0].Resources = []string{"operatorboxes"}
		Expect(kube.Update(ctx, role)).To(Succeed())
		Eventually(func() bool {
			return (&reviewed{w: w, account: "reader", known: map[string]bool{}}).lists(ctx, ours, "crdhealths", "")
		}).WithContext(ctx).Should(BeFalse())
		p = openUI(kubeconfigOf(token))
		fleet = api.Fleet{}
		Expect(p.ask(ctx, Default, "fleet", &fleet)).To(Equal(http.StatusOK))
		Expect(fleet.Boxes).To(ContainElement(HaveField("Name", w.id)))
		Expect(fleet.Notes).To(ContainElement(And(HavePrefix("How boxes fare is not known: "), ContainSubstring(`cannot list resource "crdhealths"`))))
	})
})
