package crds

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// fieldIndexer counts how often it was asked, and can't at first.
type fieldIndexer struct {
	err   error
	asked int
}

func (f *fieldIndexer) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	f.asked++
	return f.err
}

// TestTheIndexIsMadeWithTheFirstQuestionForIt, once, and again only where it could not be made.
func TestTheIndexIsMadeWithTheFirstQuestionForIt(t *testing.T) {
	g := NewWithT(t)
	away := errors.New("connection refused")
	indexes := &fieldIndexer{err: away}
	box := &v1alpha1.OperatorBox{}
	box.Name, box.Spec.CRD.Name = "website", "websites.demo.example.com"
	scheme := runtime.NewScheme()
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	cached := fake.NewClientBuilder().WithScheme(scheme).WithIndex(&v1alpha1.OperatorBox{}, Index, Indexed).WithObjects(box).Build()
	c := NewIndexing(cached, indexes)
	var found v1alpha1.OperatorBoxList
	g.Expect(c.List(t.Context(), &found)).To(Succeed())
	g.Expect(found.Items).To(HaveLen(1))
	g.Expect(indexes.asked).To(BeZero(), "nobody needs it yet")
	g.Expect(c.List(t.Context(), &found, Named("websites.demo.example.com"))).To(MatchError(away))
	indexes.err = nil
	for range 3 {
		g.Expect(c.List(t.Context(), &found, Named("websites.demo.example.com"))).To(Succeed())
		g.Expect(found.Items).To(HaveLen(1))
	}
	g.Expect(indexes.asked).To(Equal(2))
}
