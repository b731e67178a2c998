package protocol

import (
	"crypto/sha256"
	"time"
)

// Kept is an answer that was given to a request.
type Kept struct {
	// Of is the hash of the request.
	Of [sha256.Size]byte
	// Tag is the ETag of the answer; empty: it had none.
	Tag string
	// Body of the answer, as JSON. It is shared: read only.
	Body any
	// Until is when it is asked for again; zero: when the request is another.
	Until time.Time
}

// Memory keeps the last answers of the webhook for one resource, of each phase one. The zero value is empty. It is used by one goroutine at a
// time.
type Memory struct{ answers map[string]Kept }

// Last is the last answer in a phase, and whether it may be used again for a request.
func (m *Memory) Last(phase string, of [sha256.Size]byte, now time.Time) (last Kept, same bool) {
	last, known := m.answers[phase]
	return last, known && last.Of == of && (last.Until.IsZero() || now.Before(last.Until))
}

// Keep keeps an answer.
func (m *Memory) Keep(phase string, answer Kept) {
	if m.answers == nil {
		m.answers = map[string]Kept{}
	}
	m.answers[phase] = answer
}

// Expire has the last answer in a phase asked for again at a moment, or earlier.
func (m *Memory) Expire(phase string, at time.Time) {
	if last, known := m.answers[phase]; known && (last.Until.IsZero() || at.Before(last.Until)) {
		last.Until = at
		m.answers[phase] = last
	}
}

// Drop forgets all answers, and says whether there were any: where a cycle failed, it may have been by what they say, and the webhook is asked
// anew.
func (m *Memory) Drop() bool {
	had := len(m.answers) > 0
	m.answers = nil
	return had
}
