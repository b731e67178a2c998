package e2e_test

import (
	"context"
	"net/http"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/drain"
	"github.com/orkspace/orkestra/engine/web/api"
)

var _ = Describe("The page of several replicas", func() {
	It("has what the leader alone knows, whichever of them answers, and goes on without it", func(ctx context.Context) {
		w := newWorld(ctx)
		replaceManager()
		manager.stop()
		j := &journal{}
		pages := map[string]string{"a": freeAddress(), "b": freeAddress()}
		a := w.startReplica(j, "a", built.path(), "--web-bind-address", pages["a"])
		a.leads(ctx)
		b := w.startReplica(j, "b", built.path(), "--web-bind-address", pages["b"])
		b.ready(ctx)
		w.running(ctx, w.box(ctx, loaded))
		w.website(ctx, "shop", `{image: first, replicas: 1}`)
		w.settled(ctx, "shop")
		rules := []string{"operatorboxes", "crdhealths"}
		w.grant(ctx, "reader", "", to(ours, rules[0], "get", "list"), to(ours, rules[1], "get", "list"), to(w.group, "websites", "get", "list", "patch", "pause"))
		w.grant(ctx, "stranger", "", to("", "configmaps", "list"))
		reader, stranger := centerAs(pages["b"], w.tokenOf(ctx, "reader")), centerAs(pages["b"], w.tokenOf(ctx, "stranger"))
		reader.answers(ctx, http.StatusOK)
		resource := "boxes/" + w.id + "/resources/" + w.namespace + "/shop"
		// fromLeader checks that the page that a person has knows what the leader remembers.
		fromLeader := func(p *page) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				var m api.Manager
				g.Expect(p.ask(ctx, g, "manager", &m)).To(Equal(http.StatusOK))
				g.Expect(m.Message).To(BeEmpty(), "the leader has answered")
				var r api.Resource
				g.Expect(p.ask(ctx, g, resource, &r)).To(Equal(http.StatusOK))
				g.Expect(r.History.Note).To(BeEmpty())
				g.Expect(r.History.Cycles).NotTo(BeEmpty())
				var box api.BoxDetail
				g.Expect(p.ask(ctx, g, "boxes/"+w.id, &box)).To(Equal(http.StatusOK))
				g.Expect(box.Cycle.Steps).NotTo(BeEmpty(), box.Cycle.Note)
				var fleet api.Fleet
				g.Expect(p.ask(ctx, g, "fleet", &fleet)).To(Equal(http.StatusOK))
				g.Expect(fleet.Manager.Message).To(BeEmpty())
			}).WithContext(ctx).Should(Succeed())
		}
		fromLeader(reader)

		By("showing each person what they may read, as the leader would")
		var refused api.Problem
		Expect(stranger.ask(ctx, Default, resource, &refused)).To(Equal(http.StatusForbidden))
		Expect(centerAs(pages["b"], "").ask(ctx, Default, "fleet", &refused)).To(Equal(http.StatusUnauthorized))
		Expect(b.wrote(0)).To(BeEmpty(), "a follower writes nothing")

		By("doing what somebody asks a follower for")
		var done api.Done
		shop := func() map[string]string {
			return w.get(ctx, Default, "shop").GetAnnotations()
		}
		order := api.Order{UID: string(w.get(ctx, Default, "shop").GetUID())}
		Expect(reader.post(ctx, resource+"/actions/pause", order, &done)).To(Equal(http.StatusOK), done.Message)
		Expect(shop()).To(HaveKeyWithValue(v1alpha1.AnnotationPaused, "true"))
		Expect(shop()[v1alpha1.AnnotationLastAction]).To(ContainSubstring(":reader"))
		Eventually(func() int { return reader.post(ctx, resource+"/actions/resume", order, &done) }).WithContext(ctx).Should(Equal(http.StatusOK), "its cache follows")
		Expect(b.wrote(0)).To(BeEmpty(), "the leader has")

		By("being asked while the leader hangs")
		a.Signal(syscall.SIGSTOP)
		DeferCleanup(func() { a.Signal(syscall.SIGCONT) })
		var m api.Manager
		Expect(reader.ask(ctx, Default, "manager", &m)).To(Equal(http.StatusOK))
		Expect(m.Message).To(Or(BeEmpty(), HavePrefix("A manager answers that does not lead")), "or b leads by now")
		if m.Message != "" {
			Expect(reader.post(ctx, resource+"/actions/pause", order, &refused)).To(Or(Equal(http.StatusServiceUnavailable), Equal(http.StatusOK)), refused.Detail)
		}

		By("leading itself")
		b.leads(ctx)
		w.website(ctx, "shop", `{image: second, replicas: 1}`)
		fromLeader(reader)
		lease := &coordinationv1.Lease{}
		at := func(g Gomega) map[string]string {
			g.Expect(kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: drain.LeaseName}, lease)).To(Succeed())
			return lease.Annotations
		}
		Eventually(at).WithContext(ctx).Should(And(HaveKeyWithValue(v1alpha1.AnnotationWebAddress, pages["b"]), HaveKey(v1alpha1.AnnotationWebCertificate)))
		a.Signal(syscall.SIGCONT)
		Eventually(a, patience).Should(gexec.Exit())

		By("letting go")
		b.Signal(syscall.SIGTERM)
		Eventually(b, patience).Should(gexec.Exit(0))
		Expect(at(Default)).NotTo(Or(HaveKey(v1alpha1.AnnotationWebAddress), HaveKey(v1alpha1.AnnotationWebCertificate)))
	})
})
