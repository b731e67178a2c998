package check

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds"
)

// listIndex finds the index of a list in a path.
var listIndex = regexp.MustCompile(`\[\s*[0-9]`)

// InitialField says what is wrong with a field that is set when an object is made, and then left alone: none of its kinds has it, or it must
// be the declaration's.
func InitialField(all kinds.Set, text string, path expr.Path) (first error) {
	for _, gvk := range all {
		err := mayBeInitial(gvk, text, path)
		if err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	return first
}

// mayBeInitial is InitialField for one kind.
func mayBeInitial(gvk schema.GroupVersionKind, text string, path expr.Path) error {
	if listIndex.MatchString(text) {
		return errors.New("fields in lists can't be named: an index is another entry when somebody adds one")
	}
	switch path[0] {
	case "apiVersion", "kind", "status":
		return fmt.Errorf("%s can't be left to others; wanted a field such as spec.replicas", path[0])
	case "stringData":
		return errors.New("the API server keeps it in data: name that")
	case "metadata":
		marks := map[string][]string{"labels": apply.OwnershipLabels, "annotations": apply.OwnershipAnnotations}
		if len(path) != 3 || marks[path[1]] == nil {
			return errors.New("of metadata only labels and annotations can be named, one by one: metadata.annotations['example.com/note']")
		}
		if slices.Contains(marks[path[1]], path[2]) {
			return errors.New("this is Orkestra's own; remove it")
		}
		return nil
	default:
		return kinds.CheckField(gvk, path)
	}
}
