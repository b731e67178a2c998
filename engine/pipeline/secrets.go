package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds"
)

// secretKind is the kind whose content only the templates of children may see (design: security.md).
var secretKind = corev1.SchemeGroupVersion.WithKind("Secret")

// fieldData is where a Secret holds its content.
const fieldData = "data"

// leadsToSecret says whether a path may lead to what a Secret holds.
func (c *compiler) leadsToSecret(p expr.Path) bool {
	if len(p) == 0 {
		return true
	}
	all := len(p) == 1
	switch p[0] {
	case rootCross:
		return slices.ContainsFunc(c.box.Spec.Cross, func(s v1alpha1.CrossSource) bool {
			return (all || s.Name == p[1]) && s.Kind == secretKind.Kind && s.APIVersion == secretKind.Version
		})
	case rootChildren:
		return all || p[1] == kinds.SingularOf(secretKind) || p[1] == kinds.PluralOf(secretKind) || c.isSecretID(p[1])
	default:
		return false
	}
}

// isSecretID says whether an explicit id is that of a Secret's declaration.
func (c *compiler) isSecretID(id string) bool {
	for gvk, d := range declarationsOf(c.box) {
		if gvk == secretKind && d.ID == id {
			return true
		}
	}
	return false
}

// withoutValues gives an error of the API server about a child that may hold what is not the resource's own: its words may quote the
// object, so that only the places that it names are passed on. What kind of error it is stays as it is.
func withoutValues(err error, child string) error {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || !quotes(err) {
		return err
	}
	var places []string
	// A webhook may write what it likes there, too.
	if details := answer.Status().Details; details != nil && !strings.HasPrefix(answer.Status().Message, webhookPrefix) {
		for _, cause := range details.Causes {
			if cause.Field != "" {
				places = append(places, fmt.Sprintf("%s (%s)", cause.Field, wordsOf(cause)))
			}
		}
	}
	text := fmt.Sprintf("%s: %s refuses it", child, refuser(wordsOfAPI(err)))
	if len(places) > 0 {
		text += ": " + strings.Join(places, ", ")
	}
	return &redactedError{err: err, text: text + "; its words are not shown, because they may quote what is not the resource's own"}
}

// redactedError says less than the error that it stands for, and is of the same kind.
type redactedError struct {
	err  error
	text string
}

func (e *redactedError) Error() string { return e.text }
func (e *redactedError) Unwrap() error { return e.err }

func wordsOf(cause metav1.StatusCause) string {
	if cause.Type == "" {
		return "invalid"
	}
	return string(cause.Type)
}
