package discovery

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

func TestTheMapperRemembers(t *testing.T) {
	g := NewWithT(t)
	clk := testingclock.NewFakePassiveClock(time.Unix(0, 0))
	known := meta.NewDefaultRESTMapper(nil)
	under := &counting{RESTMapper: known}
	m := NewMapper(under, clk, nil, func(string) {})
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
	g.Expect(under.asked).To(Equal(2), "what there is, too")
}

// cees is a CRD of Cs in a group, which serves v1.
func cees(scope apiextensionsv1.ResourceScope) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "cees.a.b"}}
	crd.Spec.Group, crd.Spec.Scope = "a.b", scope
	crd.Spec.Names.Kind, crd.Spec.Names.Plural = "C", "cees"
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true}, {Name: "v0"}}
	return crd
}

// TestAKindGoesAndComesWithItsCRD: whatever discovery says, which is asked once and remembers.
func TestAKindGoesAndComesWithItsCRD(t *testing.T) {
	g := NewWithT(t)
	stale := meta.NewDefaultRESTMapper(nil)
	kind := schema.GroupVersionKind{Group: "a.b", Version: "v1", Kind: "C"}
	stale.AddSpecific(kind, kind.GroupVersion().WithResource("cees"), kind.GroupVersion().WithResource("cee"), meta.RESTScopeNamespace)
	var changed []string
	m := NewMapper(stale, testingclock.NewFakePassiveClock(time.Unix(0, 0)), nil, func(group string) { changed = append(changed, group) })
	scope := func() string {
		mapping, err := m.RESTMapping(kind.GroupKind(), kind.Version)
		if meta.IsNoMatchError(err) {
			return "absent"
		}
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(mapping.Resource).To(Equal(kind.GroupVersion().WithResource("cees")))
		return string(mapping.Scope.Name())
	}
	g.Expect(scope()).To(Equal("namespace"))
	g.Expect(m.Awaits("cees.a.b")).To(BeFalse())

	m.Uninstalled("cees.a.b")
	m.Uninstalled("cees.a.b")
	g.Expect(scope()).To(Equal("absent"), "though discovery has not noticed")
	g.Expect(m.Awaits("cees.a.b")).To(BeTrue())
	g.Expect(changed).To(Equal([]string{"a.b"}), "once")

	m.Installed(cees(apiextensionsv1.ClusterScoped))
	m.Installed(cees(apiextensionsv1.ClusterScoped))
	g.Expect(scope()).To(Equal("root"), "as the new CRD says")
	g.Expect(changed).To(Equal([]string{"a.b", "a.b"}))
	_, err := m.RESTMapping(kind.GroupKind(), "v0")
	g.Expect(meta.IsNoMatchError(err)).To(BeTrue(), "it is not served")
	m.Uninstalled("cees.a.b")
	g.Expect(scope()).To(Equal("absent"))
}

// TestAKindComesBackUnderAnotherPlural: as another CRD, which nobody has asked for yet.
func TestAKindComesBackUnderAnotherPlural(t *testing.T) {
	g := NewWithT(t)
	stale := meta.NewDefaultRESTMapper(nil)
	kind := schema.GroupVersionKind{Group: "a.b", Version: "v1", Kind: "C"}
	stale.AddSpecific(kind, kind.GroupVersion().WithResource("cees"), kind.GroupVersion().WithResource("cee"), meta.RESTScopeNamespace)
	changed := 0
	m := NewMapper(stale, testingclock.NewFakePassiveClock(time.Unix(0, 0)), nil, func(string) { changed++ })
	_, err := m.RESTMapping(kind.GroupKind(), kind.Version)
	g.Expect(err).NotTo(HaveOccurred())
	m.Uninstalled("cees.a.b")
	g.Expect(m.Awaits("ceez.a.b")).To(BeTrue())
	g.Expect(m.Awaits("cees.other")).To(BeFalse())

	other := cees(apiextensionsv1.ClusterScoped)
	other.Name, other.Spec.Names.Plural = "ceez.a.b", "ceez"
	m.Installed(other)
	g.Expect(changed).To(Equal(2))
	mapping, err := m.RESTMapping(kind.GroupKind(), kind.Version)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(mapping.Resource).To(Equal(kind.GroupVersion().WithResource("ceez")))
	g.Expect(mapping.Scope.Name()).To(Equal(meta.RESTScopeNameRoot))

	m.Uninstalled("ceez.a.b")
	m.Installed(cees(apiextensionsv1.NamespaceScoped))
	mapping, err = m.RESTMapping(kind.GroupKind(), kind.Version)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(mapping.Resource).To(Equal(kind.GroupVersion().WithResource("cees")))
}

// TestAKindThatIsAwaitedIsKnownAtOnce: before discovery says so, and before the memory of its absence is over.
func TestAKindThatIsAwaitedIsKnownAtOnce(t *testing.T) {
	g := NewWithT(t)
	told := ""
	m := NewMapper(meta.NewDefaultRESTMapper(nil), testingclock.NewFakePassiveClock(time.Unix(0, 0)), nil, func(group string) { told = group })
	kind := schema.GroupKind{Group: "a.b", Kind: "C"}
	_, err := m.RESTMapping(kind, "v1")
	g.Expect(meta.IsNoMatchError(err)).To(BeTrue())
	g.Expect(m.Awaits("cees.a.b")).To(BeTrue())
	g.Expect(m.Awaits("cees.other")).To(BeFalse())
	m.Installed(cees(apiextensionsv1.NamespaceScoped))
	g.Expect(told).To(Equal("a.b"))
	mapping, err := m.RESTMapping(kind, "v1")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(mapping.Scope.Name()).To(Equal(meta.RESTScopeNameNamespace))
}

// TestAPathThatIsNotServedHasDiscoveryAskedAnew: no CRD tells of the kinds of an aggregated API server.
func TestAPathThatIsNotServedHasDiscoveryAskedAnew(t *testing.T) {
	g := NewWithT(t)
	clk := testingclock.NewFakePassiveClock(time.Unix(100, 0))
	kind := schema.GroupVersionKind{Group: "a.b", Version: "v1", Kind: "C"}
	stale, made := meta.NewDefaultRESTMapper(nil), 0
	stale.Add(kind, meta.RESTScopeNamespace)
	m := NewMapper(stale, clk, func() (meta.RESTMapper, error) {
		made++
		return meta.NewDefaultRESTMapper(nil), nil
	}, func(string) {})
	own := MapperOf(stage.CRD{Kind: kind.GroupVersion().WithKind("Own")}, m)
	tell, _ := own.(interface {
		Unserved(kind schema.GroupVersionKind)
	})
	_, err := own.RESTMapping(kind.GroupKind(), kind.Version)
	g.Expect(err).NotTo(HaveOccurred())
	tell.Unserved(kind.GroupVersion().WithKind("Own"))
	g.Expect(made).To(BeZero(), "the box's own kind is as its CRD says")
	for range 3 {
		tell.Unserved(kind)
	}
	g.Expect(made).To(Equal(1), "one in a second: thousands of resources may find out")
	_, err = own.RESTMapping(kind.GroupKind(), kind.Version)
	g.Expect(meta.IsNoMatchError(err)).To(BeTrue())
	clk.SetTime(time.Unix(101, 0))
	tell.Unserved(kind)
	g.Expect(made).To(Equal(2))
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
