package docs_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds"
)

const (
	declarationsPage = "docs/reference/declarations.md"
	generatedBegin   = "from the comments in api/v1alpha1 -->\n"
	generatedEnd     = "<!-- end of what is written -->"
)

// declarationTables is what the reference says of the keys: a table for each, the common fields, and our own types in them.
func declarationTables(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	common := map[string]kinds.FieldDoc{}
	for _, key := range kinds.Keys() {
		kind := lookup(t, key)
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n%s", key, kind.Text(), fieldTable(key, kind.ShortFields(), true))
		for _, f := range kind.CommonFields() {
			common[f.Name] = f
		}
	}
	b.WriteString("\n## Common fields\n\nWhat every declaration may have, whatever its key. A [patch](../how-to/patches.md) takes those alone that do not say how a child is made: `id`, `when`, `anyOf`, `whenFalse`, `optional` and `forEach`.\n\n")
	b.WriteString(fieldTable("", inOrder(common, v1alpha1.CommonFieldNames()), false))
	types := ownTypes(t)
	for _, heading := range slices.Sorted(maps.Keys(types)) {
		fmt.Fprintf(&b, "\n## %s\n\n%s", heading, fieldTable("", types[heading].Fields(), true))
	}
	return b.String() + "\n"
}

func lookup(t *testing.T, key string) kinds.Kind {
	t.Helper()
	kind, ok := kinds.Lookup(key)
	if !ok {
		t.Fatalf("there is no kind %q", key)
	}
	return kind
}

func inOrder(fields map[string]kinds.FieldDoc, names []string) []kinds.FieldDoc {
	var out []kinds.FieldDoc
	for _, name := range names {
		out = append(out, fields[name])
	}
	return out
}

// ownTypes are the fields whose types are ours and have fields of their own, each once, by the heading that they stand under.
func ownTypes(t *testing.T) map[string]kinds.FieldDoc {
	t.Helper()
	found := map[string]kinds.FieldDoc{}
	var add func(key string, fields []kinds.FieldDoc)
	add = func(key string, fields []kinds.FieldDoc) {
		for _, f := range fields {
			if f.Fields() == nil || f.IsKubernetes() || f.Type == "list of Condition" {
				continue
			}
			heading := headingOf(key, f)
			if other, taken := found[heading]; taken && other.Fields()[0].Text != f.Fields()[0].Text {
				t.Fatalf("%s: another key has a field %s with other fields: give it a heading of its own", key, f.Name)
			}
			found[heading] = f
			add(key, f.Fields())
		}
	}
	for _, key := range kinds.Keys() {
		kind := lookup(t, key)
		add(key, slices.Concat(kind.ShortFields(), kind.CommonFields()))
	}
	return found
}

// headingOf is the heading that the fields of a field stand under: its name. Autoscalers and patches have different fields of one name.
func headingOf(key string, f kinds.FieldDoc) string {
	if key == "patches" && f.Name == "target" {
		return "target of a patch"
	}
	return f.Name
}

