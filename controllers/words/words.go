// Package words writes the messages of conditions and events of boxes and CRDHealths, no longer than the API server accepts.
package words

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// MaxMessage is how many characters the API server accepts in a condition (Kubernetes convention).
	MaxMessage = 32768
	// MaxNote is how many characters of any kind the API server accepts as the text of an event. It counts 1,024 bytes, and a character
	// has at most four.
	MaxNote = 1024 / 4
)

// Mistakes gives every error on one line, each with its path, in the order of the paths.
func Mistakes(errs field.ErrorList) string {
	texts := make([]string, 0, len(errs))
	for _, e := range errs {
		text := e.Error()
		if e.Type == field.ErrorTypeForbidden {
			text = e.Field + ": " + e.Detail // "Forbidden" would sound as if a right were missing
		}
		texts = append(texts, text)
	}
	slices.Sort(texts)
	if len(texts) == 1 {
		return texts[0]
	}
	return fmt.Sprintf("%d mistakes: %s", len(texts), strings.Join(slices.Compact(texts), "; "))
}

// Cut gives the first characters of a text, and says with an ellipsis where it has more than that.
func Cut(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}
