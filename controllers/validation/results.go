package validation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/pipeline"
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

	// IsBox says that what the result speaks of is a box.
	IsBox bool `json:"-"`
	// Subject is what the result speaks of, such as `OperatorBox "website"`; empty for a document that can't be read.
	Subject string `json:"-"`
	// SchemaNote is the one of the notes that says that the schema is not known.
	SchemaNote string `json:"-"`
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
	told := map[string]bool{}
	for _, m := range r.Errors {
		told[m.Path] = true
	}
	for _, value := range doc.Respelled() {
		if !told[value.Path] {
			r.Notes = append(r.Notes, fmt.Sprintf("line %d: %s: %s", value.Line, value.Path, value.Message))
		}
	}
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

// noted are what a box that compiles leaves to wish for, as far as people would hardly want it so. The box works all the same: the cluster says the first in
// its condition StatusWritable, and of the second nothing.
func noted(box *v1alpha1.OperatorBox, plan *pipeline.Plan) []string {
	var notes []string
	if plan.CRD.Name != "" && plan.Constructor == nil && !plan.CRD.OfOthers {
		if unwritten := plan.Status.Unwritten(plan.CRD.Name, plan.CRD.Kind.Version); unwritten != nil {
			notes = append(notes, unwritten.Message+mend(unwritten.Reason))
		}
	}
	if boxspec.DoesNothing(box) {
		notes = append(notes, "nothing is done for a resource: the box declares no children, no hook, no clean-up, no rules and no status")
	}
	return notes
}

// mend says what to do about what the status of resources lacks.
func mend(reason string) string {
	if reason == v1alpha1.ReasonNoStatusSubresource {
		return ". Add subresources: {status: {}} to the version of the CRD; else kubectl wait and orkestra wait can't tell when a resource is ready"
	}
	return ". Add them to the schema of the CRD"
}
