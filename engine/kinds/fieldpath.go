package kinds

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/engine/suggest"
)

// CheckField says whether a kind that comes with Kubernetes has a field that a path of names leads to, through objects and maps
// only. Of other kinds nothing is known, and nothing is wrong.
func CheckField(gvk schema.GroupVersionKind, path []string) error {
	s, _ := builtIn(gvk)
	if s == nil {
		return nil // what is wrong with the kind is said elsewhere
	}
	for i, name := range path {
		switch s.form {
		case formAnything:
			return nil
		case formDictionary:
			s = s.elem
		case formList:
			return fmt.Errorf("%s is a list, and fields in lists can't be named", joined(path[:i]))
		case formObject:
			m := s.members[name]
			if m == nil {
				return fmt.Errorf("a %s has no such field%s", gvk.Kind, suggest.DidYouMean(name, slices.Sorted(maps.Keys(s.members))))
			}
			s = m.shape
		default:
			return fmt.Errorf("%s has no fields", joined(path[:i]))
		}
		if s == nil {
			return errors.New("nothing is known of it")
		}
	}
	return nil
}

func joined(path []string) string {
	text := ""
	for _, name := range path {
		text = joinPath(text, name)
	}
	return text
}
