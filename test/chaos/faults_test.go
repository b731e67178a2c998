package chaos_test

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
)

// fault is one thing that can go wrong between manager and API server.
type fault string

const (
	none fault = ""

	// Of any request.
	latency     fault = "latency"
	tooMany     fault = "429 with Retry-After"
	internal    fault = "500"
	unavailable fault = "503"
	resetBefore fault = "connection reset before the request"
	denied      fault = "403 of an API server that has not read its roles"
	slowDeath   fault = "no answer until the client gives up (what was asked for was done)"

	// Of writes.
	conflict    fault = "409"
	resetAfter  fault = "connection reset after the write was done"
	timeout504  fault = "504 after the write was done"
	brokenReply fault = "broken JSON in the answer to a write that was done"

	// Of reads.
	cutBody    fault = "list or object cut off in the middle"
	brokenJSON fault = "list or object with broken JSON"
	staleList  fault = "stale list: an older answer, with its resourceVersion"
	refuseList fault = "watch-list refused, so that the client lists"

	// Of watches.
	cutWatch     fault = "watch dropped"
	partialEvent fault = "watch cut off in the middle of an event"
	expired      fault = "watch ended with 410 Gone"
	heldWatch    fault = "watch held back"

	// Of the world, not of a request.
	killed        fault = "manager killed between two writes (in process)"
	killedProcess fault = "manager killed between two writes (process, kill -9)"
	restarted     fault = "API server killed and started again"
	crdDeleted    fault = "CRD deleted and made again"
	clockJump     fault = "clock jump"
)

// class is what a request does; other faults befall each.
type class int

const (
	read class = iota
	write
	watching
	streamed // an event of a watch
)

// rates are how often a fault befalls a request where a seed uses it: from rare to often.
var rates = map[class]map[fault][2]float64{
	read: {
		denied: {0.002, 0.02}, latency: {0.01, 0.1}, tooMany: {0.002, 0.01}, internal: {0.005, 0.05}, unavailable: {0.005, 0.05}, resetBefore: {0.005, 0.05},
		slowDeath: {0.0005, 0.002}, cutBody: {0.005, 0.05}, brokenJSON: {0.005, 0.05}, staleList: {0.5, 1},
	},
	write: {
		denied: {0.005, 0.05}, latency: {0.01, 0.1}, tooMany: {0.002, 0.01}, internal: {0.005, 0.05}, unavailable: {0.005, 0.05}, resetBefore: {0.005, 0.05},
		slowDeath: {0.0005, 0.002}, conflict: {0.01, 0.08}, resetAfter: {0.01, 0.08}, timeout504: {0.01, 0.08}, brokenReply: {0.005, 0.05},
	},
	watching: {denied: {0.01, 0.1}, latency: {0.05, 0.2}, tooMany: {0.01, 0.05}, internal: {0.02, 0.2}, unavailable: {0.02, 0.2}, resetBefore: {0.02, 0.2}, refuseList: {0.3, 0.8}},
	streamed: {cutWatch: {0.002, 0.02}, partialEvent: {0.001, 0.01}, expired: {0.001, 0.01}, heldWatch: {0.005, 0.05}},
}

// usual is the share of seeds that use a given fault.
const usual = 0.6

// plan decides which fault befalls which request. It is a function of the seed and of the request: its method, its path, and how
// many like it there were before. So a seed does the same each time, as far as the manager asks the same.
type plan struct {
	seed  uint64
	rates map[class]map[fault]float64

	mu     sync.Mutex
	asked  map[string]int // guarded by mu
	counts map[fault]int  // guarded by mu
	off    bool           // guarded by mu
}

func newPlan(seed uint64) *plan {
	p := &plan{seed: seed, rates: map[class]map[fault]float64{}, asked: map[string]int{}, counts: map[fault]int{}}
	older, later := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 4)) // what came later changes nothing of what a seed had before
	uses := map[fault]bool{}
	for _, c := range []class{read, write, watching, streamed} {
		p.rates[c] = map[fault]float64{}
		for _, f := range slices.Sorted(maps.Keys(rates[c])) {
			rng := older
			if f == denied {
				rng = later
			}
			if _, drawn := uses[f]; !drawn {
				uses[f] = rng.Float64() < usual
			}
			low, high := rates[c][f][0], rates[c][f][1]
			if rate := low + (high-low)*rng.Float64()*rng.Float64(); uses[f] {
				p.rates[c][f] = rate
			}
		}
	}
	return p
}

// fate is what befalls a request, and a number from 0 to 1 for whatever else has to be drawn.
type fate struct {
	fault fault
	draw  float64
}

// decide gives the fate of the next request, or event, of a name.
func (p *plan) decide(c class, name string) fate {
	p.mu.Lock()
	defer p.mu.Unlock()
	name = fmt.Sprintf("%d %s", c, name)
	p.asked[name]++
	if p.off {
		return fate{}
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d %s %d", p.seed, name, p.asked[name]) // a hash never fails
	rng := rand.New(rand.NewPCG(h.Sum64(), p.seed))
	x := rng.Float64()
	for _, f := range slices.Sorted(maps.Keys(p.rates[c])) {
		if x -= p.rates[c][f]; x < 0 {
			return fate{fault: f, draw: rng.Float64()}
		}
	}
	return fate{}
}

// count notes that a fault happened.
func (p *plan) count(f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[f]++
}

// calm ends all faults.
func (p *plan) calm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.off = true
}

// happened are the faults so far.
func (p *plan) happened() map[fault]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts)
}

func describe(counts map[fault]int) string {
	var b strings.Builder
	for _, f := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "\n  %5d  %s", counts[f], f)
	}
	return b.String()
}
