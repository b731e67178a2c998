// Package discovery knows how the API server serves kinds, and which schemas custom kinds have.
package discovery

import (
	"maps"
	"reflect"
	"strings"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// absence is how long a kind that is not installed is believed to be absent. Every reconcile of a resource that waits for it
// would otherwise ask the API server twice, and there can be thousands of them. It is also the least time between two mappers.
const absence = time.Second

// Mapper is the mapper of the process. The one below it keeps the first answer that it got, and looks for it anew in all that it knows each
// time; this one keeps the answer itself, knows which kinds are not installed, for a moment, and forgets a kind when its CRD goes. It is safe for concurrent use.
type Mapper struct {
	meta.RESTMapper // the first one below; never used where fresh has given another

	clock   clock.PassiveClock
	fresh   func() (meta.RESTMapper, error)
	changed func(group string)

	mu      sync.Mutex
	below   meta.RESTMapper                               // guarded by mu
	renewed time.Time                                     // when below was made; guarded by mu
	served  map[schema.GroupVersionKind]*meta.RESTMapping // what below has answered: it looks through all that it knows each time; guarded by mu
	absent  map[schema.GroupVersionKind]noMatch           // guarded by mu
	awaited map[string]bool                               // groups of which a kind was not installed, or went; guarded by mu
	gone    map[string]bool                               // names of CRDs that were deleted and are not back; guarded by mu
	defined map[schema.GroupVersionKind]definedByCRD      // kinds that were installed after somebody had waited for them; guarded by mu
}

type noMatch struct {
	err   error
	until time.Time
}

// definedByCRD is how a kind is served by what its CRD says.
type definedByCRD struct {
	crd     string
	mapping *meta.RESTMapping
}

// NewMapper gives a mapper above another one. fresh makes one like that which knows nothing yet; nil: there is none. changed is told of each
// group of which a kind that was awaited came, or one went; it must not block.
func NewMapper(below meta.RESTMapper, clk clock.PassiveClock, fresh func() (meta.RESTMapper, error), changed func(group string)) *Mapper {
	return &Mapper{
		RESTMapper: below, below: below, clock: clk, fresh: fresh, changed: changed,
		served: map[schema.GroupVersionKind]*meta.RESTMapping{}, absent: map[schema.GroupVersionKind]noMatch{}, awaited: map[string]bool{}, gone: map[string]bool{},
		defined: map[schema.GroupVersionKind]definedByCRD{},
	}
}

// RESTMapping implements meta.RESTMapper.
func (m *Mapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	m.mu.Lock()
	below := m.below
	m.mu.Unlock()
	if len(versions) != 1 {
		return below.RESTMapping(kind, versions...)
	}
	key := kind.WithVersion(versions[0])
	if mapping, err := m.known(key); mapping != nil || err != nil {
		return mapping, err
	}
	mapping, err := below.RESTMapping(kind, versions...)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.absent, key)
	switch {
	case err == nil && m.gone[mapping.Resource.GroupResource().String()]:
		return nil, notInstalled(key) // the mapper below does not notice
	case err == nil && below == m.below:
		m.served[key] = mapping
	case meta.IsNoMatchError(err):
		m.absent[key] = noMatch{err: err, until: m.clock.Now().Add(absence)}
		m.awaited[kind.Group] = true
	}
	return mapping, err
}

// known is what is known of a kind without the mapper below; nothing, if there is neither a mapping nor an error.
func (m *Mapper) known(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d, ok := m.defined[kind]; ok {
		return d.mapping, nil
	}
	if known, ok := m.absent[kind]; ok && m.clock.Now().Before(known.until) {
		return nil, known.err
	}
	return m.served[kind], nil //nolint:nilnil // see the comment above
}

// Used gives how a kind is served that somebody has asked for; nil: that is not known. Nothing is asked for.
func (m *Mapper) Used(kind schema.GroupVersionKind) *meta.RESTMapping {
	mapping, _ := m.known(kind) // one that is not installed is not known
	return mapping
}

func notInstalled(kind schema.GroupVersionKind) error {
	return &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}
}

