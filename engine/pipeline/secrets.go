package pipeline

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fieldData is where a Secret holds its content.
const fieldData = "data"

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
