// Package status computes the status of resources: what it becomes after a cycle, and the patch that makes it so. Nothing else writes the
// status of a resource.
//
// The pipeline makes a Writer when it compiles a plan, and a Result when a cycle ends. engine/cycle asks the Writer what the status
// becomes, also after an error, and sends the patch. The package sends nothing itself, and knows no children and no templates. That
// no Secret is among the values that it is given is up to its callers.
package status

import (
	"fmt"
	"strings"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/value"
)

// maxMessage is the most characters of a condition's message: enough for an error, and short enough for a line of kubectl describe.
const maxMessage = 256

// Result is what a reconcile came to, as the resource shows it.
type Result struct {
	// Generation of the resource that was reconciled.
	Generation int64
	// Ready, Reconciling and Stalled come from the functions below. One that has no type is not written.
	Ready, Reconciling, Stalled metav1.Condition
	// Fields are the declared fields, in the order in which they are written.
	Fields []Field
	// Conditions are those that the box declares.
	Conditions []Own
}

// Reason is the one that says most of how the resource stands: that of Stalled names the sort of error, and that of Ready only that there was one.
func (r *Result) Reason() string {
	if r.Stalled.Status == metav1.ConditionTrue {
		return r.Stalled.Reason
	}
	return r.Ready.Reason
}

// Field is one declared field of the status.
type Field struct {
	// Path below status, one name for each level. Lists are written whole: no path leads into one.
	Path []string
	// Value to write; any JSON value. It is copied. Null takes the field away: a merge patch can't write it.
	Value any
	// Remove takes the field away: its gate is false, or what it reads is absent.
	Remove bool
}

// Succeeded is Ready=True. The notes are warnings that users should see nevertheless.
func Succeeded(notes ...string) metav1.Condition {
	message := strings.Join(append([]string{"the last reconcile succeeded"}, notes...), "; ")
	return ready(metav1.ConditionTrue, v1alpha1.ReasonReconcileSucceeded, message)
}

// Failed is Ready=False after an error.
func Failed(message string) metav1.Condition {
	return ready(metav1.ConditionFalse, v1alpha1.ReasonReconcileError, message)
}

// Formerly is what Ready was of a resource that CRDHealth lists as failing. The reason there is that of Stalled where the reconcile has failed.
func Formerly(f *v1alpha1.FailingResource) metav1.Condition {
	message := strings.TrimPrefix(f.Step+": "+f.Message, ": ")
	if f.Step != "" || f.ConsecutiveFailures > 0 || f.Reason == "" {
		return Failed(message)
	}
	return NotReady(f.Reason, message)
}

// NotReady is Ready=False although nothing failed.
func NotReady(reason, message string) metav1.Condition {
	return ready(metav1.ConditionFalse, reason, message)
}

func ready(s metav1.ConditionStatus, reason, message string) metav1.Condition {
	return condition(v1alpha1.ConditionReady, s, reason, message)
}

// Progressing is Reconciling=True: something is under way, and the message names it.
func Progressing(reason, message string) metav1.Condition {
	return condition(v1alpha1.ConditionReconciling, metav1.ConditionTrue, reason, message)
}

// Settled is Reconciling=False: nothing is left to do.
func Settled() metav1.Condition {
	return condition(v1alpha1.ConditionReconciling, metav1.ConditionFalse, v1alpha1.ReasonSettled, "nothing is under way")
}

// NotProgressing is Reconciling=False although not everything is done, because nothing is being done about it: the resource has failed,
// or was let go.
func NotProgressing(reason, message string) metav1.Condition {
	return condition(v1alpha1.ConditionReconciling, metav1.ConditionFalse, reason, message)
}

// Paused is Reconciling=False while the paused annotation is set.
func Paused() metav1.Condition {
	return condition(v1alpha1.ConditionReconciling, metav1.ConditionFalse, v1alpha1.ReasonPaused,
		"paused by the annotation "+v1alpha1.AnnotationPaused+"; deletion is still served")
}

// StalledBy is Stalled=True: a retry can't mend it.
func StalledBy(reason, message string) metav1.Condition {
	return condition(v1alpha1.ConditionStalled, metav1.ConditionTrue, reason, message)
}

// NotStalled is Stalled=False.
func NotStalled() metav1.Condition {
	return condition(v1alpha1.ConditionStalled, metav1.ConditionFalse, v1alpha1.ReasonNotStalled, "nothing stands in the way")
}

func condition(kind string, s metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: s, Reason: reason, Message: Truncate(message)}
}

// Truncate cuts a message to 256 characters, long names first: see value.Excerpt. It is value.Readable: with bytes
// that are no UTF-8, it would always differ from what is stored, and be written in each cycle.
func Truncate(message string) string { return value.Excerpt(message, maxMessage) }

// WithAdvice adds to a message what to do. If both are too long, the message is cut, and not the advice.
func WithAdvice(message, advice string) string { return WithEnd(message, "; "+advice) }

// WithEnd adds an end to a message. If both are too long, the message is cut, and not the end.
func WithEnd(message, end string) string {
	return value.Excerpt(message, max(1, maxMessage-utf8.RuneCountInString(end))) + end
}

// WithOthers adds to the message about one thing how many others there are.
func WithOthers(message string, others int) string {
	return WithEnd(message, fmt.Sprintf(" (and %d more)", others))
}

// WithoutOthers gives what WithOthers was given.
func WithoutOthers(message string) string {
	if at := strings.LastIndex(message, " (and "); at >= 0 && strings.HasSuffix(message, " more)") {
		return message[:at]
	}
	return message
}

func validText(text string) string {
	return strings.ToValidUTF8(text, string(utf8.RuneError))
}

// RolledBack is the condition that says whether the children are those of an earlier spec. Only boxes with rollback show it.
func RolledBack(s metav1.ConditionStatus, reason, message string) Own {
	return Own{Condition: condition(v1alpha1.ConditionRolledBack, s, reason, message)}
}

// HasCondition says whether a resource shows a condition of that type.
func HasCondition(stored *unstructured.Unstructured, kind string) bool {
	return ConditionOf(stored, kind) != nil
}

// IsTrue says whether a resource shows a condition of that type whose status is True.
func IsTrue(stored *unstructured.Unstructured, kind string) bool {
	return ConditionOf(stored, kind)["status"] == string(metav1.ConditionTrue)
}

// ConditionOf gives a condition as it is stored; nil where there is none.
func ConditionOf(stored *unstructured.Unstructured, kind string) map[string]any {
	list, _ := storedStatus(stored)[fieldConditions].([]any)
	for _, entry := range list {
		if m, ok := entry.(map[string]any); ok && m[fieldType] == kind {
			return m
		}
	}
	return nil
}
