package apply

import (
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/drift"
)

// The annotation that lists initial fields holds a JSON list of JSON pointers (RFC 6901), which escape ~ and / in names.
var (
	escapePointer   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")
)

// pointer gives a path as a JSON pointer.
func pointer(path drift.FieldPath) string {
	var b strings.Builder
	for _, name := range path {
		b.WriteString("/" + escapePointer.Replace(name))
	}
	return b.String()
}

func fromPointer(text string) (drift.FieldPath, bool) {
	names := strings.Split(text, "/")
	if len(names) < 2 || names[0] != "" {
		return nil, false
	}
	for i := range names {
		names[i] = unescapePointer.Replace(names[i])
	}
	return names[1:], true
}

// leavingMark stands in the annotation before a field that the manager of declarations is about to take over.
const leavingMark = "-"

// initialOn reads which initial fields of a child are held, and which are about to be taken over. An annotation that can't be read counts
// as empty: the fields are then handed over again.
func initialOn(live *unstructured.Unstructured) (held, leaving []drift.FieldPath) {
	text := live.GetAnnotations()[v1alpha1.AnnotationInitial]
	if text == "" {
		return nil, nil
	}
	var pointers []string
	if err := json.Unmarshal([]byte(text), &pointers); err != nil {
		return nil, nil
	}
	for _, text := range pointers {
		rest, leaves := strings.CutPrefix(text, leavingMark)
		path, ok := fromPointer(rest)
		switch {
		case !ok:
			return nil, nil
		case leaves:
			leaving = append(leaving, path)
		default:
			held = append(held, path)
		}
	}
	return held, leaving
}

// initialText is what initialOn reads.
func initialText(held, leaving []drift.FieldPath) (string, error) {
	pointers := make([]string, 0, len(held)+len(leaving))
	for _, path := range held {
		pointers = append(pointers, pointer(path))
	}
	for _, path := range leaving {
		pointers = append(pointers, leavingMark+pointer(path))
	}
	b, err := json.Marshal(pointers)
	return string(b), err
}

// samePaths says whether two lists hold the same paths, in whatever order.
func samePaths(a, b []drift.FieldPath) bool {
	return len(a) == len(b) && len(without(a, b)) == 0
}

// without gives the paths that the other list does not have.
func without(paths, others []drift.FieldPath) []drift.FieldPath {
	return slices.DeleteFunc(slices.Clone(paths), func(p drift.FieldPath) bool {
		return slices.ContainsFunc(others, func(o drift.FieldPath) bool { return slices.Equal(p, o) })
	})
}
