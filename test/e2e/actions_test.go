package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/serve"
	"github.com/orkspace/orkestra/engine/web/api"
)

// post sends an order, and gives the status.
func (p *page) post(ctx context.Context, path string, order, answer any, changes ...func(*http.Request)) int {
	GinkgoHelper()
	body, err := json.Marshal(order)
	Expect(err).NotTo(HaveOccurred())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+"/api/v1/"+path, bytes.NewReader(body))
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Content-Type", "application/json")
	for _, change := range changes {
		change(request)
	}
	r, err := p.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer func() { Expect(r.Body.Close()).To(Succeed()) }()
	Expect(json.NewDecoder(r.Body).Decode(answer)).To(Succeed())
	return r.StatusCode
}

// from has a browser say which page asks.
func from(site string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", site) }
}

// asManager has the manager be the account that the roles of config/ are for.
func (w *world) asManager(ctx context.Context) func(*settings) {
	GinkgoHelper()
	for _, args := range [][]string{{"-f", "../../config/default/namespace.yaml"}, {"-k", "../../config/rbac"}} {
		_, err := cluster.Kubectl(ctx, append([]string{"apply"}, args...)...)
		Expect(err).NotTo(HaveOccurred())
	}
	feeds := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: w.id + "-feeds", Labels: map[string]string{"orkestra.orkspace.io/aggregate-to-manager": "true"}},
		Rules:      []rbacv1.PolicyRule{may(w.group, "websites", "get", "list", "watch")},
	}
	Expect(kube.Create(ctx, feeds)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, feeds))).To(Succeed()) })
	return func(s *settings) { s.config.Impersonate.UserName = managerAccount }
}

// boxEvents are the events about the world's box.
func (w *world) boxEvents(ctx context.Context, g Gomega) []eventsv1.Event {
	var list eventsv1.EventList
	g.Expect(kube.List(ctx, &list, client.InNamespace(metav1.NamespaceDefault))).To(Succeed())
	var of []eventsv1.Event
	for _, e := range list.Items {
		if e.Regarding.Name == w.id {
			of = append(of, e)
		}
	}
	return of
}

// named matches the annotation that names who has acted.
func named(action api.ActionName, who string) func(obj client.Object) {
	return func(obj client.Object) {
		GinkgoHelper()
		var said struct {
			Action string `json:"action"`
			Person string `json:"person"`
			Time   string `json:"time"`
		}
		Expect(json.Unmarshal([]byte(obj.GetAnnotations()[v1alpha1.AnnotationLastAction]), &said)).To(Succeed(), "%v", obj.GetAnnotations())
		Expect(said.Action).To(BeEquivalentTo(action))
		Expect(said.Person).To(Equal(who))
		Expect(said.Time).NotTo(BeEmpty())
	}
}

