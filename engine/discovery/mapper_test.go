package discovery

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// counting counts what a mapper is asked.
type counting struct {
	meta.RESTMapper

	asked int
}

func (c *counting) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	c.asked++
	return c.RESTMapper.RESTMapping(kind, versions...)
}

func TestTheMapperRemembersWhatThereIsNot(t *testing.T) {
	g := NewWithT(t)
	clk := testingclock.NewFakePassiveClock(time.Unix(0, 0))
	known := meta.NewDefaultRESTMapper(nil)
	under := &counting{RESTMapper: known}
	m := NewMapper(under, clk)
	kind := schema.GroupVersionKind{Group: "a.b", Version: "v1", Kind: "C"}
	for range 3 {
		_, err := m.RESTMapping(kind.GroupKind(), kind.Version)
		g.Expect(meta.IsNoMatchError(err)).To(BeTrue())
	}
	g.Expect(under.asked).To(Equal(1))

	known.Add(kind, meta.RESTScopeNamespace)
	clk.SetTime(time.Unix(1, 0))
	for range 3 {
		mapping, err := m.RESTMapping(kind.GroupKind(), kind.Version)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(mapping.GroupVersionKind).To(Equal(kind))
	}
	g.Expect(under.asked).To(Equal(4), "what there is, the mapper below remembers")
}

func TestOwnKind(t *testing.T) {
	g := NewWithT(t)
	kind := schema.GroupVersionKind{Group: "a.b", Version: "v1", Kind: "C"}
	other := kind.GroupVersion().WithKind("D")
	stale := meta.NewDefaultRESTMapper(nil)
	stale.Add(kind, meta.RESTScopeNamespace)
	stale.Add(other, meta.RESTScopeNamespace)
	m := MapperOf(stage.CRD{Kind: kind, Resource: kind.GroupVersion().WithResource("cees")}, stale)
	mapping, err := m.RESTMapping(kind.GroupKind(), kind.Version)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(mapping.Scope.Name()).To(Equal(meta.RESTScopeNameRoot))
	g.Expect(mapping.Resource.Resource).To(Equal("cees"))
	mapping, err = m.RESTMapping(other.GroupKind(), other.Version)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(mapping.Scope.Name()).To(Equal(meta.RESTScopeNameNamespace))
}
