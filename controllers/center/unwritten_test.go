package center

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/pipeline/hooks"
	"github.com/orkspace/orkestra/engine/status"
)

// Rows say why nothing is known where the box would write conditions and can't. The status of objects of others, and of a constructor's resources, is not
// the box's to write.
func TestUnwritten(t *testing.T) {
	g := NewWithT(t)
	writer, err := status.NewWriter(nil, false)
	g.Expect(err).NotTo(HaveOccurred())
	plan := &pipeline.Plan{}
	g.Expect(Unwritten(plan)).To(BeNil(), "a plan for deletions alone")
	plan.Status = writer
	g.Expect(Unwritten(plan)).To(HaveField("Reason", v1alpha1.ReasonNoStatusSubresource))
	g.Expect(NotesOn(plan)).To(ConsistOf(HavePrefix("How these resources fare is not in their status: version ")))
	plan.Constructor = &hooks.Constructor{}
	g.Expect(Unwritten(plan)).To(BeNil())
	plan.Constructor, plan.Status = nil, writer.FieldsOnly()
	g.Expect(Unwritten(plan)).To(BeNil())
	whole, err := status.NewWriter(nil, true)
	g.Expect(err).NotTo(HaveOccurred())
	plan.Status = whole
	g.Expect(Unwritten(plan)).To(BeNil())
	g.Expect(NotesOn(plan)).To(BeEmpty())
}
