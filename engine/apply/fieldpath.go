package apply

import (
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
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

var (
	escapePointer   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")
)

// pointer gives the path as a JSON pointer.
func (p FieldPath) pointer() string {
	var b strings.Builder
	for _, name := range p {
		b.WriteString("/" + escapePointer.Replace(name))
	}
	return b.String()
}

func fromPointer(text string) (FieldPath, bool) {
	names := strings.Split(text, "/")
	if len(names) < 2 || names[0] != "" {
		return nil, false
	}
	for i := range names {
		names[i] = unescapePointer.Replace(names[i])
	}
	return names[1:], true
}

// leavingMark stands before a field that the manager of declarations is about to take over.
const leavingMark = "-"

// initialOn reads which initial fields of a child are held, and which are about to be taken over. An annotation that someone
// broke says nothing: what it said is then applied again.
func initialOn(live *unstructured.Unstructured) (held, leaving []FieldPath) {
	text := live.GetAnnotations()[v1alpha1.AnnotationInitial]
	if text == "" {
		return nil, nil
	}
	var pointers []string
	if err := json.Unmarshal([]byte(text), &pointers); err != nil {
		return nil, nil
	}
	for _, pointer := range pointers {
		rest, leaves := strings.CutPrefix(pointer, leavingMark)
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

func initialText(held, leaving []FieldPath) (string, error) {
	pointers := make([]string, 0, len(held)+len(leaving))
	for _, path := range held {
		pointers = append(pointers, path.pointer())
	}
	for _, path := range leaving {
		pointers = append(pointers, leavingMark+path.pointer())
	}
	b, err := json.Marshal(pointers)
	return string(b), err
}

// samePaths says whether two lists hold the same paths, in whatever order.
func samePaths(a, b []FieldPath) bool {
	return len(a) == len(b) && len(without(a, b)) == 0
}

// without gives the paths that the other list does not have.
func without(paths, others []FieldPath) []FieldPath {
	return slices.DeleteFunc(slices.Clone(paths), func(p FieldPath) bool {
		return slices.ContainsFunc(others, func(o FieldPath) bool { return slices.Equal(p, o) })
	})
}
