package e2e_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/controllers/serve"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/person"
)

// bearer sends a token with each request.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b.token != "" {
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.next.RoundTrip(r)
}

// servePage replaces the manager by one that serves the page, and gives where.
func servePage(options serve.Options) (address string) {
	GinkgoHelper()
	options.Address = freeAddress()
	replaceManager(func(s *settings) { s.orkestra.Web = &options })
	return options.Address
}

// centerAs is the page as somebody with a token has it; without one as somebody who does not say who they are.
func centerAs(address, token string) *page {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	p := &page{Client: http.Client{Transport: bearer{token: token, next: transport}}, base: "https://" + address}
	DeferCleanup(transport.CloseIdleConnections)
	return p
}

// answers waits until the page answers at all.
func (p *page) answers(ctx context.Context, want int) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+"/api/v1/fleet", nil)
		g.Expect(err).NotTo(HaveOccurred())
		r, err := p.Do(request)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(r.Body.Close()).To(Succeed())
		g.Expect(r.StatusCode).To(Equal(want))
	}).WithContext(ctx).Should(Succeed())
}

// namespaceToo makes another namespace for the world.
func (w *world) namespaceToo(ctx context.Context) string {
	GinkgoHelper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-b"}}
	Expect(kube.Create(ctx, ns)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, ns)).To(Succeed()) })
	return ns.Name
}

// grant gives a ServiceAccount of the world rights in a namespace, or in all where it is empty.
func (w *world) grant(ctx context.Context, account, namespace string, rules ...rbacv1.PolicyRule) {
	GinkgoHelper()
	meta := metav1.ObjectMeta{Name: fmt.Sprintf("%s-%s", w.id, account), Namespace: namespace}
	who := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: account}}
	objects := []client.Object{
		&rbacv1.Role{ObjectMeta: meta, Rules: rules},
		&rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name}, Subjects: who},
	}
	if namespace == "" {
		objects = []client.Object{
			&rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules},
			&rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name}, Subjects: who},
		}
	}
	for _, obj := range objects {
		Expect(kube.Create(ctx, obj)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, obj))).To(Succeed()) })
	}
	for _, rule := range rules { // the API server learns of it a moment later
		Eventually(func() bool {
			return w.lets(ctx, account, rule.Verbs[0], rule.APIGroups[0], rule.Resources[0], namespace, strings.Join(rule.ResourceNames, ""))
		}).WithContext(ctx).Should(BeTrue())
	}
}

// lets says whether a ServiceAccount of the world has a right.
func (w *world) lets(ctx context.Context, account, verb, group, resource, namespace, name string) bool {
	GinkgoHelper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "system:serviceaccount:" + w.namespace + ":" + account, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + w.namespace, "system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource, Namespace: namespace, Name: name},
	}}
	Expect(kube.Create(ctx, review)).To(Succeed())
	return review.Status.Allowed
}

