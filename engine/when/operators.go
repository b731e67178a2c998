package when

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/value"
)

// operator is one row of the table: how an operator is written, what it answers for an absent field, and how it compares.
type operator struct {
	name   v1alpha1.Operator
	short  string // the short form's key
	form   func(*v1alpha1.ShortForms) *apiextensionsv1.JSON
	phrase string // what a message says before the wanted value
	not    bool   // turns the comparison's answer round
	absent bool   // the answer for an absent field; never turned round by not
	comparison
}

// comparison is the part of an operator that it shares with its opposite: in with notIn.
type comparison struct {
	types []v1alpha1.ValueType // the valueTypes that mean something here
	shape func(wanted any, as v1alpha1.ValueType) (any, error)
	fits  fit
	test  func(*operands) (bool, error)

	flag  bool // the value is absent or a bool, and false means the opposite operator
	null  bool // a null at the field's path is tested as a value; for other operators it is absent
	clock bool // the answer changes with the time
}

// operands are the two sides of one test.
type operands struct {
	actual any // the field's value
	wanted any // the value, as shape made it
	as     v1alpha1.ValueType
	now    time.Time
	flip   time.Time // set by a test against the clock: when the answer changes
}

type forms = v1alpha1.ShortForms

// operators is the table. A new operator is a constant in the API, a field in ShortForms and a row here.
var operators = []operator{
	{name: v1alpha1.OperatorEquals, short: "equals", form: func(f *forms) *apiextensionsv1.JSON { return f.Equals },
		phrase: "equals", comparison: equality()},
	{name: v1alpha1.OperatorNotEquals, short: "notEquals", form: func(f *forms) *apiextensionsv1.JSON { return f.NotEquals },
		phrase: "anything but", not: true, absent: true, comparison: equality()},
	{name: v1alpha1.OperatorGt, short: "greaterThan", form: func(f *forms) *apiextensionsv1.JSON { return f.GreaterThan },
		phrase: "more than", comparison: ordering(func(sign int) bool { return sign > 0 })},
	{name: v1alpha1.OperatorGte, short: "greaterThanOrEqual", form: func(f *forms) *apiextensionsv1.JSON { return f.GreaterThanOrEqual },
		phrase: "at least", comparison: ordering(func(sign int) bool { return sign >= 0 })},
	{name: v1alpha1.OperatorLt, short: "lessThan", form: func(f *forms) *apiextensionsv1.JSON { return f.LessThan },
		phrase: "less than", comparison: ordering(func(sign int) bool { return sign < 0 })},
	{name: v1alpha1.OperatorLte, short: "lessThanOrEqual", form: func(f *forms) *apiextensionsv1.JSON { return f.LessThanOrEqual },
		phrase: "at most", comparison: ordering(func(sign int) bool { return sign <= 0 })},
	{name: v1alpha1.OperatorBetween, short: "between", form: func(f *forms) *apiextensionsv1.JSON { return f.Between },
		phrase: "between", comparison: rangeOf()},
	{name: v1alpha1.OperatorNotBetween, short: "notBetween", form: func(f *forms) *apiextensionsv1.JSON { return f.NotBetween },
		phrase: "outside", not: true, comparison: rangeOf()},
	{name: v1alpha1.OperatorIn, short: "in", form: func(f *forms) *apiextensionsv1.JSON { return f.In },
		phrase: "one of", comparison: membership()},
	{name: v1alpha1.OperatorNotIn, short: "notIn", form: func(f *forms) *apiextensionsv1.JSON { return f.NotIn },
		phrase: "none of", not: true, absent: true, comparison: membership()},
	{name: v1alpha1.OperatorContains, short: "contains", form: func(f *forms) *apiextensionsv1.JSON { return f.Contains },
		phrase: "contains", comparison: containment()},
	{name: v1alpha1.OperatorNotContains, short: "notContains", form: func(f *forms) *apiextensionsv1.JSON { return f.NotContains },
		phrase: "without", not: true, absent: true, comparison: containment()},
	{name: v1alpha1.OperatorPrefix, short: "prefix", form: func(f *forms) *apiextensionsv1.JSON { return f.Prefix },
		phrase: "prefix", comparison: text(strings.HasPrefix)},
	{name: v1alpha1.OperatorSuffix, short: "suffix", form: func(f *forms) *apiextensionsv1.JSON { return f.Suffix },
		phrase: "suffix", comparison: text(strings.HasSuffix)},
	{name: v1alpha1.OperatorRegex, short: "regex", form: func(f *forms) *apiextensionsv1.JSON { return f.Regex },
		phrase: "matches", comparison: pattern()},
	{name: v1alpha1.OperatorExists, short: "exists", form: func(f *forms) *apiextensionsv1.JSON { return f.Exists },
		phrase: "a value", comparison: presence()},
	{name: v1alpha1.OperatorNotExists, short: "notExists", form: func(f *forms) *apiextensionsv1.JSON { return f.NotExists },
		phrase: "no value", not: true, absent: true, comparison: presence()},
	{name: v1alpha1.OperatorTypeOf, short: "typeOf", form: func(f *forms) *apiextensionsv1.JSON { return f.TypeOf },
		phrase: "type", comparison: typeName()},
	{name: v1alpha1.OperatorOlderThan, short: "olderThan", form: func(f *forms) *apiextensionsv1.JSON { return f.OlderThan },
		phrase: "older than", comparison: age()},
	{name: v1alpha1.OperatorYoungerThan, short: "youngerThan", form: func(f *forms) *apiextensionsv1.JSON { return f.YoungerThan },
		phrase: "younger than", not: true, comparison: age()},
}

