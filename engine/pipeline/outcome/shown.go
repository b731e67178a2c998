package outcome

import (
	"cmp"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/status"
	"github.com/orkspace/orkestra/engine/value"
)

// What fields of the status read of the cycle that they are written after.
const (
	shownStep    = "step"
	shownReason  = "reason"
	shownMessage = "message"
	shownStatus  = "status"
)

// fieldScope is what the fields of the status may read: all that is read elsewhere, and how the cycle has ended.
func fieldScope(b *compile.Box) *expr.Scope {
	var conditions []string
	for _, c := range conditionsOf(&status.Result{}) {
		conditions = append(conditions, c.name)
	}
	condition := texts(shownStatus, shownReason, shownMessage)
	all := &apiextensionsv1.JSONSchemaProps{Type: value.TypeObject, Properties: map[string]apiextensionsv1.JSONSchemaProps{}}
	for _, name := range conditions {
		all.Properties[name] = *condition
	}
	return b.Scope.WithRoot(compile.RootError, texts(shownStep, shownReason, shownMessage)).WithRoot(compile.RootConditions, all)
}

// texts is the schema of an object of texts.
func texts(names ...string) *apiextensionsv1.JSONSchemaProps {
	s := &apiextensionsv1.JSONSchemaProps{Type: value.TypeObject, Properties: map[string]apiextensionsv1.JSONSchemaProps{}}
	for _, name := range names {
		s.Properties[name] = apiextensionsv1.JSONSchemaProps{Type: value.TypeString}
	}
	return s
}

// namedCondition is a condition of Orkestra's own, as fields of the status read it.
type namedCondition struct {
	name string
	of   metav1.Condition
}

func conditionsOf(res *status.Result) []namedCondition {
	return []namedCondition{{v1alpha1.ConditionReady, res.Ready}, {v1alpha1.ConditionReconciling, res.Reconciling}, {v1alpha1.ConditionStalled, res.Stalled}}
}

// failure is where a cycle has ended with an error. reason is empty for one that a retry may mend.
type failure struct{ step, reason string }

// failureOf gives nil after a success.
func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	step := stage.AsStepError(err)
	return &failure{step: step.Step, reason: step.Reason}
}

// shown is what fields of the status read of a cycle: the error that it has ended with, which is absent after a success, and the conditions
// that it comes to. The message is that of the condition Ready, so that a field shows nothing that this does not.
func shown(f *failure, res *status.Result) expr.Data {
	data := expr.Data{}
	if f != nil {
		data[compile.RootError] = map[string]any{
			shownStep: f.step, shownReason: cmp.Or(f.reason, v1alpha1.ReasonReconcileError), shownMessage: res.Ready.Message,
		}
	}
	conditions := map[string]any{}
	for _, c := range conditionsOf(res) {
		conditions[c.name] = map[string]any{shownStatus: string(c.of.Status), shownReason: c.of.Reason, shownMessage: c.of.Message}
	}
	data[compile.RootConditions] = conditions
	return data
}