// to is a rule of RBAC.
func to(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

var _ = Describe("The Control Center of a manager", func() {
	const (
		spec = `onReconcile: {configmaps: [{id: shown, name: "{{ .metadata.name }}-shown", data: {a: b}}], secrets: [{id: hidden, name: "{{ .metadata.name }}-never-named", once: true, data: {password: never-shown}}]}`
	)
	var (
		w     *world
		other string // another namespace with a resource
	)
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		other = w.namespaceToo(ctx)
	})
	// settle waits until both resources have all that they are to have.
	settle := func(ctx context.Context) {
		GinkgoHelper()
		w.running(ctx, w.box(ctx, `{`+spec+`}`))
		w.website(ctx, "web", `{}`)
		far := w.ref("far")
		far.SetNamespace(other)
		far.Object["spec"] = map[string]any{}
		Expect(kube.Create(ctx, far)).To(Succeed())
		for _, in := range []string{w.namespace, other} {
			Eventually(func(g Gomega) {
				var all corev1.SecretList
				g.Expect(kube.List(ctx, &all, client.InNamespace(in))).To(Succeed())
				g.Expect(all.Items).To(ContainElement(HaveField("Name", HaveSuffix("-never-named"))))
			}).WithContext(ctx).Should(Succeed())
		}
		w.settled(ctx, "web")
		Eventually(func(g Gomega) { g.Expect(getHealth(ctx, g, w.id).Status.Resources.Ready).To(BeEquivalentTo(2)) }).WithContext(ctx).Should(Succeed())
	}
	path := func(namespace, name string) string {
		return "boxes/" + w.id + "/resources/" + namespace + "/" + name
	}

	It("shows somebody with rights in one namespace exactly that, and asks the API server for nothing but reviews", func(ctx context.Context) {
		address := servePage(serve.Options{})
		settle(ctx)
		token := w.tokenOf(ctx, "reader")
		w.grant(ctx, "reader", "", to(ours, "operatorboxes", "get", "list"))
		w.grant(ctx, "reader", w.namespace, to(w.group, "websites", "get", "list"), to("", "configmaps", "list"))
		centerAs(address, token).answers(ctx, http.StatusOK)

		By("refusing who does not say who they are, and whose token is none")
		for given, why := range map[string]string{"": "Nobody has said who asks", "guessed": "The API server does not know the token"} {
			var problem api.Problem
			Expect(centerAs(address, given).ask(ctx, Default, "fleet", &problem)).To(Equal(http.StatusUnauthorized))
			Expect(problem).To(And(HaveField("Status", http.StatusUnauthorized), HaveField("Detail", ContainSubstring(why))))
		}

		By("showing what may be read")
		p, mark := centerAs(address, token), manager.requests.mark()
		for range 5 {
			var fleet api.Fleet
			Expect(p.ask(ctx, Default, "fleet", &fleet)).To(Equal(http.StatusOK))
			Expect(fleet.Person.Name).To(Equal("system:serviceaccount:" + w.namespace + ":reader"))
			Expect(fleet.Boxes).To(ContainElement(HaveField("Name", w.id)))
			Expect(fleet.Manager.State).To(Equal(api.ManagerRunning))
			var rows api.Rows
			Expect(p.ask(ctx, Default, "boxes/"+w.id+"/resources", &rows)).To(Equal(http.StatusOK))
			Expect(rows.Rows).To(HaveExactElements(HaveField("Reference", api.Reference{Namespace: w.namespace, Name: "web"})))
			Expect(rows.Total).To(Equal(1))
			Expect(rows.Namespaces).To(HaveLen(1))
			Expect(rows.Notes).To(ContainElement(ContainSubstring("Resources in namespaces in which you may not list")))
			var resource api.Resource
			Expect(p.ask(ctx, Default, path(w.namespace, "web"), &resource)).To(Equal(http.StatusOK))
			Expect(resource.Declarations).To(HaveLen(2))
			Expect(resource.Declarations).To(ContainElement(And(HaveField("Declaration", "shown"), HaveField("Name", "web-shown"), HaveField("State", "Ready"), HaveField("YAML", ContainSubstring("a: b")))))
			Expect(resource.Declarations).To(ContainElement(And(HaveField("Declaration", "hidden"), HaveField("Name", ""), HaveField("State", "Unknown"), HaveField("YAML", ""))))
			Expect(resource.Notes).To(ContainElement(ContainSubstring(`Children of kind Secret are not known: secrets is forbidden: user "system:serviceaccount:` + w.namespace + `:reader" cannot list resource "secrets"`)))
			Expect(resource.EventsNote).To(ContainSubstring("Events are not known: "))
			Expect(resource.History.Since).NotTo(BeNil())
			Expect(resource.History.Note).To(BeEmpty())
			first := resource.History.Cycles[len(resource.History.Cycles)-1]
			Expect(first).To(And(HaveField("Woken", "the first look of this manager"), HaveField("Action", "Reconcile"), HaveField("Seconds", BeNumerically(">", 0))))
			Expect(first.Stages).To(ContainElement(HaveField("Name", "status")))
			Expect(first.Writes).To(HaveExactElements(And(HaveField("Action", "created"), HaveField("Kind", "ConfigMap"), HaveField("Namespace", w.namespace), HaveField("Name", "web-shown"))))
			Expect(first.Others).To(Equal(1), "the Secret is not named")
			var box api.BoxDetail
			Expect(p.ask(ctx, Default, "boxes/"+w.id, &box)).To(Equal(http.StatusOK))
			Expect(box.Hour).To(BeNil(), "how the box fares may not be read")
			Expect(box.Declarations).To(HaveLen(2))
			Expect(box.Notes).To(ContainElement(ContainSubstring("How the box fares is not known: ")))
			var problem api.Problem
			Expect(p.ask(ctx, Default, path(other, "far"), &problem)).To(Equal(http.StatusForbidden))
			Expect(problem.Detail).To(ContainSubstring(`cannot get resource "websites" in API group "` + w.group + `" in the namespace "` + other + `"`))
			Expect(p.ask(ctx, Default, path(w.namespace, "nothing"), &problem)).To(Equal(http.StatusNotFound))
		}
		Expect(manager.requests.since(mark, "subjectaccessreviews")).NotTo(BeEmpty())
		for _, r := range manager.requests.since(mark, "/") {
			Expect(r.path).To(HaveSuffix("/subjectaccessreviews"), "a request that reading has caused")
		}

		By("telling of what may be read")
		listening, stop := context.WithCancel(ctx)
		defer stop()
		told := p.changes(listening)
		Eventually(told).WithContext(ctx).Should(Receive(Equal("retry: 1000")))
		far := w.ref("far")
		far.SetNamespace(other)
		w.patch(ctx, far, `{"metadata":{"labels":{"changed":"yes"}}}`)
		w.patch(ctx, w.ref("web"), `{"metadata":{"labels":{"changed":"yes"}}}`)
		var lines []string
		Eventually(func() []string {
			select {
			case line := <-told:
				lines = append(lines, line)
			default:
			}
			return lines
		}).WithContext(ctx).Should(ContainElement(ContainSubstring(`"name":"web"`)))
		Expect(strings.Join(lines, "\n")).NotTo(ContainSubstring("far"))
	})

	It("is served by a follower, which says that it does not lead", func(ctx context.Context) {
		replaceManager(elected(w.namespace))
		settle(ctx)
		address := freeAddress()
		follower := startManager(cluster.Config(), elected(w.namespace), func(s *settings) { s.orkestra.Web = &serve.Options{Address: address} })
		DeferCleanup(func() { follower.stop() })
		token := w.tokenOf(ctx, "reader")
		w.grant(ctx, "reader", "", to(ours, "operatorboxes", "get", "list"), to(ours, "crdhealths", "list"), to(w.group, "websites", "get", "list"), to("", "configmaps", "list"), to("", "secrets", "list"))
		p := centerAs(address, token)
		p.answers(ctx, http.StatusOK)
		var fleet api.Fleet
		Expect(p.ask(ctx, Default, "fleet", &fleet)).To(Equal(http.StatusOK))
		Expect(fleet.Manager.State).To(Equal(api.ManagerRunning))
		Expect(fleet.Manager.Message).To(HavePrefix("A manager answers that does not lead"))
		Expect(fleet.Boxes).To(ContainElement(And(HaveField("Name", w.id), HaveField("Resources.Ready", BeEquivalentTo(2)))))
		Eventually(func(g Gomega) {
			var rows api.Rows
			g.Expect(p.ask(ctx, g, "boxes/"+w.id+"/resources", &rows)).To(Equal(http.StatusOK))
			g.Expect(rows.Rows).To(HaveLen(2))
			g.Expect(rows.Notes).To(BeEmpty())
			var resource api.Resource
			g.Expect(p.ask(ctx, g, path(other, "far"), &resource)).To(Equal(http.StatusOK))
			g.Expect(resource.Declarations).To(HaveEach(HaveField("State", "Ready")))
			g.Expect(resource.Declarations).To(ContainElement(HaveField("YAML", ContainSubstring("password: '*** (11 bytes)'"))))
			g.Expect(resource.History).To(And(HaveField("Since", BeNil()), HaveField("Note", HavePrefix("The manager that leads remembers")), HaveField("Cycles", BeEmpty())))
		}).WithContext(ctx).Should(Succeed())
		for _, r := range follower.requests.changes(0) {
			Expect(r.path).To(HaveSuffix("/tokenreviews"), "a follower writes nothing")
		}
	})

	It("shows everybody what the user may read as whom they count", func(ctx context.Context) {
		address := servePage(serve.Options{Anonymous: &person.Person{Name: w.id, Groups: []string{w.id + "-visitors"}}})
		settle(ctx)
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.id + "-visitors"}, Rules: []rbacv1.PolicyRule{to(ours, "operatorboxes", "list")}}
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: role.Name}}}
		for _, obj := range []client.Object{role, binding} {
			Expect(kube.Create(ctx, obj)).To(Succeed())
			DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, obj)).To(Succeed()) })
		}
		p := centerAs(address, "")
		p.answers(ctx, http.StatusOK)
		var fleet api.Fleet
		Expect(p.ask(ctx, Default, "fleet", &fleet)).To(Equal(http.StatusOK))
		Expect(fleet.Person).To(Equal(api.Person{Name: w.id, Groups: []string{w.id + "-visitors"}}))
		Expect(fleet.Boxes).To(ContainElement(HaveField("Name", w.id)))
		var problem api.Problem
		Expect(p.ask(ctx, Default, "boxes/"+w.id+"/resources", &problem)).To(Equal(http.StatusForbidden))
		Expect(centerAs(address, "guessed").ask(ctx, Default, "fleet", &problem)).To(Equal(http.StatusUnauthorized), "who says something wrong is not nobody")
	})
})