// find gives the row of a name, or nil.
func find(name v1alpha1.Operator) *operator {
	i := slices.IndexFunc(operators, func(o operator) bool { return o.name == name })
	if i < 0 {
		return nil
	}
	return &operators[i]
}

// opposite gives exists for notExists, and the other way round: `exists: false` is notExists.
func (o *operator) opposite() *operator {
	if o.name == v1alpha1.OperatorExists {
		return find(v1alpha1.OperatorNotExists)
	}
	return find(v1alpha1.OperatorExists)
}

func equality() comparison {
	return comparison{types: allTypes, shape: shapeAny, fits: equalFits, test: func(o *operands) (bool, error) {
		return equal(o.actual, o.wanted, o.as)
	}}
}

func ordering(holds func(sign int) bool) comparison {
	return comparison{types: orderedTypes, shape: shapeOrdered, fits: orderFits, test: func(o *operands) (bool, error) {
		sign, err := order(o.actual, o.wanted, o.as)
		return err == nil && holds(sign), err
	}}
}

func rangeOf() comparison {
	return comparison{types: orderedTypes, shape: shapeRange, fits: eachFits(orderFits), test: func(o *operands) (bool, error) {
		limits, _ := o.wanted.([]any) // shapeRange makes nothing else
		low, err := order(o.actual, limits[0], o.as)
		if err != nil {
			return false, err
		}
		high, err := order(o.actual, limits[1], o.as)
		return err == nil && low >= 0 && high <= 0, err
	}}
}

func membership() comparison {
	return comparison{types: allTypes, shape: shapeList, fits: eachFits(equalFits), test: func(o *operands) (bool, error) {
		list, _ := o.wanted.([]any) // shapeList makes nothing else
		for _, item := range list {
			if same, err := equal(o.actual, item, o.as); same || err != nil {
				return same, err
			}
		}
		return false, nil
	}}
}

func containment() comparison {
	return comparison{types: allTypes, shape: shapeAny, fits: containsFits, test: func(o *operands) (bool, error) {
		if list, ok := o.actual.([]any); ok {
			for _, item := range list {
				if same, err := equal(normalize(item), o.wanted, o.as); same || err != nil {
					return same, err
				}
			}
			return false, nil
		}
		whole, okWhole := textField(o)
		part, okPart := value.Decimal(o.wanted)
		if !okWhole || !okPart {
			return false, mismatch(o.actual, o.wanted, o.as)
		}
		return strings.Contains(whole, part), nil
	}}
}

// text compares two strings.
func text(holds func(whole, part string) bool) comparison {
	return comparison{types: textTypes, shape: shapeText, fits: textFits, test: func(o *operands) (bool, error) {
		part, _ := o.wanted.(string) // shapeText makes nothing else
		whole, ok := textField(o)
		if !ok {
			return false, mismatch(o.actual, o.wanted, o.as)
		}
		return holds(whole, part), nil
	}}
}

