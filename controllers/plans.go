package controllers

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/engine/pipeline"
)

// maxPlans is how many plans of old revisions are kept compiled, over all boxes. A rollback asks for one of them for each of its
// resources, and few boxes are rolled back at a time.
const maxPlans = 32

// plans keeps plans of old revisions that were compiled. The zero value is empty. It is safe for concurrent use.
type plans struct {
	mu   sync.Mutex
	used []planKey // the one that was asked for last is the last; guarded by mu
	all  map[planKey]*pipeline.Plan
}

// planKey is what a plan of an old revision was made from.
type planKey struct {
	box        types.UID
	revision   remembered
	crd        types.UID
	generation int64 // of the CRD
	going      bool  // the CRD is being deleted
	version    string
	worked     string // the version that the box worked in
}

// get gives a plan; nil: it is not kept.
func (p *plans) get(key planKey) *pipeline.Plan {
	p.mu.Lock()
	defer p.mu.Unlock()
	plan := p.all[key]
	if plan != nil {
		p.touch(key)
	}
	return plan
}

// put keeps a plan, instead of the one that nobody has asked for the longest time.
func (p *plans) put(key planKey, plan *pipeline.Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[planKey]*pipeline.Plan{}
	}
	p.all[key] = plan
	p.touch(key)
	if len(p.used) > maxPlans {
		delete(p.all, p.used[0])
		p.used = slices.Delete(p.used, 0, 1)
	}
}

// touch needs the lock.
func (p *plans) touch(key planKey) {
	p.used = append(slices.DeleteFunc(p.used, func(k planKey) bool { return k == key }), key)
}
