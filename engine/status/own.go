package status

// The conditions that a box declares for its resources, beside Orkestra's own.

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/suggest"
	"github.com/orkspace/orkestra/engine/value"
)

// The limits that Kubernetes sets for conditions, in characters.
const (
	maxConditionReason  = 1024
	maxConditionMessage = 32768
)

// The fields of a condition's value.
const (
	fieldReason  = "reason"
	fieldMessage = "message"
)

// OwnFields are the fields that the value of a declared condition may have.
var OwnFields = []string{fieldStatus, fieldReason, fieldMessage}

// reservedConditions are those that Orkestra itself writes.
var reservedConditions = []string{
	v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled, v1alpha1.ConditionRolledBack,
}

// reasonForm is what Kubernetes takes for the reason of a condition.
var reasonForm = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// defaultReasons go with the statuses of conditions whose value gives no reason.
var defaultReasons = map[metav1.ConditionStatus]string{
	metav1.ConditionTrue: v1alpha1.ReasonMet, metav1.ConditionFalse: v1alpha1.ReasonNotMet, metav1.ConditionUnknown: string(metav1.ConditionUnknown),
}

// Own is a condition that a box declares, besides those that Orkestra itself writes.
type Own struct {
	// Condition has type, status, reason and message. The rest is filled in when it is written.
	Condition metav1.Condition
	// Remove takes the condition of that type away: its gate is false, or what it reads is absent.
	Remove bool
}

// CheckType says what is wrong with the type of a declared condition.
func CheckType(kind string) error {
	if slices.Contains(reservedConditions, kind) {
		return fmt.Errorf("Orkestra writes the condition %s itself; give yours another type", kind) //nolint:staticcheck // a product's name begins with a capital
	}
	if problems := validation.IsQualifiedName(kind); len(problems) > 0 {
		return fmt.Errorf("not the type of a condition, such as Available or example.com/Available: %s", strings.Join(problems, "; "))
	}
	return nil
}

// CheckOwnFields checks the fields of a condition's value that a box writes as an object, when the box is compiled.
func CheckOwnFields(names []string) error {
	slices.Sort(names)
	for _, name := range names {
		if !slices.Contains(OwnFields, name) {
			return fmt.Errorf("a condition has %s; found %q%s", strings.Join(OwnFields, ", "), name, suggest.DidYouMean(name, OwnFields))
		}
	}
	if !slices.Contains(names, fieldStatus) {
		return errors.New("a condition needs a status: True, False or Unknown")
	}
	return nil
}

// NewOwn makes a declared condition from the value that its template has given: a status, or an object with status, reason and
// message. Other fields of an object are left out, so that a template may pass on the condition of another object. Null takes the
// condition away. The error is a *FieldError.
func NewOwn(kind string, given any) (Own, error) {
	own := Own{Condition: metav1.Condition{Type: kind}}
	var reason, message any
	switch v := copyValue(given).(type) {
	case nil:
		own.Remove = true
		return own, nil
	case map[string]any:
		given, reason, message = v[fieldStatus], v[fieldReason], v[fieldMessage]
	case []any:
		return own, &FieldError{Path: ownPath(kind), Want: "a status, or an object with status, reason and message", Got: value.TypeArray}
	default:
		given = v
	}
	c := &own.Condition
	var ok bool
	if c.Status, ok = toStatus(given); !ok {
		return own, &FieldError{Path: ownPath(kind, fieldStatus), Want: "True, False or Unknown", Got: another(given)}
	}
	if c.Reason, ok = toOwnText(reason); !ok || !isReason(c.Reason) {
		return own, &FieldError{Path: ownPath(kind, fieldReason), Want: "one word in CamelCase, such as PodsReady", Got: another(reason)}
	}
	if c.Reason == "" {
		c.Reason = defaultReasons[c.Status]
	}
	if c.Message, ok = toOwnText(message); !ok {
		return own, &FieldError{Path: ownPath(kind, fieldMessage), Want: value.TypeString, Got: value.TypeName(message)}
	}
	c.Message = value.Readable(c.Message)
	if n := utf8.RuneCountInString(c.Message); n > maxConditionMessage {
		return own, &FieldError{Path: ownPath(kind, fieldMessage), Want: fmt.Sprintf("at most %d characters", maxConditionMessage), Got: fmt.Sprintf("%d", n)}
	}
	return own, nil
}

// toStatus reads a status as people and templates write it.
func toStatus(value any) (metav1.ConditionStatus, bool) {
	word, isText := value.(string)
	if yes, isBool := value.(bool); isBool {
		word, isText = strconv.FormatBool(yes), true
	}
	for _, s := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown} {
		if isText && strings.EqualFold(word, string(s)) {
			return s, true
		}
	}
	return "", false
}

// toOwnText reads a reason or a message; null is an empty one.
func toOwnText(v any) (string, bool) {
	if v == nil {
		return "", true
	}
	return value.Text(v)
}

func isReason(text string) bool {
	return text == "" || len(text) <= maxConditionReason && reasonForm.MatchString(text)
}

// another says in an error what was found where only certain texts fit. It does not show the text, which may come from a Secret.
func another(v any) string {
	if _, isText := v.(string); isText {
		return "another text"
	}
	return value.TypeName(v)
}

// OwnPath is the path of a declared condition, as a box names it.
func OwnPath(kind string) string { return fieldConditions + "[" + kind + "]" }

func ownPath(kind string, below ...string) string {
	return strings.Join(append([]string{fieldStatus, OwnPath(kind)}, below...), ".")
}
