package e2e_test

import (
	"context"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// spent are the requests about the objects of a world's namespace since a mark, as "method resource", reads among them. Events are not:
// they are sent behind everything else, by nobody who could be waited for.
func (w *world) spent(mark int) []string {
	var out []string
	for _, r := range manager.requests.since(mark, "/namespaces/"+w.namespace+"/") {
		_, path, _ := strings.Cut(r.path, "/namespaces/"+w.namespace+"/")
		parts := strings.Split(path, "/")
		what := parts[0]
		if what == "events" {
			continue
		}
		if len(parts) > 2 {
			what += "/" + parts[2]
		}
		method := r.method
		if method == http.MethodPatch && strings.Contains(r.query, "fieldManager") && strings.Contains(r.query, "force=") {
			method = "apply"
		}
		out = append(out, method+" "+what)
	}
	for _, r := range manager.requests.since(mark, "/namespaces/"+ownNamespace+"/controllerrevisions") {
		out = append(out, r.method+" controllerrevisions") // snapshots
	}
	return out
}

var _ = Describe("A new resource", func() {
	DescribeTable("costs as few requests as it can", func(ctx context.Context, box string, want []string) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, box))
		mark := manager.requests.mark()
		w.website(ctx, "web", `{mode: a}`)
		w.settled(ctx, "web")
		Expect(w.spent(mark)).To(ConsistOf(want))
	},
		Entry("with three children that are kept corrected: one mark, one apply each, one status",
			`{onReconcile: {configmaps: [{name: a, data: {a: "{{ .spec.mode }}"}}, {name: b, data: {a: b}}, {name: c, data: {a: b}}]}}`,
			[]string{"apply websites", "apply configmaps", "apply configmaps", "apply configmaps", "PATCH websites/status"}),
		Entry("with three children that are made once: one mark, one POST each, one status",
			`{onReconcile: {configmaps: [{name: a, once: true, data: {a: "{{ .spec.mode }}"}}, {name: b, once: true, data: {a: b}}, {name: c, once: true, data: {a: b}}]}}`,
			[]string{"apply websites", "POST configmaps", "POST configmaps", "POST configmaps", "PATCH websites/status"}),
		Entry("with onCreate: a further mark when that is complete",
			`{onCreate: {configmaps: [{name: a, data: {a: "{{ .spec.mode }}"}}, {name: b, data: {a: b}}, {name: c, data: {a: b}}]}}`,
			[]string{"apply websites", "POST configmaps", "POST configmaps", "POST configmaps", "apply websites", "PATCH websites/status"}),
		Entry("with rollback: a dry run of the child, and a snapshot",
			`{rollBackOnError: true, onReconcile: {configmaps: [{name: a, data: {a: "{{ .spec.mode }}"}}]}}`,
			[]string{"apply websites", "apply configmaps", "apply configmaps", "POST controllerrevisions", "PATCH websites/status"}),
	)
})