func pattern() comparison {
	return comparison{types: textTypes, shape: shapePattern, fits: textFits, test: func(o *operands) (bool, error) {
		re, _ := o.wanted.(*regexp.Regexp) // shapePattern makes nothing else
		whole, ok := textField(o)
		if !ok {
			return false, mismatch(o.actual, re.String(), o.as)
		}
		return re.MatchString(whole), nil
	}}
}

// presence is exists: an empty string, list or map counts as absent; false and zero do not.
func presence() comparison {
	return comparison{flag: true, test: func(o *operands) (bool, error) {
		switch v := o.actual.(type) {
		case string:
			return v != "", nil
		case []any:
			return len(v) > 0, nil
		case map[string]any:
			return len(v) > 0, nil
		default:
			return true, nil
		}
	}}
}

func typeName() comparison {
	return comparison{shape: shapeType, null: true, test: func(o *operands) (bool, error) {
		return value.TypeName(o.actual) == o.wanted, nil
	}}
}

func age() comparison {
	return comparison{shape: shapeAge, fits: ageFits, clock: true, test: func(o *operands) (bool, error) {
		d, _ := o.wanted.(time.Duration) // shapeAge makes nothing else
		since, ok := parse(asTime, o.actual)
		if !ok {
			return false, errors.New("the field is " + describe(o.actual) + ", not an RFC 3339 time")
		}
		o.flip = since.t.Add(d)
		return !o.now.Before(o.flip), nil
	}}
}

// textField gives the field's string; other scalars only where valueType asks for strings.
func textField(o *operands) (string, bool) {
	if o.as == v1alpha1.ValueTypeString {
		return value.Decimal(o.actual)
	}
	s, ok := o.actual.(string)
	return s, ok
}

// Description is what people read about an operator.
type Description struct {
	// Name of the operator, and the key of its short form.
	Name  v1alpha1.Operator
	Short string
	// Phrase is what messages say before the wanted value.
	Phrase string
	// Absent is the answer for an absent field.
	Absent bool
	// Types are the valueTypes that mean something.
	Types []v1alpha1.ValueType
	// Clock says that the answer changes with the time.
	Clock bool
	// Field and Value are an example of what is compared, in YAML.
	Field, Value string
}

// Descriptions are those of all operators, in the order of the table.
func Descriptions() []Description {
	out := make([]Description, 0, len(operators))
	for i := range operators {
		o := &operators[i]
		shown := examples[o.name]
		out = append(out, Description{
			Name: o.name, Short: o.short, Phrase: o.phrase, Absent: o.absent, Types: slices.Clone(o.types), Clock: o.clock, Field: shown.field, Value: shown.value,
		})
	}
	return out
}

// example is a field and a value that an operator may well compare, in YAML.
type example struct{ field, value string }

// examples has one for each operator; a test compiles them.
var examples = map[v1alpha1.Operator]example{
	v1alpha1.OperatorEquals:      {"spec.tier", "production"},
	v1alpha1.OperatorNotEquals:   {"spec.tier", "production"},
	v1alpha1.OperatorGt:          {"spec.replicas", "1"},
	v1alpha1.OperatorGte:         {"spec.memory", "512Mi"},
	v1alpha1.OperatorLt:          {"spec.replicas", "10"},
	v1alpha1.OperatorLte:         {"spec.timeout", "5m"},
	v1alpha1.OperatorBetween:     {"spec.replicas", "[1, 10]"},
	v1alpha1.OperatorNotBetween:  {"spec.port", "[1, 1023]"},
	v1alpha1.OperatorIn:          {"spec.tier", "[staging, production]"},
	v1alpha1.OperatorNotIn:       {"metadata.namespace", "[default, kube-system]"},
	v1alpha1.OperatorContains:    {"spec.features", "cache"},
	v1alpha1.OperatorNotContains: {"spec.features", "legacy"},
	v1alpha1.OperatorPrefix:      {"spec.image", "registry.example.com/"},
	v1alpha1.OperatorSuffix:      {"spec.host", ".example.com"},
	v1alpha1.OperatorRegex:       {"spec.version", `"^v[0-9]+$"`},
	v1alpha1.OperatorExists:      {"spec.tls", "true"},
	v1alpha1.OperatorNotExists:   {"spec.tls", "true"},
	v1alpha1.OperatorTypeOf:      {"spec.ports", "array"},
	v1alpha1.OperatorOlderThan:   {"metadata.creationTimestamp", "24h"},
	v1alpha1.OperatorYoungerThan: {"metadata.creationTimestamp", "10m"},
}
