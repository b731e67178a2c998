package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/engine/kinds"
)

const (
	columnGap = 3
	// lineWidth is where the texts of explanations are broken.
	lineWidth = 100
	indent    = "    "
)

func explainKind(kind kinds.Kind, recursive bool) string {
	var b strings.Builder
	writeHead(&b, kind)
	b.WriteString("\nDESCRIPTION:\n")
	writeText(&b, kind.Text())
	b.WriteString("\nFIELDS:\n")
	writeFields(&b, kind.ShortFields(), recursive)
	b.WriteString("FIELDS OF ALL DECLARATIONS:\n")
	writeFields(&b, kind.CommonFields(), recursive)
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func explainField(kind kinds.Kind, f kinds.FieldDoc, recursive bool) string {
	var b strings.Builder
	writeHead(&b, kind)
	fmt.Fprintf(&b, "\nFIELD:  %s <%s>\n\nDESCRIPTION:\n", f.Name, f.Type)
	writeDoc(&b, f)
	if fields := f.Fields(); len(fields) > 0 {
		b.WriteString("\nFIELDS:\n")
		writeFields(&b, fields, recursive)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func writeHead(b *strings.Builder, kind kinds.Kind) {
	fmt.Fprintf(b, "KEY:    %s\n", kind.Key)
	if !kind.GVK.Empty() {
		fmt.Fprintf(b, "KIND:   %s (%s)\n", kind.GVK.Kind, kind.GVK.GroupVersion())
	}
}

func writeFields(b *strings.Builder, fields []kinds.FieldDoc, recursive bool) {
	if recursive {
		writeTree(b, fields, 1, nil)
		b.WriteString("\n")
		return
	}
	for _, f := range fields {
		fmt.Fprintf(b, "  %s <%s>", f.Name, f.Type)
		if f.Required() {
			b.WriteString(" -required-")
		}
		b.WriteString("\n")
		writeDoc(b, f)
		b.WriteString("\n")
	}
}

// writeTree writes names and types, with those of the fields below. Where a type contains itself, its fields are written once: the tree would
// have no end.
func writeTree(b *strings.Builder, fields []kinds.FieldDoc, depth int, above []string) {
	for _, f := range fields {
		fmt.Fprintf(b, "%s%s <%s>\n", strings.Repeat("  ", depth), f.Name, f.Type)
		if !slices.Contains(above, f.Type) {
			writeTree(b, f.Fields(), depth+1, append(slices.Clone(above), f.Type))
		}
	}
}

func writeDoc(b *strings.Builder, f kinds.FieldDoc) {
	if f.Text != "" {
		writeText(b, f.Text)
	}
	if f.Default != "" && !f.Required() {
		writeText(b, "Default: "+f.Default+".")
	}
	if len(f.Values) > 0 {
		writeText(b, "Values: "+strings.Join(f.Values, ", ")+".")
	}
	if f.Example != "" {
		b.WriteString(indent + "Example: " + f.Example + "\n")
	}
}

// writeText writes paragraphs, broken at words.
func writeText(b *strings.Builder, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		room := 0
		for i, word := range strings.Fields(line) {
			switch {
			case i == 0 || room < len(word)+1:
				if i > 0 {
					b.WriteString("\n")
				}
				b.WriteString(indent + word)
				room = lineWidth - len(indent) - len(word)
			default:
				b.WriteString(" " + word)
				room -= len(word) + 1
			}
		}
		b.WriteString("\n")
	}
}
