package draft

import (
	"fmt"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/cmd/orkestra/output"
	"github.com/orkspace/orkestra/controllers/input"
)

// Kind of the object.
func (o *Object) Kind() string {
	kind, _ := o.Content["kind"].(string)
	return kind
}

// Name of the object.
func (o *Object) Name() string {
	metadata, _ := o.Content["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return name
}

// Unreadable says what keeps a document from being read, or parts of it.
func (d *Draft) Unreadable(doc input.Document) {
	wrong := doc.Keys()
	if doc.Wrong != nil {
		wrong = []input.Mistake{*doc.Wrong}
	}
	for _, m := range wrong {
		d.Remarks = append(d.Remarks, Remark{File: doc.File, Line: m.Line, Path: m.Path, Message: m.Message, Wrong: true})
	}
}

// Wrong is the number of remarks that say a mistake.
func (d *Draft) Wrong() int {
	return len(slices.DeleteFunc(slices.Clone(d.Remarks), func(r Remark) bool { return !r.Wrong }))
}

// Told is what there is to say, in the order of files and lines: a line for each remark, the notes of the compiler, and a summary of what was made.
func (d *Draft) Told(notes []string, made ...string) string {
	var b strings.Builder
	for _, r := range d.Remarks {
		b.WriteString(r.File)
		if r.Line > 0 {
			fmt.Fprintf(&b, ":%d", r.Line)
		}
		if r.Wrong {
			b.WriteString(": error")
		}
		for _, part := range []string{r.Subject, r.Path, r.Message} {
			if part != "" {
				b.WriteString(": " + output.Plain(part))
			}
		}
		b.WriteString("\n")
	}
	for _, note := range notes {
		b.WriteString("note: " + note + "\n")
	}
	wrong := d.Wrong()
	fmt.Fprintf(&b, "%s: %s, %s\n", strings.Join(made, ", "), output.Count(wrong, "error", "errors"), output.Count(len(d.Remarks)-wrong, "remark", "remarks"))
	return b.String()
}
