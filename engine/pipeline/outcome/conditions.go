package outcome

import (
	"errors"
	"maps"
	"regexp"
	"slices"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/status"
)

// statusConditions is where conditions stand in a status.
const statusConditions = "conditions"

// ownStatus is the field of a condition that must be there.
const ownStatus = "status"

// ownConditionForm is the path of a condition that a box writes. Quotes are allowed, as in every path, and not needed.
var ownConditionForm = regexp.MustCompile(`^\s*\.?conditions\[(?:'([^'\]]*)'|"([^"\]]*)"|([^'"\]]*))\]\s*$`)

// ownCondition gives the type of the condition that a path stands for: `conditions[Available]`. What is below a condition is no
// path of its own.
func ownCondition(path string) (kind string, is bool) {
	m := ownConditionForm.FindStringSubmatch(path)
	if m == nil {
		return "", false
	}
	return m[1] + m[2] + m[3], true
}

// Conditions are the types of those that the box declares.
func (p *Plan) Conditions() map[string]bool {
	out := map[string]bool{}
	for _, f := range p.fields {
		if f.condition != "" {
			out[f.condition] = true
		}
	}
	return out
}

func (p *Plan) checkCondition(kind string) error {
	if err := status.CheckType(kind); err != nil {
		return err
	}
	if p.Writer.IsFieldsOnly() {
		return errors.New("the status of an object of others gets fields alone, and no conditions")
	}
	if !p.Writer.KeepsConditions() {
		return errors.New("the CRD's schema does not know status.conditions")
	}
	return nil
}

// checkOwn checks what is written out of a condition's value: its fields, and those of them that are no templates.
func checkOwn(kind string, value any) error {
	object, isObject := value.(map[string]any)
	if !isObject {
		if isTemplate(value) {
			return nil
		}
		_, err := status.NewOwn(kind, value)
		return err
	}
	if err := status.CheckOwnFields(slices.Collect(maps.Keys(object))); err != nil {
		return err
	}
	probe := maps.Clone(object)
	for name, leaf := range object {
		switch {
		case !isTemplate(leaf):
		case name == ownStatus:
			probe[name] = true // what the template yields is seen when it runs
		default:
			delete(probe, name)
		}
	}
	_, err := status.NewOwn(kind, probe)
	return err
}

func isTemplate(value any) bool {
	text, ok := value.(string)
	return ok && expr.IsTemplate(text)
}
