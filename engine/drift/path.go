package drift

import (
	"strconv"
	"strings"
	"unicode"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// FieldPath names a field below an object, one name for each step: ["spec", "replicas"]. It leads through objects only.
type FieldPath []string

// String gives the path as people write it: spec.replicas, metadata.annotations['a/b'].
func (p FieldPath) String() string {
	text := ""
	for _, name := range p {
		text = joinPath(text, name)
	}
	return text
}

// ManagedPath gives a path of the managed fields in the notation of Difference.Path: spec.containers[name=main].image.
func ManagedPath(p fieldpath.Path) string {
	text := ""
	for _, step := range p {
		switch {
		case step.FieldName != nil:
			text = joinPath(text, *step.FieldName)
		case step.Key != nil:
			keys := make([]string, 0, len(*step.Key))
			for _, k := range *step.Key {
				keys = append(keys, k.Name+"="+scalarText(k.Value.Unstructured()))
			}
			text += "[" + strings.Join(keys, ",") + "]"
		case step.Value != nil:
			text += "[" + scalarText((*step.Value).Unstructured()) + "]"
		case step.Index != nil:
			text += "[" + strconv.Itoa(*step.Index) + "]"
		}
	}
	return text
}

// IsBelow says whether a path, in the notation of Difference.Path, is the same as another one or leads to something inside it.
func IsBelow(path, above string) bool {
	rest, ok := strings.CutPrefix(path, above)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// joinPath adds a field to a path, quoted where it is not a plain name.
func joinPath(path, name string) string {
	if !isPlainName(name) {
		// strconv.Quote escapes what can't be printed, for double quotes; the path is written with single ones.
		quoted := strconv.Quote(name)
		quoted = strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
		return path + "['" + strings.ReplaceAll(quoted, `'`, `\'`) + "']"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

func isPlainName(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// scalarText writes a scalar for a path: as it is where that is clear, otherwise quoted.
func scalarText(value any) string {
	text := numberOrText(value)
	unclear := func(r rune) bool { return strings.ContainsRune(`[],='"\`, r) || !unicode.IsPrint(r) }
	if strings.ContainsFunc(text, unclear) {
		return strconv.Quote(text)
	}
	return text
}