// fieldTable has a row for each field.
func fieldTable(key string, fields []kinds.FieldDoc, examples bool) string {
	var b strings.Builder
	b.WriteString("| field | type | default | meaning |")
	separator := "|---|---|---|---|"
	if examples {
		b.WriteString(" example |")
		separator += "---|"
	}
	b.WriteString("\n" + separator + "\n")
	for _, f := range fields {
		standard, meaning := f.Default, strings.TrimSuffix(f.Text, ".")
		if standard == "" {
			standard = "none"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |", f.Name, typeCell(key, f), cell(standard), cell(meaning))
		if examples {
			fmt.Fprintf(&b, " %s |", code(f.Example))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// typeCell marks the types of Kubernetes, and leads to ours.
func typeCell(key string, f kinds.FieldDoc) string {
	switch {
	case f.Name == "spec":
		return "object"
	case strings.HasSuffix(f.Type, "Condition"):
		return "[conditions](box.md#conditions)"
	case f.IsKubernetes():
		i := strings.LastIndex(f.Type, " ") + 1
		return f.Type[:i] + "`" + f.Type[i:] + "`"
	case f.Fields() != nil:
		heading := "(#" + strings.ReplaceAll(strings.ToLower(headingOf(key, f)), " ", "-") + ")"
		if strings.HasPrefix(f.Type, "list of ") {
			return "list of [objects]" + heading
		}
		return "[object]" + heading
	default:
		return f.Type
	}
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + cell(text) + "`"
}

// TestDeclarationReference compares the tables of the reference with what the types say; UPDATE_GOLDEN=true writes them.
func TestDeclarationReference(t *testing.T) {
	page, want := read(t, declarationsPage), declarationTables(t)
	before, rest, foundBegin := strings.Cut(page, generatedBegin)
	have, after, foundEnd := strings.Cut(rest, generatedEnd)
	if !foundBegin || !foundEnd {
		t.Fatalf("%s lacks the comments between which it is written", declarationsPage)
	}
	if os.Getenv("UPDATE_GOLDEN") == "true" {
		write(t, filepath.Join(root, declarationsPage), before+generatedBegin+want+generatedEnd+after)
		return
	}
	if have == want {
		return
	}
	haveRows, wantRows := strings.Split(have, "\n"), strings.Split(want, "\n")
	for _, row := range wantRows {
		if !slices.Contains(haveRows, row) {
			t.Errorf("%s lacks the line\n\t%s", declarationsPage, row)
		}
	}
	for _, row := range haveRows {
		if !slices.Contains(wantRows, row) {
			t.Errorf("%s: the types give no line\n\t%s", declarationsPage, row)
		}
	}
	t.Errorf("%s is not what the types say; UPDATE_GOLDEN=true go test ./test/docs -run TestDeclarationReference writes it", declarationsPage)
}

// TestDeclarationDocs checks that every field says what it means, and every short field shows it.
func TestDeclarationDocs(t *testing.T) {
	for _, key := range kinds.Keys() {
		kind := lookup(t, key)
		if kind.Text() == "" {
			t.Errorf("%s: nothing says what it makes", key)
		}
		for _, f := range kind.ShortFields() {
			if f.Text == "" || f.Example == "" {
				t.Errorf("%s.%s: the comment lacks a meaning or an example", key, f.Name)
			}
			if !slices.Contains(kind.FieldNames(), f.Name) {
				t.Errorf("%s.%s is described, and is no short field", key, f.Name)
			}
		}
		if n := len(kind.FieldNames()); len(kind.ShortFields()) != n {
			t.Errorf("%s: %d short fields are described, there are %d", key, len(kind.ShortFields()), n)
		}
		for _, f := range kind.CommonFields() {
			if f.Text == "" {
				t.Errorf("%s: the comment lacks a meaning", f.Name)
			}
		}
	}
}

// TestKubernetesTypes checks that the page explains each type of Kubernetes that it names, with fields that there are.
func TestKubernetesTypes(t *testing.T) {
	types := map[string]kinds.FieldDoc{}
	var collect func([]kinds.FieldDoc)
	collect = func(fields []kinds.FieldDoc) {
		for _, f := range fields {
			switch {
			case f.IsKubernetes():
				types[f.Type[strings.LastIndex(f.Type, " ")+1:]] = f
			case f.Fields() != nil:
				collect(f.Fields())
			}
		}
	}
	for _, key := range kinds.Keys() {
		collect(lookup(t, key).ShortFields())
	}
	for _, row := range tables(t, declarationsPage)["Types"] {
		name := strings.Trim(row[0], "`")
		of, exists := types[name]
		if !exists {
			t.Errorf("%s: no short field is a %s, or it is listed twice", declarationsPage, name)
			continue
		}
		delete(types, name)
		for field := range strings.FieldsSeq(strings.ReplaceAll(row[1], "`", "")) {
			if !slices.ContainsFunc(of.Fields(), func(f kinds.FieldDoc) bool { return f.Name == field }) {
				t.Errorf("%s: a %s has no field %q", declarationsPage, name, field)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		t.Errorf("%s does not explain the type %s", declarationsPage, name)
	}
}

// tables are the rows of all tables of a page, without their headings, by the heading above them.
func tables(t *testing.T, page string) map[string][][]string {
	t.Helper()
	out := map[string][][]string{}
	heading, isBody := "", false
	for line := range strings.SplitSeq(prose(t, page), "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		switch {
		case strings.HasPrefix(line, "#"):
			heading = strings.TrimLeft(line, "# ")
		case strings.HasPrefix(line, "|--"):
			isBody = true
		case !strings.HasPrefix(line, "| "):
			isBody = false
		case isBody:
			out[heading] = append(out[heading], cells)
		}
	}
	return out
}
