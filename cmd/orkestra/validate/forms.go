package validate

import (
	"strings"

	"github.com/orkspace/orkestra/cmd/orkestra/input"
)

// forms say how the fields are written that hold one expression in kro, and an object, or a list of them, here.
var forms = map[string]string{
	"forEach":   "write forEach: {field: spec.list}, with a path or a template of one action; the item is .item",
	"when":      oneCondition,
	"anyOf":     oneCondition,
	"readyWhen": oneCondition,
}

const oneCondition = "write a list of conditions: {field: spec.x, equals: a}, or {cel: self.spec.x == 'a'}"

// withForms adds to what is said of a text in place of such a field how that is written.
func withForms(mistakes []input.Mistake) []input.Mistake {
	for i := range mistakes {
		m := &mistakes[i]
		name, _, _ := strings.Cut(m.Path[strings.LastIndexByte(m.Path, '.')+1:], "[")
		if form := forms[name]; form != "" && m.Message == "want object, got string" {
			m.Message += "; " + form
		}
	}
	return mistakes
}
