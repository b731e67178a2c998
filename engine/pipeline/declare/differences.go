package declare

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/value"
)

// maxPutBack is how many fields of a child an event names.
const maxPutBack = 5

// Disclosure says which values of fields that differ messages may show.
type Disclosure struct {
	content bool // what the declaration is made of may be shown
	known   bool // the kind is one whose fields are known
	secret  bool // the object is a Secret
}

// Disclosure of the object of a declaration.
func (d *Declaration) Disclosure() Disclosure {
	return Disclosure{content: d.MayShowContent() && (d.Quoted || !d.Coded), known: !d.Kind.GVK.Empty(), secret: d.IsSecret()}
}

// FromTo gives the values of a field that can't be changed, where people may read them.
func (s Disclosure) FromTo(f drift.Difference) string {
	from, to := s.valuesOf(f)
	text := ""
	if from != "" {
		text = " from " + from
	}
	if to != "" {
		text += " to " + to
	}
	return text
}

// valuesOf gives the live and the wanted value of a field, as JSON; "" where there is none, and where people may not read it. What stands
// on the child may be of a former declaration that did read a Secret: it is shown of fields alone that hold none in kinds that are known.
func (s Disclosure) valuesOf(f drift.Difference) (live, wanted string) {
	if !s.content || strings.HasPrefix(f.Path, "data") || strings.HasPrefix(f.Path, "binaryData") ||
		strings.Contains(f.Path, "emplate.") && !strings.HasSuffix(f.Path, "].image") {
		return "", ""
	}
	if s.known {
		live = scalarText(f.Live)
	}
	return live, scalarText(f.Wanted)
}

// scalarText writes a value as JSON; "" where it is none, or no scalar.
func scalarText(v any) string {
	switch v := v.(type) {
	case drift.InWords:
		return string(v)
	case nil, map[string]any, []any:
		return ""
	default:
		text, err := json.Marshal(v)
		if err != nil {
			return ""
		}
		return string(text)
	}
}

// PutBack says which fields were put back, from what to what, and who had set them: "spec.replicas 5→2, set by kubectl".
func (s Disclosure) PutBack(all []apply.Correction) string {
	var b strings.Builder
	for i, c := range all {
		if i == maxPutBack {
			fmt.Fprintf(&b, ", and %d more", len(all)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c.Path)
		b.WriteString(s.change(c))
		if last := i+1 == len(all) || i+1 == maxPutBack; c.SetBy != "" && (last || all[i+1].SetBy != c.SetBy) {
			b.WriteString(", set by " + c.SetBy)
		}
	}
	return b.String()
}

// PathsPutBack names the fields that PutBack names.
func PathsPutBack(all []apply.Correction) string {
	named := all[:min(len(all), maxPutBack)]
	paths := make([]string, 0, len(named))
	for _, c := range named {
		paths = append(paths, c.Path)
	}
	return strings.Join(paths, ", ")
}

// change gives the values of a field before and after, where people may read them. Annotations hold what anybody likes.
func (s Disclosure) change(c apply.Correction) string {
	if s.secret || drift.IsBelow(c.Path, "metadata.annotations") {
		return ""
	}
	from, to := s.valuesOf(c.Difference)
	from, to = value.Shorten(from), value.Shorten(to)
	switch {
	case from != "" && to != "":
		return " " + from + "→" + to
	case to != "":
		return " to " + to
	case from != "":
		return " from " + from
	default:
		return ""
	}
}
