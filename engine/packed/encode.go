package packed

import (
	"encoding/binary"
	"math"
	"slices"
)

// Each value begins with a number, of which the lowest bits say of which kind it is, and the others what kinds says.
const kindBits = 3

// kinds of values.
const (
	plain  = iota // one of plains
	text          // its length; it follows
	again         // where in the body the same text is
	word          // its number in Words
	list          // its length; its values follow
	object        // how many fields it has; the name and the value of each follow
)

// plains are values without a length.
const (
	null = iota
	no
	yes
	noList   // a list that is nil
	noObject // a map that is nil
	integer  // it follows
	float    // its eight bytes follow
)

// shortest is the length of the shortest text that may be a word, or be left out where it stands again: a shorter one takes no more.
const shortest = 2

// encoder encodes one object.
type encoder struct {
	words *Words
	out   []byte
	met   map[string]uint64 // where in out a text is
	keys  []string          // of the maps that are being encoded, the outermost first
}

// value appends a value; false: JSON has none of its type.
func (e *encoder) value(v any) bool {
	switch v := v.(type) {
	case nil:
		e.head(plain, null)
	case bool:
		if v {
			e.head(plain, yes)
		} else {
			e.head(plain, no)
		}
	case int64:
		e.head(plain, integer)
		e.out = binary.AppendVarint(e.out, v)
	case float64:
		e.head(plain, float)
		e.out = binary.LittleEndian.AppendUint64(e.out, math.Float64bits(v))
	case string:
		e.text(v)
	case []any:
		return e.list(v)
	case map[string]any:
		return e.object(v)
	default:
		return false
	}
	return true
}

func (e *encoder) list(v []any) bool {
	if v == nil {
		e.head(plain, noList)
		return true
	}
	e.head(list, uint64(len(v)))
	for _, element := range v {
		if !e.value(element) {
			return false
		}
	}
	return true
}

// object appends a map, in the order of its keys: so equal objects have equal bodies, and metadata stand before spec and status.
func (e *encoder) object(v map[string]any) bool {
	if v == nil {
		e.head(plain, noObject)
		return true
	}
	e.head(object, uint64(len(v)))
	first := len(e.keys)
	for key := range v {
		e.keys = append(e.keys, key)
	}
	keys := e.keys[first:]
	slices.Sort(keys)
	for _, key := range keys {
		e.text(key)
		if !e.value(v[key]) {
			return false
		}
	}
	e.keys = e.keys[:first]
	return true
}

func (e *encoder) text(s string) {
	if number, known := e.words.numbers[s]; known {
		e.head(word, number)
		return
	}
	if at, met := e.met[s]; met {
		e.head(again, at)
		return
	}
	if len(s) >= shortest {
		e.met[s] = uint64(len(e.out))
		e.words.countLocked(s)
	}
	e.head(text, uint64(len(s)))
	e.out = append(e.out, s...)
}

func (e *encoder) head(kind int, argument uint64) {
	e.out = binary.AppendUvarint(e.out, argument<<kindBits|uint64(kind)) //nolint:gosec // kinds are few, and begin with 0
}
