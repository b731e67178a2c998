package when

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/suggest"
	"github.com/orkspace/orkestra/engine/value"
)

// The shapes check a condition's value and convert it to the form that the operator's test takes. Their errors never show the value: it
// may be secret.

func shapeAny(wanted any, as v1alpha1.ValueType) (any, error) {
	if as == "" {
		return wanted, nil
	}
	if _, ok := parseType(as, wanted); !ok {
		return nil, fmt.Errorf("%s can't be converted to %s", describe(wanted), as)
	}
	return wanted, nil
}

func shapeOrdered(wanted any, as v1alpha1.ValueType) (any, error) {
	if as != "" {
		return shapeAny(wanted, as)
	}
	for _, k := range orderedKinds {
		if _, ok := parse(k, wanted); ok {
			return wanted, nil
		}
	}
	return nil, fmt.Errorf("wants a number, quantity, duration or RFC 3339 time, got %s", describe(wanted))
}

func shapeRange(wanted any, as v1alpha1.ValueType) (any, error) {
	limits := split(wanted)
	if len(limits) != 2 {
		return nil, errors.New(`wants "min,max" or a list of two values`)
	}
	for _, limit := range limits {
		if _, err := shapeOrdered(limit, as); err != nil {
			return nil, err
		}
	}
	sign, err := order(limits[0], limits[1], as)
	if err != nil {
		return nil, fmt.Errorf("min is %s, max %s", describe(limits[0]), describe(limits[1]))
	}
	if sign > 0 {
		return nil, errors.New("min is greater than max")
	}
	return limits, nil
}

func shapeList(wanted any, as v1alpha1.ValueType) (any, error) {
	list := split(wanted)
	if list == nil {
		return nil, fmt.Errorf("wants a list or a comma-separated string, got %s", describe(wanted))
	}
	for _, item := range list {
		if _, err := shapeAny(item, as); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// split gives a list's normalized elements, the trimmed parts of a comma-separated string, or one number or bool alone.
func split(wanted any) []any {
	list := []any{}
	switch v := wanted.(type) {
	case string:
		for part := range strings.SplitSeq(v, ",") {
			list = append(list, strings.TrimSpace(part))
		}
	case []any:
		for _, item := range v {
			list = append(list, normalize(item))
		}
	case int64, float64, bool:
		list = append(list, v)
	default:
		return nil
	}
	return list
}

func shapeText(wanted any, _ v1alpha1.ValueType) (any, error) {
	s, ok := value.Decimal(wanted)
	if !ok {
		return nil, fmt.Errorf("wants a string, got %s", describe(wanted))
	}
	return s, nil
}

func shapePattern(wanted any, _ v1alpha1.ValueType) (any, error) {
	s, ok := value.Decimal(wanted)
	if !ok {
		return nil, fmt.Errorf("wants a regular expression, got %s", describe(wanted))
	}
	re, err := regexp.Compile(s)
	var bad *syntax.Error
	switch {
	case errors.As(err, &bad):
		return nil, fmt.Errorf("not a regular expression (RE2): %s", bad.Code)
	case err != nil:
		return nil, errors.New("not a regular expression (RE2)")
	}
	return re, nil
}

func shapeType(wanted any, _ v1alpha1.ValueType) (any, error) {
	name, _ := wanted.(string) // anything else is no type's name
	if !slices.Contains(jsonTypes, name) {
		return nil, fmt.Errorf("wants one of %s%s", strings.Join(jsonTypes, ", "), suggest.DidYouMean(name, jsonTypes))
	}
	return name, nil
}

func shapeAge(wanted any, _ v1alpha1.ValueType) (any, error) {
	d, ok := parse(asDuration, wanted)
	if !ok {
		return nil, fmt.Errorf("wants a duration such as 90s, 5m, 12h or 7d, got %s", describe(wanted))
	}
	return time.Duration(d.i), nil
}
