package validate

import (
	"fmt"
	"io"
	"strings"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/output"
	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/controllers/validation"
)

// printer writes all results in one format.
type printer func(io.Writer, []validation.Result) error

// formats are the values of --output.
var formats = map[string]printer{output.Text: printText, output.JSON: printJSON, output.YAML: printYAML}

func printText(w io.Writer, results []validation.Result) error {
	var b strings.Builder
	for _, r := range results {
		if r.Valid {
			fmt.Fprintf(&b, "%s: %s: valid (revision %s)\n", r.File, r.Subject, r.Revision)
		}
		for _, m := range r.Errors {
			b.WriteString(r.File)
			if m.Line > 0 {
				fmt.Fprintf(&b, ":%d", m.Line)
			}
			for _, part := range []string{r.Subject, m.Path, m.Message} {
				if part != "" {
					b.WriteString(": " + part)
				}
			}
			b.WriteString("\n")
		}
		for _, rule := range r.Rules {
			fmt.Fprintf(&b, "%s: %s: %s: %s\n", r.File, r.Subject, rule.Path, whereChecked(rule))
		}
		for _, note := range r.Notes {
			if note != r.SchemaNote { // report prints that one, in all formats
				fmt.Fprintf(&b, "%s: %s: note: %s\n", r.File, r.Subject, note)
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

func printJSON(w io.Writer, results []validation.Result) error {
	return output.WriteJSON(w, complete(results))
}

func printYAML(w io.Writer, results []validation.Result) error {
	return output.WriteYAML(w, complete(results))
}

// complete makes absent lists empty ones: programs need not tell them apart.
func complete(results []validation.Result) []validation.Result {
	for i := range results {
		r := &results[i]
		r.Errors, r.Notes = append([]input.Mistake{}, r.Errors...), append([]string{}, r.Notes...)
		r.Rules = append([]v1alpha1.AdmissionRuleStatus{}, r.Rules...)
	}
	return results
}

// summary counts boxes, and apart from them what is no box.
func summary(results []validation.Result) string {
	boxes, valid, others := 0, 0, 0
	for _, r := range results {
		switch {
		case !r.IsBox:
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
