package admission

import (
	"fmt"
	"strings"

	"github.com/orkspace/orkestra/engine/when"
)

// What texts are read as. They are the grammars of package when: what looks like a duration or a time and is none, such as the 30th of
// February, is an error of CEL, and refused by it as it is by the reconcile.
const (
	maxScalar = 64 // the length up to which a text is tried

	numberGrammar   = `^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?0*[0-9]{1,2})?$`
	intGrammar      = `^[+-]?0*[0-9]{1,18}$`
	units           = `(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+`
	durationGrammar = `^[+-]?(0|` + units + `)$`
	daysGrammar     = `^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)d(0|` + units + `)?$`
	timeGrammar     = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{1,2}:[0-9]{2}:[0-9]{2}([.,][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$`
	// A quantity begins with a digit, and its exponent has at most two.
	quantityBegins = `^[-+.]*[0-9]`
	longExponent   = `[eE][-+0]*[^-+0eE][^eE]{2,}$`

	// What can be shown as it is, and what strings.quote writes as Go does.
	printable = `^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$`
	quotable  = `^[\p{L}\p{M}\p{N}\p{P}\p{S} \a\f\n\r\t\v]*$`
)

// maxShown and maxItems are those of messages of package when.
const (
	maxShown = 64
	maxItems = 10
)

func isType(x string, types ...string) string {
	parts := make([]string, len(types))
	for i, t := range types {
		parts[i] = "type(" + x + ") == " + t
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return "(" + strings.Join(parts, " || ") + ")"
}

// with gives an expression in which the value of another has a name.
func with(name, value, expression string) string {
	return "[" + value + "].map(" + name + ", " + expression + ")[0]"
}

// zeros is more of them than any float has beside its digits.
var zeros = quote(strings.Repeat("0", 340))

// decimal writes a scalar as text, a number in digits alone. CEL writes an exponent for large and small floats.
func decimal(x string) string {
	// digits, and after how many of them the point is
	long := with("p", "n.split('e')", with("d", "p[0].replace('-', '').replace('.', '')",
		"(p[0].startsWith('-') ? '-' : '') + (int(p[1]) < 0 ? '0.' + "+zeros+".substring(0, -int(p[1]) - 1) + d"+
			" : size(d) <= int(p[1]) + 1 ? d + "+zeros+".substring(0, int(p[1]) + 1 - size(d))"+
			" : d.substring(0, int(p[1]) + 1) + '.' + d.substring(int(p[1]) + 1))"))
	return "(" + isType(x, "double") + " ? " + with("n", "string("+x+")", "n.contains('e') ? "+long+" : n") + " : string(" + x + "))"
}

// clipped cuts a text for messages.
func clipped(text string) string {
	return with("c", text, fmt.Sprintf("size(c) <= %d ? c : c.substring(0, %d) + '…'", maxShown, maxShown-1))
}

// shown is what a message says of a value.
func shown(x string) string {
	scalar := func(x string) string {
		return "(" + isType(x, "string") + " ? (" + x + " != '' && " + x + ".trim() == " + x + " && " + x + ".matches(" + quote(printable) + ") ? " + x +
			" : " + x + ".matches(" + quote(quotable) + ") ? strings.quote(" + x + ") : 'string') : " + decimal(x) + ")"
	}
	items := fmt.Sprintf("size(%[1]s) > 0 && size(%[1]s) <= %[2]d && %[1]s.all(i, %[3]s)", x, maxItems, isType("i", "string", "int", "double", "bool"))
	return "(" + x + " == null ? 'absent' : " +
		isType(x, "map") + " ? (size(" + x + ") == 0 ? 'empty object' : 'object') : " +
		isType(x, "list") + " ? (" + items + " ? " + clipped("'[' + "+x+".map(i, "+scalar("i")+").join(', ') + ']'") +
		" : size(" + x + ") == 0 ? 'empty array' : 'array') : " + clipped(scalar(x)) + ")"
}

// described names the type of a value, as messages do.
func described(x string) string {
	return "(" + isType(x, "string") + " ? (" + isNumberText(x) + " ? 'a number' : " + isQuantityText(x) + " ? 'a quantity' : " +
		isDurationText(x) + " ? 'a duration' : " + isTimeText(x) + " ? 'a time' : 'a string') : " +
		x + " == null ? 'null' : " + isType(x, "map") + " ? 'an object' : " + isType(x, "list") + " ? 'an array' : " +
		isType(x, "bool") + " ? 'a boolean' : 'a number')"
}

func short(x string) string { return fmt.Sprintf("size(%s) <= %d", x, maxScalar) }

func isNumberText(x string) string {
	return "(" + short(x) + " && " + x + ".matches(" + quote(numberGrammar) + "))"
}

func isQuantityText(x string) string {
	return "(" + short(x) + " && " + x + ".matches(" + quote(quantityBegins) + ") && !" + x + ".matches(" + quote(longExponent) + ") && isQuantity(" + x + "))"
}

func isDurationText(x string) string {
	return "(" + short(x) + " && (" + x + ".matches(" + quote(durationGrammar) + ") || " + x + ".matches(" + quote(daysGrammar) + ")))"
}

func isTimeText(x string) string {
	return "(" + short(x) + " && " + x + ".matches(" + quote(timeGrammar) + "))"
}

// reading is how a value is read for a comparison.
type reading struct {
	is    func(x string) string // whether the value can be read so
	value func(x string) string // what it is then
	// wanted writes what a literal is read as; ok is false where it can't be, or where CEL would round it.
	wanted func(r when.Readings) (text string, is, ok bool)
}

func asNumberValue(x string) string {
	return "(" + isType(x, "string") + " ? (" + x + ".matches(" + quote(intGrammar) + ") ? dyn(int(" + x + ")) : dyn(double(" + x + "))) : " + x + ")"
}

func isNumber(x string) string {
	return "(" + isType(x, "int", "double") + " || " + isType(x, "string") + " && " + isNumberText(x) + ")"
}

func wantedNumber(r when.Readings) (text string, is, ok bool) {
	if r.Number == nil {
		return "", false, true
	}
	text, ok = number(r.Number)
	return text, true, ok
}

var (
	numberReading = reading{is: isNumber, value: asNumberValue, wanted: wantedNumber}
	intReading    = reading{
		is: func(x string) string {
			whole := "n >= 9007199254740992.0 || n <= -9007199254740992.0 || double(int(n)) == n"
			return "(" + isNumber(x) + " && [" + asNumberValue(x) + "].all(n, " + isType("n", "int") + " || " + whole + "))"
		},
		value: asNumberValue, wanted: wantedNumber,
	}
	quantityReading = reading{
		is: func(x string) string {
			return "(" + isType(x, "int", "double", "string") + " && [" + decimal(x) + "].all(q, " + isQuantityText("q") + "))"
		},
		value: func(x string) string { return "quantity(" + decimal(x) + ")" },
		wanted: func(r when.Readings) (text string, is, ok bool) {
			return "quantity(" + quote(r.Quantity) + ")", r.Quantity != "", true
		},
	}
	durationReading = reading{
		is: func(x string) string {
			return "(" + isType(x, "int", "double") + " && " + x + " == 0 || " + isType(x, "string") + " && " + isDurationText(x) + ")"
		},
		value: func(x string) string {
			day := with("h", "duration(p[0] + 'h')", with("h", "h + h + h", "h + h + h + h + h + h + h + h"))
			days := with("p", x+".split('d')", day+" + (p[1] == '' ? duration('0s') : p[0].startsWith('-') ? duration('0s') - duration(p[1]) : duration(p[1]))")
			return "(" + isType(x, "string") + " ? (" + x + ".matches(" + quote(daysGrammar) + ") ? " + days + " : duration(" + x + ")) : duration('0s'))"
		},
		wanted: func(r when.Readings) (text string, is, ok bool) {
			if r.Duration == nil {
				return "", false, true
			}
			return "duration(" + quote(r.Duration.String()) + ")", true, true
		},
	}
	timeReading = reading{
		is:    func(x string) string { return "(" + isType(x, "string") + " && " + isTimeText(x) + ")" },
		value: func(x string) string { return "timestamp(" + x + ")" },
		wanted: func(r when.Readings) (text string, is, ok bool) {
			if r.Time == nil {
				return "", false, true
			}
			return "timestamp(" + quote(r.Time.UTC().Format("2006-01-02T15:04:05.999999999Z07:00")) + ")", true, true
		},
	}
	boolReading = reading{
		is: func(x string) string {
			return "(" + isType(x, "bool") + " || " + x + " == 'true' || " + x + " == 'false')"
		},
		value: func(x string) string { return "(" + x + " == true || " + x + " == 'true')" },
		wanted: func(r when.Readings) (text string, is, ok bool) {
			if r.Bool == nil {
				return "", false, true
			}
			text, ok = literal(*r.Bool)
			return text, true, ok
		},
	}
	textReading = reading{
		is:    func(x string) string { return isType(x, "string", "int", "double", "bool") },
		value: decimal,
		wanted: func(r when.Readings) (text string, is, ok bool) {
			if r.Text == nil {
				return "", false, true
			}
			return quote(*r.Text), true, true
		},
	}
)
