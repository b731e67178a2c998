package when

// What messages show of fields and values.

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/value"
)

// The lengths of what a message shows, in runes.
const (
	maxField  = 128
	maxWanted = 128
	maxActual = 64
)

// What stands in the place of a value.
const (
	maxItems    = 10 // of a list; the type of a longer one is shown
	shownAbsent = "absent"
)

// These roots are also keys of every Kubernetes object.
const (
	keyMetadata = "metadata"
	keySpec     = "spec"
	keyStatus   = "status"
)

// view is how much of a value a message may show. A higher one shows less.
type view int

const (
	viewValue view = iota // the value
	viewFlag              // true or false, and of all else the type
	viewType              // its type
)

// viewOf says how much may be shown of what these paths lead to. single: the value is what stands at the one path, not
// something that a template made.
func viewOf(paths []expr.Path, single bool) view {
	v := viewValue
	for _, p := range paths {
		v = max(v, viewOfPath(p, single))
	}
	return v
}

func viewOfPath(p expr.Path, single bool) view {
	if len(p) == 0 {
		return viewType
	}
	switch strings.ToLower(p[0]) {
	case "apiversion", "kind", keyMetadata, keySpec, keyStatus, "name", "namespace", "labels", "annotations", "box", roots.Values: // what a value reads is among the paths
		return viewValue
	case rootChildren, rootObject:
	case rootExternal:
		// The status of a call does not show what was answered.
		const segments = 3 // external, the name of the call, and a field
		if len(p) == segments && slices.Contains([]string{"called", keyStatus, "error"}, p[2]) {
			return viewValue
		}
		return viewType
	default:
		return viewType
	}
	if slices.ContainsFunc(p, secretKey) {
		return viewFlag
	}
	// A template may print all that is below its path (`toJson .children.secret`). So the path has to lead below spec, status or metadata
	// of the object, where no Secret has its data.
	top := slices.IndexFunc(p, func(key string) bool { return key == keyStatus || key == keySpec || key == keyMetadata })
	if single || (top > 1 && top < len(p)-1) {
		return viewValue
	}
	// A function of a whole child (`jobSucceeded .children.job`) could give any part of it, but true or false gives nothing away.
	return viewFlag
}

// secretKey knows the keys below which an object may hold a copy of a Secret's data. What Secrets themselves hold never gets here: conditions
// read objects by kinds.View.
func secretKey(key string) bool {
	return key == "data" || key == "stringData" || key == "binaryData" || key == "kubectl.kubernetes.io/last-applied-configuration"
}

// showActual writes the field's normalized value. Objects and lists are shown as their type, and so is what may not be shown: "a string".
func showActual(v any, as view) string {
	switch {
	case v == nil:
		return shownAbsent
	case as == viewType, as == viewFlag && value.TypeName(v) != "boolean":
		return withArticle(value.TypeName(v))
	}
	if list, ok := v.([]any); ok && len(list) > 0 && len(list) <= maxItems && !slices.ContainsFunc(list, structured) {
		parts := make([]string, len(list))
		for i, item := range list {
			parts[i] = show(item)
		}
		return clip("["+strings.Join(parts, ", ")+"]", maxActual)
	}
	if structured(v) {
		return emptiness(v) + value.TypeName(v)
	}
	return clip(show(v), maxActual)
}

// withArticle tells a type from a value that is the same word.
func withArticle(kind string) string {
	if strings.ContainsAny(kind[:1], "aeiou") {
		return "an " + kind
	}
	return "a " + kind
}

// structured says whether a value is no scalar: messages say its type alone.
func structured(v any) bool {
	_, ok := value.Decimal(v)
	return !ok
}

// emptiness is "empty " for an empty list or object, which `exists` does not count as there: the message would be puzzling otherwise
// ("wanted a value, actual object").
func emptiness(v any) string {
	switch t := v.(type) {
	case []any:
		if len(t) == 0 {
			return "empty "
		}
	case map[string]any:
		if len(t) == 0 {
			return "empty "
		}
	}
	return ""
}

// showWanted writes what an operator wants: `at least 2`.
func showWanted(o *operator, wanted any, negate bool) string {
	out := o.phrase
	switch v := wanted.(type) {
	case nil: // exists and notExists
	case []any:
		parts := make([]string, len(v))
		for i, item := range v {
			parts[i] = show(item)
		}
		out += " " + strings.Join(parts, ", ")
	default:
		out += " " + show(v)
	}
	if negate {
		out = "not (" + out + ")"
	}
	return clip(out, maxWanted)
}

// show writes a value on one line: strings bare where nothing is lost by that, lists and maps as JSON.
func show(v any) string {
	s, isString := v.(string)
	if !isString {
		if s, ok := value.Decimal(v); ok {
			return s
		}
		raw, err := json.Marshal(v) // sorts keys
		if err != nil {
			return value.TypeName(v)
		}
		return string(raw)
	}
	if s == "" || strings.TrimSpace(s) != s || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// clip cuts a text to at most limit runes.
func clip(s string, limit int) string {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}

// oneLine makes runs of white space one blank: a field may be a template of several lines.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
