package admission

import (
	"strings"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/when"
)

// What a test answers in CEL: it holds, it does not, or, behind a mark, why it can't be said. An answer is a text because CEL can't
// catch an error.
const (
	holds   = "'T'"
	fails   = "'F'"
	problem = "!"
)

// Why a rule is not in a policy.
const (
	whyRounded = "the API server would round a number beyond 2^53"
	whyClock   = "its answer changes with the time"
	whyOther   = "the API server can't compare so"
)

var (
	readings = map[v1alpha1.ValueType]reading{
		v1alpha1.ValueTypeFloat: numberReading, v1alpha1.ValueTypeInt: intReading, v1alpha1.ValueTypeQuantity: quantityReading,
		v1alpha1.ValueTypeDuration: durationReading, v1alpha1.ValueTypeTime: timeReading, v1alpha1.ValueTypeBool: boolReading,
		v1alpha1.ValueTypeString: textReading,
	}
	ordered  = []reading{numberReading, quantityReading, durationReading, timeReading}
	symbols  = map[v1alpha1.Operator]string{v1alpha1.OperatorGt: ">", v1alpha1.OperatorGte: ">=", v1alpha1.OperatorLt: "<", v1alpha1.OperatorLte: "<="}
	typeTest = map[string][]string{"string": {"string"}, "number": {"int", "double"}, "boolean": {"bool"}, "object": {"map"}, "array": {"list"}}
)

// comparison writes the comparison of one condition. x is the field, which is there.
type comparison struct {
	when.Form

	x   string
	is  string // what names the type of the field
	why string // why it can't be written
}

// answer makes an answer of a bool.
func answer(truth string) string { return "((" + truth + ") ? " + holds + " : " + fails + ")" }

// write gives the answer for a field that is there, before the operator and negate turn it round.
func (c *comparison) write() string {
	switch c.Operator {
	case v1alpha1.OperatorExists, v1alpha1.OperatorNotExists:
		return answer(isType(c.x, "string", "list", "map") + " ? size(" + c.x + ") > 0 : true")
	case v1alpha1.OperatorTypeOf:
		name, _ := c.Value.(string) // nothing else compiles
		if name == "null" {
			return answer("false")
		}
		return answer(isType(c.x, typeTest[name]...))
	case v1alpha1.OperatorOlderThan, v1alpha1.OperatorYoungerThan:
		return c.cannot(whyClock)
	case v1alpha1.OperatorGt, v1alpha1.OperatorGte, v1alpha1.OperatorLt, v1alpha1.OperatorLte:
		return c.order(c.Value, symbols[c.Operator])
	case v1alpha1.OperatorBetween, v1alpha1.OperatorNotBetween:
		limits, _ := c.Value.([]any)
		if len(limits) != 2 {
			return c.cannot(whyOther)
		}
		sides := "[" + c.order(limits[0], ">=") + ", " + c.order(limits[1], "<=") + "]"
		return with("s", sides, "(s.filter(t, t.startsWith('"+problem+"')) + s.filter(t, t == "+fails+") + ["+holds+"])[0]")
	case v1alpha1.OperatorEquals, v1alpha1.OperatorNotEquals:
		return c.equal(c.x, c.is, c.Value)
	case v1alpha1.OperatorIn, v1alpha1.OperatorNotIn:
		return c.member()
	case v1alpha1.OperatorContains, v1alpha1.OperatorNotContains:
		return c.contains()
	case v1alpha1.OperatorPrefix:
		return c.text("startsWith")
	case v1alpha1.OperatorSuffix:
		return c.text("endsWith")
	case v1alpha1.OperatorRegex:
		return c.text("matches")
	default:
		return c.cannot(whyOther)
	}
}

func (c *comparison) cannot(why string) string {
	if c.why == "" {
		c.why = why
	}
	return fails
}

// mismatch says that the field and the value can't be compared.
func (c *comparison) mismatch(is string, wanted any) string {
	before, after, _ := strings.Cut(c.Problem("\x00", when.Read(wanted).Is), "\x00")
	return "(" + quote(problem+before) + " + " + is + " + " + quote(after) + ")"
}

