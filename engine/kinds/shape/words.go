package shape

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/orkspace/orkestra/engine/value"
)

// ElemOf is the type below all pointers, lists and maps of a type.
func ElemOf(of reflect.Type) reflect.Type {
	for !IsLeaf(of) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			of = of.Elem()
		default:
			return of
		}
	}
	return of
}

// IsLeaf says whether a type reads JSON in a way of its own, so that what it looks like in Go says nothing.
func IsLeaf(of reflect.Type) bool {
	if _, special := specialForms[of]; special || of == reflect.TypeFor[[]byte]() {
		return true
	}
	return of.Kind() == reflect.Struct && reflect.PointerTo(of).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// Words says in words what a type reads.
func Words(of reflect.Type) string {
	switch {
	case of.Kind() == reflect.Pointer:
		return Words(of.Elem())
	case of == reflect.TypeFor[apiextensionsv1.JSON]():
		return words[FormAnything]
	case IsLeaf(of) && specialForms[of] != FormAnything:
		return words[specialForms[of]]
	case of == reflect.TypeFor[[]byte]():
		return words[FormBytes]
	case of.Kind() == reflect.Slice:
		return "list of " + plural(Words(of.Elem()))
	case of.Kind() == reflect.Map && of.Elem().Kind() != reflect.Interface:
		return "map of " + plural(Words(of.Elem()))
	case of.Kind() == reflect.Struct:
		return of.Name()
	case of.Kind() == reflect.Map:
		return value.TypeObject
	default:
		return words[Of(of).Form] // an int32 and an int64 are both an integer here: only errors name the size
	}
}

// plural is the plural of a word; the name of a type has none.
func plural(word string) string {
	switch {
	case word[0] >= 'A' && word[0] <= 'Z':
		return word
	case strings.HasPrefix(word, "list of "):
		return "lists" + strings.TrimPrefix(word, "list")
	case strings.HasSuffix(word, "y"):
		return strings.TrimSuffix(word, "y") + "ies"
	default:
		return word + "s"
	}
}

// What messages call what stands where something else is wanted.
const (
	aText        = "a text"
	anExpression = "an expression"
)

// OneAction says how a list or a map is written where a text stands that is more than one action; empty for another type, for which a text may
// do. It is the end of a message.
func OneAction(typeName string) string {
	var ways string
	switch typeName {
	case value.TypeArray:
		ways = `{{ concat .spec.a .spec.b }}, {{ append .spec.a "b" }} or {{ collect "name" .spec.a }}`
	case value.TypeObject:
		ways = `{{ merge .spec.a .spec.b }} or {{ dict "a" .spec.b }}`
	default:
		return ""
	}
	return "; what is more than one action is a text, which is never read as YAML: write one action, such as " + ways +
		", or give it a name by cel in spec.values, and write {{ .values.<name> }} here"
}

// readsBox finds what an expression of a box begins with. What other policies read, such as object or request, is not among it.
var readsBox = regexp.MustCompile(`\b(self|children|cross|external|values|item)\s*[.?\[]`)

// ExpressionEntry is value.MisplacedCEL for maps of texts, which may well have an entry called cel: it is taken for an expression where it stands
// alone and reads what a box knows.
func ExpressionEntry(v any) string {
	hint := value.MisplacedCEL(v)
	if hint == "" {
		return ""
	}
	text, _ := v.(map[string]any)["cel"].(string)
	if strings.Contains(text, "{{") || !readsBox.MatchString(text) {
		return ""
	}
	return hint + "; for an entry called cel that holds this text, write the text as a template: {{ \"…\" }}"
}
