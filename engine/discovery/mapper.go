// Package discovery knows how the API server serves kinds, and which schemas custom kinds have.
package discovery

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// absence is how long a kind that is not installed is believed to be absent. Every reconcile of a resource that waits for it
// would otherwise ask the API server twice, and there can be thousands of them.
const absence = time.Second

// mapper remembers for a moment which kinds are not installed. It is safe for concurrent use.
type mapper struct {
	meta.RESTMapper

	clock clock.PassiveClock

	mu     sync.Mutex
	absent map[schema.GroupVersionKind]noMatch // guarded by mu
}

type noMatch struct {
	err   error
	until time.Time
}

// NewMapper gives the mapper of the process, which remembers for a second that a kind is not installed.
func NewMapper(next meta.RESTMapper, clk clock.PassiveClock) meta.RESTMapper {
	return &mapper{RESTMapper: next, clock: clk, absent: map[schema.GroupVersionKind]noMatch{}}
}

// RESTMapping implements meta.RESTMapper.
func (m *mapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if len(versions) != 1 {
		return m.RESTMapper.RESTMapping(kind, versions...)
	}
	key := kind.WithVersion(versions[0])
	m.mu.Lock()
	known, ok := m.absent[key]
	m.mu.Unlock()
	if ok && m.clock.Now().Before(known.until) {
		return nil, known.err
	}
	mapping, err := m.RESTMapper.RESTMapping(kind, versions...)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.absent, key)
	if meta.IsNoMatchError(err) {
		m.absent[key] = noMatch{err: err, until: m.clock.Now().Add(absence)}
	}
	return mapping, err
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
	scope := meta.RESTScopeRoot
	if m.crd.Namespaced {
		scope = meta.RESTScopeNamespace
	}
	return &meta.RESTMapping{Resource: m.crd.Resource, GroupVersionKind: m.crd.Kind, Scope: scope}, nil
}
