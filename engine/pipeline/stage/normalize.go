package stage

import (
	"cmp"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// normalizeError gives the words of an error as they go into conditions: the same for the same error. Words that differ each time would
// be written each time, and each write is an event for everybody who watches. The log has them as they came.
func normalizeError(err error) string {
	text := err.Error()
	if request, ok := errors.AsType[*url.Error](err); ok {
		text = strings.Replace(text, request.Error(), unanswered(request), 1)
	}
	var answer apierrors.APIStatus
	if errors.As(err, &answer) {
		words := answer.Status().Message
		text = strings.Replace(text, words, withSortedCauses(answer.Status()), 1)
	}
	return Steady(text)
}

// Steady replaces the parts of a text that differ each time, such as pointers and ports, and makes one line of it.
func Steady(text string) string {
	for _, v := range varying {
		text = v.pattern.ReplaceAllString(text, v.by)
	}
	return OneLine(text)
}

// unanswered says that a request got no answer, without its address, which is long and the same for all.
func unanswered(request *url.Error) string {
	if request.Timeout() {
		return "the API server did not answer in time"
	}
	return "the API server could not be reached: " + request.Err.Error()
}

// withSortedCauses gives the words of an answer that lists several causes in the order of their fields: validation goes over maps.
func withSortedCauses(status metav1.Status) string {
	if status.Reason != metav1.StatusReasonInvalid || status.Details == nil || len(status.Details.Causes) < 2 {
		return status.Message
	}
	before, _, found := strings.Cut(status.Message, " is invalid: ")
	if !found {
		return status.Message
	}
	causes := slices.Clone(status.Details.Causes)
	slices.SortStableFunc(causes, func(a, b metav1.StatusCause) int {
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message))
	})
	var list []string
	for _, c := range causes {
		list = append(list, strings.TrimPrefix(c.Field+": "+c.Message, ": "))
	}
	return before + " is invalid: [" + strings.Join(slices.Compact(list), ", ") + "]"
}

// varying are the parts that differ each time in the errors of libraries and of the API server.
var varying = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`\b0x[0-9a-f]{6,16}\b`), "0x…"},                                                 // pointers
	{regexp.MustCompile(`\S+:\d+->(\S+:\d+)`), "$1"},                                                    // the port on our side
	{regexp.MustCompile(`LastStreamID=\d+, `), ""},                                                      // of a connection that is closed
	{regexp.MustCompile(`(exceeded quota: .*, requested: \S+), used: \S+, limited: `), "$1, limited: "}, // a counter
}

// OneLine makes a message fit for a condition.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
