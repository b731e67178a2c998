package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/serve"
	"github.com/orkspace/orkestra/engine/web"
	"github.com/orkspace/orkestra/engine/web/api"
)

// kubeconfigOf writes one of somebody with a token.
func kubeconfigOf(token string) (file string) {
	GinkgoHelper()
	given, err := clientcmd.LoadFromFile(cluster.Kubeconfig())
	Expect(err).NotTo(HaveOccurred())
	given.AuthInfos = map[string]*clientcmdapi.AuthInfo{"somebody": {Token: token}}
	for _, c := range given.Contexts {
		c.AuthInfo = "somebody"
	}
	file = filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(clientcmd.WriteToFile(*given, file)).To(Succeed())
	return file
}

// model connects a client of the Model Context Protocol to a page, as who has opened it.
func (p *page) model(ctx context.Context) tools {
	GinkgoHelper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "e2e"}, nil).Connect(ctx, &mcp.StreamableClientTransport{Endpoint: p.base + "/mcp", HTTPClient: &p.Client}, nil)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(session.Close()).To(Succeed()) })
	Expect(session.ID()).To(BeEmpty(), "there is no session that somebody could steal")
	return tools{session}
}

// compiles has a tool say what is wrong with a box that is not applied.
func (w *world) compiles(ctx context.Context, model tools) {
	GinkgoHelper()
	var compiled api.Compiled
	model.read(ctx, Default, "compile_box", map[string]any{"boxes": "apiVersion: orkestra.orkspace.io/v1alpha1\nkind: OperatorBox\nmetadata: {name: " + w.id + "}\nspec:\n" +
		"  crd: {name: websites." + w.group + "}\n  onReconcile: {configmaps: [{name: a, data: {image: \"{{ .spec.imgae }}\"}}]}\n"}, &compiled)
	Expect(compiled.Valid).To(BeFalse())
	Expect(compiled.Documents).To(HaveExactElements(HaveField("Mistakes", HaveExactElements(And(
		HaveField("Path", "spec.onReconcile.configmaps[0].data.image"), HaveField("Line", 6), HaveField("Message", ContainSubstring(`did you mean "image"?`)),
	)))))
}

