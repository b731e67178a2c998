package manual

import (
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/orkspace/orkestra/engine/expr/functions"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/when"
)

// The reference has all that there is, each with what people need to use it.
func TestTheReferenceHasAll(t *testing.T) {
	g, r := NewWithT(t), Reference()
	g.Expect(r.Functions).To(HaveLen(len(functions.All())))
	g.Expect(r.Operators).To(HaveLen(len(when.Descriptions())))
	g.Expect(r.Kinds).To(HaveLen(len(kinds.Keys())))
	for _, f := range r.Functions {
		g.Expect([]string{f.Name, f.Group, f.Usage, f.Doc, f.Example}).NotTo(ContainElement(BeEmpty()), f.Name)
	}
	for _, o := range r.Operators {
		g.Expect([]string{o.Name, o.Short, o.Wants}).NotTo(ContainElement(BeEmpty()), o.Name)
	}
	for _, k := range r.Kinds {
		fields, err := Fields(k.Key)
		g.Expect(err).NotTo(HaveOccurred(), k.Key)
		g.Expect(fields.Common).NotTo(BeEmpty(), k.Key)
	}
}

func TestFieldsByTheirPaths(t *testing.T) {
	g := NewWithT(t)
	kind, err := Fields("deployments")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kind.Type).To(Equal("Deployment"))
	g.Expect(kind.Fields).To(ContainElement(And(HaveField("Name", "image"), HaveField("Text", Not(BeEmpty())))))
	below, err := Fields("deployments.probes")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(below.Common).To(BeEmpty())
	g.Expect(below.Fields).To(ContainElement(HaveField("Name", "readiness")))
	for _, path := range []string{"", "deployment.x.y", "deployments.imgae", "deployments.", "deployments.image.x", "../etc"} {
		_, err := Fields(path)
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%s: %v", path, err)
	}
}
