package inspect

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/revision"
)

// planning makes plans, and counts them.
type planning struct {
	asked int
	err   error
}

func (*planning) KindOf(context.Context, string) schema.GroupVersionKind {
	return schema.GroupVersionKind{}
}

func (p *planning) PlanOf(context.Context, *v1alpha1.OperatorBox, revision.Ref) (*pipeline.Plan, error) {
	p.asked++
	return &pipeline.Plan{}, p.err
}

// TestARevisionIsCompiledOnce: a tree of a box with a thousand resources asks for its plan as often.
func TestARevisionIsCompiledOnce(t *testing.T) {
	g := NewWithT(t)
	plans := &planning{}
	i := &Inspector{Session: NewSession(Ports{Plans: plans}), plans: map[planned]planOf{}}
	box := &v1alpha1.OperatorBox{}
	box.Name, box.ResourceVersion, box.Status.Revision = "shop", "1", "shop-1"
	first, err := i.Plan(t.Context(), box)
	g.Expect(err).NotTo(HaveOccurred())
	for range 3 {
		g.Expect(i.Plan(t.Context(), box.DeepCopy())).To(BeIdenticalTo(first))
	}
	g.Expect(plans.asked).To(Equal(1))

	plans.err = errors.New("it does not compile")
	for n, change := range []func(){
		func() { box.ResourceVersion = "2" },
		func() { box.Status.Revision = "shop-2" },
		func() { box.Status.RevisionHash = "hash" },
		func() { box.Name = "other" },
	} {
		change()
		for range 2 {
			_, err := i.Plan(t.Context(), box)
			g.Expect(err).To(MatchError("it does not compile"))
			g.Expect(plans.asked).To(Equal(2 + n))
		}
	}
}
