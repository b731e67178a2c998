package policies

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
)

// TestWhoMayServeAKindOfOthers: the policy asks for the resource that the manager watches, of every kind of Kubernetes.
func TestWhoMayServeAKindOfOthers(t *testing.T) {
	g := NewWithT(t)
	j, err := newJudge("box-crd", guards(t)["box-crd"])
	g.Expect(err).NotTo(HaveOccurred())
	kinds := 0
	for kind := range scheme.Scheme.AllKnownTypes() {
		version := kind.GroupVersion().String()
		if kind.Version == "__internal" {
			continue
		}
		served := &v1alpha1.OperatorBox{}
		served.Spec.CRD = v1alpha1.CRDReference{APIVersion: version, Kind: kind.Kind}
		after := box("", fmt.Sprintf("crd: {apiVersion: %s, kind: %s}", version, kind.Kind))
		for may, refusal := range map[string]OmegaMatcher{"operate " + crds.OthersName(served): BeEmpty(), "operate others.example.com": Not(BeEmpty())} {
			r := request{of: "operatorboxes.orkestra.orkspace.io", after: after, may: may}
			said, err := j.answer(t.Context(), r.attributes(t), r.rights(t))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(said.failed).To(BeEmpty())
			g.Expect(said.refusal).To(refusal, "%s with %s", kind, may)
		}
		kinds++
	}
	g.Expect(kinds).To(BeNumerically(">", 100))
}