// Awaits says whether it matters what a CRD says that came or changed: somebody asked for a kind of its group that was not installed, or a CRD of
// its group went.
func (m *Mapper) Awaits(crd string) bool {
	_, group, _ := strings.Cut(crd, ".")
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.awaited[group]
}

// Installed tells of a CRD that is served. Its kinds are known at once: discovery comes later, and the mapper below may still have what a
// former CRD of this name said.
func (m *Mapper) Installed(crd *apiextensionsv1.CustomResourceDefinition) {
	next := map[schema.GroupVersionKind]definedByCRD{}
	for _, v := range crd.Spec.Versions {
		if picked, ok := stage.NewCRD(crd, v.Name); ok {
			next[picked.Kind] = definedByCRD{crd: crd.Name, mapping: mappingOf(picked)}
		}
	}
	m.mu.Lock()
	maps.DeleteFunc(m.absent, func(kind schema.GroupVersionKind, _ noMatch) bool { return kind.Group == crd.Spec.Group })
	same := !m.gone[crd.Name]
	for kind, d := range next {
		same = same && reflect.DeepEqual(m.defined[kind], d)
	}
	m.forget(crd.Name)
	delete(m.gone, crd.Name)
	maps.Copy(m.defined, next)
	m.mu.Unlock()
	if !same {
		m.changed(crd.Spec.Group)
	}
}

// Uninstalled tells of a CRD that is gone. Its kinds are not asked for until it is back.
func (m *Mapper) Uninstalled(crd string) {
	_, group, _ := strings.Cut(crd, ".")
	m.mu.Lock()
	same := m.gone[crd]
	m.forget(crd)
	m.gone[crd] = true
	m.awaited[group] = true // another CRD may bring its kind back under another plural
	m.mu.Unlock()
	if !same {
		m.changed(group)
	}
}

// forget drops what a CRD said. The lock is held.
func (m *Mapper) forget(crd string) {
	maps.DeleteFunc(m.served, func(_ schema.GroupVersionKind, mapping *meta.RESTMapping) bool {
		return mapping.Resource.GroupResource().String() == crd
	})
	maps.DeleteFunc(m.defined, func(_ schema.GroupVersionKind, d definedByCRD) bool { return d.crd == crd })
}

// Unserved tells that the API server does not know the path of a kind, though the mapper below said that it serves it: an aggregated API
// server went, which no CRD tells.
func (m *Mapper) Unserved(kind schema.GroupVersionKind) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.defined[kind]; ok || m.fresh == nil || m.clock.Since(m.renewed) < absence {
		return
	}
	if below, err := m.fresh(); err == nil {
		m.below, m.renewed = below, m.clock.Now()
		clear(m.served)
	}
}

// MapperOf gives the mapper of a box that serves a CRD.
func MapperOf(crd stage.CRD, next meta.RESTMapper) meta.RESTMapper {
	return ownKind{RESTMapper: next, crd: crd}
}

// ownKind answers for the kind that a box serves by what its CRD says, and not by discovery. The mapper of the process keeps the first
// answer that it got, and a CRD that was deleted may be created again with another scope.
type ownKind struct {
	meta.RESTMapper

	crd stage.CRD
}

// RESTMapping implements meta.RESTMapper.
func (m ownKind) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if kind != m.crd.Kind.GroupKind() || len(versions) != 1 || versions[0] != m.crd.Kind.Version {
		return m.RESTMapper.RESTMapping(kind, versions...)
	}
	return mappingOf(m.crd), nil
}

// Unserved passes on that the API server does not know the path of a kind.
func (m ownKind) Unserved(kind schema.GroupVersionKind) {
	if next, ok := m.RESTMapper.(interface {
		Unserved(kind schema.GroupVersionKind)
	}); ok && kind != m.crd.Kind {
		next.Unserved(kind)
	}
}

func mappingOf(crd stage.CRD) *meta.RESTMapping {
	scope := meta.RESTScopeRoot
	if crd.Namespaced {
		scope = meta.RESTScopeNamespace
	}
	return &meta.RESTMapping{Resource: crd.Resource, GroupVersionKind: crd.Kind, Scope: scope}
}
