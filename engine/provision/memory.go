package provision

import (
	"maps"
	"time"

	"github.com/orkspace/orkestra/engine/provider"
)

// Record is what is remembered of one resource of a provider.
type Record struct {
	// Of is what was asked: another declaration, or other credentials, make it worthless.
	Of [32]byte
	// At is when it was asked.
	At time.Time
	// Next is when it is asked again.
	Next time.Time
	// Observed is what it was found to be, or made; nil: it has not been.
	Observed *provider.Observed
	// Err is what the last call failed with; nil: it did not.
	Err error
	// Tries counts the calls in a row that failed, or found the resource on its way.
	Tries int

	differs bool // it was found not to be as declared
}

// Differ notes that the resource was found not to be as declared.
func (r *Record) Differ() { r.differs = true }

// Holds says whether nothing need be asked: the same was asked, and it is not time yet. Where the clock was set back, it is asked.
func (r *Record) Holds(of [32]byte, now time.Time) bool {
	return r != nil && r.Of == of && now.Before(r.Next) && !now.Before(r.At)
}

// Settled says that the resource was found, or made, as it is declared, and can be used.
func (r *Record) Settled() bool {
	return r.Err == nil && r.Observed != nil && r.Observed.Waiting == "" && !r.differs
}

// Memory is what is remembered of the resources of providers that one custom resource has. The zero value is empty. It is used by one
// goroutine at a time.
type Memory struct{ records map[string]*Record }

// Recall gives a record by its key; nil: there is none.
func (m *Memory) Recall(key string) *Record { return m.records[key] }

// Remember keeps a record.
func (m *Memory) Remember(key string, r *Record) {
	if m.records == nil {
		m.records = map[string]*Record{}
	}
	m.records[key] = r
}

// Retain drops all records but those of some keys.
func (m *Memory) Retain(wanted map[string]bool) {
	maps.DeleteFunc(m.records, func(key string, _ *Record) bool { return !wanted[key] })
}