var _ = Describe("Actions of the Control Center", func() {
	var (
		w       *world
		address string
		a       account
	)
	// start has a manager with the rights of config/ serve the page, and a box run as an account.
	start := func(ctx context.Context, spec string) {
		GinkgoHelper()
		w = newWorld(ctx)
		address = freeAddress()
		replaceManager(w.asManager(ctx), func(s *settings) { s.orkestra.Web = &serve.Options{Address: address} })
		a = w.account(ctx, children("", "configmaps", "services"))
		w.running(ctx, w.box(ctx, a.ref()+spec))
	}
	// somebody may read, and what the rules say.
	somebody := func(ctx context.Context, name string, rules ...rbacv1.PolicyRule) (*page, string) {
		GinkgoHelper()
		token := w.tokenOf(ctx, name)
		w.grant(ctx, name, "", append([]rbacv1.PolicyRule{to(ours, "operatorboxes", "get", "list"), to(w.group, "websites", "get", "list")}, rules...)...)
		p := centerAs(address, token)
		p.answers(ctx, http.StatusOK)
		return p, "system:serviceaccount:" + w.namespace + ":" + name
	}
	resource := func() string { return "boxes/" + w.id + "/resources/" + w.namespace + "/web" }
	actions := func(ctx context.Context, p *page, path string) (uid string, all map[api.ActionName]api.Action) {
		GinkgoHelper()
		var said api.ResourceActions
		Expect(p.ask(ctx, Default, path+"/actions", &said)).To(Equal(http.StatusOK))
		all = map[api.ActionName]api.Action{}
		for _, action := range said.Actions {
			all[action.Name] = action
		}
		return said.UID, all
	}

	It("are done to a resource for who may do them and patch it, and name that person", func(ctx context.Context) {
		start(ctx, `onReconcile: {configmaps: [{data: {a: b}}]}`)
		w.website(ctx, "web", `{}`)
		live := w.settled(ctx, "web")
		uid := string(live.GetUID())
		all := to(w.group, "websites", "reconcile", "pause", "rollback")
		reader, _ := somebody(ctx, "reader")
		patcher, _ := somebody(ctx, "patcher", to(w.group, "websites", "patch"))
		verbs, _ := somebody(ctx, "verbs", all)
		sre, name := somebody(ctx, "sre", all, to(w.group, "websites", "patch"))

		By("refusing who lacks one of both, and writing nothing")
		for p, lacks := range map[*page]string{reader: "patch", patcher: "reconcile", verbs: "patch"} {
			_, offered := actions(ctx, p, resource())
			Expect(offered).To(HaveKeyWithValue(api.Reconcile, And(HaveField("May", false), HaveField("Why", ContainSubstring(`you may not %s websites.%s "web" in namespace %q`, lacks, w.group, w.namespace)))))
			for _, action := range []api.ActionName{api.Reconcile, api.Pause} {
				var problem api.Problem
				Expect(p.post(ctx, resource()+"/actions/"+string(action), api.Order{UID: uid}, &problem)).To(Equal(http.StatusForbidden))
				Expect(problem.Detail).To(ContainSubstring("you may not "))
			}
		}
		Expect(w.get(ctx, Default, "web").GetResourceVersion()).To(Equal(live.GetResourceVersion()))

		By("reconciling it now")
		_, offered := actions(ctx, sre, resource())
		Expect(offered).To(And(HaveLen(2), HaveKeyWithValue(api.Reconcile, HaveField("May", true)), HaveKeyWithValue(api.Pause, HaveField("May", true))))
		var done api.Done
		Expect(sre.post(ctx, resource()+"/actions/reconcile", api.Order{UID: uid}, &done)).To(Equal(http.StatusOK), done.Message)
		live = w.get(ctx, Default, "web")
		Expect(live.GetAnnotations()[v1alpha1.AnnotationReconcileAt]).NotTo(BeEmpty())
		named(api.Reconcile, name)(live)
		Eventually(func(g Gomega) {
			g.Expect(w.eventsOf(ctx, g, "web")).To(ContainElement(And(HaveField("Reason", "ReconcileRequested"), HaveField("Note", ContainSubstring(name)), HaveField("Action", "reconcile"))))
		}).WithContext(ctx).Should(Succeed())

		By("pausing it, and going on")
		Expect(sre.post(ctx, resource()+"/actions/pause", api.Order{UID: uid}, &done)).To(Equal(http.StatusOK))
		live = w.get(ctx, Default, "web")
		Expect(live.GetAnnotations()).To(HaveKeyWithValue(v1alpha1.AnnotationPaused, "true"))
		named(api.Pause, name)(live)
		var problem api.Problem
		Eventually(func() int { return sre.post(ctx, resource()+"/actions/reconcile", api.Order{UID: uid}, &problem) }).WithContext(ctx).Should(Equal(http.StatusConflict))
		Expect(problem.Detail).To(ContainSubstring("it is paused, so that nothing is made or corrected: resume it"))
		_, offered = actions(ctx, sre, resource())
		Expect(offered).To(And(HaveLen(1), HaveKey(api.Resume)))
		Expect(sre.post(ctx, resource()+"/actions/resume", api.Order{UID: uid}, &done)).To(Equal(http.StatusOK))
		Expect(w.get(ctx, Default, "web").GetAnnotations()).NotTo(HaveKey(v1alpha1.AnnotationPaused))

		By("refusing what is not meant, or can't be read")
		for body, want := range map[any]int{
			api.Order{UID: "another"}: http.StatusConflict, api.Order{}: http.StatusBadRequest, "text": http.StatusBadRequest,
			strings.Repeat("x", 5000): http.StatusRequestEntityTooLarge,
		} {
			Eventually(func() int { return sre.post(ctx, resource()+"/actions/reconcile", body, &problem) }).WithContext(ctx).Should(Equal(want), fmt.Sprint(body))
		}
		for _, path := range []string{resource() + "/actions/explode", "boxes/" + w.id + "/resources/" + w.namespace + "/gone/actions/pause"} {
			Eventually(func() int { return sre.post(ctx, path, api.Order{UID: uid}, &problem) }).WithContext(ctx).Should(Equal(http.StatusNotFound))
		}
	})

	It("release a resource that is rolled back", func(ctx context.Context) {
		start(ctx, "rollback: {trigger: {consecutiveFailures: 1}}\n"+steps)
		w.labeled(ctx, "web", goodSteps, "a")
		w.settled(ctx, "web")
		Eventually(func(g Gomega) { g.Expect(w.snapshots(ctx, g)).To(HaveLen(1)) }).WithContext(ctx).Should(Succeed())
		w.labeled(ctx, "web", badSteps, "a")
		w.rolledBack(ctx, "web", "")
		sre, name := somebody(ctx, "sre", to(w.group, "websites", "reconcile", "rollback"), to(w.group, "websites", "patch"))
		var uid string
		Eventually(func(g Gomega) {
			var said api.ResourceActions
			g.Expect(sre.ask(ctx, g, resource()+"/actions", &said)).To(Equal(http.StatusOK))
			g.Expect(said.Actions).To(ContainElement(HaveField("Name", api.Release)))
			uid = said.UID
		}).WithContext(ctx).Should(Succeed())
		var problem api.Problem
		Expect(sre.post(ctx, resource()+"/actions/reconcile", api.Order{UID: uid}, &problem)).To(Equal(http.StatusConflict))
		Expect(problem.Detail).To(ContainSubstring("it is rolled back"))
		var done api.Done
		Expect(sre.post(ctx, resource()+"/actions/release", api.Order{UID: uid}, &done)).To(Equal(http.StatusOK))
		live := w.get(ctx, Default, "web")
		Expect(live.GetAnnotations()[v1alpha1.AnnotationReconcileAt]).NotTo(BeEmpty())
		named(api.Release, name)(live)
	})

	It("suspend a box and have it go back, for who could write it, and never where Git has it", func(ctx context.Context) {
		start(ctx, `onReconcile: {configmaps: [{data: {a: b}}]}`)
		path := "boxes/" + w.id
		box := getBox(ctx, Default, w.id)
		uid, first := string(box.UID), box.Status.Revision
		Expect(first).NotTo(BeEmpty())
		act := []rbacv1.PolicyRule{to(ours, "operatorboxes", "suspend", "rollback"), to(ours, "operatorboxes", "patch")}
		acts, operates := to("", "serviceaccounts", "impersonate"), to(w.group, "websites", "operate")
		for lacks, rules := range map[string][]rbacv1.PolicyRule{
			`impersonate serviceaccounts "` + a.name + `"`: append([]rbacv1.PolicyRule{operates}, act...),
			"operate websites." + w.group:                  append([]rbacv1.PolicyRule{acts}, act...),
			"suspend operatorboxes":                        {acts, operates, to(ours, "operatorboxes", "patch")},
			"patch operatorboxes":                          {acts, operates, to(ours, "operatorboxes", "suspend", "rollback")},
		} {
			p, _ := somebody(ctx, "lacks-"+strings.Split(lacks, " ")[0], rules...)
			var problem api.Problem
			Expect(p.post(ctx, path+"/actions/suspend", api.Order{UID: uid}, &problem)).To(Equal(http.StatusForbidden), lacks)
			Expect(problem.Detail).To(ContainSubstring("you may not " + lacks))
			Expect(p.ask(ctx, Default, path+"/revisions", &problem)).To(BeElementOf(http.StatusForbidden, http.StatusOK))
		}
		Expect(getBox(ctx, Default, w.id).Spec.Suspend).To(BeFalse())
		sre, name := somebody(ctx, "sre", append(act, acts, operates)...)

		By("suspending it, and going on")
		var done api.Done
		Expect(sre.post(ctx, path+"/actions/suspend", api.Order{UID: uid}, &done)).To(Equal(http.StatusOK), "%v", done)
		box = getBox(ctx, Default, w.id)
		Expect(box.Spec.Suspend).To(BeTrue())
		named(api.Suspend, name)(box)
		Eventually(func(g Gomega) {
			g.Expect(w.boxEvents(ctx, g)).To(ContainElement(And(HaveField("Reason", "SuspendRequested"), HaveField("Note", ContainSubstring(name)))))
		}).WithContext(ctx).Should(Succeed())
		Expect(sre.post(ctx, path+"/actions/resume", api.Order{UID: uid}, &done)).To(Equal(http.StatusOK))
		Expect(getBox(ctx, Default, w.id).Spec.Suspend).To(BeFalse())
		w.running(ctx, w.id)

		By("going back to what it said before")
		w.patch(ctx, box, `{"spec":{"workers":2,"onReconcile":{"configmaps":[{"data":{"a":"c"}}]}}}`)
		Eventually(func(g Gomega) { g.Expect(getBox(ctx, g, w.id).Status.Revision).NotTo(Equal(first)) }).WithContext(ctx).Should(Succeed())
		Eventually(func(g Gomega) { // the page keeps what it has listed for some seconds
			var former api.FormerSpecs
			g.Expect(sre.ask(ctx, g, path+"/revisions", &former)).To(Equal(http.StatusOK))
			g.Expect(former.Revisions).To(ContainElement(And(HaveField("Name", first), HaveField("Current", false))))
		}).WithContext(ctx).Should(Succeed())
		var shown api.Return
		Expect(sre.ask(ctx, Default, path+"/revisions/"+first, &shown)).To(Equal(http.StatusOK))
		Expect(shown.Why).To(BeEmpty())
		Expect(shown.Changes).To(ContainElements(api.FieldChange{Field: "onReconcile.configmaps[0].data.a", Before: new("c"), After: new("b")}))
		Expect(shown.Patch).To(ContainSubstring("a: b"))
		order := api.Order{UID: shown.UID, Generation: shown.Generation, Revision: first}
		var problem api.Problem
		Expect(sre.post(ctx, path+"/actions/rollback", api.Order{UID: uid, Generation: shown.Generation - 1, Revision: first}, &problem)).To(Equal(http.StatusConflict))
		Expect(problem.Detail).To(ContainSubstring("has changed since the difference was shown"))
		Expect(sre.post(ctx, path+"/actions/rollback", api.Order{UID: uid, Generation: shown.Generation, Revision: w.id + "-none"}, &problem)).To(Equal(http.StatusConflict))
		Expect(sre.post(ctx, path+"/actions/rollback", api.Order{UID: uid}, &problem)).To(Equal(http.StatusBadRequest))
		Expect(sre.post(ctx, path+"/actions/rollback", order, &done)).To(Equal(http.StatusOK), "%v", done)
		named(api.GoBack, name)(getBox(ctx, Default, w.id))
		Eventually(func(g Gomega) { g.Expect(getBox(ctx, g, w.id).Status.Revision).To(Equal(first)) }).WithContext(ctx).Should(Succeed())

		By("leaving alone what Git has")
		for _, kept := range []struct{ mark, by string }{
			{`{"metadata":{"annotations":{"argocd.argoproj.io/tracking-id":"boxes:x"}}}`, "Argo CD"},
			{`{"metadata":{"annotations":{"argocd.argoproj.io/tracking-id":null},"labels":{"kustomize.toolkit.fluxcd.io/name":"boxes"}}}`, "Flux"},
		} {
			w.patch(ctx, box, kept.mark)
			Expect(sre.post(ctx, path+"/actions/suspend", api.Order{UID: uid}, &problem)).To(Equal(http.StatusConflict))
			Expect(problem.Detail).To(ContainSubstring(kept.by + " manages this box"))
		}
		Expect(getBox(ctx, Default, w.id).Spec.Suspend).To(BeFalse())
	})

	It("are done by orkestra ui with the rights of the kubeconfig, for its own page alone", func(ctx context.Context) {
		w = newWorld(ctx)
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{data: {a: b}}]}}`))
		w.website(ctx, "web", `{}`)
		live := w.settled(ctx, "web")
		order := api.Order{UID: string(live.GetUID())}
		p := openUI(cluster.Kubeconfig())
		var problem api.Problem
		for _, change := range []func(*http.Request){
			func(*http.Request) {}, from("cross-site"), from("same-site"), from("none-of-these"),
			func(r *http.Request) { r.Header.Set("Origin", "https://elsewhere.example.com") },
		} {
			Expect(p.post(ctx, resource()+"/actions/pause", order, &problem, change)).To(Equal(http.StatusForbidden))
			Expect(problem.Detail).To(ContainSubstring("A page of another origin"))
		}
		Expect(p.post(ctx, resource()+"/actions/pause", order, &problem, from("same-origin"), func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") })).
			To(Equal(http.StatusUnsupportedMediaType), "a form of another page can send that")
		Expect(w.get(ctx, Default, "web").GetResourceVersion()).To(Equal(live.GetResourceVersion()))
		var done api.Done
		Expect(p.post(ctx, resource()+"/actions/pause", order, &done, from("same-origin"))).To(Equal(http.StatusOK))
		Expect(w.get(ctx, Default, "web").GetAnnotations()).To(And(HaveKeyWithValue(v1alpha1.AnnotationPaused, "true"), Not(HaveKey(v1alpha1.AnnotationLastAction))))
	})
})
