package e2e_test

import (
	"context"
	"encoding/json"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/controllers/serve"
	"github.com/orkspace/orkestra/engine/web/api"
)

var _ = Describe("The Control Center's plans", func() {
	// declared is what the running box declares, and planned a change of it.
	const (
		declared = `{configmaps: [{id: first, name: "{{ .metadata.name }}-first", initialFields: [data.ok], data: {ok: "no"}}]}`
		planned  = `{configmaps: [{id: first, name: "{{ .metadata.name }}-first", initialFields: [data.ok], data: {ok: "no"}},
    {id: second, name: "{{ .metadata.name }}-second", when: [{field: children.first.data.seen, equals: "yes"}], data: {image: "{{ .spec.image }}", word: "{{ .cross.word.data.password | b64dec }}"}}],
  secrets: [{once: true, data: {password: never-shown}}]}`
	)
	var w *world
	var boxes func(onReconcile string) string
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		w.running(ctx, w.box(ctx, `{onReconcile: `+declared+`}`))
		w.website(ctx, "web", `{image: "nginx:1"}`)
		Expect(kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "word"}, Data: map[string][]byte{"password": []byte("hunter2")}})).To(Succeed())
		boxes = func(onReconcile string) string {
			return "apiVersion: orkestra.orkspace.io/v1alpha1\nkind: OperatorBox\nmetadata: {name: " + w.id + "}\nspec:\n  crd: {name: websites." + w.group + "}\n" +
				"  cross: [{name: word, apiVersion: v1, kind: Secret, selector: {name: word}}]\n  onReconcile: " + onReconcile + "\n"
		}
	})
	of := func() *api.ResourceOf { return &api.ResourceOf{Box: w.id, Namespace: w.namespace, Name: "web"} }

	It("says on a laptop what is wrong, and what the cluster would get", func(ctx context.Context) {
		p := openUI(cluster.Kubeconfig())

		By("saying what is wrong, and where")
		var compiled api.Compiled
		Expect(p.post(ctx, "compile", api.CompileQuestion{Boxes: boxes(`{configmaps: [{name: a, data: {image: "{{ .spec.imgae }}"}}]}`)}, &compiled, from("same-origin"))).To(Equal(http.StatusOK))
		Expect(compiled.Valid).To(BeFalse())
		Expect(compiled.Documents).To(HaveLen(1))
		Expect(compiled.Documents[0].Mistakes).To(HaveExactElements(And(HaveField("Path", "spec.onReconcile.configmaps[0].data.image"), HaveField("Line", 7), HaveField("Column", BeNumerically(">", 1)),
			HaveField("Message", ContainSubstring(`did you mean "image"?`)))))

		By("rendering a change for a resource of the cluster, whose children are as they are")
		var rendered api.Rendered
		Eventually(func(g Gomega) { // the first child is made in a moment
			rendered = api.Rendered{}
			g.Expect(p.post(ctx, "render", api.RenderQuestion{Boxes: boxes(planned), Of: of()}, &rendered, from("same-origin"))).To(Equal(http.StatusOK))
			g.Expect(rendered.Compiled.Valid).To(BeTrue(), "%v", rendered.Compiled)
			g.Expect(rendered.Resources).To(HaveLen(1))
			g.Expect(rendered.Resources[0].Waits).To(ContainElement(ContainSubstring("children.first.data.seen")))
		}).WithContext(ctx).Should(Succeed())
		Expect(rendered.Resources[0].Objects).To(ConsistOf(
			And(HaveField("Kind", "ConfigMap"), HaveField("Name", "web-first")),
			And(HaveField("Kind", "Secret"), HaveField("YAML", And(ContainSubstring("password: '*** (11 bytes)'"), Not(ContainSubstring("never-shown"))))),
		))
		first := &corev1.ConfigMap{}
		w.child(ctx, Default, first, "web-first")
		first.Data["seen"] = "yes"
		Expect(kube.Update(ctx, first)).To(Succeed())
		rendered = api.Rendered{}
		Expect(p.post(ctx, "render", api.RenderQuestion{Boxes: boxes(planned), Of: of()}, &rendered, from("same-origin"))).To(Equal(http.StatusOK))
		Expect(rendered.Resources[0].Objects).To(ContainElement(And(HaveField("Name", "web-second"), HaveField("YAML", And(ContainSubstring("image: nginx:1"), ContainSubstring("word: hunter2"))))))
		Expect(rendered.Resources[0].Error).To(BeEmpty())
		var secrets corev1.SecretList
		Expect(kube.List(ctx, &secrets)).To(Succeed())
		Expect(secrets.Items).NotTo(ContainElement(HaveField("Labels", HaveKeyWithValue("orkestra-owner", "web"))), "nothing was written")
	})

	It("renders in the manager what the person may read, without a request but reviews", func(ctx context.Context) {
		address := servePage(serve.Options{})
		w.running(ctx, w.id)
		w.settled(ctx, "web")
		token := w.tokenOf(ctx, "reader")
		w.grant(ctx, "reader", "", to(ours, "operatorboxes", "get", "list"), to("apiextensions.k8s.io", "customresourcedefinitions", "get"))
		w.grant(ctx, "reader", w.namespace, to(w.group, "websites", "get", "list"), to("", "configmaps", "list"))
		p := centerAs(address, token)
		p.answers(ctx, http.StatusOK)
		var rendered api.Rendered
		Eventually(func(g Gomega) { // the process has just begun, and may still write of itself beside the first question
			mark := manager.requests.mark()
			g.Expect(p.post(ctx, "render", api.RenderQuestion{Boxes: boxes(planned), Of: of()}, &rendered, from("same-origin"))).To(Equal(http.StatusOK))
			for _, r := range manager.requests.since(mark, "/") {
				g.Expect(r.path).To(HaveSuffix("/subjectaccessreviews"), "a request that a plan has caused")
			}
		}).WithContext(ctx).Should(Succeed())
		Expect(rendered.Compiled.Valid).To(BeTrue(), "%v", rendered.Compiled)
		Expect(rendered.Resources).To(HaveLen(1))
		Expect(rendered.Resources[0].Waits).To(ContainElement(ContainSubstring(`Secret "` + w.namespace + `/word" could not be read`)))
		Expect(rendered.Resources[0].Notes).To(ContainElement(ContainSubstring("cannot get resource \"secrets\"")))
		Expect(rendered.Notes).To(ContainElement(ContainSubstring("How its children of kind Secret are is not known")))
		said, err := json.Marshal(rendered)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(said)).NotTo(Or(ContainSubstring("hunter2"), ContainSubstring("aHVudGVyMg")), "a Secret that the person may not read")

		By("refusing a resource that the person may not read")
		var problem api.Problem
		Expect(p.post(ctx, "render", api.RenderQuestion{Boxes: boxes(planned), Of: &api.ResourceOf{Box: w.id, Namespace: "kube-system", Name: "web"}}, &problem, from("same-origin"))).To(Equal(http.StatusForbidden))
		Expect(centerAs(address, "").post(ctx, "compile", api.CompileQuestion{}, &problem, from("same-origin"))).To(Equal(http.StatusUnauthorized))
	})
})
