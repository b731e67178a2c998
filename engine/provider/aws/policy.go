package aws

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var account = regexp.MustCompile(`^[0-9]{12}$`)

// samePolicy says whether two policies mean the same. AWS gives a policy back in a form of its own: one value for a list of one, a list in
// another order, an account's root for its number.
func samePolicy(declared map[string]any, current string) bool {
	if current == "" {
		return len(declared) == 0
	}
	text, err := json.Marshal(declared)
	if err != nil {
		return false
	}
	var want, is map[string]any
	if json.Unmarshal(text, &want) != nil || json.Unmarshal([]byte(current), &is) != nil {
		return false
	}
	return reflect.DeepEqual(plainPolicy(want), plainPolicy(is))
}

func plainPolicy(policy map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range policy {
		if key != "Statement" {
			out[key] = value
			continue
		}
		statements, many := value.([]any)
		if !many {
			statements = []any{value}
		}
		var plain []any
		for _, statement := range statements {
			plain = append(plain, plainStatement(statement))
		}
		out[key] = plain
	}
	return out
}

func plainStatement(statement any) any {
	fields, ok := statement.(map[string]any)
	if !ok {
		return statement
	}
	out := map[string]any{}
	for key, value := range fields {
		switch key {
		case "Action", "NotAction", "Resource", "NotResource":
			out[key] = setOf(value, key)
		case "Principal", "NotPrincipal":
			out[key] = plainPrincipal(value)
		case "Condition":
			out[key] = plainCondition(value)
		default:
			out[key] = value
		}
	}
	return out
}

// setOf gives values as a sorted list of texts without duplicates. Actions are the same in all letters.
func setOf(value any, key string) any {
	values, many := value.([]any)
	if !many {
		values = []any{value}
	}
	var out []string
	for _, v := range values {
		text := fmt.Sprint(v)
		if number, ok := v.(float64); ok {
			text = strconv.FormatFloat(number, 'f', -1, 64)
		}
		if strings.HasSuffix(key, "Action") {
			text = strings.ToLower(text)
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func plainPrincipal(value any) any {
	kinds, ok := value.(map[string]any)
	if !ok {
		if value == "*" {
			return map[string]any{"AWS": []string{"*"}}
		}
		return value
	}
	out := map[string]any{}
	for kind, names := range kinds {
		list, _ := setOf(names, kind).([]string)
		for i, name := range list {
			if kind == "AWS" && account.MatchString(name) {
				list[i] = "arn:aws:iam::" + name + ":root"
			}
		}
		slices.Sort(list)
		out[kind] = slices.Compact(list)
	}
	return out
}

func plainCondition(value any) any {
	operators, ok := value.(map[string]any)
	if !ok {
		return value
	}
	out := map[string]any{}
	for operator, keys := range operators {
		fields, ok := keys.(map[string]any)
		if !ok {
			out[operator] = keys
			continue
		}
		plain := map[string]any{}
		for key, values := range fields {
			plain[strings.ToLower(key)] = setOf(values, "")
		}
		out[operator] = plain
	}
	return out
}
