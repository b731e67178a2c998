package stage

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/orkspace/orkestra/engine/access"
)

// Kubernetes has one code for all that it forbids, and gives each kind of refusal a text of a fixed form. These forms are matched
// from the first character on: the words of a webhook and of a policy stand behind a prefix that the API server sets, so that
// nothing that they say can look like an answer of the authorizer, of the quota or of the storage.
var (
	// quotedName is a name as Go quotes it: a quotation mark in it, which the API server may refuse later, does not end it.
	quotedName = `"(?:[^"\\]|\\.)*"`

	// isForbidden is how an answer about an object begins that comes from the authorizer or from admission.
	isForbidden = `^(?:[^\s"]+ (?:` + quotedName + ` )?is )?forbidden: `

	denial      = regexp.MustCompile(isForbidden + `User (` + quotedName + `) cannot (\S+) resource "([^"/]+)(?:/([^"]+))?" in API group "([^"]*)"(?: in the namespace "([^"]*)"| at the cluster scope)`)
	quotaDenial = regexp.MustCompile(isForbidden + `exceeded quota: `)
	byWebhook   = regexp.MustCompile(`^admission webhook "([^"]+)"`)
	byPolicy    = regexp.MustCompile(isForbidden + `ValidatingAdmissionPolicy '([^']+)'`)
	admission   = regexp.MustCompile(isForbidden + `|^admission webhook "|^policy ['"]`)

	// mapKey is a key of a map in a place, and what follows it: a number of up to four digits is a place in a list.
	mapKey = regexp.MustCompile(`\[(?:\d{0,4}[^\d\]]|\d{5}).*$`)
)

const webhookPrefix = `admission webhook "`

// Denial gives the right that an answer of the API server says is missing; nil for every other answer, also for one of admission
// that uses the same words.
func Denial(err error) *access.Right {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || answer.Status().Reason != metav1.StatusReasonForbidden {
		return nil
	}
	m := denial.FindStringSubmatch(answer.Status().Message)
	if m == nil {
		return nil
	}
	user, err := strconv.Unquote(m[1])
	if err != nil {
		return nil // no name of a user is written so
	}
	return &access.Right{User: user, Verb: m[2], Resource: m[3], Subresource: m[4], Group: m[5], Namespace: m[6]}
}

func deniedByAuthorizer(text string) bool { return denial.MatchString(text) }
func overQuota(text string) bool          { return quotaDenial.MatchString(text) }

// InTerminatingNamespace says whether the API server refuses to make an object because its namespace is being deleted. A webhook
// may give the same cause.
func InTerminatingNamespace(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) && !strings.HasPrefix(MessageOf(err), webhookPrefix)
}

// Terminates says whether an error is that a namespace is being deleted: nothing can be made in it any more, no event either.
func Terminates(namespace string, err error) bool {
	cause, found := apierrors.StatusCause(err, corev1.NamespaceTerminatingCause)
	return found && InTerminatingNamespace(err) && cause.Message == fmt.Sprintf("namespace %s is being terminated", namespace)
}

// refuser names what refuses an object, as far as the API server itself says so.
func refuser(text string) string {
	if m := byWebhook.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("the admission webhook %q", m[1])
	}
	if m := byPolicy.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("the ValidatingAdmissionPolicy %q", m[1])
	}
	return "the API server"
}

// quotes says whether the words of an answer may hold a part of the object that was sent. Those of the storage, of the
// authorizer and of quotas speak of names alone. Admission may give any reason that it likes.
func quotes(err error) bool {
	text := MessageOf(err)
	switch apierrors.ReasonForError(err) {
	case metav1.StatusReasonConflict, metav1.StatusReasonNotFound, metav1.StatusReasonAlreadyExists, metav1.StatusReasonTooManyRequests,
		metav1.StatusReasonServerTimeout, metav1.StatusReasonTimeout, metav1.StatusReasonServiceUnavailable, metav1.StatusReasonUnauthorized,
		metav1.StatusReasonGone, metav1.StatusReasonExpired, metav1.StatusReasonMethodNotAllowed:
		return admission.MatchString(text)
	case metav1.StatusReasonForbidden:
		return !deniedByAuthorizer(text) && !overQuota(text) && !InTerminatingNamespace(err)
	default:
		return true
	}
}

// WithoutValues gives an error of the API server about a child that may hold what is not the resource's own: its words may quote the
// object, so that only the places that it names are passed on. What kind of error it is stays as it is.
func WithoutValues(err error, child string) error {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || !quotes(err) {
		return err
	}
	var places []string
	// A webhook may write what it likes there, too.
	if details := answer.Status().Details; details != nil && !strings.HasPrefix(answer.Status().Message, webhookPrefix) {
		for _, cause := range details.Causes {
			// Several causes differ only in words that are not shown, as of each label with a wrong value.
			if place := fmt.Sprintf("%s (%s)", withoutKeys(cause.Field, details.Group), wordsOf(cause)); cause.Field != "" && !slices.Contains(places, place) {
				places = append(places, place)
			}
		}
	}
	text := fmt.Sprintf("%s: %s refuses it", child, refuser(MessageOf(err)))
	if len(places) > 0 {
		text += ": " + strings.Join(places, ", ")
	}
	return Redacted(err, text+"; its words are not shown, because they may quote what is not the resource's own")
}

// withoutKeys gives a place without the keys of maps, which a template may have made. Kubernetes writes them in brackets. The schema of a CRD
// writes them like fields, so that of other kinds the first two fields alone are shown.
func withoutKeys(place, group string) string {
	const fields = 2
	if parts := strings.SplitN(place, ".", fields+1); !scheme.Scheme.IsGroupRegistered(group) && len(parts) > fields {
		place = strings.Join(parts[:fields], ".") + ".…"
	}
	return mapKey.ReplaceAllString(place, "[…]")
}

// Redacted gives an error that says another text than the one that it stands for, and is of the same kind.
func Redacted(err error, text string) error { return &redactedError{err: err, text: text} }

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
