package packed

import (
	"sync"
	"sync/atomic"
)

const (
	// maxWords is how many words there may be: it bounds what they take. The first 2,048 of them take two bytes at most.
	maxWords = 2048
	// longestWord is how many bytes a word may have.
	longestWord = 128
	// commonIn is in how many objects a text is found before it is a word.
	commonIn = 8
	// maxCounted is how many texts are counted at a time, of which most are in one object alone.
	maxCounted = 1024
	// maxScratch is how large a buffer may be that is kept for the next object.
	maxScratch = 64 << 10
)

// Words are the texts that many objects have, such as the names of fields: a packed object has their numbers. A text becomes one when some
// objects had it, and stays one. They may be used at the same time.
type Words struct {
	all atomic.Pointer[[]any] // by number; each is a string, boxed once for all objects. It only ever grows

	mu      sync.Mutex // guards what follows
	numbers map[string]uint64
	counted map[string]uint8 // in how many objects a text was that is no word
	encoder encoder          // kept for its memory
}

// NewWords gives Words that know none yet.
func NewWords() *Words {
	w := &Words{numbers: map[string]uint64{}, counted: map[string]uint8{}}
	w.all.Store(&[]any{})
	w.encoder = encoder{words: w, met: map[string]uint64{}}
	return w
}

func (w *Words) known() []any { return *w.all.Load() }

// encode encodes an object; false: it has a value that JSON has not.
func (w *Words) encode(v map[string]any) (body string, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := &w.encoder
	ok = e.value(v)
	body = string(e.out)
	if cap(e.out) > maxScratch {
		*e = encoder{words: w, met: map[string]uint64{}}
	}
	clear(e.met)
	clear(e.keys[:cap(e.keys)])
	e.out, e.keys = e.out[:0], e.keys[:0]
	return body, ok
}

// countLocked notes that an object has a text, which is a word from now on if some others had it.
func (w *Words) countLocked(text string) {
	all := w.known()
	if len(text) > longestWord || len(all) == maxWords {
		return
	}
	if w.counted[text]++; w.counted[text] < commonIn {
		if len(w.counted) > maxCounted {
			clear(w.counted)
		}
		return
	}
	delete(w.counted, text)
	w.numbers[text] = uint64(len(all))
	all = append(all, text)
	w.all.Store(&all)
}