// order compares the field as the given type, or as the first that both sides are.
func (c *comparison) order(wanted any, symbol string) string {
	kinds := ordered
	if c.As != "" {
		kinds = []reading{readings[c.As]}
	}
	literals := when.Read(wanted)
	var b strings.Builder
	b.WriteByte('(')
	for _, k := range kinds {
		text, is, ok := k.wanted(literals)
		if !ok {
			return c.cannot(whyRounded)
		}
		if !is {
			continue
		}
		compared := k.value(c.x) + " " + symbol + " " + text
		if strings.HasPrefix(text, "quantity(") {
			compared = k.value(c.x) + ".compareTo(" + text + ") " + symbol + " 0"
		}
		b.WriteString(k.is(c.x) + " ? " + answer(compared) + " : ")
	}
	b.WriteString(c.mismatch(c.is, wanted) + ")")
	return b.String()
}

// equal compares x after conversion to the given type, or to its own.
func (c *comparison) equal(x, is string, wanted any) string {
	if c.As == "" {
		return answer(c.same(x, wanted))
	}
	k := readings[c.As]
	text, readable, ok := k.wanted(when.Read(wanted))
	switch {
	case !ok:
		return c.cannot(whyRounded)
	case !readable:
		return c.mismatch(is, wanted)
	}
	compared := k.value(x) + " == " + text
	if strings.HasPrefix(text, "quantity(") {
		compared = k.value(x) + ".compareTo(" + text + ") == 0"
	}
	return "(" + k.is(x) + " ? " + answer(compared) + " : " + c.mismatch(is, wanted) + ")"
}

// same compares by the type of x, which may have any. What can't be converted to it is merely another value.
func (c *comparison) same(x string, wanted any) string {
	literals := when.Read(wanted)
	by := func(k reading, compare string) string {
		text, is, ok := k.wanted(literals)
		switch {
		case !ok:
			c.cannot(whyRounded)
			return "false"
		case !is:
			return "false"
		}
		return compare + text
	}
	deep := "false"
	switch wanted.(type) {
	case []any, map[string]any:
		text, ok := literal(wanted)
		if !ok {
			c.cannot(whyRounded)
		}
		deep = x + " == " + text
	}
	return "(" + isType(x, "int", "double") + " ? " + by(numberReading, x+" == ") + " : " + isType(x, "bool") + " ? " + by(boolReading, x+" == ") +
		" : " + isType(x, "string") + " ? " + by(textReading, x+" == ") + " : " + deep + ")"
}

// first gives the first of some answers that is another than the one that says nothing, or that one.
func first(answers, nothing string) string {
	return "(" + answers + ".filter(t, t != " + nothing + ") + [" + nothing + "])[0]"
}

func (c *comparison) member() string {
	list, _ := c.Value.([]any) // nothing else compiles
	parts := make([]string, len(list))
	for i, item := range list {
		if c.As == "" {
			parts[i] = c.same(c.x, item)
			continue
		}
		parts[i] = c.equal(c.x, c.is, item)
	}
	switch {
	case len(parts) == 0:
		return fails
	case c.As == "":
		return answer(strings.Join(parts, " || "))
	}
	return first("["+strings.Join(parts, ", ")+"]", fails)
}

func (c *comparison) contains() string {
	items := answer(c.x + ".exists(i, " + c.same("i", c.Value) + ")")
	if c.As != "" {
		items = first(c.x+".map(i, "+c.equal("i", described("i"), c.Value)+")", fails)
	}
	part := when.Read(c.Value).Text
	if part == nil {
		return "(" + isType(c.x, "list") + " ? " + items + " : " + c.mismatch(c.is, c.Value) + ")"
	}
	return "(" + isType(c.x, "list") + " ? " + items + " : " + c.part("contains", quote(*part)) + ")"
}

// text compares the field's text by a method of CEL's texts.
func (c *comparison) text(method string) string {
	wanted, _ := c.Value.(string) // nothing else compiles
	return c.part(method, quote(wanted))
}

// part compares the field's text; that of other scalars only where valueType asks for texts.
func (c *comparison) part(method, wanted string) string {
	is, text := isType(c.x, "string"), c.x
	if c.As == v1alpha1.ValueTypeString {
		is, text = textReading.is(c.x), decimal(c.x)
	}
	return "(" + is + " ? " + answer(text+"."+method+"("+wanted+")") + " : " + c.mismatch(c.is, c.Value) + ")"
}
