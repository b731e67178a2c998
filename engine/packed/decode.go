package packed

import (
	"math"
	"strings"
)

// decoder reads what an encoder has written. What it gives shares no memory with it: a name that somebody keeps must not keep an object.
type decoder struct {
	body  string
	words []any
}

// value gives the value at a place, and where the next one is.
func (d decoder) value(at int) (v any, next int) {
	kind, argument, next := d.head(at)
	switch kind {
	case plain:
		return d.plain(argument, next)
	case word:
		return d.words[argument], next
	case list:
		values := make([]any, argument)
		for i := range values {
			values[i], next = d.value(next)
		}
		return values, next
	case object:
		fields := make(map[string]any, argument)
		for range argument {
			var key string
			key, next = d.text(next)
			fields[key], next = d.value(next)
		}
		return fields, next
	default:
		return d.text(at)
	}
}

// plain gives one of plains, what follows of which is at a place.
func (d decoder) plain(which, at int) (v any, next int) {
	switch which {
	case no:
		return false, at
	case yes:
		return true, at
	case noList:
		return []any(nil), at
	case noObject:
		return map[string]any(nil), at
	case integer:
		number, next := d.number(at)
		return int64(number>>1) ^ -int64(number&1), next
	case float:
		var bits uint64
		for i := range 8 {
			bits |= uint64(d.body[at+i]) << (8 * i)
		}
		return math.Float64frombits(bits), at + 8
	default:
		return nil, at
	}
}

// text gives the text at a place, empty if another value is there, and where the next value is. It may be kept: it does not keep the body.
func (d decoder) text(at int) (s string, next int) {
	s, next = d.view(at)
	return strings.Clone(s), next
}

// view is text for those who look at it and let it go: it is part of the body.
func (d decoder) view(at int) (s string, next int) {
	kind, argument, next := d.head(at)
	switch kind {
	case text:
		end := next + argument
		return d.body[next:end], end
	case again:
		s, _ = d.view(argument)
		return s, next
	case word:
		s, _ = d.words[argument].(string)
		return s, next
	default:
		return "", d.skip(at)
	}
}

// texts gives those fields of the map at a place that are texts.
func (d decoder) texts(at int) map[string]string {
	kind, count, at := d.head(at)
	if kind != object {
		return nil
	}
	all := make(map[string]string, count)
	for range count {
		var key string
		key, at = d.text(at)
		all[key], at = d.text(at)
	}
	return all
}

// at gives the place of a field.
func (d decoder) at(path ...string) (place int, found bool) {
	for _, name := range path {
		if place, found = d.field(place, name); !found {
			return 0, false
		}
	}
	return place, true
}

// field gives the place of a field of the map at a place.
func (d decoder) field(at int, name string) (place int, found bool) {
	kind, count, at := d.head(at)
	if kind != object {
		return 0, false
	}
	for range count {
		is, next := d.is(at, name)
		if is {
			return next, true
		}
		at = d.skip(next)
	}
	return 0, false
}

// is says whether a text is at a place, and where the next value is.
func (d decoder) is(at int, s string) (is bool, next int) {
	kind, argument, next := d.head(at)
	switch kind {
	case text:
		end := next + argument
		return d.body[next:end] == s, end
	case again:
		is, _ = d.is(argument, s)
		return is, next
	case word:
		return d.words[argument] == s, next
	default:
		return false, next
	}
}

// skip gives where the value after the one at a place is.
func (d decoder) skip(at int) (next int) {
	kind, argument, next := d.head(at)
	switch kind {
	case plain:
		switch argument {
		case integer:
			_, next = d.number(next)
		case float:
			next += 8
		}
	case text:
		next += argument
	case list:
		for range argument {
			next = d.skip(next)
		}
	case object:
		for range argument {
			next = d.skip(d.skip(next))
		}
	}
	return next
}

func (d decoder) head(at int) (kind, argument, next int) {
	number, next := d.number(at)
	return int(number & (1<<kindBits - 1)), int(number >> kindBits), next
}

func (d decoder) number(at int) (n uint64, next int) {
	for shift := 0; ; shift += 7 {
		b := d.body[at]
		at++
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n, at
		}
	}
}
