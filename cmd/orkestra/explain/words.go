package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/engine/expr/functions"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/suggest"
	"github.com/orkspace/orkestra/engine/when"
)

// The paths of what stands in values: functions in templates, operators in conditions.
const (
	keyFunctions = "functions"
	keyOperators = "operators"
)

// explainFunctions answers for a path below functions.
func explainFunctions(path []string) (string, error) {
	if len(path) > 0 {
		return explainFunction(strings.Join(path, "."))
	}
	var b strings.Builder
	group := ""
	for _, f := range functions.All() {
		if f.Group != group {
			group = f.Group
			fmt.Fprintf(&b, "%s:\n", strings.ToUpper(group))
		}
		fmt.Fprintf(&b, "  %s\n", f.Usage)
		writeText(&b, f.Doc)
	}
	return b.String(), nil
}

func explainFunction(name string) (string, error) {
	f := functions.Named(name)
	if f == nil {
		if why, known := functions.Refused(name); known {
			return "", fmt.Errorf("templates have no function %q: it %s", name, why)
		}
		return "", fmt.Errorf("templates have no function %q%s", name, suggest.DidYouMean(name, functions.Names()))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "FUNCTION:  %s\n", f.Usage)
	if len(f.Aliases) > 0 {
		fmt.Fprintf(&b, "ALSO:      %s\n", strings.Join(f.Aliases, ", "))
	}
	b.WriteString("\nDESCRIPTION:\n")
	writeText(&b, f.Doc)
	fmt.Fprintf(&b, "%sExample: %s\n%sgives %s\n", indent, f.Example, indent, given(f.Result))
	return b.String(), nil
}

// given shows what a template gives, in one line.
func given(text string) string {
	if text == "" {
		return "nothing"
	}
	return strings.ReplaceAll(text, "\n", "↵")
}

// explainOperators answers for a path below operators.
func explainOperators(path []string) (string, error) {
	if len(path) > 0 {
		return explainOperator(strings.Join(path, "."))
	}
	var b strings.Builder
	for _, o := range when.Descriptions() {
		fmt.Fprintf(&b, "%s, as a key %s\n", o.Name, o.Short)
		writeText(&b, textOf(o))
	}
	return b.String(), nil
}

func explainOperator(name string) (string, error) {
	all := when.Descriptions()
	at := slices.IndexFunc(all, func(o when.Description) bool { return string(o.Name) == name || o.Short == name })
	if at < 0 {
		return "", fmt.Errorf("conditions have no operator %q%s", name, suggest.DidYouMean(name, operatorNames()))
	}
	o := all[at]
	var b strings.Builder
	fmt.Fprintf(&b, "OPERATOR:  %s\nKEY:       %s\n\nDESCRIPTION:\n", o.Name, o.Short)
	writeText(&b, textOf(o))
	fmt.Fprintf(&b, "%sOf an absent field it is %t.\n", indent, o.Absent)
	if len(o.Types) > 0 {
		types := make([]string, 0, len(o.Types))
		for _, t := range o.Types {
			types = append(types, string(t))
		}
		writeText(&b, "Both sides are converted to valueType, which may be "+strings.Join(types, ", ")+". Default: the field's own type.")
	}
	if o.Clock {
		writeText(&b, "Its answer changes with the time, and the resource is looked at again when it does.")
	}
	fmt.Fprintf(&b, "%sExample: {field: %s, %s: %s}\n", indent, o.Field, o.Short, o.Value)
	fmt.Fprintf(&b, "%sThe same: {field: %s, operator: %s, value: %s}\n", indent, o.Field, o.Name, o.Value)
	return b.String(), nil
}

// textOf says what an operator means, as the comment of its key has it.
func textOf(o when.Description) string {
	key, _, _ := kinds.Follow(kinds.APIKinds(), []string{kindBox, nameSpec, "when", o.Short})
	return key.Text
}

// operatorNames are the operators and their keys.
func operatorNames() []string {
	var out []string
	for _, o := range when.Descriptions() {
		out = append(out, string(o.Name), o.Short)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// explainWord answers for a name that is neither a key nor a field: a function or an operator. ok is false where it is none of them.
func explainWord(name string) (text string, ok bool) {
	for _, explained := range []func(string) (string, error){explainOperator, explainFunction} {
		if text, err := explained(name); err == nil {
			return text, true
		}
	}
	return "", false
}
