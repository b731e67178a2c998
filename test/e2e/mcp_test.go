package e2e_test

import (
	"context"
	"encoding/json"
	"maps"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/web/api"
)

// tools calls those of a server of the Model Context Protocol.
type tools struct{ *mcp.ClientSession }

// openMCP starts `orkestra mcp`, as a client of a language model does.
func openMCP(ctx context.Context, kubeconfig string, args ...string) tools {
	GinkgoHelper()
	command := exec.Command(built.path(), append([]string{"mcp", "--kubeconfig", kubeconfig}, args...)...)
	command.Stderr = GinkgoWriter
	session, err := mcp.NewClient(&mcp.Implementation{Name: "e2e"}, nil).Connect(ctx, &mcp.CommandTransport{Command: command}, nil)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		Expect(session.Close()).To(Succeed()) // which has closed the input
		Expect(command.ProcessState.ExitCode()).To(BeZero(), "it ends by itself when its input does")
	})
	return tools{session}
}

// names are those of the tools that there are.
func (t tools) names(ctx context.Context) (names []string) {
	GinkgoHelper()
	list, err := t.ListTools(ctx, nil)
	Expect(err).NotTo(HaveOccurred())
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// lacks has a tool refused because there is none.
func (t tools) lacks(ctx context.Context, name string, arguments map[string]any) {
	GinkgoHelper()
	Expect(t.names(ctx)).NotTo(ContainElement(name))
	_, err := t.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	Expect(err).To(MatchError(ContainSubstring("unknown tool %q", name)))
}

// call gives the text of an answer, and whether it is an error.
func (t tools) call(ctx context.Context, g Gomega, name string, arguments map[string]any) (text string, failed bool) {
	result, err := t.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.Content).To(HaveExactElements(BeAssignableToTypeOf(&mcp.TextContent{})))
	return result.Content[0].(*mcp.TextContent).Text, result.IsError
}

// read gives an answer.
func (t tools) read(ctx context.Context, g Gomega, name string, arguments map[string]any, answer any) {
	text, failed := t.call(ctx, g, name, arguments)
	g.Expect(failed).To(BeFalse(), text)
	g.Expect(json.Unmarshal([]byte(text), answer)).To(Succeed())
}

var _ = Describe("A language model", func() {
	It("is told what the page shows, and no Secret", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{id: first, name: "{{ .metadata.name }}-first", initialFields: [data.ok], data: {ok: "no"}},
  {id: second, name: "{{ .metadata.name }}-second", when: [{field: children.first.data.ok, equals: "yes"}], data: {a: b}}],
  secrets: [{once: true, data: {password: never-shown}}]}}`))
		w.website(ctx, "web", `{}`)
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonWaitingForGate, "children.first.data.ok")
		model := openMCP(ctx, cluster.Kubeconfig())
		resource := map[string]any{"box": w.id, "namespace": w.namespace, "name": "web"}

		var fleet api.Fleet
		model.read(ctx, Default, "list_boxes", nil, &fleet)
		Expect(fleet.Boxes).To(ContainElement(HaveField("Name", w.id)))
		var page api.Rows
		model.read(ctx, Default, "list_resources", map[string]any{"box": w.id, "state": "Waiting"}, &page)
		Expect(page.Rows).To(HaveExactElements(HaveField("Name", "web")))
		var why struct {
			Condition    api.Condition     `json:"condition"`
			Cause        *api.Cause        `json:"cause"`
			Declarations []api.Declaration `json:"declarations"`
		}
		asked := maps.Clone(resource)
		asked["type"] = v1alpha1.ConditionReconciling
		model.read(ctx, Default, "explain_condition", asked, &why)
		Expect(why.Condition.Reason).To(Equal(v1alpha1.ReasonWaitingForGate))
		Expect(why.Cause).To(And(HaveField("Declaration", "second"), HaveField("Field", "children.first.data.ok"), HaveField("Wanted", "equals yes")))
		Expect(why.Declarations).To(HaveExactElements(HaveField("Declaration", "second")))

		text, failed := model.call(ctx, Default, "get_resource", resource)
		Expect(failed).To(BeFalse())
		Expect(text).To(And(ContainSubstring("password: '*** (11 bytes)'"), Not(ContainSubstring("never-shown"))))
		text, failed = model.call(ctx, Default, "get_box", map[string]any{"box": w.id + "-none"})
		Expect(failed).To(BeTrue())
		Expect(text).To(ContainSubstring("not found"))
		w.compiles(ctx, model)
	})

	It("acts on standard input with --allow-actions alone, and with the rights of the kubeconfig", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{data: {a: b}}]}}`))
		w.website(ctx, "web", `{}`)
		live := w.settled(ctx, "web")
		order := map[string]any{"box": w.id, "namespace": w.namespace, "name": "web", "uid": string(live.GetUID())}
		openMCP(ctx, cluster.Kubeconfig()).lacks(ctx, "reconcile_now", order)

		By("refusing who may not patch")
		token := w.tokenOf(ctx, "reader")
		w.grant(ctx, "reader", "", to("orkestra.orkspace.io", "operatorboxes", "get", "list"), to("orkestra.orkspace.io", "crdhealths", "list"), to(w.group, "websites", "get", "list"))
		text, failed := openMCP(ctx, kubeconfigOf(token), "--allow-actions").call(ctx, Default, "reconcile_now", order)
		Expect(failed).To(BeTrue())
		Expect(text).To(ContainSubstring(`you may not patch websites.%s "web" in namespace %q`, w.group, w.namespace))
		Expect(w.get(ctx, Default, "web").GetResourceVersion()).To(Equal(live.GetResourceVersion()))

		By("doing it for who may")
		var done api.Done
		openMCP(ctx, cluster.Kubeconfig(), "--allow-actions").read(ctx, Default, "reconcile_now", order, &done)
		Expect(done.Action).To(Equal(api.Reconcile))
		Expect(w.get(ctx, Default, "web").GetAnnotations()).To(And(HaveKey(v1alpha1.AnnotationReconcileAt), Not(HaveKey(v1alpha1.AnnotationLastAction))))
	})
})