var _ = Describe("A language model at the page of a manager", func() {
	const ours = "orkestra.orkspace.io"

	It("is told what those may see for whom it works, each request by itself, and does nothing", func(ctx context.Context) {
		w := newWorld(ctx)
		other := w.namespaceToo(ctx)
		address := servePage(serve.Options{Tools: &web.Tools{Version: "v1"}})
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{id: shown, name: "{{ .metadata.name }}-shown", data: {a: b}}], secrets: [{once: true, data: {password: never-shown}}]}}`))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		far := w.ref("far")
		far.SetNamespace(other)
		far.Object["spec"] = map[string]any{}
		Expect(kube.Create(ctx, far)).To(Succeed())
		sees := []rbacv1.PolicyRule{to(w.group, "websites", "get", "list"), to("", "configmaps", "list"), to("", "secrets", "list")}
		boxes := []rbacv1.PolicyRule{to(ours, "operatorboxes", "get", "list"), to("apiextensions.k8s.io", "customresourcedefinitions", "get")}
		ann, bob := w.tokenOf(ctx, "ann"), w.tokenOf(ctx, "bob")
		w.grant(ctx, "ann", "", boxes...)
		w.grant(ctx, "ann", w.namespace, sees...)
		w.grant(ctx, "bob", "", boxes...)
		w.grant(ctx, "bob", other, sees...)
		p := centerAs(address, ann)
		p.answers(ctx, http.StatusOK)
		resource := map[string]any{"box": w.id, "namespace": w.namespace, "name": "web"}

		By("showing each of two people exactly what their RBAC lets them read")
		for token, may := range map[string]struct{ person, namespace, name, not, notIn string }{
			ann: {"ann", w.namespace, "web", "far", other}, bob: {"bob", other, "far", "web", w.namespace},
		} {
			model := centerAs(address, token).model(ctx)
			var fleet api.Fleet
			model.read(ctx, Default, "list_boxes", nil, &fleet)
			Expect(fleet.Person.Name).To(Equal("system:serviceaccount:" + w.namespace + ":" + may.person))
			Expect(fleet.Boxes).To(ContainElement(HaveField("Name", w.id)))
			var page api.Rows
			model.read(ctx, Default, "list_resources", map[string]any{"box": w.id}, &page)
			Expect(page.Rows).To(HaveExactElements(HaveField("Reference", api.Reference{Namespace: may.namespace, Name: may.name})))
			Expect(page.Total).To(Equal(1))
			text, failed := model.call(ctx, Default, "get_resource", map[string]any{"box": w.id, "namespace": may.namespace, "name": may.name})
			Expect(failed).To(BeFalse(), text)
			Expect(text).To(ContainSubstring("uid: "))
			for _, tool := range []string{"get_resource", "explain_condition"} {
				asked := map[string]any{"box": w.id, "namespace": may.notIn, "name": may.not}
				if tool == "explain_condition" {
					asked["type"] = v1alpha1.ConditionReady
				}
				text, failed = model.call(ctx, Default, tool, asked)
				Expect(failed).To(BeTrue())
				Expect(text).To(ContainSubstring(`cannot get resource "websites" in API group %q in the namespace %q`, w.group, may.notIn))
			}
		}
		model := p.model(ctx)
		Eventually(func(g Gomega) { // the Secret is made in a moment
			text, failed := model.call(ctx, g, "get_resource", resource)
			g.Expect(failed).To(BeFalse())
			g.Expect(text).To(ContainSubstring("password: '*** (11 bytes)'"))
			g.Expect(text).NotTo(Or(ContainSubstring("never-shown"), ContainSubstring("bmV2ZXItc2hvd24")))
		}).WithContext(ctx).Should(Succeed())

		By("compiling a box, and asking the API server for nothing but reviews")
		Eventually(func(g Gomega) { // the process has just begun, and may still write of itself beside the first question
			mark := manager.requests.mark()
			model.read(ctx, g, "list_resources", map[string]any{"box": w.id}, &api.Rows{})
			w.compiles(ctx, model)
			for _, r := range manager.requests.since(mark, "/") {
				g.Expect(r.path).To(HaveSuffix("reviews"), "a request that a tool has caused")
			}
		}).WithContext(ctx).Should(Succeed())

		By("refusing who does not say who they are, and the session of somebody else")
		const list = `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_boxes"}}`
		for name, tc := range map[string]struct {
			token, session, origin string
			status                 int
		}{
			"nobody": {"", "", "", http.StatusUnauthorized}, "a guess": {"guessed", "", "", http.StatusUnauthorized}, "nobody with a session": {"", "stolen", "", http.StatusUnauthorized},
			"bob with a session": {bob, "stolen", "", http.StatusNotFound}, "ann by another page": {ann, "", "https://evil.example.com", http.StatusForbidden}, "ann": {ann, "", "", http.StatusOK},
		} {
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+"/mcp", strings.NewReader(list))
			Expect(err).NotTo(HaveOccurred())
			for header, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Session-Id": tc.session, "Origin": tc.origin} {
				if value != "" {
					request.Header.Set(header, value)
				}
			}
			r, err := centerAs(address, tc.token).Do(request)
			Expect(err).NotTo(HaveOccurred())
			Expect(r.Body.Close()).To(Succeed())
			Expect(r.StatusCode).To(Equal(tc.status), name)
		}
		_, err := mcp.NewClient(&mcp.Implementation{Name: "e2e"}, nil).Connect(ctx, &mcp.StreamableClientTransport{Endpoint: p.base + "/mcp", HTTPClient: &centerAs(address, "").Client}, nil)
		Expect(err).To(MatchError(ContainSubstring("Unauthorized")))

		By("doing nothing")
		live := w.get(ctx, Default, "web")
		order := maps.Clone(resource)
		order["uid"] = string(live.GetUID())
		w.grant(ctx, "bob", w.namespace, to(w.group, "websites", "get", "reconcile", "patch"))
		centerAs(address, bob).model(ctx).lacks(ctx, "reconcile_now", order)
		Expect(w.get(ctx, Default, "web").GetResourceVersion()).To(Equal(live.GetResourceVersion()))
	})

	It("reconciles a resource where that is allowed, for who may do it and patch it, and names that person", func(ctx context.Context) {
		w := newWorld(ctx)
		address := freeAddress()
		replaceManager(w.asManager(ctx), func(s *settings) {
			s.orkestra.Web = &serve.Options{Address: address, Tools: &web.Tools{Actions: true}}
		})
		a := w.account(ctx, children("", "configmaps"))
		w.running(ctx, w.box(ctx, a.ref()+`onReconcile: {configmaps: [{data: {a: b}}]}`))
		w.website(ctx, "web", `{}`)
		live := w.settled(ctx, "web")
		order := map[string]any{"box": w.id, "namespace": w.namespace, "name": "web", "uid": string(live.GetUID())}
		as := func(name string, rules ...rbacv1.PolicyRule) tools {
			GinkgoHelper()
			token := w.tokenOf(ctx, name)
			w.grant(ctx, name, "", append([]rbacv1.PolicyRule{to(ours, "operatorboxes", "get", "list"), to(w.group, "websites", "get", "list")}, rules...)...)
			p := centerAs(address, token)
			p.answers(ctx, http.StatusOK)
			return p.model(ctx)
		}
		for lacks, model := range map[string]tools{
			"reconcile": as("patcher", to(w.group, "websites", "patch")), "patch": as("verb", to(w.group, "websites", "reconcile")),
		} {
			Expect(model.names(ctx)).To(ContainElement("reconcile_now"))
			text, failed := model.call(ctx, Default, "reconcile_now", order)
			Expect(failed).To(BeTrue())
			Expect(text).To(ContainSubstring(`you may not %s websites.%s "web" in namespace %q`, lacks, w.group, w.namespace))
		}
		sre := as("sre", to(w.group, "websites", "reconcile"), to(w.group, "websites", "patch"))
		another := maps.Clone(order)
		another["uid"] = "another"
		text, failed := sre.call(ctx, Default, "reconcile_now", another)
		Expect(failed).To(BeTrue())
		Expect(text).To(ContainSubstring("was deleted and made again"))
		Expect(w.get(ctx, Default, "web").GetResourceVersion()).To(Equal(live.GetResourceVersion()), "nothing was written yet")

		var done api.Done
		sre.read(ctx, Default, "reconcile_now", order, &done)
		Expect(done.Message).To(Equal("It is marked for a reconcile, which the manager does at once"))
		name := fmt.Sprintf("system:serviceaccount:%s:sre", w.namespace)
		live = w.get(ctx, Default, "web")
		Expect(live.GetAnnotations()).To(HaveKey(v1alpha1.AnnotationReconcileAt))
		named(api.Reconcile, name)(live)
		Eventually(func(g Gomega) {
			g.Expect(w.eventsOf(ctx, g, "web")).To(ContainElement(And(HaveField("Reason", v1alpha1.ReasonReconcileRequested), HaveField("Note", ContainSubstring(name)), HaveField("Action", "reconcile"))))
		}).WithContext(ctx).Should(Succeed())
	})
})
