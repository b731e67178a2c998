package e2e_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// ruled is a spec of a box, and what the API server must do by it.
type ruled struct {
	spec    string
	objects []string          // the policies and bindings
	takes   []string          // modes of resources
	refuses map[string]string // modes, with what is wrong with them
}

// objectsOfPolicies names all policies and bindings in the cluster that are marked as a box's.
func objectsOfPolicies(ctx context.Context, g Gomega, box string) []string {
	names := []string{}
	for kind, list := range map[string]client.ObjectList{
		"v": &admissionregistrationv1.ValidatingAdmissionPolicyList{}, "vb": &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{},
		"m": &admissionregistrationv1.MutatingAdmissionPolicyList{}, "mb": &admissionregistrationv1.MutatingAdmissionPolicyBindingList{},
	} {
		g.Expect(kube.List(ctx, list, client.MatchingLabels{v1alpha1.LabelBox: box})).To(Succeed())
		g.Expect(meta.EachListItem(list, func(o runtime.Object) error {
			named, err := meta.Accessor(o)
			if err == nil {
				names = append(names, kind+strings.TrimPrefix(named.GetName(), "orkestra-"+box))
			}
			return err
		})).To(Succeed())
	}
	return names
}

var _ = Describe("The policies of a box, when the leader is killed", func() {
	none := ruled{spec: "validation: {rules: [{field: spec.mode, in: [a]}]}\n", takes: []string{"a", "b"}}
	full := ruled{
		spec: "admission: {validation: true, mutation: true}\nmutation: {rules: [{field: spec.replicas, default: 2}]}\n" +
			"validation: {rules: [{field: spec.mode, in: [a]}, {field: spec.port, lessThan: 9, action: warn}]}\n",
		objects: []string{"v", "vb", "v-warn", "vb-warn", "m", "mb"}, takes: []string{"a"},
		refuses: map[string]string{"b": "spec.mode: wanted one of a, found b"},
	}
	less := ruled{
		spec:    "admission: {validation: true}\nvalidation: {rules: [{field: spec.mode, in: [b]}]}\n",
		objects: []string{"v", "vb"}, takes: []string{"b"}, refuses: map[string]string{"a": "spec.mode: wanted one of b, found a"},
	}
	// The leader is killed when it sends the given write of policies, counted from one. The last spec is written while nobody leads.
	DescribeTable("are those of its spec, and nothing is left", longest, func(ctx context.Context, from, to, last ruled, nth int) {
		w := newWorld(ctx)
		replaceManager()
		manager.stop()
		j := &journal{}
		a := w.startReplica(j, "a", built.path())
		a.leads(ctx)
		b := w.startReplica(j, "b", built.path())
		b.ready(ctx)
		name := w.box(ctx, from.spec)
		w.running(ctx, name)
		Eventually(func(g Gomega) {
			g.Expect(objectsOfPolicies(ctx, g, name)).To(ConsistOf(from.objects))
		}).WithContext(ctx).Should(Succeed())
		sent := 0
		j.tell(func(c alteration) {
			if c.process != "a" || !strings.Contains(c.path, "/admissionregistration.k8s.io/") {
				return
			}
			if sent++; sent == nth {
				a.Kill()
			}
		})
		w.box(ctx, to.spec)
		Eventually(a, patience).Should(gexec.Exit())
		if last.spec != to.spec {
			w.box(ctx, last.spec)
		}
		b.leads(ctx)
		w.running(ctx, name)
		Eventually(func(g Gomega) {
			g.Expect(objectsOfPolicies(ctx, g, name)).To(ConsistOf(last.objects))
		}).WithContext(ctx).Should(Succeed())
		if len(last.objects) > 0 {
			w.enforcing(ctx, name)
		}
		for mode, message := range last.refuses {
			w.denied(ctx, name, `{mode: `+mode+`}`, message)
		}
		for _, mode := range last.takes {
			w.admitted(ctx, `{mode: `+mode+`}`)
		}
		Expect(objectsOfPolicies(ctx, Default, name)).To(ConsistOf(last.objects))
	},
		Entry("at the first that is written", none, full, full, 1),
		Entry("between a policy and its binding, and the box asks for none any more", none, full, none, 2),
		Entry("while they are changed", full, less, less, 1),
		Entry("while some are deleted", full, less, less, 3),
		Entry("while they are changed, and the box goes back to its former spec", full, less, full, 2),
		Entry("while all are deleted", full, none, none, 2),
	)
})
