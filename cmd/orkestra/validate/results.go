package validate

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/input"
	"github.com/orkspace/orkestra/cmd/orkestra/output"
)

// Result is what there is to say of one box, or of a document that is none because it can't be read.
type Result struct {
	// File is the file's name as given, or found in a directory that was given.
	File string `json:"file"`
	// Box is the box's name; empty where there is none.
	Box string `json:"box"`
	// Valid says that there is no mistake.
	Valid bool `json:"valid"`
	// Revision is the revision that the box has in a cluster; empty for a box that is not valid.
	Revision string `json:"revision"`
	// Errors are the mistakes, in the order of their lines.
	Errors []input.Mistake `json:"errors"`
	// Notes are things to know that are no mistakes.
	Notes []string `json:"notes"`
	// Rules say where each rule of a box with spec.admission is checked, as status.admission.rules does in a cluster.
	Rules []v1alpha1.AdmissionRuleStatus `json:"rules"`

	isBox      bool   // what the result speaks of is a box
	subject    string // what the result speaks of, such as `OperatorBox "website"`; empty for a document that can't be read
	schemaNote string // the one of the notes that says that the schema is not known
}

func (r *Result) add(mistakes ...input.Mistake) {
	r.Errors = append(r.Errors, mistakes...)
	slices.SortStableFunc(r.Errors, func(a, b input.Mistake) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), strings.Compare(a.Path, b.Path), strings.Compare(a.Message, b.Message))
	})
	r.Errors = slices.Compact(r.Errors)
	r.Valid = len(r.Errors) == 0
}

// respelled notes the values that are read as another text than the one that is written: where text is wanted, as in data, they become it
// silently. Those that are wrong in their place are told as mistakes already.
func (r *Result) respelled(doc input.Document) {
	for _, value := range doc.Respelled() {
		if !slices.ContainsFunc(r.Errors, func(m input.Mistake) bool { return m.Path == value.Path }) {
			r.Notes = append(r.Notes, fmt.Sprintf("line %d: %s: %s", value.Line, value.Path, value.Message))
		}
	}
}

// printer writes all results in one format.
type printer func(io.Writer, []Result) error

// formats are the values of --output.
var formats = map[string]printer{output.Text: printText, output.JSON: printJSON, output.YAML: printYAML}

func printText(w io.Writer, results []Result) error {
	var b strings.Builder
	for _, r := range results {
		if r.Valid {
			fmt.Fprintf(&b, "%s: %s: valid (revision %s)\n", r.File, r.subject, r.Revision)
		}
		for _, m := range r.Errors {
			b.WriteString(r.File)
			if m.Line > 0 {
				fmt.Fprintf(&b, ":%d", m.Line)
			}
			for _, part := range []string{r.subject, m.Path, m.Message} {
				if part != "" {
					b.WriteString(": " + part)
				}
			}
			b.WriteString("\n")
		}
		for _, rule := range r.Rules {
			fmt.Fprintf(&b, "%s: %s: %s: %s\n", r.File, r.subject, rule.Path, whereChecked(rule))
		}
		for _, note := range r.Notes {
			if note != r.schemaNote { // report prints that one, in all formats
				fmt.Fprintf(&b, "%s: %s: note: %s\n", r.File, r.subject, note)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func whereChecked(rule v1alpha1.AdmissionRuleStatus) string {
	if rule.Where == v1alpha1.RuleInPolicy {
		return "checked by a policy of the API server"
	}
	return "checked in the reconcile alone: " + rule.Reason
}

func printJSON(w io.Writer, results []Result) error { return output.WriteJSON(w, complete(results)) }

func printYAML(w io.Writer, results []Result) error { return output.WriteYAML(w, complete(results)) }

// complete makes absent lists empty ones: programs need not tell them apart.
func complete(results []Result) []Result {
	for i := range results {
		r := &results[i]
		r.Errors, r.Notes = append([]input.Mistake{}, r.Errors...), append([]string{}, r.Notes...)
		r.Rules = append([]v1alpha1.AdmissionRuleStatus{}, r.Rules...)
	}
	return results
}

// summary counts boxes, and apart from them what is no box.
func summary(results []Result) string {
	boxes, valid, others := 0, 0, 0
	for _, r := range results {
		switch {
		case !r.isBox:
			others++
		case r.Valid:
			boxes, valid = boxes+1, valid+1
		default:
			boxes++
		}
	}
	text := fmt.Sprintf("%s: %d valid, %d invalid", output.Count(boxes, "box", "boxes"), valid, boxes-valid)
	if others > 0 {
		text += fmt.Sprintf("; %s with mistakes", output.Count(others, "other document", "other documents"))
	}
	return text
}

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
