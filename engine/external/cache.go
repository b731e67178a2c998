package external

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/json"
	"sync"

	"k8s.io/utils/clock"
)

// maxCacheBytes bounds the memory that kept answers take, as far as it can be estimated.
const maxCacheBytes = 64 << 20

// cache keeps answers for as long as their calls say. Requests that are the same, made at the same time, are sent once.
type cache struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	entries map[cacheKey]*list.Element // guarded by mu
	used    *list.List                 // of *entry, the last used first; guarded by mu
	bytes   int                        // guarded by mu
	flights map[cacheKey]chan struct{} // closed when the request has been answered; guarded by mu
}

type cacheKey [sha256.Size]byte

type entry struct {
	key    cacheKey
	box    string
	answer *Answer
	bytes  int
}

func newCache(clk clock.PassiveClock) *cache {
	return &cache{clock: clk, entries: map[cacheKey]*list.Element{}, used: list.New(), flights: map[cacheKey]chan struct{}{}}
}

// get gives the kept answer to a request, or sends it and keeps the answer. Failures are not kept.
func (c *cache) get(ctx context.Context, r *Request, send func() (*Answer, error)) (*Answer, error) {
	key := cacheKey(r.identity())
	for {
		answer, flight, first := c.lookup(key)
		switch {
		case answer != nil:
			return answer, nil
		case first:
			return c.sendOnce(key, r, send)
		}
		select {
		case <-flight:
			// If that one failed, the next one tries.
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// lookup gives the kept answer, or the request in flight to wait for. first says that there is none, so that the caller sends one.
func (c *cache) lookup(key cacheKey) (answer *Answer, flight <-chan struct{}, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[key]; e != nil {
		kept, _ := e.Value.(*entry)
		if c.clock.Now().Before(kept.answer.Until) {
			c.used.MoveToFront(e)
			again := *kept.answer
			again.Cached = true
			return &again, nil, false
		}
		c.dropLocked(e)
	}
	if running := c.flights[key]; running != nil {
		return nil, running, false
	}
	c.flights[key] = make(chan struct{})
	return nil, nil, true
}

// sendOnce sends the request of a flight, keeps its answer, and wakes those that wait for it.
func (c *cache) sendOnce(key cacheKey, r *Request, send func() (*Answer, error)) (answer *Answer, err error) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		close(c.flights[key])
		delete(c.flights, key)
		if err == nil && answer != nil {
			answer.Until = c.clock.Now().Add(r.CacheFor)
			c.keepLocked(&entry{key: key, box: r.Box, answer: answer, bytes: weight(answer)})
		}
	}()
	return send()
}

// keepLocked adds an answer, and drops those that were not used for longest if there are too many.
func (c *cache) keepLocked(e *entry) {
	c.entries[e.key] = c.used.PushFront(e)
	c.bytes += e.bytes
	for c.bytes > maxCacheBytes {
		c.dropLocked(c.used.Back())
	}
}

// dropLocked removes an answer.
func (c *cache) dropLocked(e *list.Element) {
	old, _ := c.used.Remove(e).(*entry)
	c.bytes -= old.bytes
	delete(c.entries, old.key)
}

func (c *cache) forget(box string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.used.Front(); e != nil; {
		next := e.Next()
		if kept, _ := e.Value.(*entry); kept.box == box {
			c.dropLocked(e)
		}
		e = next
	}
}

// weight estimates what an answer takes in memory: a parsed tree is several times its text.
func weight(a *Answer) int {
	const entryBytes, treeFactor = 1 << 10, 8
	text, err := json.Marshal([]any{a.Headers, a.Body})
	if err != nil {
		return maxCacheBytes // can't happen with what was read as JSON; so large an answer is dropped at once
	}
	return entryBytes + treeFactor*len(text)
}
