package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/controllers/serve"
	"github.com/orkspace/orkestra/engine/web/api"
)

var _ = Describe("The details of a box in the Control Center", func() {
	const (
		spec = `
validation: {rules: [{field: spec.replicas, lessThan: 10}]}
rollback: {trigger: {consecutiveFailures: 50}}
cross: [{name: settings, apiVersion: v1, kind: ConfigMap, optional: true, selector: {name: nothing-of-that}}]
onReconcile:
  configmaps:
  - {id: first, name: "{{ .metadata.name }}-first", data: {ok: "yes", far: '{{ .cross.settings.data.far | default "" }}', image: '{{ .spec.image | default "none" }}'}}
  - {id: second, name: "{{ .metadata.name }}-second", when: [{field: children.first.data.ok, equals: "yes"}], data: {a: b}}`
	)
	var w *world
	BeforeEach(func(ctx context.Context) { w = newWorld(ctx) })

	// later is a box that waits for that of the world, and acts as an account without rights.
	later := func(ctx context.Context) (name string, acts account) {
		GinkgoHelper()
		acts = bare(ctx, "later")
		name = w.boxNamed(ctx, w.id+"-later", fmt.Sprintf(`
crd: {apiVersion: v1, kind: ConfigMap}
selector: {matchLabels: {%[1]s: "yes"}}
serviceAccountRef: {namespace: %[2]s, name: %[3]s}
dependsOn: [{name: %[1]s, condition: Healthy}]
onReconcile: {secrets: [{once: true, data: {a: b}}]}`, w.id, acts.namespace, acts.name))
		DeferCleanup(func(ctx context.Context) {
			Expect(client.IgnoreNotFound(kube.Delete(ctx, w.boxObject(name, `{}`)))).To(Succeed())
		})
		return name, acts
	}

	// lists counts those that the manager has asked for since a mark.
	lists := func(mark int, path string) (n int) {
		for _, r := range manager.requests.since(mark, path) {
			if r.method == http.MethodGet {
				n++
			}
		}
		return n
	}

	It("shows a person what depends on what, each step, rights, revisions and events, as far as they may read it, by one list in ten seconds", func(ctx context.Context) {
		address := servePage(serve.Options{})
		name := w.box(ctx, spec)
		w.running(ctx, name)
		w.website(ctx, "web", `{image: "one"}`)
		w.website(ctx, "bad", `{replicas: 12}`)
		w.settled(ctx, "web")
		second, acts := later(ctx)
		token := w.tokenOf(ctx, "reader")
		w.grant(ctx, "reader", "", to(ours, "operatorboxes", "get", "list"), to(ours, "crdhealths", "list"))
		w.grant(ctx, "reader", w.namespace, to(w.group, "websites", "get", "list"), to("", "configmaps", "list"))
		p := centerAs(address, token)
		p.answers(ctx, http.StatusOK)

		By("drawing what is declared")
		var graph api.Graph
		Expect(p.ask(ctx, Default, "boxes/"+name+"/graph", &graph)).To(Equal(http.StatusOK))
		Expect(graph.Nodes).To(HaveExactElements(
			And(HaveField("Path", "spec.cross[0]"), HaveField("Group", "cross"), HaveField("Kind", "ConfigMap"), HaveField("Optional", true)),
			And(HaveField("Path", "spec.onReconcile.configmaps[0]"), HaveField("Label", "first"), HaveField("Gated", false)),
			And(HaveField("Path", "spec.onReconcile.configmaps[1]"), HaveField("Label", "second"), HaveField("Gated", true)),
		))
		Expect(graph.Edges).To(ConsistOf(
			api.GraphEdge{From: "spec.cross[0]", To: "spec.onReconcile.configmaps[0]", Ways: []string{"templates"}},
			api.GraphEdge{From: "spec.onReconcile.configmaps[0]", To: "spec.onReconcile.configmaps[1]", Ways: []string{"gate"}, Fields: []string{"children.first.data.ok"}},
		))
		Expect(graph.Revision).To(Equal(getBox(ctx, Default, name).Status.Revision))

		By("drawing who waits for whom")
		var around api.Dependencies
		Expect(p.ask(ctx, Default, "boxes/"+name+"/dependencies", &around)).To(Equal(http.StatusOK))
		Expect(around.Nodes).To(HaveExactElements(HaveField("Box", name), And(HaveField("Box", second), HaveField("IsBox", true))))
		Expect(around.Edges).To(HaveExactElements(And(HaveField("From", name), HaveField("To", second), HaveField("Condition", "Healthy"), HaveField("Ring", false))))

		By("counting the steps of reconciles")
		Eventually(func(g Gomega) {
			var box api.BoxDetail
			g.Expect(p.ask(ctx, g, "boxes/"+name, &box)).To(Equal(http.StatusOK))
			g.Expect(box.Cycle.Since).NotTo(BeNil())
			g.Expect(box.Cycle.Steps).To(ContainElement(And(HaveField("Name", "onReconcile"), HaveField("Runs", BeNumerically(">", 0)), HaveField("Mean", BeNumerically(">", 0)), HaveField("Failures", 0))))
			g.Expect(box.Cycle.Steps).To(ContainElement(And(HaveField("Name", "validation"), HaveField("Failures", BeNumerically(">", 0)), HaveField("LastFailure.Resource", api.Reference{Namespace: w.namespace, Name: "bad"}))))
			g.Expect(box.Revisions).To(BeEmpty())
			g.Expect(box.Notes).To(ContainElement(ContainSubstring(`cannot list resource "controllerrevisions" in API group "apps" in the namespace "` + ownNamespace + `"`)))
		}).WithContext(ctx).Should(Succeed())

		By("saying which rights are missing")
		Eventually(func(g Gomega) {
			var rights api.Rights
			g.Expect(p.ask(ctx, g, "boxes/"+second+"/rights", &rights)).To(Equal(http.StatusOK))
			g.Expect(rights.Account).To(Equal(acts.namespace + "/" + acts.name))
			g.Expect(rights.Rights).To(ContainElement(And(HaveField("Resource", "secrets"), HaveField("Missing", ContainElement("create")))))
			g.Expect(rights.Notes).To(ContainElement(ContainSubstring("orkestra rbac")))
		}).WithContext(ctx).Should(Succeed())
		var rights api.Rights
		Expect(p.ask(ctx, Default, "boxes/"+name+"/rights", &rights)).To(Equal(http.StatusOK))
		Expect(rights).To(And(HaveField("Account", ""), HaveField("Missing", 0), HaveField("Notes", BeEmpty())))
		Expect(rights.Rights).To(ContainElement(And(HaveField("Resource", "websites"), HaveField("Verbs", ContainElement("watch")), HaveField("Unknown", false))))

		By("refusing what the person may not list")
		var problem api.Problem
		revision := getBox(ctx, Default, name).Status.Revision
		Expect(p.ask(ctx, Default, "boxes/"+name+"/difference?from="+revision, &problem)).To(Equal(http.StatusForbidden))
		var resource api.Resource
		Expect(p.ask(ctx, Default, "boxes/"+name+"/resources/"+w.namespace+"/web", &resource)).To(Equal(http.StatusOK))
		Expect(resource.Events).To(BeEmpty())
		Expect(resource.EventsNote).To(ContainSubstring(`cannot list resource "events"`))
		Expect(resource.Snapshots.Note).To(ContainSubstring(`cannot list resource "controllerrevisions"`))
		Expect(lists(0, "/events")).To(BeZero())

		By("showing it to somebody who may")
		w.box(ctx, strings.Replace(spec, "a: b", "a: c", 1))
		w.running(ctx, name)
		w.website(ctx, "web", `{image: "two"}`)
		w.settled(ctx, "web")
		token = w.tokenOf(ctx, "sre")
		w.grant(ctx, "sre", "", to(ours, "operatorboxes", "get", "list"), to(w.group, "websites", "get", "list"), to("", "configmaps", "list"))
		w.grant(ctx, "sre", w.namespace, to("", "events", "list"))
		w.grant(ctx, "sre", ownNamespace, to("apps", "controllerrevisions", "list"))
		p = centerAs(address, token)
		Eventually(func(g Gomega) {
			resource = api.Resource{}
			g.Expect(p.ask(ctx, g, "boxes/"+name+"/resources/"+w.namespace+"/bad", &resource)).To(Equal(http.StatusOK))
			g.Expect(resource.Events).To(ContainElement(And(HaveField("Type", "Warning"), HaveField("Object", HaveSuffix("/bad")))))
			resource = api.Resource{}
			g.Expect(p.ask(ctx, g, "boxes/"+name+"/resources/"+w.namespace+"/web", &resource)).To(Equal(http.StatusOK))
			g.Expect(resource.Snapshots.Note).To(BeEmpty())
			g.Expect(resource.Snapshots.Kept).To(HaveLen(2))
			g.Expect(resource.Snapshots.Kept[1].Changes).To(HaveExactElements(And(HaveField("Field", "spec.image"), HaveField("Before", HaveValue(Equal("two"))), HaveField("After", HaveValue(Equal("one"))))))
			var box api.BoxDetail
			g.Expect(p.ask(ctx, g, "boxes/"+name, &box)).To(Equal(http.StatusOK))
			g.Expect(box.Revisions).To(HaveExactElements(And(HaveField("Current", true), HaveField("Changes", HaveLen(1))), HaveField("Name", revision)))
		}).WithContext(ctx).Should(Succeed())
		for _, path := range []string{"?from=" + revision, "?from=" + revision + "&to=" + getBox(ctx, Default, name).Status.Revision} {
			var difference api.Difference
			Expect(p.ask(ctx, Default, "boxes/"+name+"/difference"+path, &difference)).To(Equal(http.StatusOK))
			Expect(difference.Changes).To(HaveExactElements(And(HaveField("Field", "onReconcile.configmaps[1].data.a"), HaveField("Before", HaveValue(Equal("b"))), HaveField("After", HaveValue(Equal("c"))))))
		}
		Expect(p.ask(ctx, Default, "boxes/"+name+"/difference?from=no-such", &problem)).To(Equal(http.StatusNotFound))

		By("listing once, however often it is asked")
		mark, began := manager.requests.mark(), time.Now()
		const questions = 30
		for range questions {
			Expect(p.ask(ctx, Default, "boxes/"+name+"/resources/"+w.namespace+"/web", &resource)).To(Equal(http.StatusOK))
			Expect(p.ask(ctx, Default, "boxes/"+name, &api.BoxDetail{})).To(Equal(http.StatusOK))
		}
		most := 2 + int(time.Since(began)/(10*time.Second)) // a list before these, and one each ten seconds
		Expect(lists(mark, "/events")).To(BeNumerically("<=", most))
		Expect(lists(mark, "/controllerrevisions")).To(BeNumerically("<=", most))
	})
})
