package pipeline

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// checkName refuses a rendered name that can't be a part of the path under which the API server is asked for an object: it
// would lead to another one. show says whether the message may quote it. What else is wrong with a name depends on the kind, and the API server says it.
func checkName(name string, show bool) error {
	if problems := content.IsPathSegmentName(name); len(problems) > 0 {
		return permanent(v1alpha1.ReasonInvalidChild, fmt.Errorf("name: %s can't name an object: it %s", shownName(name, show), strings.Join(problems, ", ")))
	}
	return nil
}

// checkNamespace refuses what can't be the name of a namespace.
func checkNamespace(name string, show bool) error {
	if problems := apivalidation.IsDNS1123Label(name); len(problems) > 0 {
		return permanent(v1alpha1.ReasonInvalidChild, fmt.Errorf("namespace: %s can't name a namespace: %s", shownName(name, show), problems[0]))
	}
	return nil
}

// shownName keeps a name that is far too long from filling a message, and one that is not the resource's own out of it.
func shownName(name string, show bool) string {
	const most = 64
	if !show {
		return "what the template yields"
	}
	if runes := []rune(name); len(runes) > most {
		name = string(runes[:most]) + "…"
	}
	return strconv.Quote(name)
}
